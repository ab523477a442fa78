"""A database of commit b7b2c51 with messages in every state, taken over and run: none is lost, and none is told twice.

An edit was a row of its own then, and is a revision of the edited message now.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest_asyncio
from sqlalchemy import MetaData, Table, insert, select, text, update
from sqlmodel import Session, col

from bot.channels import pauses
from bot.channels.filters import ChannelFilter, Meeting
from bot.db import migrate
from bot.db.tables import ChannelQueue, ChannelSubscriptionRow, EventVersion, MessageKind, OutboxMessage, SaidRow
from bot.events import event_store
from bot.events.event import DEFAULT_TOPICS, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox import backlog, held_queues, message_store
from bot.outbox.acknowledgements import Escalated, StoredRequest
from bot.outbox.message import Message, Sending
from bot.outbox.message_store import NewPost, Priority
from tests.clock import DAY, START
from tests.databases import OLDEST

RESULT = "result.received"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CLOSED_AT = START - 5 * HOUR
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

SENT = {"state": "sent", "attempts": 1, "sending_at": START, "deadline_at": START, "sent_at": START}
UNDER_WAY = {"attempts": 1, "sending_at": START - 2 * MINUTE, "deadline_at": START - MINUTE}
SENDING, IN_DOUBT = {"state": "sending", **UNDER_WAY}, {"state": "in_doubt", **UNDER_WAY}
FOLDED = {"state": "folded"}
MUTED = {"state": "muted", "muted_by": "UALICE"}
OLD = {"received_at": START - 4 * HOUR}


def given_up(reason: str, at: datetime = START) -> dict[str, Any]:
    return {"state": "dead_letter", "reason": reason, "given_up_at": at, "detail": f"why: {reason}"}


@dataclass(frozen=True)
class Row:
    """A message before. `told`: the race and the version of its result. `of`: the message edited, or folded into."""

    name: str
    channel: str
    kind: str
    columns: dict[str, Any] = field(default_factory=dict)
    told: tuple[str, int] | None = None
    of: str | None = None
    key: str | None = None

    @property
    def idempotency_key(self) -> str:
        return self.key or f"{self.name}@{self.channel}"

    @property
    def is_edit(self) -> bool:
        return self.kind.endswith("edit")


ROWS = [
    Row("sent", "CGB", "event", SENT, ("sent", 1)),
    Row("made", "CGB", "edit", SENT, ("sent", 2), "sent"),
    Row("waits", "CGB", "edit", {}, ("sent", 3), "sent"),
    Row("folded into an edit", "CGB", "edit", FOLDED, ("sent", 4), "made"),
    Row("again", "CGB", "edit", SENDING, ("sent", 2), "sent"),
    Row("sent alone", "CGB", "event", SENT, ("alone", 1)),
    Row("made alone", "CGB", "edit", SENT, ("alone", 2), "sent alone"),
    Row("refused edit", "CGB", "edit", given_up("refused"), ("alone", 3), "sent alone"),
    Row("taken", "CGB", "event", SENT, ("taken", 1)),
    Row("by whom", "CGB", "edit", {}, ("taken", 1), "taken", key="taken@CGB!taken"),
    Row("found", "CGB", "event", IN_DOUBT, ("found", 1)),
    Row("not there", "CGB", "event", IN_DOUBT | {"looks": 1}, ("not there", 1)),
    Row("sending", "CGB", "event", SENDING, ("sending", 1)),
    Row("queued", "CGB", "event", {"detail": "ratelimited"}, ("queued", 1)),
    Row("with it", "CGB", "edit", {}, ("queued", 2), "queued"),
    Row("muted", "CGB", "event", MUTED, ("muted", 1)),
    *(
        Row(f"dead {reason}", "CGB", "event", given_up(reason), (reason, 1))
        for reason in ("refused", "in_vain", "unresolved", "unsubscribed", "no_entry")
    ),
    Row("welcome", "CGB", "welcome"),
    Row("answer", "UALICE", "answer"),
    Row("no entry", "UALICE", "notice", given_up("no_entry")),
    Row("warning", "CADMIN", "notice"),
    Row("known warning", "UALICE", "notice", SENT, key="warning@UALICE"),
    # A closed channel: messages of this closing waited too long, another of an earlier closing.
    Row("late", "CIRE", "event", given_up("waited_too_long", CLOSED_AT), ("late", 1)),
    Row("later", "CIRE", "event", given_up("waited_too_long", CLOSED_AT + MINUTE), ("later", 1)),
    Row("before", "CIRE", "event", given_up("waited_too_long", CLOSED_AT - 80 * HOUR), ("before", 1)),
    Row("for the channel", "CIRE", "event", OLD, ("for the channel", 1)),
    Row("its edit", "CIRE", "edit", OLD, ("for the channel", 2), "for the channel"),
    Row("young", "CIRE", "event", {}, ("young", 1)),
    # A channel on trial, whose summary was sent and whose next summary waits.
    Row("summary", "CALL", "summary", SENT),
    Row("in summary", "CALL", "event", FOLDED, ("in summary", 1), "summary"),
    Row("edit in summary", "CALL", "edit", FOLDED, ("in summary", 2), "in summary"),
    Row("next summary", "CALL", "summary", {"priority": -1}),
    Row("in next summary", "CALL", "event", FOLDED, ("in next summary", 1), "next summary"),
    Row("while paused", "CPAUSED", "event", {}, ("while paused", 1)),
    Row("paused notice", "CPAUSED", "notice"),
    Row("leased", "CLEASED", "event", SENDING, ("leased", 1)),
    # Edits wait for a message that was given up: the newest becomes a message, unless another message tells the event.
    Row("dead", "CDEAD", "event", given_up("refused"), ("dead", 1)),
    Row("tells", "CDEAD", "edit", SENDING, ("dead", 2), "dead"),
    Row("dead too", "CDEAD", "event", given_up("refused"), ("told", 1)),
    Row("told there", "CDEAD", "event", SENT, ("told", 2)),
    Row("needless", "CDEAD", "edit", {}, ("told", 2), "dead too"),
    Row("dead twice", "CDEAD", "event", given_up("refused"), ("twice", 1)),
    Row("earlier", "CDEAD", "edit", {}, ("twice", 2), "dead twice"),
    Row("newest", "CDEAD", "edit", {}, ("twice", 3), "dead twice"),
    Row("newest values", "CDEAD", "edit", {}, ("twice", 3), "dead twice"),
    # Escalations and live messages, each with an edit made, under way, or refused because the message is gone.
    Row("escalation", "CLIVE", "escalation", SENT),
    Row("escalation's edit", "CLIVE", "escalation_edit", {}, None, "escalation"),
    Row("new escalation", "CLIVE", "escalation", {"received_at": START + 7 * MINUTE}),
    Row("unreadable", "CLIVE", "escalation", given_up("refused")),
    Row("no object", "CLIVE", "escalation", given_up("refused")),
    Row("live", "CLIVE", "live", SENT),
    Row("live made", "CLIVE", "live_edit", SENT, None, "live"),
    Row("live waits", "CLIVE", "live_edit", SENDING, None, "live"),
    Row("gone", "CLIVE", "live", SENT),
    Row("gone edit", "CLIVE", "live_edit", FOLDED | {"sending_at": START}, None, "gone"),
    Row("new live", "CLIVE", "live"),
    Row("in its thread", "CLIVE", "event", {"thread_of": "live"}, ("in its thread", 1)),
]
NAMED = {row.name: row for row in ROWS}
IDS = {row.name: 10 * number for number, row in enumerate(ROWS, start=1)}
NAMES = {number: name for name, number in IDS.items()}

BECOME_MESSAGES = {"tells", "newest values"}
WANTED = {"sent", "taken", "queued", "for the channel", "dead too", "dead twice", "escalation", "live"}
SAID = {
    ("sent", 2): (0, True),
    ("sent", 3): (1, False),
    ("sent", 4): (0, False),
    ("sent alone", 2): (0, True),
    ("queued", 2): (1, False),
    ("for the channel", 2): (1, False),
    ("in summary", 2): (0, False),
    ("dead too", 2): (1, False),
    ("dead twice", 2): (1, False),
    ("dead twice", 3): (1, False),
}
"""Message and version of its result → revision, and whether Slack shows the version."""

QUEUES: dict[str, dict[str, Any]] = {
    **{channel: {} for channel in ("CGB", "UALICE", "CADMIN", "CDEAD", "CLIVE")},
    "CIRE": {"state": "closed", "state_reason": "is_archived", "state_since": CLOSED_AT},
    "CALL": {"state": "on_trial", "state_reason": "is_archived", "state_since": CLOSED_AT},
    "CPAUSED": {"state": "paused", "state_since": START - HOUR},
    "CLEASED": {"lease_token": "old", "leased_until": START + MINUTE},
}


def old_rows(events: dict[tuple[str, int], int], ts_of: dict[str, str]) -> Iterator[dict[str, Any]]:
    zeros = dict.fromkeys(("attempts", "looks", "failed_looks"), 0) | {"plain": False, "may_be_repeat": False}
    contents = {
        "live": Meeting(course=Course(name="Ascot"), race_date=DAY, region="GB").model_dump_json(),
        "escalation": f'{{"message_id":{IDS["taken"]},"people":["UALICE"],"minutes":5}}',
        "new escalation": f'{{"message_id":{IDS["taken"]},"people":["UALICE"],"minutes":null}}',
        "unreadable": "{",
        "no object": "[]",
    }
    for row in ROWS:
        content = json.dumps({"text": row.name})
        content = contents.get(row.name) or contents.get(row.kind.removesuffix("_edit"), content)
        values = zeros | {"state": "queued", "received_at": START - HOUR, "priority": int(Priority.OTHER)} | row.columns
        values |= {"id": IDS[row.name], "channel_id": row.channel, "kind": row.kind}
        values |= {"idempotency_key": row.idempotency_key, "content": None if row.told else content}
        values |= {"event_id": events[row.told] if row.told else None}
        values |= {"edits_id": IDS[row.of or ""] if row.is_edit else None}
        values |= {"folded_into": IDS[row.of or ""] if values["state"] == "folded" else None}
        values |= {"thread_of": IDS[row.columns["thread_of"]] if "thread_of" in row.columns else None}
        values |= {"message_ts": ts_of.get(row.name, "1.0") if values["state"] == "sent" else None}
        yield values


def store_events(connection) -> dict[tuple[str, int], int]:
    """Stores a result of each race and version. The winner's name has both."""
    known = {}
    inbox = Table("inbox", MetaData(), autoload_with=connection)
    delivery = {"event_key": "", "received_at": START, "state": "done", "attempts": 0}
    with Session(connection, join_transaction_mode="create_savepoint") as session:
        for number, (race_id, version) in enumerate(sorted({row.told for row in ROWS if row.told}), start=1):
            session.execute(insert(inbox).values(delivery | {"id": number, "body_sha256": f"{number}"}))
            race = Race(
                race_id=race_id,
                region="GB",
                race_date=DAY,
                title=f"<{race_id}>",
                course=Course(name="Ascot"),
                off=OffTime(text="14:30"),
                runners=(Runner(position="1", horse=f"Horse {race_id} {version}"),),
            )
            told = RacingEvent(key=f"{RESULT}:{race_id}", kind=RESULT, name=RESULT, race=race)
            row = event_store.make(told, version, remarks=VersionRemarks(), inbox_id=number, received_at=START - HOUR)
            session.add(row)
            session.flush()
            known[race_id, version] = row.id or 0
        for state, channel in (("suspended", "CALL"), ("paused", "CPAUSED"), ("suspended", "CIRE"), ("live", "CGB")):
            session.add(
                ChannelSubscriptionRow(
                    channel_id=channel,
                    region="GB",
                    created_by="UALICE",
                    filter=ChannelFilter(region="GB", topics=DEFAULT_TOPICS).model_dump_json(),
                    state=state,
                    state_reason="is_archived" if state == "suspended" else None,
                    paused_until=pauses.UNTIL_RESUMED if state == "paused" else None,
                    created_at=START,
                    updated_at=START,
                )
            )
        session.commit()
    return known


