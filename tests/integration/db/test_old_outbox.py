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
from bot.db.tables import (
    ChannelQueue,
    ChannelSubscriptionRow,
    EventVersion,
    InboxDelivery,
    InboxState,
    MessageKind,
    OutboxMessage,
    SaidRow,
)
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

KEPT_IN_SLACK = {"found": "CGB", "sent": "CGB", "corrected": "CGB", "meeting": "CGB", "summary": "CALL"}
"""The messages that Slack has already: name → channel."""


@dataclass(frozen=True)
class Old:
    """A post of the earlier version, and what becomes of the post: `kind`, `becomes` and the fields after `about`.

    `about`: the post whose event is told, in a further version; else the post has an event of its own, or with a `key`
    none. `target`: the post that was edited, or told in place of the post.
    """

    name: str
    channel: str
    kind: str
    state: str
    becomes: str
    columns: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    target: str | None = None
    about: str | None = None
    reason: str | None = None
    folded_into: str | None = None
    muted_by: str | None = None
    detail: str | None = None

    @property
    def idempotency_key(self) -> str:
        return self.key or f"result.received:{self.about or self.name}#{self.name}@{self.channel}"


NOT_SAID, WAITS, WAS_SAID = "not said", "waits", "was said"
"""What becomes of an edit: the edited message shows the event without an edit, or the edit waits, or was made."""


def edit(name: str, channel: str, target: str, state: str, becomes: str, **columns: Any) -> Old:
    return Old(name, channel, "edit", state, becomes, columns, target=target, about=target)


def folded(name: str, channel: str, kind: str, into: str, about: str | None = None) -> Old:
    becomes = NOT_SAID if kind == "edit" else "folded"
    return Old(name, channel, kind, "folded", becomes, target=into, about=about, folded_into=into)


def parked(name: str, channel: str, error: str, reason: str, **more: Any) -> Old:
    """A message that was given up."""
    key = more.pop("key", None)
    return Old(
        name,
        channel,
        "notice" if key else "event",
        "parked",
        "dead_letter",
        {"error": error} | more,
        key,
        reason=reason,
    )


def late(name: str, because: str, since: datetime, received_at: datetime) -> Old:
    """A message that was given up in a channel closed since then."""
    error = f"it waited too long for its channel ({because} since {since.isoformat(timespec='milliseconds')})"
    return parked(name, "CIRE", error, "waited_too_long", received_at=received_at)


UNDER_WAY = {"attempts": 1, "sending_at": NOW - 2 * MINUTE, "deadline_at": NOW - 2 * MINUTE + timedelta(seconds=5)}
SENT = {"attempts": 1, "sending_at": NOW, "deadline_at": NOW, "sent_at": NOW}
LIMITED, TOO_LONG = "chat.postMessage: ratelimited", "chat.postMessage: msg_too_long"
FOUR_HOURS_OLD = {"received_at": NOW - 4 * HOUR}

