"""A delivery is known by each of its events. A delivery that waits already stays known by a single key."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "inbox_key",
        sa.Column("inbox_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["inbox_id"], ["inbox.id"]),
        sa.PrimaryKeyConstraint("inbox_id", "event_key"),
    )
    op.create_index("ix_inbox_key_event_key", "inbox_key", ["event_key"])
