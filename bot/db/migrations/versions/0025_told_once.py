"""Notices are withdrawn in their own table. Missing races and records that can't be read are notices too."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_UNREAD = "repair.unread"


def upgrade() -> None:
    op.add_column("notice", sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "INSERT INTO notice (key, created_at, withdrawn_at)"
        " SELECT 'missing-race:' || race_date || ':' || race_id, told_at, came_at FROM missing_race"
    )
    op.drop_table("missing_race")
    op.execute(
        "UPDATE notice SET withdrawn_at = created_at"
        " WHERE key LIKE 'refused:unauthorized:%' AND 'taken-after:' || key IN (SELECT key FROM notice)"
    )
    connection = op.get_bind()
    of_unread = {"name": _UNREAD}
    stored = connection.execute(sa.text("SELECT value FROM stored_state WHERE name = :name"), of_unread).scalar()
    for record in json.loads(stored) if stored else ():
        values = {"key": f"unread-record:{record}", "name": _UNREAD}
        connection.execute(
            sa.text(
                "INSERT INTO notice (key, created_at) SELECT :key, updated_at FROM stored_state WHERE name = :name"
            ),
            values,
        )
    connection.execute(sa.text("DELETE FROM stored_state WHERE name = :name"), of_unread)
