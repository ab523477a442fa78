"""Two replicas change a channel's subscriptions in the same instant: the later change knows of the earlier change.

PostgreSQL's alone: SQLite has one writer. The earlier commit waits until the later change has read the channel's
subscriptions, and is about to write.
"""

import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest_asyncio
from sqlalchemy import Engine, event
from sqlmodel import col, select

from bot.channels import subscriptions
from bot.channels.conditions.event_conditions import REGIONS_FIELD
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.db.tables import AuditEntry, SubscriptionState
from bot.deliveries import inbox
from bot.deliveries.payload import Payload, read_events
from bot.errors import FieldsWrong
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.fanout.fanout import Fanout
from bot.fanout.unchecked_filters import check_filters
from bot.outbox.channel_closing import pause_channel
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.notices import Notices
from bot.outbox.resume import Reopening
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCourse
from bot.racedata.reference_book import ReferenceBook
from bot.slack.commands import subscribe
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.pause_and_mute import MUTE_BUTTON, PAUSE_COMMAND
from bot.slack.commands.subscribe import FORM_SUBMITTED, SUBSCRIBE_COMMAND
from bot.slack.commands.subscription_pages import REMOVE_BUTTON
from bot.slack.commands.unsubscribe import UNSUBSCRIBE_COMMAND
from bot.slack.forms.subscribe_form import FormOf
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.messages.alerts.bot_notices import admin_notice
from bot.slack.web_client import SlackClient, make_session, make_web_client
from tests.clock import PATIENCE_S, now
from tests.databases import empty
from tests.front import intake_on
from tests.integration.conftest import TOKEN
from tests.integration.pipeline.racing_day import result

_TABLES = "(channel_subscription|muted_meeting)"
CHANGES = re.compile(rf"(INSERT INTO|DELETE FROM) {_TABLES}\b|UPDATE {_TABLES} SET (?!state)")
"""A statement that changes a channel's subscriptions. The bot's presence in the channel is written earlier."""


@dataclass
class Replica:
    """The parts of commands in one process of the bot, with the process' own connections."""

    database: Database
    slack: SlackClient
    reopening: Reopening = field(default_factory=lambda: Reopening(waited))
    notices: Notices = field(default_factory=lambda: Notices("CADMIN", admin_notice, clock=now))

    @property
    def desk(self) -> Any:
        racing: Any = None
        return SimpleNamespace(
            database=self.database,
            slack=self.slack,
            reference=ReferenceBook(self.database, racing, now),
            reopening=self.reopening,
            people=SimpleNamespace(check_may_change=nobody_minds),
            settings=SimpleNamespace(announce_changes=True, queue_keep_hours=72),
            clock=now,
            wake=asyncio.Event(),
        )

    async def types(self, command, text):
        return await command.commit(self.desk, typed(text))

    async def saves(self, form, **chosen):
        values = dict.fromkeys((view.field for view in CONDITIONS), None)
        values |= {"region": ("GB",), "topics": DEFAULT_TOPICS, "mentions": ()}
        return await FORM_SUBMITTED.commit(self.desk, replace(typed(""), form=(form, values | chosen)))

    async def checks(self):
        work = partial(check_filters, notices=self.notices, now=now())
        return await self.database.write(work)


def typed(text):
    return Invocation(text, "CGB", "UALICE", "cmd-1")


async def nobody_minds(_user_id, _channel_id):
    return None


@pytest_asyncio.fixture
async def replicas(postgresql_database, slack):
    """Two replicas on one database; the lists of the data service are known."""
    empty(postgresql_database)
    session = make_session()
    client = SlackClient(make_web_client(TOKEN, slack.api_url, session))
    other = Database(postgresql_database.url.render_as_string(hide_password=False))

    def publish(session):
        lexicon.REGIONS.put(session, ["GB", "IRE"], now())
        lexicon.COURSES.put(session, [KnownCourse(course_id="cr_1", name="Ascot", region="GB")], now())
        lexicon.COUNTRIES.put(session, [], now())

    await postgresql_database.write(publish)
    yield Replica(postgresql_database, client), Replica(other, client)
    await other.close()
    await session.close()


