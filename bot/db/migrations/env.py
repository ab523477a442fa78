"""Alembic's way in: runs the migrations on the connection that bot.db.migrate passes."""

from alembic import context
from sqlmodel import SQLModel

from bot.db import tables

assert tables, "imported so that SQLModel.metadata is whole"

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
