"""Alembic's way in: runs the migrations on the connection that bot.db.migrate passes."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
