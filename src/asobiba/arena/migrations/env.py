"""Runs the migrations on the connection that `asobiba.arena.schema.upgrade` gives."""

from alembic import context

from asobiba.arena.schema import TABLES

context.configure(connection=context.config.attributes["connection"], target_metadata=TABLES, transactional_ddl=False)
context.run_migrations()