@pytest_asyncio.fixture
async def database(old_database):
    return old_database


@pytest_asyncio.fixture
async def taken_over(database, slack, pipeline):
    """The pipeline on the database, where Slack has what the earlier version had sent."""
    for channel in ("CPAUSED", "CLEASED", "CDEAD", "CLIVE"):
        slack.add_channel(channel, channel.lower(), bot_is_member=True)
    ts_of = {}
    for row in ROWS:
        if not row.is_edit and (row.columns.get("state") == "sent" or row.name == "found"):
            said = Message(text=f"as sent: {row.name}")
            sending = Sending(row.idempotency_key, 5)
            ts_of[row.name] = await pipeline.sender.post(row.channel, said, sending)
    with database.writer.begin() as connection:
        events = store_events(connection)
        old = MetaData()
        names = ("message", "channel_queue", "live_meeting", "acknowledgement")
        message, queue, live, asked = (Table(name, old, autoload_with=connection) for name in names)
        for channel, columns in QUEUES.items():
            values = {"channel_id": channel, "state": "open", "next_free_at": LONG_AGO}
            connection.execute(insert(queue).values(values | columns))
        for values in old_rows(events, ts_of):
            connection.execute(insert(message).values(values))
        if not database.is_sqlite:
            connection.execute(text("SELECT setval(pg_get_serial_sequence('message', 'id'), max(id)) FROM message"))
        for name in ("live", "gone", "new live"):
            values = {"message_id": IDS[name], "race_date": DAY, "region": "GB", "course_name": "Ascot"}
            connection.execute(insert(live).values(values | {"folded_name": "ascot"}))
        request = StoredRequest(minutes=5, people=("UALICE",)).model_dump_json()
        connection.execute(insert(asked).values(message_id=IDS["taken"], asked=request, state="asked"))
    assert migrate.upgrade(database).before == OLDEST
    return pipeline


