"""`/racing list` flags subscriptions without creator, region or course; and two replicas change a subscription."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest_asyncio
from sqlalchemy import Engine, event

from bot.channels import subscriptions
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.outbox.held_channels import Reopening
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCourse
from bot.racedata.reference_book import ReferenceBook
from bot.settings import SubscribeBy
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.present_subscriptions import LIST_COMMAND, UNSUBSCRIBE_COMMAND
from bot.slack.commands.subscribe import FORM_SUBMITTED
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.subscribe_form import FormOf
from bot.slack.web_client import SlackClient, make_session, make_web_client
from bot.slack.workspace import BotIdentity, People
from tests.answering import answering
from tests.clock import PATIENCE_S, START, now
from tests.databases import empty
from tests.integration.conftest import TOKEN

ASCOT, YORK = Course(course_id="cr_1", name="Ascot"), Course(course_id="cr_2", name="York")


@pytest_asyncio.fixture
async def listed(database, slack):
    """The words of a channel's list, as a function."""
    slack.channels["CGB"].members.add("UALICE")
    session = make_session()
    client = SlackClient(make_web_client(TOKEN, slack.api_url, session))

    async def answer(text="", book=None):
        desk: Any = SimpleNamespace(
            database=database,
            reference=book or SimpleNamespace(regions=answering()),
            slack=client,
            identity=BotIdentity(TOKEN),
            people=People(client, BotIdentity("xoxb-test"), frozenset(), SubscribeBy.MEMBERS, lambda: 0.0),
            clock=lambda: START,
        )
        invocation = Invocation(text=text, channel_id="CGB", user_id="UALICE", reference="cmd-1")
        message = await LIST_COMMAND.say(desk, invocation)
        assert message
        return json.dumps(message.blocks, ensure_ascii=False)

    yield answer
    await session.close()


async def subscribe(database, *filters, user_id="UALICE"):
    def save(session):
        for chosen in filters:
            subscriptions.save(session, "CGB", chosen, user_id=user_id, now=START)

    await database.write(save)


def gb(**changes):
    return ChannelFilter(**{"region": "GB", "topics": DEFAULT_TOPICS} | changes)


async def test_region_and_course_that_are_published_no_longer_are_flagged(database, listed):
    await subscribe(database, gb(courses=(ASCOT,), not_courses=(YORK,)), gb(region="GONE"))
    assert "⚠️" not in await listed()

    def publish(session):
        lexicon.REGIONS.put(session, ["GB"], START)
        lexicon.COURSES.put(session, [KnownCourse(course_id="cr_1", name="Ascot", region="GB")], START)

    await database.write(publish)
    said = await listed()
    assert "publishes no region GONE, so nothing from it arrives." in said
    assert "no longer publishes the course York" in said
    assert said.count("⚠️") == 2


async def test_region_that_was_never_one_is_flagged_as_soon_as_the_service_is_back(database, listed):
    await subscribe(database, gb(region="gb"))

    async def reads(_timeout_s):
        await database.write(lambda session: lexicon.REGIONS.put(session, ["GB"], START))

    said = await listed(book=SimpleNamespace(regions=reads))
    assert '⚠️ The data service publishes no region gb, so nothing from it arrives. Did you mean \\"GB\\"?' in said


async def test_creator_who_is_deactivated_is_flagged_where_slack_may_be_asked(database, slack, listed):
    slack.add_user("UBOB", "bob", is_deactivated=True)
    slack.channels["CGB"].members.add("UBOB")
    await subscribe(database, gb(), user_id="UBOB")
    assert "deactivated" in await listed()
    slack.scopes -= {"users:read", "channels:read"}
    assert "⚠️" not in await listed()


async def test_thirty_subscriptions_are_listed_whole_a_page_at_a_time(database, listed):
    regions = [f"R{number:02}" for number in range(30)]
    await subscribe(database, *[gb(region=region) for region in regions])
    pages = [await listed(f"page:{number}") for number in range(1, 7)]
    assert [region for page in pages for region in regions if f"from {region}" in page] == regions
    assert "page 6 of 6" in await listed("page:99")
    assert "page 1 of 6" in await listed("page:0")


# Two replicas change a channel's subscriptions in the same instant: a command reads under the channel's lock


_TABLES = "(channel_subscription|muted_meeting)"
CHANGES = re.compile(rf"(INSERT INTO|DELETE FROM) {_TABLES}\b|UPDATE {_TABLES} SET (?!state)")
"""A statement that changes a channel's subscriptions. The bot's presence in the channel is written earlier."""


@dataclass
class Replica:
    """The parts of commands in one process of the bot, with the process' own connections."""

    database: Database
    slack: SlackClient
    reopening: Reopening = field(default_factory=lambda: Reopening(waited))

    @property
    def desk(self) -> Any:
        racing: Any = None
        return SimpleNamespace(
            database=self.database,
            slack=self.slack,
            reference=ReferenceBook(self.database, racing, now),
            reopening=self.reopening,
            people=SimpleNamespace(check_may_change=answering()),
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


def typed(text):
    return Invocation(text, "CGB", "UALICE", "cmd-1")


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


async def test_removal_beside_an_edit_says_what_is_left(replicas):
    """The removal reads before the commit of the edit. Each change's own lock: tests/integration/db."""
    one, other = replicas
    before = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)
    await one.database.write(partial(subscriptions.save, channel_id="CGB", chosen=before, user_id="UALICE", now=now()))
    form = FormOf(channel_id="CGB", editing="GB", was=before.fingerprint())
    with held_at_commit(*replicas) as at_commit:
        edited = asyncio.create_task(one.saves(form, topics=frozenset(Topic)))
        assert await asyncio.to_thread(at_commit.wait, PATIENCE_S)
        removal = other.types(UNSUBSCRIBE_COMMAND, "GB racecards")
        outcomes: Sequence[Any] = await asyncio.gather(edited, removal, return_exceptions=True)
    assert (outcomes[1].ended, outcomes[1].changed) == (0, 1)
    (row,) = await one.database.read(partial(subscriptions.of_channel, channel_id="CGB"))
    assert subscriptions.read_filter(row).topics == DEFAULT_TOPICS
