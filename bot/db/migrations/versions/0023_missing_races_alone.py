"""Races that admins were told of as missing. A silent day and a silent subscription are words about races."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "missing_race",
        sa.Column("race_id", sa.Text(), primary_key=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("race_date", sa.String(), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("came_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.execute(
        "INSERT INTO missing_race (race_id, name, race_date, told_at, came_at)"
        " SELECT race_id, name, race_date, told_at, came_at FROM missing"
        " WHERE race_id IS NOT NULL AND told_at IS NOT NULL"
    )
    op.drop_table("missing")
