"""Training with Stable-Baselines3, and trained policies as agents. Needs the extra `sb3`."""
