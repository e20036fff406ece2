"""Targets that kernels are compiled for besides this machine. Rules, loops and agents know nothing of it."""
