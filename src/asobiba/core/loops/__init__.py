"""The loops over games and seats: real modules over a placeholder game, bound to each game's kernels when needed."""
