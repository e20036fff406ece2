"""Sources that the engine completes and writes into the cache folder, one module per game or per game and agent."""
