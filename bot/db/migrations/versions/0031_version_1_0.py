"""The schema of version 1.0, out of the schema of commit b7b2c51.

- An edit is a revision of its message, and no row of its own. `said` has the events that a message shows besides. What
  waits is due once more: an edit under way is made again, which changes nothing. A waiting edit of a message that was
  given up becomes a message, unless another message of the channel tells the event.
- A body is stored once, whatever key a version of the bot reads from the body.
- A job keeps the last slot alone. Missing outcomes are told by meeting, and are looked for anew.
- Told notices have a row until they are over. So have records that can't be read.
- Waiting notices have their name in their content. Escalations have the minutes there, and a column for the message
  that asks.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

from bot.db import generation

revision = "0031"
down_revision = "0018"

_EDITS_TO_REVISIONS = Path(__file__).with_name("0031_edits_to_revisions.sql").read_text(encoding="utf-8").strip(";\n")
_EDITS = "('edit', 'live_edit', 'escalation_edit')"
_MOMENT = sa.DateTime(timezone=True)
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TO_EDIT = "state = 'sent' AND wanted_rev > sent_rev AND gone_since IS NULL"
_CHECKS = {
    "ck_message_kind": "kind IN ('event', 'live', 'summary', 'notice', 'welcome', 'answer', 'escalation')",
    "ck_message_event": "(kind = 'event') = (event_id IS NOT NULL)",
    "ck_message_rev": "wanted_rev >= sent_rev",
    "ck_message_gone": "gone_since IS NULL OR kind <> 'event'",
}
"""In the place of the checks of `_OF_EDITS`."""
_OF_EDITS = ("ck_message_kind", "ck_message_event", "ck_message_edits", "ck_message_edit_in_doubt")
_MESSAGE = sa.table(
    "message",
    *(sa.column(name, sa.String()) for name in ("kind", "state", "idempotency_key", "content")),
    *(sa.column(name, sa.BigInteger()) for name in ("id", "follows_id")),
    *(sa.column(name, _MOMENT) for name in ("received_at", "sent_at", "given_up_at")),
)


def upgrade() -> None:
    _keep_last_slots()
    _store_bodies_once()
    op.drop_table("missing")
    _keep_what_was_told()
    _note_what_was_touched()
    generation.make_after_locks(op.get_bind())
    _turn_edits_into_revisions()


def _keep_last_slots() -> None:
    op.rename_table("job_run", "job_slots")
    op.create_table(
        "job_run",
        sa.Column("job", sa.String(), primary_key=True, nullable=False),
        sa.Column("slot_at", _MOMENT, nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("leased_until", _MOMENT, nullable=True),
        sa.Column("done_at", _MOMENT, nullable=True),
    )
    op.execute(
        "INSERT INTO job_run (job, slot_at, claimed_by, done_at)"
        " SELECT job, max(done_at), max(claimed_by), max(done_at) FROM job_slots WHERE done_at IS NOT NULL GROUP BY job"
    )
    op.drop_table("job_slots")


def _store_bodies_once() -> None:
    """Of rows with the same body the first keeps the hash. The other rows keep their events and messages."""
    op.execute(
        "UPDATE inbox SET body_sha256 = 'stored before, ' || id"
        " WHERE body_sha256 IN (SELECT body_sha256 FROM inbox GROUP BY body_sha256 HAVING count(*) > 1)"
        " AND id NOT IN (SELECT min(id) FROM inbox GROUP BY body_sha256 HAVING count(*) > 1)"
    )
    op.create_index("uq_inbox_body_sha256", "inbox", ["body_sha256"], unique=True)
    op.add_column("inbox", sa.Column("region", sa.Text(), nullable=False, server_default=""))
    _index("ix_inbox_region", "inbox", ["region", "received_at", "id"], "state = 'new'")


def _keep_what_was_told() -> None:
    op.execute(
        "DELETE FROM notice WHERE key LIKE 'refused:unauthorized:%'"
        " AND 'taken-after:' || key IN (SELECT key FROM notice)"
    )
    unread = "FROM stored_state WHERE name = 'repair.unread'"
    connection = op.get_bind()
    stored = connection.execute(sa.text(f"SELECT value {unread}")).scalar()
    for record in json.loads(stored) if stored else ():
        tell = sa.text(f"INSERT INTO notice (key, created_at) SELECT :key, updated_at {unread}")
        connection.execute(tell, {"key": f"unread-record:{record}"})
    connection.execute(sa.text(f"DELETE {unread}"))


def _note_what_was_touched() -> None:
    op.create_table(
        "touched",
        sa.Column("what", sa.Text(), primary_key=True, nullable=False),
        sa.Column("name", sa.Text(), primary_key=True, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("not_before", _MOMENT, nullable=True),
    )
    op.execute("INSERT INTO touched (what, name) SELECT 'race', race_id FROM learnt_race")
    op.drop_table("learnt_race")


def _turn_edits_into_revisions() -> None:
    for column in _new_columns():
        op.add_column("message", column)
    op.create_table(
        "said",
        sa.Column("message_id", _KEY, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("event_id", _KEY, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("rev", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("said_at", _MOMENT, nullable=True),
    )
    op.create_index("ix_said_event_id", "said", ["event_id"])
    _point_to_messages()
    for statement in _EDITS_TO_REVISIONS.split(";\n"):
        op.execute(statement)
    _forget_edits()
    _fill_contents()
    _index("ix_message_follows_id", "message", ["follows_id"], "follows_id IS NOT NULL")
    # SQLite takes the newest of two partial indexes.
    _index("ix_message_to_edit", "message", ["channel_id", "priority", "id"], _TO_EDIT)


def _index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _new_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("wanted_rev", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("sent_rev", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("wanted_at", _MOMENT, nullable=True),
        sa.Column("after_id", _KEY, nullable=True),
        sa.Column("passes_pause", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("edit_attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("edit_sending_at", _MOMENT, nullable=True),
        sa.Column("gone_since", _MOMENT, nullable=True),
        sa.Column("follows_id", _KEY, nullable=True),
    ]


def _point_to_messages() -> None:
    """An edit that pointed to an edit points to the edited message. So does a message folded into an edit."""
    is_edit = f"IN (SELECT id FROM message WHERE kind IN {_EDITS})"  # noqa: S608  a constant
    for column in ("edits_id", "folded_into"):
        target = f"(SELECT of.edits_id FROM message AS of WHERE of.id = message.{column})"  # noqa: S608  constants
        pointing = sa.text(f"UPDATE message SET {column} = {target} WHERE {column} {is_edit}")  # noqa: S608  constants
        while op.get_bind().execute(pointing).rowcount:
            pass


def _forget_edits() -> None:
    op.execute(f"DELETE FROM message WHERE kind IN {_EDITS}")  # noqa: S608  a constant
    with op.batch_alter_table("message") as message:
        message.drop_index("ix_message_edits_id")
        for name in _OF_EDITS:
            message.drop_constraint(name, type_="check")
        for name, words in _CHECKS.items():
            message.create_check_constraint(name, words)
        message.drop_column("edits_id")


def _fill_contents() -> None:
    """A content that can't be read stays as it is."""
    connection, row = op.get_bind(), _MESSAGE.c
    waits = sa.and_(row.kind == "notice", row.state.in_(["queued", "sending", "in_doubt"]))
    told_at = sa.select(sa.func.coalesce(row.sent_at, row.given_up_at, row.received_at))
    for one in connection.execute(sa.select(_MESSAGE).where(sa.or_(waits, row.kind == "escalation"))).all():
        content = _read(one.content)
        if content is None:
            continue
        alert = content.get("message_id")
        if one.kind == "notice":
            # The key ends with the channel.
            content = {"notice": one.idempotency_key.rpartition("@")[0]} | content
        else:
            since = connection.execute(told_at.where(row.id == alert)).scalar() or one.received_at
            minutes = content.get("minutes") or max(1, (one.received_at - since) // timedelta(minutes=1))
            content = content | {"minutes": minutes}
        written = {"content": json.dumps(content), "follows_id": alert}
        connection.execute(sa.update(_MESSAGE).where(row.id == one.id).values(written))


def _read(said: str) -> dict[str, Any] | None:
    try:
        content = json.loads(said)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
