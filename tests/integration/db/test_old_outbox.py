"""A database whose outbox an earlier version filled, upgraded and run: no message is lost, and none is told twice.

The rows have every state that there was then, with every meaning that such a state could have.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import MetaData, Table, insert, select, text, update
from sqlmodel import Session, col

from bot.channels import pauses
from bot.channels.filters import ChannelFilter
from bot.db import migrate
from bot.db.tables import ChannelQueue, ChannelSubscriptionRow, InboxDelivery, InboxState, MessageKind, OutboxMessage
from bot.events import event_store
from bot.events.event import DEFAULT_TOPICS, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox import backlog, channel_queues, held_queues, message_store
from bot.outbox.message import Message
from bot.outbox.message_store import NewPost, Priority
from tests.clock import START

NOW = START.replace(microsecond=123_456)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CLOSED_AT = NOW - 5 * HOUR
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

WORDS = '{"text": "Words of the bot"}'
KEPT_IN_SLACK = {"found": "CGB", "sent": "CGB", "corrected": "CGB", "meeting": "CGB", "summary": "CALL"}
"""The messages that Slack has already: name → channel."""


def too_long(because: str, since: datetime) -> str:
    """What a message said that was given up in a channel held since then."""
    return f"it waited too long for its channel ({because} since {since.isoformat(timespec='milliseconds')})"


@dataclass(frozen=True)
class Old:
    """A post of the earlier version, and what becomes of that: `kind`, `becomes` and the fields after `about`.

    `about`: the post whose event is told, in a further version; else the post has an event of its own, or none.
    """

    name: str
    channel: str
    kind: str
    becomes: str
    state: str
    columns: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    target: str | None = None
    about: str | None = None
    reason: str | None = None
    folded_into: str | None = None
    muted_by: str | None = None
    detail: str | None = None

    @property
    def is_event(self) -> bool:
        return self.key is None


UNDER_WAY = {"attempts": 1, "sending_at": NOW - 2 * MINUTE, "deadline_at": NOW - 2 * MINUTE + timedelta(seconds=5)}
SENT = {"attempts": 1, "sending_at": NOW, "deadline_at": NOW, "sent_at": NOW}

ROWS = [
    # An open channel.
    Old("sent", "CGB", "event", "sent", "sent", SENT),
    Old("corrected", "CGB", "event", "sent", "sent", SENT),
    Old(
        "correction", "CGB", "edit", "sent", "sent", SENT | {"message_ts": "1.0"}, target="corrected", about="corrected"
    ),
    Old("remade", "CGB", "edit", "queued", "sending", UNDER_WAY, target="sent", about="sent"),
    Old("remade untimed", "CGB", "edit", "queued", "sending", target="corrected", about="corrected"),
    Old("found", "CGB", "event", "in_doubt", "sending", UNDER_WAY),
    Old("not there", "CGB", "event", "in_doubt", "sending", UNDER_WAY | {"looks": 1}),
    Old("untimed", "CGB", "event", "in_doubt", "sending"),
    Old(
        "waits",
        "CGB",
        "event",
        "queued",
        "queued",
        {"error": "chat.postMessage: ratelimited"},
        detail="chat.postMessage: ratelimited",
    ),
    Old("waiting edit", "CGB", "edit", "queued", "queued", target="waits", about="waits"),
    Old("meeting", "CGB", "event", "sent", "sent", SENT),
    Old("in meeting", "CGB", "edit", "folded", "folded", target="meeting", folded_into="meeting"),
    Old("muted", "CGB", "event", "muted", "muted", {"error": "UALICE"}, muted_by="UALICE"),
    Old("folded into nothing", "CGB", "event", "queued", "folded"),
    Old(
        "refused",
        "CGB",
        "event",
        "dead_letter",
        "parked",
        UNDER_WAY | {"error": "chat.postMessage: msg_too_long"},
        reason="refused",
        detail="chat.postMessage: msg_too_long",
    ),
    Old(
        "in vain",
        "CGB",
        "event",
        "dead_letter",
        "parked",
        UNDER_WAY | {"error": "not in the channel's history", "looks": 1},
        reason="in_vain",
    ),
    Old(
        "unresolved",
        "CGB",
        "event",
        "dead_letter",
        "parked",
        UNDER_WAY | {"error": "conversations.history: missing_scope"},
        reason="unresolved",
    ),
    Old(
        "looked",
        "CGB",
        "event",
        "dead_letter",
        "parked",
        UNDER_WAY | {"error": "not read within 7 s", "failed_looks": 6},
        reason="unresolved",
    ),
    Old(
        "unsubscribed",
        "CGB",
        "event",
        "dead_letter",
        "parked",
        {"error": "the channel unsubscribed while it waited"},
        reason="unsubscribed",
    ),
    Old("unknown place", "CGB", "event", "dead_letter", "sent", {"sent_at": NOW - HOUR}, reason="unresolved"),
    Old("gone target", "CGB", "edit", "dead_letter", "folded", {"edits_post_id": 999_999}, reason="unresolved"),
    Old("welcome", "CGB", "welcome", "queued", "queued", key="welcome:Ev1@CGB"),
    # People.
    Old("answer", "UALICE", "answer", "queued", "queued", key="help:Ev2@UALICE"),
    Old(
        "no entry",
        "UALICE",
        "notice",
        "dead_letter",
        "parked",
        {"error": "channel_not_found"},
        key="notice:one@UALICE",
        reason="no_entry",
    ),
    Old(
        "refused notice",
        "UALICE",
        "notice",
        "dead_letter",
        "parked",
        {"error": "chat.postMessage: msg_too_long"},
        key="notice:two@UALICE",
        reason="refused",
    ),
    # A closed channel: one message of this closing waited too long, others of earlier closings.
    Old(
        "given up",
        "CIRE",
        "event",
        "dead_letter",
        "parked",
        {"error": too_long("is_archived", CLOSED_AT), "received_at": CLOSED_AT - HOUR},
        reason="waited_too_long",
    ),
    Old(
        "given up later",
        "CIRE",
        "event",
        "dead_letter",
        "parked",
        {"error": too_long("is_archived", CLOSED_AT), "received_at": CLOSED_AT + MINUTE},
        reason="waited_too_long",
    ),
    Old(
        "given up before",
        "CIRE",
        "event",
        "dead_letter",
        "parked",
        {"error": too_long("not_in_channel", CLOSED_AT - 90 * HOUR), "received_at": CLOSED_AT - 80 * HOUR},
        reason="waited_too_long",
    ),
    Old("waits for the channel", "CIRE", "event", "queued", "queued", {"received_at": NOW - 4 * HOUR}),
    Old(
        "waits with it",
        "CIRE",
        "edit",
        "queued",
        "queued",
        {"received_at": NOW - 4 * HOUR},
        target="waits for the channel",
        about="waits for the channel",
    ),
    Old("young", "CIRE", "event", "queued", "queued"),
    # A channel on trial, whose summary was sent and whose next one waits.
    Old("summary", "CALL", "summary", "sent", "sent", SENT, key="waited:2026:0@CALL"),
    Old("in summary", "CALL", "event", "folded", "folded", target="summary", folded_into="summary"),
    Old(
        "edit in summary",
        "CALL",
        "edit",
        "folded",
        "folded",
        target="in summary",
        about="in summary",
        folded_into="in summary",
    ),
    Old("next summary", "CALL", "summary", "queued", "queued", {"priority": -1}, key="waited:2026:1@CALL"),
    Old("in next summary", "CALL", "event", "folded", "folded", target="next summary", folded_into="next summary"),
    # A paused channel, a leased one, and warnings.
    Old("while paused", "CPAUSED", "event", "queued", "queued"),
    Old("paused notice", "CPAUSED", "notice", "queued", "queued", key="notice:three@CPAUSED"),
    Old("leased", "CLEASED", "event", "in_doubt", "sending", UNDER_WAY),
    Old("warning", "CADMIN", "notice", "queued", "queued", key="notice:four@CADMIN"),
]

IDS = {row.name: 10 * number for number, row in enumerate(ROWS, start=1)}

QUEUES: dict[str, tuple[dict[str, Any], Any]] = {
    "CGB": ({}, ("open", None, None)),
    "UALICE": ({}, ("open", None, None)),
    "CADMIN": ({}, ("open", None, None)),
    "CIRE": ({"held_because": "is_archived", "held_at": CLOSED_AT}, ("closed", "is_archived", CLOSED_AT)),
    "CALL": ({"held_at": CLOSED_AT}, ("on_trial", "is_archived", CLOSED_AT)),
    "CTRIAL": ({"held_at": CLOSED_AT}, ("on_trial", "tried again", CLOSED_AT)),
    "CPAUSED": ({"held_because": "paused", "held_at": NOW - HOUR}, ("paused", None, NOW - HOUR)),
    "CLEASED": ({"lease_token": "old", "leased_until": NOW + MINUTE}, ("open", None, None)),
}
"""Old lanes, and what became of each: state, reason, since when."""


def event_of(row: Old, inbox_id: int, version: int):
    """A version of an event of the row's own: a result by its winner, named as the row or the row it is about."""
    name = row.about or row.name
    race = Race(
        race_id=name,
        region="GB",
        course=Course(name="Ascot"),
        race_date=NOW.date().isoformat(),
        off=OffTime(text="14:30"),
        title=f"<{name}>",
        runners=(Runner(position="1", horse=f"Horse {row.name}"),),
    )
    event = RacingEvent(key=f"result.received:{name}", kind="result.received", name="result.received", race=race)
    return event_store.make(event, version, remarks=VersionRemarks(), inbox_id=inbox_id, received_at=NOW - HOUR)


