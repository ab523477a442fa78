"""Who changed what a channel receives, meetings that channels muted, a channel's last post found by index."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("reference", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_channel_id", "audit", ["channel_id", "id"], unique=False)
    op.create_index("ix_audit_user_id", "audit", ["user_id", "id"], unique=False)
    op.create_table(
        "muted_meeting",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("meeting", sa.Text(), nullable=False),
        sa.Column("muted_by", sa.String(), nullable=False),
        sa.Column("muted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_muted_meeting_muted_at", "muted_meeting", ["muted_at"], unique=False)
    op.create_index(
        "ix_post_sent",
        "post",
        ["channel_id", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'sent'"),
        sqlite_where=sa.text("state = 'sent'"),
    )
