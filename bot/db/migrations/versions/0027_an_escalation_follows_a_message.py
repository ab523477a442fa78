"""An escalation has the message that asks in a column."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_ASKING = re.compile(r'"message_id":(\d+)')


def upgrade() -> None:
    op.add_column("message", sa.Column("follows_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    found = op.get_bind().execute(sa.text("SELECT id, content FROM message WHERE kind = 'escalation'")).all()
    follow = sa.text("UPDATE message SET follows_id = :asking WHERE id = :number")
    for number, content in found:
        if asking := _ASKING.search(content):
            op.get_bind().execute(follow, {"number": number, "asking": int(asking[1])})
    is_escalation, is_due = "follows_id IS NOT NULL", "state = 'sent' AND wanted_rev > sent_rev AND gone_since IS NULL"
    _index("ix_message_follows_id", ["follows_id"], is_escalation)
    # SQLite takes the newest of two partial indexes.
    op.drop_index("ix_message_to_edit", "message")
    _index("ix_message_to_edit", ["channel_id", "priority", "id"], is_due)


def _index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "message", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
