"""How older stores become newer ones: Alembic's scripts, run by `asobiba.arena.schema.upgrade`."""
