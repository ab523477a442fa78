"""The meetings of the race book's races, and the races with news for fan-out."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TOGETHER = 500


def upgrade() -> None:
    op.create_table(
        "learnt_race",
        sa.Column("race_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("race_id"),
    )
    op.add_column("book_race", sa.Column("meeting_id", sa.Text(), nullable=True))
    _read_meetings(op.get_bind())
    op.create_index(
        "ix_book_race_meeting_id",
        "book_race",
        ["meeting_id"],
        unique=False,
        postgresql_where=sa.text("meeting_id IS NOT NULL"),
        sqlite_where=sa.text("meeting_id IS NOT NULL"),
    )


def _read_meetings(connection: sa.Connection) -> None:
    """Row by row: a row that can't be read has no meeting, and keeps no other row from the meeting."""
    book = sa.table("book_race", sa.column("race_id"), sa.column("data"), sa.column("meeting_id"))
    change = book.update().where(book.c.race_id == sa.bindparam("race")).values(meeting_id=sa.bindparam("meeting"))
    last = ""
    while rows := connection.execute(
        sa.select(book.c.race_id, book.c.data).where(book.c.race_id > last).order_by(book.c.race_id).limit(TOGETHER)
    ).all():
        found = [{"race": race_id, "meeting": meeting} for race_id, data in rows if (meeting := _meeting_of(data))]
        if found:
            connection.execute(change, found)
        last = rows[-1][0]


def _meeting_of(data: str) -> str | None:
    try:
        race = json.loads(data)
    except ValueError:
        return None
    meeting = race.get("meeting_id") if isinstance(race, dict) else None
    # PostgreSQL stores no text with NUL.
    return meeting if isinstance(meeting, str) and "\0" not in meeting else None
