"""Watches: the names that channels and people follow."""

import sqlalchemy as sa
from alembic import op

from bot.db import generation

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "watch",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("channel_id", "kind", "name_key", name="uq_watch_channel_id_kind_name_key"),
        sa.CheckConstraint("kind IN ('horse', 'trainer', 'jockey')", name="ck_watch_kind"),
    )
    generation.make_table_triggers(op.get_bind(), "watch")
