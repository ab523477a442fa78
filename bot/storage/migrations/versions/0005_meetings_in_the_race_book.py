"""The meetings of the race book's races, and the races with news for fan-out."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_MEETING = {
    "sqlite": "json_extract(data, '$.meeting_id')",
    "postgresql": "data::json ->> 'meeting_id'",
}


def upgrade() -> None:
    op.create_table(
        "learnt_race",
        sa.Column("race_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("race_id"),
    )
    op.add_column("book_race", sa.Column("meeting_id", sa.Text(), nullable=True))
    op.execute(sa.text(f"UPDATE book_race SET meeting_id = {_MEETING[op.get_bind().dialect.name]}"))  # noqa: S608  ours
    op.create_index(
        "ix_book_race_meeting_id",
        "book_race",
        ["meeting_id"],
        unique=False,
        postgresql_where=sa.text("meeting_id IS NOT NULL"),
        sqlite_where=sa.text("meeting_id IS NOT NULL"),
    )
