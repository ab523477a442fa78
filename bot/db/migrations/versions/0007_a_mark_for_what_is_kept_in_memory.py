"""A mark that changes with whatever processes keep in memory, and indexes for a long history."""

import sqlalchemy as sa
from alembic import op

from bot.db import generation

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "generation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    generation.make_first_triggers(op.get_bind())
    op.drop_index("ix_event_race_date", "event")
    op.create_index("ix_event_race_date", "event", ["race_date", "kind", "received_at"])
    without_id = sa.text("race_id IS NULL")
    op.create_index(
        "ix_event_without_race_id",
        "event",
        ["race_date", "received_at"],
        sqlite_where=without_id,
        postgresql_where=without_id,
    )
