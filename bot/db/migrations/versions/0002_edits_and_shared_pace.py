"""Posts that edit others, races named by meetings, a pace that replicas share, abandonments found first."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "named_race",
        sa.Column("race_id", sa.Text(), nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("race_id", "event_key"),
    )
    op.create_table(
        "method_pace",
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("calls", sa.Float(), nullable=False),
        sa.Column("counted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("method"),
    )
    urgent = "state = 'new' AND event_name IN ('race.abandoned', 'meeting.abandoned')"
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.create_index(
            "ix_inbox_urgent",
            ["received_at", "id"],
            unique=False,
            postgresql_where=sa.text(urgent),
            sqlite_where=sa.text(urgent),
        )

    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.add_column(sa.Column("race_date", sa.String(), nullable=True))
        batch_op.create_index("ix_event_race_date", ["race_date", "kind"], unique=False)

    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    with op.batch_alter_table("post", schema=None) as batch_op:
        batch_op.add_column(sa.Column("edits_post_id", big, nullable=True))
        batch_op.create_index(
            "ix_post_edits_post_id",
            ["edits_post_id"],
            unique=False,
            postgresql_where=sa.text("edits_post_id IS NOT NULL"),
            sqlite_where=sa.text("edits_post_id IS NOT NULL"),
        )
