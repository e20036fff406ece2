"""asobiba (遊び場, "playground"): reinforcement-learning environments for games that no other collection has."""