@contextmanager
def held_at_commit(replica, other):
    """The replica commits only when the other replica begins to write, or finds a lock taken.

    Gives an event, set when the replica is about to commit.
    """
    at_commit, goes_on = threading.Event(), threading.Event()

    def commit(_connection):
        at_commit.set()
        assert goes_on.wait(PATIENCE_S)

    def before(_connection, _cursor, statement, *_):
        if CHANGES.match(statement):
            goes_on.set()

    def after(_connection, _cursor, statement, *_):
        if "advisory" in statement:
            goes_on.set()

    listened: list[tuple[Engine, str, Callable[..., Any]]] = [
        (replica.database.writer, "commit", commit),
        (other.database.writer, "before_cursor_execute", before),
        (other.database.writer, "after_cursor_execute", after),
    ]
    for target, name, listener in listened:
        event.listen(target, name, listener)
    try:
        yield at_commit
    finally:
        goes_on.set()
        for target, name, listener in listened:
            event.remove(target, name, listener)


async def cross(replicas, first, second):
    """The outcomes of `first` and `second`, each in a replica. `second` reads before the commit of `first`."""
    with held_at_commit(*replicas) as at_commit:
        earlier = asyncio.create_task(first)
        assert await asyncio.to_thread(at_commit.wait, PATIENCE_S)
        return await asyncio.gather(earlier, second, return_exceptions=True)


async def subscribed(replica, region="GB", **chosen):
    """The form for a subscription of the channel."""
    before = ChannelFilter(region=region, **{"topics": DEFAULT_TOPICS} | chosen)
    await replica.database.write(
        lambda session: subscriptions.save(session, "CGB", before, user_id="UALICE", now=now())
    )
    return FormOf(channel_id="CGB", editing=region, was=before.fingerprint())


async def rows(replica):
    return await replica.database.read(lambda session: subscriptions.of_channel(session, "CGB"))


async def filters(replica):
    return [subscriptions.read_filter(row) for row in await rows(replica)]


async def audit(replica):
    statement = select(AuditEntry).order_by(col(AuditEntry.id))
    found = await replica.database.read(lambda session: session.execute(statement).scalars().all())
    return [(one.action, one.before, one.after) for one in found]


async def test_second_of_two_edits_is_told_that_the_subscription_changed(replicas):
    one, other = replicas
    form = await subscribed(one)
    saved, refused = await cross(replicas, one.saves(form, mentions=("U7",)), other.saves(form, mentions=("U8",)))
    assert saved.filters[0].mentions == ("U7",)
    assert isinstance(refused, FieldsWrong)
    assert refused.errors == {REGIONS_FIELD: subscribe.CHANGED}
    assert [chosen.mentions for chosen in await filters(one)] == [("U7",)]
    assert [action for action, _, _ in await audit(one)] == ["edit"]


async def test_two_new_subscriptions_to_a_region_are_one_with_all_that_both_asked_for(replicas):
    one, other = replicas
    first, second = await cross(
        replicas, one.types(SUBSCRIBE_COMMAND, "GB results"), other.types(SUBSCRIBE_COMMAND, "GB racecards")
    )
    both = {Topic.RESULTS, Topic.RACECARDS}
    assert first.filters[0].topics == {Topic.RESULTS}
    assert second.filters[0].topics == both
    assert [chosen.topics for chosen in await filters(one)] == [both]
    assert await audit(one) == [
        ("subscribe", None, "results from GB"),
        ("subscribe", "results from GB", "results and racecards from GB"),
    ]


async def test_edit_beside_a_removal_is_told_that_the_subscription_ended(replicas):
    one, other = replicas
    form = await subscribed(one)
    removed, refused = await cross(replicas, one.types(REMOVE_BUTTON, "GB"), other.saves(form, mentions=("U8",)))
    assert (removed.ended, removed.left) == (1, ())
    assert isinstance(refused, FieldsWrong)
    assert await filters(one) == []


