"""Profiles: what the electronics of a car can sense and do."""