async def all_of(pipeline, table) -> list[Any]:
    found = await pipeline.database.read(lambda session: session.execute(select(table)).scalars().all())
    return list(found)


async def test_every_message_and_every_queue_has_the_state_that_it_had(taken_over):
    found = {NAMES[row.id]: row for row in await all_of(taken_over, OutboxMessage)}
    kept = {row.name: row for row in ROWS if not row.is_edit}
    assert found.keys() == kept.keys() | BECOME_MESSAGES
    for name, row in kept.items():
        new, columns = found[name], row.columns
        state, reason = columns.get("state", "queued"), columns.get("reason")
        assert (new.kind, new.state, new.reason) == (row.kind, state, reason), name
        assert (new.idempotency_key, new.channel_id) == (row.idempotency_key, row.channel)
        assert (new.muted_by, new.detail) == (columns.get("muted_by"), columns.get("detail"))
        assert NAMES.get(new.folded_into or 0) == row.of
        assert (new.event_id is None, new.content is None) == (row.told is None, row.told is not None)
    assert {found[name].kind for name in BECOME_MESSAGES} == {MessageKind.EVENT}
    assert {found[name].state for name in BECOME_MESSAGES} == {"queued"}
    assert {name for name, row in found.items() if row.wanted_rev > row.sent_rev} == WANTED
    assert {name for name, row in found.items() if row.gone_since} == {"gone"}
    assert {name for name, row in found.items() if row.passes_pause} == {"taken"}
    assert found["sent"].wanted_at == START - HOUR

    versions = {row.id: row.version for row in await all_of(taken_over, EventVersion)}
    said = {
        (NAMES[row.message_id], versions[row.event_id]): (row.rev, row.said_at is not None)
        for row in await all_of(taken_over, SaidRow)
    }
    assert said == SAID
    for queue in await all_of(taken_over, ChannelQueue):
        expected = {"state": "open", "state_reason": None, "state_since": None} | QUEUES[queue.channel_id]
        assert {name: getattr(queue, name) for name in expected} == expected

    def given_up_while_closed(session):
        held = held_queues.held_of(session, "CIRE")
        assert held is not None
        return backlog.count_given_up(session, "CIRE", held)

    assert await taken_over.database.read(given_up_while_closed) == 2
    assert [Escalated.model_validate_json(found[f"{which}escalation"].content).minutes for which in ("", "new ")] == [
        5,
        7,
    ]
    await taken_over.database.write(lambda session: message_store.divert_notices(session, "CADMIN", ["UALICE"]))
    notices = {row.idempotency_key for row in await all_of(taken_over, OutboxMessage) if row.kind == "notice"}
    assert notices == {"no entry@UALICE", "warning@UALICE", "paused notice@CPAUSED"}


