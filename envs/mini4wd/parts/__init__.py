"""Data: motors, batteries, sensors, track systems, randomisation ranges."""
