"""Upgrades of older stores: Alembic's scripts, run by `asobiba.arena.schema.upgrade`."""
