"""What has not come when it should have, and indexes by which the last day's deliveries and posts are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "missing",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("race_id", sa.Text(), nullable=True),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("race_date", sa.String(), nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("came_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("key"),
        sa.CheckConstraint("kind IN ('race', 'delivery', 'day', 'subscription')", name="ck_missing_kind"),
    )
    is_open = sa.text("came_at IS NULL")
    op.create_index("ix_missing_open", "missing", ["key"], sqlite_where=is_open, postgresql_where=is_open)
    op.create_index("ix_inbox_received_at", "inbox", ["received_at", "event_name"])
    is_sent = sa.text("state = 'sent' AND kind = 'event'")
    op.create_index(
        "ix_message_event_sent",
        "message",
        ["sent_at", "received_at"],
        sqlite_where=is_sent,
        postgresql_where=is_sent,
    )