def fill(connection, ts_of) -> None:
    """Store all rows as the earlier version did."""
    with Session(connection, join_transaction_mode="create_savepoint") as session:
        known, versions = dict[str, int](), Counter[str]()
        for number, row in enumerate(ROWS, start=1):
            if row.is_event:
                # By names of columns: the table was without some of today's.
                session.execute(
                    insert(InboxDelivery).values(
                        id=number,
                        event_key=row.name,
                        body_sha256=f"{number:064}",
                        received_at=NOW,
                        state=InboxState.DONE,
                        attempts=0,
                    )
                )
                session.flush()
                versions[row.about or row.name] += 1
                event = event_of(row, number, versions[row.about or row.name])
                session.add(event)
                session.flush()
                known[row.name] = event.id or 0
        for state, channel in (("suspended", "CALL"), ("paused", "CPAUSED"), ("suspended", "CIRE")):
            session.add(
                ChannelSubscriptionRow(
                    channel_id=channel,
                    region="GB",
                    filter=ChannelFilter(region="GB", topics=DEFAULT_TOPICS).model_dump_json(),
                    state=state,
                    state_reason="is_archived" if state == "suspended" else None,
                    paused_until=pauses.UNTIL_RESUMED if state == "paused" else None,
                    created_by="UALICE",
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        session.commit()
    old = MetaData()
    post, lane = (Table(name, old, autoload_with=connection) for name in ("post", "lane"))
    for channel, (columns, _) in QUEUES.items():
        connection.execute(insert(lane).values({"channel_id": channel, "next_free_at": LONG_AGO, **columns}))
    for row in ROWS:
        values: dict[str, object] = {
            "id": IDS[row.name],
            "channel_id": row.channel,
            "dedupe_key": row.key or key_of(row),
            "event_id": known.get(row.name),
            "content": None if row.is_event else WORDS,
            "edits_post_id": IDS[row.target] if row.target else None,
            "priority": int(Priority.OTHER if row.is_event else Priority.ADMIN),
            "state": row.state,
            "plain": False,
            "received_at": NOW - HOUR,
            "attempts": 0,
            "looks": 0,
            "failed_looks": 0,
            "may_be_repeat": False,
            "message_ts": ts_of.get(row.name) if row.state == "sent" else None,
        }
        connection.execute(insert(post).values(values | row.columns))


def key_of(row: Old) -> str:
    return f"result.received:{row.about or row.name}#{row.name}@{row.channel}"


@pytest_asyncio.fixture
async def database(empty_database):
    """A database of the earlier version; `upgraded` fills and upgrades it."""
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0005")
    return empty_database


@pytest_asyncio.fixture
async def upgraded(database, slack, pipeline):
    """The pipeline on the upgraded database, where Slack has what the earlier version had sent."""
    for channel in ("CPAUSED", "CLEASED", "CTRIAL"):
        slack.add_channel(channel, channel.lower(), bot_is_member=True)
    ts_of = {}
    for name, channel in KEPT_IN_SLACK.items():
        row = next(row for row in ROWS if row.name == name)
        said = Message(text=f"as sent: {name}")
        key = row.key or key_of(row)
        ts_of[name] = await pipeline.poster.sender.post(channel, said, post_key=key, timeout_s=5)
    with database.writer.begin() as connection:
        fill(connection, ts_of)
    assert migrate.upgrade(database) == migrate.Upgraded("0005", migrate.head())
    return pipeline


async def messages(pipeline) -> dict[str, OutboxMessage]:
    """The rows of the upgraded database, by the names that this test has for them."""
    names = {number: name for name, number in IDS.items()}
    found = await pipeline.database.read(lambda session: session.execute(select(OutboxMessage)).scalars().all())
    return {names.get(row.id, row.idempotency_key): row for row in found}


def name_of(number: int | None) -> str | None:
    return next((name for name, known in IDS.items() if known == number), None)


async def test_every_row_has_the_state_that_it_meant(upgraded):
    found = await messages(upgraded)
    assert found.keys() == IDS.keys()
    for row in ROWS:
        new = found[row.name]
        assert (new.kind, new.state, new.reason, name_of(new.folded_into), new.muted_by) == (
            *(row.kind, row.becomes, row.reason, row.folded_into, row.muted_by),
        ), row.name
        assert new.idempotency_key == (row.key or key_of(row))
        assert new.channel_id == row.channel
        assert (new.content is None) == row.is_event
        if row.detail:
            assert new.detail == row.detail, row.name
    assert found["muted"].detail is None
    assert found["given up"].given_up_at == CLOSED_AT
    assert found["untimed"].sending_at == NOW - HOUR


async def test_every_lane_is_a_queue_with_its_state(upgraded):
    rows = await upgraded.database.read(lambda session: session.execute(select(ChannelQueue)).scalars().all())
    found = {row.channel_id: (row.state, row.state_reason, row.state_since) for row in rows}
    assert found == {channel: expected for channel, (_, expected) in QUEUES.items()}
    (leased,) = (row for row in rows if row.lease_token)
    assert (leased.channel_id, leased.leased_until) == ("CLEASED", NOW + MINUTE)


async def test_old_tables_are_gone_and_numbers_go_on(upgraded):
    new = NewPost("CGB", "welcome:new@CGB", MessageKind.WELCOME, Priority.ADMIN, NOW, content=Message(text="new"))

    def add(session):
        assert message_store.add(session, [new]) == 1
        return backlog.post_ids(session, [new.idempotency_key])[new.idempotency_key]

    assert await upgraded.database.write(add) > max(IDS.values())
    with upgraded.database.writer.connect() as connection:
        for table in ("post", "lane"):
            with pytest.raises(Exception, match=table):
                connection.execute(text(f"SELECT 1 FROM {table}"))
            connection.rollback()


@pytest.mark.parametrize(("channel", "count"), [("CIRE", 2), ("CALL", 0), ("CGB", 0)])
async def test_messages_given_up_count_for_the_closing_that_lasts(upgraded, channel, count):
    def counted(session):
        held = held_queues.held_of(session, channel)
        return backlog.count_given_up(session, channel, held) if held else 0

    assert await upgraded.database.read(counted) == count


async def run(pipeline) -> None:
    """Post all that can be posted, as if every wait were over."""
    queues = update(ChannelQueue).values(next_free_at=LONG_AGO, lease_token=None, leased_until=None)
    in_doubt = update(OutboxMessage).where(col(OutboxMessage.state) == "in_doubt")
    for _ in range(8):
        await pipeline.database.write(lambda session: session.execute(queues))
        await pipeline.database.write(lambda session: session.execute(in_doubt.values(deadline_at=NOW - MINUTE)))
        await pipeline.post_all()


def keys_in(slack, channel) -> Counter[str]:
    """How often each message stands in a channel, by its key."""
    return Counter(message.metadata["event_payload"]["post"] for message in slack.messages(channel))


async def test_upgraded_database_posts_what_waited_once_and_nothing_again(upgraded, slack):
    await run(upgraded)
    told = {
        "CGB": ["sent", "corrected", "meeting", "found", "not there", "untimed", "waits", "folded into nothing"],
        "CALL": ["summary", "next summary"],
        "CLEASED": ["leased"],
    }
    rows = {row.name: row for row in ROWS}
    for channel, names in told.items():
        expected = Counter(rows[name].key or key_of(rows[name]) for name in names)
        expected |= Counter({rows["welcome"].key or "": 1} if channel == "CGB" else {})
        found = Counter({key: n for key, n in keys_in(slack, channel).items() if not key.startswith("notice:")})
        assert found == expected, channel
    assert keys_in(slack, "CIRE") == {}
    assert keys_in(slack, "CPAUSED") == {"notice:three@CPAUSED": 1}
    assert keys_in(slack, "CADMIN")["notice:four@CADMIN"] == 1
    edited = {message.metadata["event_payload"]["post"] for message in slack.messages("CGB") if message.edited}
    assert edited == {key_of(rows["sent"]), key_of(rows["corrected"])}
    (edited_while_waiting,) = (m for m in slack.messages("CGB") if key_of(rows["waits"]) in str(m.metadata))
    assert "Horse waiting edit" in f"{edited_while_waiting.text}{edited_while_waiting.blocks}"
    assert await upgraded.database.read(channel_queues.tried_longest) is None


async def test_upgraded_channels_go_on_with_what_waited(upgraded, slack):
    await run(upgraded)
    now = upgraded.clock()
    await upgraded.database.write(lambda session: upgraded.reopening.reopen(session, "CIRE", now))
    await upgraded.database.write(lambda session: upgraded.reopening.resume(session, "CPAUSED", now))
    await run(upgraded)
    summary, young = slack.messages("CIRE")
    assert "Horse waits with it" in f"{summary.text}{summary.blocks}"
    assert "2 messages had waited too long" in f"{summary.text}{summary.blocks}", summary
    assert "Horse young" in f"{young.text}{young.blocks}"
    assert keys_in(slack, "CPAUSED").keys() == {
        "notice:three@CPAUSED",
        "result.received:while paused#while paused@CPAUSED",
    }
    left = Counter(row.state for row in (await messages(upgraded)).values())
    assert left.keys() == {"sent", "folded", "muted", "dead_letter"}
