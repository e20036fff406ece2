"""Profiles: descriptions of the sensors and commands of a car's electronics."""
