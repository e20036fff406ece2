"""Data: cars."""