async def test_subscribing_beside_a_removal_leaves_what_was_asked_for_last(replicas):
    one, other = replicas
    await subscribed(one)
    _, saved = await cross(
        replicas, one.types(UNSUBSCRIBE_COMMAND, "GB"), other.types(SUBSCRIBE_COMMAND, "GB racecards")
    )
    assert saved.filters[0].topics == {Topic.RACECARDS}
    assert [chosen.topics for chosen in await filters(one)] == [{Topic.RACECARDS}]
    assert [(before is None, after is None) for _, before, after in await audit(one)] == [(False, True), (True, False)]


async def test_removal_beside_an_edit_says_what_is_left(replicas):
    one, other = replicas
    form = await subscribed(one)
    _, removed = await cross(
        replicas, one.saves(form, topics=frozenset(Topic)), other.types(UNSUBSCRIBE_COMMAND, "GB racecards")
    )
    assert (removed.ended, removed.changed) == (0, 1)
    assert [chosen.topics for chosen in await filters(one)] == [DEFAULT_TOPICS]


async def test_edit_beside_the_filter_check_is_told_that_the_subscription_changed(replicas):
    one, other = replicas
    form = await subscribed(one, "gb", unchecked_since=now())
    checked, refused = await cross(replicas, one.checks(), other.saves(form, mentions=("U8",)))
    assert checked is True
    assert isinstance(refused, FieldsWrong)
    assert [(row.region, subscriptions.read_filter(row).region) for row in await rows(one)] == [("GB", "GB")]


async def test_filter_check_beside_an_edit_mends_what_was_saved(replicas):
    one, other = replicas
    form = await subscribed(one, "gb", unchecked_since=now())
    _, checked = await cross(replicas, one.saves(form, region=("GB",), mentions=("U7",)), other.checks())
    assert checked is True
    assert [(chosen.region, chosen.mentions) for chosen in await filters(one)] == [("GB", ("U7",))]
    assert await one.checks()
    assert [(chosen.mentions, chosen.unchecked_since) for chosen in await filters(one)] == [(("U7",), None)]


async def test_subscription_that_begins_beside_a_pause_is_paused(replicas):
    one, other = replicas
    await subscribed(one, "IRE")
    await cross(replicas, one.types(SUBSCRIBE_COMMAND, "GB"), other.types(PAUSE_COMMAND, "2h"))
    assert {row.state for row in await rows(one)} == {SubscriptionState.PAUSED}
    assert len({row.paused_until for row in await rows(one)}) == 1


async def test_pause_that_begins_as_the_one_before_ends_lasts(replicas):
    one, other = replicas
    await subscribed(one)
    past = now() - timedelta(minutes=1)
    await one.database.write(lambda session: pause_channel(session, "CGB", past, past))
    _, ended = await cross(
        replicas,
        one.types(PAUSE_COMMAND, "2h"),
        other.database.write(lambda session: other.reopening.end_pauses(session, now())),
    )
    assert ended == 0
    assert [row.state for row in await rows(one)] == [SubscriptionState.PAUSED]


async def test_meeting_that_two_people_mute_is_muted_once(replicas):
    one, other = replicas
    body = json.dumps(result("rc_1")).encode()
    key, name = Payload(body).identity
    arrival = inbox.Arrival(key, name, hashlib.sha256(body).hexdigest(), body, now())
    await one.database.write(lambda session: inbox.store(session, [arrival]))
    intake = intake_on(one.database)
    fanout = Fanout(
        one.database,
        read_events,
        arrivals=intake,
        outbox=QueuedOnly(),
        notices=one.notices,
        clock=now,
        wake=intake.stored,
        monotonic=lambda: 0.0,
    )
    assert await fanout.run_once()
    first, second = await cross(replicas, one.types(MUTE_BUTTON, key), other.types(MUTE_BUTTON, key))
    assert first[1] == second[1]
    assert [action for action, _, _ in await audit(one)] == ["mute"]