ROWS = [
    # An open channel.
    Old("sent", "CGB", "event", "sent", "sent", SENT),
    Old("corrected", "CGB", "event", "sent", "sent", SENT),
    edit("correction", "CGB", "corrected", "sent", WAS_SAID, **SENT, message_ts="1.0"),
    edit("remade", "CGB", "sent", "sending", WAITS, **UNDER_WAY),
    edit("remade untimed", "CGB", "corrected", "sending", WAITS),
    Old("found", "CGB", "event", "sending", "in_doubt", UNDER_WAY),
    Old("not there", "CGB", "event", "sending", "in_doubt", UNDER_WAY | {"looks": 1}),
    Old("untimed", "CGB", "event", "sending", "in_doubt"),
    Old("waits", "CGB", "event", "queued", "queued", {"error": LIMITED}, detail=LIMITED),
    edit("waiting edit", "CGB", "waits", "queued", WAITS),
    Old("meeting", "CGB", "event", "sent", "sent", SENT),
    folded("in meeting", "CGB", "edit", "meeting"),
    Old("muted", "CGB", "event", "muted", "muted", {"error": "UALICE"}, muted_by="UALICE"),
    Old("folded into nothing", "CGB", "event", "folded", "queued"),
    Old(
        *("refused", "CGB", "event", "parked", "dead_letter", UNDER_WAY | {"error": TOO_LONG}),
        reason="refused",
        detail=TOO_LONG,
    ),
    parked("in vain", "CGB", "not in the channel's history", "in_vain", **UNDER_WAY, looks=1),
    parked("unresolved", "CGB", "conversations.history: missing_scope", "unresolved", **UNDER_WAY),
    parked("looked", "CGB", "not read within 7 s", "unresolved", **UNDER_WAY, failed_looks=6),
    parked("unsubscribed", "CGB", "the channel unsubscribed while it waited", "unsubscribed"),
    Old("unknown place", "CGB", "event", "sent", "dead_letter", {"sent_at": NOW - HOUR}, reason="unresolved"),
    Old("gone target", "CGB", "edit", "folded", "", {"edits_post_id": 999_999}),
    Old("welcome", "CGB", "welcome", "queued", "queued", key="welcome:Ev1@CGB"),
    # People.
    Old("answer", "UALICE", "answer", "queued", "queued", key="help:Ev2@UALICE"),
    parked("no entry", "UALICE", "channel_not_found", "no_entry", key="notice:one@UALICE"),
    parked("refused notice", "UALICE", TOO_LONG, "refused", key="notice:two@UALICE"),
    # A closed channel: messages of this closing waited too long, another of an earlier closing.
    late("given up", "is_archived", CLOSED_AT, CLOSED_AT - HOUR),
    late("given up later", "is_archived", CLOSED_AT, CLOSED_AT + MINUTE),
    late("given up before", "not_in_channel", CLOSED_AT - 90 * HOUR, CLOSED_AT - 80 * HOUR),
    Old("waits for the channel", "CIRE", "event", "queued", "queued", FOUR_HOURS_OLD),
    edit("waits with it", "CIRE", "waits for the channel", "queued", WAITS, **FOUR_HOURS_OLD),
    Old("young", "CIRE", "event", "queued", "queued"),
    # A channel on trial, whose summary was sent and whose next one waits.
    Old("summary", "CALL", "summary", "sent", "sent", SENT, key="waited:2026:0@CALL"),
    folded("in summary", "CALL", "event", "summary"),
    folded("edit in summary", "CALL", "edit", "in summary", about="in summary"),
    Old("next summary", "CALL", "summary", "queued", "queued", {"priority": -1}, key="waited:2026:1@CALL"),
    folded("in next summary", "CALL", "event", "next summary"),
    # A paused channel, a leased one, and warnings.
    Old("while paused", "CPAUSED", "event", "queued", "queued"),
    Old("paused notice", "CPAUSED", "notice", "queued", "queued", key="notice:three@CPAUSED"),
    Old("leased", "CLEASED", "event", "sending", "in_doubt", UNDER_WAY),
    Old("warning", "CADMIN", "notice", "queued", "queued", key="notice:four@CADMIN"),
]
NAMED = {row.name: row for row in ROWS}
IDS = {row.name: 10 * number for number, row in enumerate(ROWS, start=1)}
NAMES = {number: name for name, number in IDS.items()}

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


