"""The meetings of live messages, found by region, course id and course name."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_WAITS = "changes_at IS NOT NULL"


def upgrade() -> None:
    table = op.create_table(
        "live_meeting",
        sa.Column(
            "message_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("race_date", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("course_id", sa.String(), nullable=True),
        sa.Column("course_name", sa.String(), nullable=True),
        sa.Column("folded_name", sa.String(), nullable=True),
        sa.Column("changes_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_index("ix_live_meeting_race_date", "live_meeting", ["race_date"])
    op.create_index(
        "ix_live_meeting_changes_at",
        "live_meeting",
        ["changes_at"],
        sqlite_where=sa.text(_WAITS),
        postgresql_where=sa.text(_WAITS),
    )
    kept = op.get_bind().execute(sa.text("SELECT id, content FROM message WHERE kind = 'live'")).all()
    if rows := [row for number, content in kept if (row := _row(number, json.loads(content)))]:
        op.bulk_insert(table, rows)


def _row(number: int, meeting: dict[str, object]) -> dict[str, object] | None:
    course = meeting.get("course")
    named = course if isinstance(course, dict) else {}
    if not meeting.get("race_date"):
        return None
    name = named.get("name")
    return {
        "message_id": number,
        "race_date": meeting["race_date"],
        "region": meeting.get("region"),
        "course_id": named.get("course_id"),
        "course_name": name,
        "folded_name": " ".join(str(name).split()).casefold() if name else None,
    }