async def run(pipeline) -> None:
    """Post all that can be posted, as if every wait were over."""
    queues = update(ChannelQueue).values(next_free_at=LONG_AGO, lease_token=None, leased_until=None)
    in_doubt = update(OutboxMessage).where(col(OutboxMessage.state) == "in_doubt")
    for _ in range(8):
        await pipeline.database.write(lambda session: session.execute(queues))
        await pipeline.database.write(lambda session: session.execute(in_doubt.values(deadline_at=START - MINUTE)))
        await pipeline.post_all()


async def test_what_waited_is_posted_once_and_the_channels_go_on(taken_over, slack):
    new = NewPost("CGB", "new@CGB", MessageKind.WELCOME, Priority.ADMIN, START, content=Message(text="new").as_json())

    def add(session):
        assert message_store.add(session, [new])
        return message_store.ids_of(session, [new.idempotency_key])[new.idempotency_key]

    assert await taken_over.database.write(add) > max(IDS.values()), "numbers go on"
    await run(taken_over)

    def keys_in(channel, *, edited=False):
        found = [one for one in slack.messages(channel) if one.edited or not edited]
        keys = [one.metadata["event_payload"]["post"] for one in found]
        return sorted(key for key in keys if not key.startswith("notice:"))

    def keys_of(*names):
        return sorted(NAMED[name].idempotency_key for name in names)

    edited = "sent", "taken"
    posted = "sent alone", "found", "not there", "sending", "queued", "welcome"
    assert keys_in("CGB") == sorted([*keys_of(*edited, *posted), new.idempotency_key])
    assert keys_in("CGB", edited=True) == keys_of(*edited)
    assert keys_in("CALL") == keys_of("summary", "next summary")
    assert keys_in("CLEASED") == keys_of("leased")
    assert keys_in("CPAUSED") == keys_of("paused notice")
    assert keys_in("CIRE") == []
    assert keys_in("CADMIN") == keys_of("warning")
    assert keys_in("CDEAD") == keys_of("told there", *BECOME_MESSAGES)
    assert keys_in("CLIVE") == keys_of("escalation", "new escalation", "live", "gone", "new live", "in its thread")
    assert keys_in("CLIVE", edited=True) == keys_of("escalation", "live")
    (waited,) = (one for one in slack.messages("CGB") if NAMED["queued"].idempotency_key in str(one.metadata))
    assert "Horse queued 2" in f"{waited.text}{waited.blocks}"

    now = taken_over.clock()
    await taken_over.database.write(lambda session: taken_over.reopening.reopen(session, "CIRE", now))
    await taken_over.database.write(lambda session: taken_over.reopening.resume(session, "CPAUSED", now))
    await run(taken_over)
    summary, young = (f"{one.text}{one.blocks}" for one in slack.messages("CIRE"))
    assert "Horse for the channel 2" in summary
    assert "2 messages had waited too long" in summary
    assert "Horse young" in young
    assert keys_in("CPAUSED") == keys_of("paused notice", "while paused")
    left = {row.state for row in await all_of(taken_over, OutboxMessage)}
    assert left == {"sent", "folded", "muted", "dead_letter"}