def fill(connection, ts_of) -> None:
    """Store all rows as the earlier version did."""
    with Session(connection, join_transaction_mode="create_savepoint") as session:
        events = store_events(session)
        for state, channel in (("suspended", "CALL"), ("paused", "CPAUSED"), ("suspended", "CIRE")):
            session.add(
                ChannelSubscriptionRow(
                    channel_id=channel,
                    region="GB",
                    created_by="UALICE",
                    filter=ChannelFilter(region="GB", topics=DEFAULT_TOPICS).model_dump_json(),
                    state=state,
                    state_reason="is_archived" if state == "suspended" else None,
                    paused_until=pauses.UNTIL_RESUMED if state == "paused" else None,
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        session.commit()
    old = MetaData()
    post, lane = (Table(name, old, autoload_with=connection) for name in ("post", "lane"))
    for channel, (columns, _) in QUEUES.items():
        connection.execute(insert(lane).values({"channel_id": channel, "next_free_at": LONG_AGO, **columns}))
    zeros = dict.fromkeys(("attempts", "looks", "failed_looks"), 0) | {"plain": False, "may_be_repeat": False}
    for row in ROWS:
        values: dict[str, object] = {
            "id": IDS[row.name],
            "channel_id": row.channel,
            "dedupe_key": row.idempotency_key,
            "event_id": events.get(row.name),
            "content": '{"text": "Words of the bot"}' if row.key else None,
            "edits_post_id": IDS[row.target] if row.target else None,
            "priority": int(Priority.ADMIN if row.key else Priority.OTHER),
            "state": row.state,
            "received_at": NOW - HOUR,
            "message_ts": ts_of.get(row.name) if row.state == "sent" else None,
        }
        connection.execute(insert(post).values(zeros | values | row.columns))


def store_events(session: Session) -> dict[str, int]:
    """For each row without a key a delivery, and a version of a result whose winner has the row's name. Name → id."""
    known, versions = dict[str, int](), Counter[str]()
    for number, row in enumerate((one for one in ROWS if one.key is None), start=1):
        # By names of columns: the table was without some of today's.
        delivery = {"event_key": row.name, "body_sha256": f"{number:064}", "received_at": NOW, "attempts": 0}
        session.execute(insert(InboxDelivery).values(id=number, state=InboxState.DONE, **delivery))
        name = row.about or row.name
        versions[name] += 1
        race = Race(
            race_id=name,
            region="GB",
            race_date=NOW.date().isoformat(),
            title=f"<{name}>",
            course=Course(name="Ascot"),
            off=OffTime(text="14:30"),
            runners=(Runner(position="1", horse=f"Horse {row.name}"),),
        )
        told = RacingEvent(key=f"result.received:{name}", kind="result.received", name="result.received", race=race)
        event = event_store.make(
            told, versions[name], remarks=VersionRemarks(), inbox_id=number, received_at=NOW - HOUR
        )
        session.add(event)
        session.flush()
        known[row.name] = event.id or 0
    return known


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
        said, key = Message(text=f"as sent: {name}"), NAMED[name].idempotency_key
        ts_of[name] = await pipeline.poster.sender.post(channel, said, post_key=key, timeout_s=5)
    with database.writer.begin() as connection:
        fill(connection, ts_of)
    assert migrate.upgrade(database) == migrate.Upgraded("0005", migrate.head())
    return pipeline


async def all_of(pipeline, table) -> list[Any]:
    found = await pipeline.database.read(lambda session: session.execute(select(table)).scalars().all())
    return list(found)


async def test_every_row_and_every_lane_has_the_state_that_it_meant(upgraded):
    found = {NAMES.get(row.id or 0): row for row in await all_of(upgraded, OutboxMessage)}
    messages = [row for row in ROWS if row.kind != "edit"]
    assert found.keys() == {row.name for row in messages}
    for row in messages:
        new = found[row.name]
        now = (new.kind, new.state, new.reason, NAMES.get(new.folded_into or 0), new.muted_by)
        assert now == (row.kind, row.becomes, row.reason, row.folded_into, row.muted_by), row.name
        assert (new.idempotency_key, new.channel_id) == (row.idempotency_key, row.channel)
        assert (new.content is None) == (row.key is None)
        assert row.detail in {new.detail, None}, row.name
    assert await edits_of(upgraded) == {row.name: row.becomes for row in ROWS if row.kind == "edit" and row.becomes}
    wanting = {row.target for row in ROWS if row.becomes == WAITS}
    assert {name for name, row in found.items() if row.wanted_rev > row.sent_rev} == wanting
    assert found["muted"].detail is None
    assert found["given up"].given_up_at == CLOSED_AT
    assert found["given up later"].given_up_at == CLOSED_AT + MINUTE
    assert found["untimed"].sending_at == NOW - HOUR

    queues = {one.channel_id: one for one in await all_of(upgraded, ChannelQueue)}
    states = {channel: (one.state, one.state_reason, one.state_since) for channel, one in queues.items()}
    assert states == {channel: expected for channel, (_, expected) in QUEUES.items()}
    leased = {channel: one.leased_until for channel, one in queues.items() if one.lease_token}
    assert leased == {"CLEASED": NOW + MINUTE}

    def given_up(session):
        """Messages that count for a closing that lasts."""
        held = {channel: held_queues.held_of(session, channel) for channel in ("CIRE", "CALL", "CGB")}
        return [backlog.count_given_up(session, channel, one) if one else 0 for channel, one in held.items()]

    assert await upgraded.database.read(given_up) == [2, 0, 0]
    with upgraded.database.writer.connect() as connection:
        for table in ("post", "lane"):
            with pytest.raises(Exception, match=table):
                connection.execute(text(f"SELECT 1 FROM {table}"))
            connection.rollback()


async def edits_of(pipeline) -> dict[str, str]:
    """Edit → what became of the edit. The winner has the name of the edit."""
    known = {row.id: event_store.read(row)[0] for row in await all_of(pipeline, EventVersion)}
    found = {}
    for row in await all_of(pipeline, SaidRow):
        name = (known[row.event_id].race.runners[0].horse or "").removeprefix("Horse ")
        assert NAMES[row.message_id] == NAMED[name].target
        found[name] = WAS_SAID if row.said_at else WAITS if row.rev else NOT_SAID
    return found


async def run(pipeline) -> None:
    """Post all that can be posted, as if every wait were over."""
    queues = update(ChannelQueue).values(next_free_at=LONG_AGO, lease_token=None, leased_until=None)
    in_doubt = update(OutboxMessage).where(col(OutboxMessage.state) == "in_doubt")
    for _ in range(8):
        await pipeline.database.write(lambda session: session.execute(queues))
        await pipeline.database.write(lambda session: session.execute(in_doubt.values(deadline_at=NOW - MINUTE)))
        await pipeline.post_all()


async def test_upgraded_database_posts_what_waited_once_and_its_channels_go_on(upgraded, slack):
    new = NewPost("CGB", "welcome:new@CGB", MessageKind.WELCOME, Priority.ADMIN, NOW, content=Message(text="new"))

    def add(session):
        assert message_store.add(session, [new]) == 1
        return backlog.post_ids(session, [new.idempotency_key])[new.idempotency_key]

    assert await upgraded.database.write(add) > max(IDS.values()), "numbers go on"
    await run(upgraded)

    def keys_in(channel, *, edited=False):
        found = [one for one in slack.messages(channel) if one.edited or not edited]
        return sorted(one.metadata["event_payload"]["post"] for one in found)

    def keys_of(*names):
        return sorted(NAMED[name].idempotency_key for name in names)

    in_doubt = "found", "not there", "untimed"
    notices = [key for key in keys_in("CGB") if key.startswith("notice:")]
    posted = keys_of("sent", "corrected", "meeting", *in_doubt, "waits", "folded into nothing", "welcome")
    assert keys_in("CGB") == sorted([*posted, new.idempotency_key, *notices])
    assert keys_in("CALL") == keys_of("summary", "next summary")
    assert keys_in("CLEASED") == keys_of("leased")
    assert keys_in("CPAUSED") == keys_of("paused notice")
    assert keys_in("CIRE") == []
    assert keys_in("CADMIN").count("notice:four@CADMIN") == 1
    assert keys_in("CGB", edited=True) == keys_of("sent", "corrected")
    (waited,) = (one for one in slack.messages("CGB") if NAMED["waits"].idempotency_key in str(one.metadata))
    assert "Horse waiting edit" in f"{waited.text}{waited.blocks}"
    assert await upgraded.database.read(channel_queues.tried_longest) is None

    now = upgraded.clock()
    await upgraded.database.write(lambda session: upgraded.reopening.reopen(session, "CIRE", now))
    await upgraded.database.write(lambda session: upgraded.reopening.resume(session, "CPAUSED", now))
    await run(upgraded)
    summary, young = (f"{one.text}{one.blocks}" for one in slack.messages("CIRE"))
    assert "Horse waits with it" in summary
    assert "2 messages had waited too long" in summary
    assert "Horse young" in young
    assert keys_in("CPAUSED") == keys_of("paused notice", "while paused")
    left = {row.state for row in await all_of(upgraded, OutboxMessage)}
    assert left == {"sent", "folded", "muted", "dead_letter"}
