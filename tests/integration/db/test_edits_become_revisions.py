"""A database with a row for each edit, migrated: what waited is due, what was said is known, nothing else is told."""

from datetime import timedelta
from typing import Any, NamedTuple

import pytest_asyncio
from sqlalchemy import MetaData, Table, insert, select

from bot.db import migrate
from bot.db.tables import EventVersion, MessageKind, OutboxMessage, SaidRow
from tests.clock import START

BEFORE = "0023"
MINUTE = timedelta(minutes=1)
RESULT, RACE, MEETING = "result.received:rc_1", "race.abandoned:rc_2", "meeting.abandoned:meeting=mt_1"

SENT = {"state": "sent", "message_ts": "1.1", "sent_at": START, "attempts": 1}
DEAD = {"state": "dead_letter", "reason": "refused", "given_up_at": START}
UNDER_WAY = {"state": "sending", "sending_at": START, "deadline_at": START + MINUTE, "attempts": 1}


class Row(NamedTuple):
    """A row before. `told`: the event's key and version. `edits`: the name of the edited row."""

    name: str
    kind: str
    columns: dict[str, Any]
    told: tuple[str, int] | None = None
    edits: str | None = None
    key: str | None = None
    channel: str = "CGB"


ROWS = [
    Row("result", "event", SENT, (RESULT, 1)),
    Row("made", "edit", SENT, (RESULT, 2), "result"),
    Row("waits", "edit", {}, (RESULT, 3), "result"),
    Row("folded into an edit", "edit", {"state": "folded"}, (RESULT, 4), "made"),
    Row("again", "edit", {}, (RESULT, 2), "result"),
    Row("unsent", "event", {}, (RESULT, 1), channel="CALL"),
    Row("with it", "edit", {}, (RESULT, 2), "unsent", channel="CALL"),
    # An edit waits for a message that was given up.
    Row("dead", "event", DEAD, (RESULT, 1), channel="CDEAD"),
    Row("tells", "edit", UNDER_WAY, (RESULT, 2), "dead", channel="CDEAD"),
    Row("dead too", "event", DEAD, (RESULT, 1), channel="CTOLD"),
    Row("told there", "event", SENT, (RESULT, 2), channel="CTOLD"),
    Row("needless", "edit", {}, (RESULT, 2), "dead too", channel="CTOLD"),
    Row("dead twice", "event", DEAD, (RESULT, 1), channel="CTWICE"),
    Row("earlier", "edit", {}, (RESULT, 2), "dead twice", channel="CTWICE"),
    Row("later", "edit", {}, (RESULT, 3), "dead twice", channel="CTWICE"),
    Row("later values", "edit", {}, (RESULT, 3), "dead twice", channel="CTWICE"),
    Row("dead meeting", "event", DEAD, (MEETING, 1)),
    Row("race", "edit", {}, (RACE, 1), "dead meeting"),
    # Abandonments that people have taken, their escalation, and live messages.
    Row("meeting", "event", SENT, (MEETING, 2)),
    Row("by whom", "edit", {}, (MEETING, 2), "meeting", key="meeting@CGB!taken"),
    Row("escalation", "escalation", SENT),
    Row("shows it", "escalation_edit", {}, None, "escalation"),
    Row("live", "live", SENT),
    Row("live made", "live_edit", SENT, None, "live"),
    Row("live waits", "live_edit", UNDER_WAY, None, "live"),
    Row("gone", "live", SENT),
    Row("refused", "live_edit", {"state": "folded", "sending_at": START}, None, "gone"),
]
IDS = {row.name: 10 * number for number, row in enumerate(ROWS, start=1)}
NAMES = {number: name for name, number in IDS.items()}


def fill(connection) -> None:
    old = MetaData()
    inbox, event, message = (Table(name, old, autoload_with=connection) for name in ("inbox", "event", "message"))
    arrived = {"id": 1, "event_key": RESULT, "body_sha256": "1", "received_at": START, "state": "done", "attempts": 1}
    connection.execute(insert(inbox).values(arrived))
    versions = {told: number for number, told in enumerate(sorted({row.told for row in ROWS if row.told}), start=1)}
    for (key, version), number in versions.items():
        values = {"id": number, "event_key": key, "version": version, "kind": key.split(":")[0], "inbox_id": 1}
        connection.execute(insert(event).values(values | {"data": "{}", "received_at": START, "posts": 1}))
    zeros = {"attempts": 0, "looks": 0, "failed_looks": 0, "plain": False, "may_be_repeat": False, "priority": 2}
    for row in ROWS:
        values = zeros | {"state": "queued", "received_at": START} | row.columns
        values |= {"id": IDS[row.name], "channel_id": row.channel, "kind": row.kind}
        values |= {"idempotency_key": row.key or f"{row.name}@{row.channel}", "content": None if row.told else "{}"}
        values |= {"event_id": versions[row.told] if row.told else None}
        values |= {"edits_id": IDS[row.edits] if row.edits else None}
        if values["state"] == "folded":
            values["folded_into"] = values["edits_id"]
        connection.execute(insert(message).values(values))


SAID = {
    ("result", RESULT, 2): (0, True),
    ("result", RESULT, 3): (1, False),
    ("result", RESULT, 4): (0, False),
    ("unsent", RESULT, 2): (1, False),
    ("dead too", RESULT, 2): (1, False),
    ("dead twice", RESULT, 2): (1, False),
    ("dead twice", RESULT, 3): (1, False),
}
"""Message and told event → revision, and whether Slack shows the event."""

WANTED = {"result", "unsent", "dead too", "dead twice", "meeting", "escalation", "live"}
POSTED_NOW = {"unsent", "tells", "later values", "race"}


@pytest_asyncio.fixture
async def migrated(empty_database):
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to=BEFORE)
        fill(connection)
    assert migrate.upgrade(empty_database).before == BEFORE
    return empty_database


async def test_edits_become_revisions(migrated):
    def read(session):
        told = {row.id: (row.event_key, row.version) for row in session.execute(select(EventVersion)).scalars()}
        said = {
            (NAMES[row.message_id], *told[row.event_id]): (row.rev, row.said_at is not None)
            for row in session.execute(select(SaidRow)).scalars()
        }
        messages = {NAMES[row.id]: row for row in session.execute(select(OutboxMessage)).scalars()}
        return said, messages

    said, messages = await migrated.read(read)
    assert said == SAID
    edits = {row.name for row in ROWS if row.edits}
    assert messages.keys() == {row.name for row in ROWS} - edits | {"tells", "later values", "race"}
    assert {name for name, row in messages.items() if row.wanted_rev > row.sent_rev} == WANTED
    assert {name for name, row in messages.items() if row.state == "queued"} == POSTED_NOW
    assert {name for name, row in messages.items() if row.gone_since} == {"gone"}
    assert {name for name, row in messages.items() if row.passes_pause} == {"meeting"}
    assert messages["result"].wanted_at == START
    assert messages["tells"].kind == messages["race"].kind == MessageKind.EVENT
