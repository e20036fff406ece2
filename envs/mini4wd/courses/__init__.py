"""Data: courses."""
