"""A region that was subscribed to while nothing could tell that it is none: mended, or told, once the list is there."""

import asyncio

import pytest
from sqlmodel import select

from bot.channels import audit_log, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import ChannelSubscriptionRow, OutboxMessage, SubscriptionState
from bot.events.event import DEFAULT_TOPICS
from bot.operations.jobs.refresh_reference import CHECK_EVERY_S, refresh_for_filters, refresh_reference
from bot.outbox.message import Message
from bot.outbox.notices import Notices
from bot.racedata import reference_store
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.admin_notice import admin_notice
from tests.notice_levels import WARNING, level_of, words_of
from tests.unit.racedata.conftest import START

FAULT = ServerFault("reference", code="server_error", status=500)
AWAY = {"courses": FAULT, "reference": FAULT, "countries": FAULT}
BACK = {"courses": [], "reference": {"regions": ["AUS", "GB", "HK", "hk", "IRE"]}, "countries": []}


@pytest.fixture
def refresh(database, client, clock):
    """What the job does, some time later, with the service away or back."""
    book = ReferenceBook(database, client, clock)
    notices = Notices("CADMINS", admin_notice, clock=clock)
    client.answers = AWAY

    async def run(answers=None):
        client.answers = answers or BACK
        clock.pass_(minutes=10)
        await refresh_reference(book, database, notices, clock)

    return run


@pytest.fixture
def subscribe(database, clock):
    async def save(channel_id, *regions):
        def write(session):
            for region in regions:
                chosen = ChannelFilter(region=region, topics=DEFAULT_TOPICS)
                subscriptions.save(session, channel_id, chosen, user_id="U1", now=clock())

        await database.write(write)

    return save


@pytest.fixture
def regions_of(database):
    async def read(channel_id):
        rows = await database.read(lambda session: subscriptions.of_channel(session, channel_id))
        assert [row.region for row in rows] == [subscriptions.read_filter(row).region for row in rows]
        return {row.region for row in rows}

    return read


@pytest.fixture
def told(database):
    async def read():
        """(channel, words) of what was told."""
        found = await database.read(lambda session: session.exec(select(OutboxMessage)).all())
        return [(post.channel_id, Message.from_json(post.content).text) for post in found]

    return read


async def test_region_in_other_letter_case_is_mended_told_and_audited_once(
    database, refresh, subscribe, regions_of, told
):
    await subscribe("C1", "gb", "IRE", ALL_REGIONS)
    await refresh(AWAY)
    assert await regions_of("C1") == {"gb", "IRE", ALL_REGIONS}
    assert await told() == []
    await refresh()
    await refresh()
    assert await regions_of("C1") == {"GB", "IRE", ALL_REGIONS}
    admins, here = await told()
    assert (admins[0], here[0]) == ("CADMINS", "C1")
    assert "was subscribed to gb" in here[1]
    assert "the subscription is to GB now" in here[1]
    assert admins[1] == f"{WARNING}I tell channel <#C1>: {words_of(here[1])}"
    assert level_of(here[1]) == WARNING
    entry = await database.read(lambda session: audit_log.last_of_channel(session, "C1"))
    assert (entry.before, entry.after) == ("the region gb", "the region GB")


@pytest.mark.parametrize(
    "case",
    [(["Hk"], "Did you mean HK or hk?"), (["IREX"], "Did you mean IRE?"), (["nowhere"], "arrives. Edit and Remove")],
)
async def test_region_that_can_not_be_mended_is_told_once_with_what_may_be_right(
    refresh, subscribe, regions_of, told, case
):
    regions, question = case
    await subscribe("C1", *regions)
    await refresh()
    await refresh()
    assert await regions_of("C1") == set(regions)
    assert [channel_id for channel_id, _ in await told()] == ["CADMINS", "C1"]
    words = (await told())[1][1]
    assert f"This channel is subscribed to {regions[0]}, but the data service publishes no such region" in words
    assert question in words
    assert [level_of(text) for _, text in await told()] == [WARNING, WARNING]


@pytest.mark.parametrize("case", [(("gb", "GB"), "GB"), (("IRL",), "IRE"), (("great britain",), "GB")])
async def test_other_word_for_a_published_region_is_mended_and_told_once(refresh, subscribe, regions_of, told, case):
    typed, published = case
    await subscribe("C1", *typed)
    await refresh()
    await refresh()
    assert await regions_of("C1") == {published}
    assert [channel_id for channel_id, _ in await told()] == ["CADMINS", "C1"]
    assert f"the subscription is to {published} now" in (await told())[1][1]


async def test_subscription_that_waits_for_the_bot_is_looked_at_once_it_is_live(
    database, refresh, subscribe, regions_of, told
):
    await subscribe("C1", "gb")

    def wait(session):
        subscriptions.set_state(session, "C1", SubscriptionState.WAITING, START)

    await database.write(wait)
    await refresh()
    assert (await regions_of("C1"), await told()) == ({"gb"}, [])
    await database.write(lambda session: subscriptions.reopen(session, "C1", START))
    await refresh()
    assert await regions_of("C1") == {"GB"}


async def test_filter_that_can_not_be_read_is_not_written_over(database, refresh, subscribe, told):
    await subscribe("C1", "gb")

    def spoil(session):
        row = session.exec(select(ChannelSubscriptionRow)).one()
        row.filter = "{"
        session.add(row)

    await database.write(spoil)
    await refresh()
    (row,) = await database.read(lambda session: subscriptions.of_channel(session, "C1"))
    assert (row.region, row.filter) == ("gb", "{")
    assert len(await told()) == 2


async def test_filter_that_can_not_be_read_is_joined_with_none(database, refresh, subscribe, regions_of):
    await subscribe("C1", "GB")

    def spoil(session):
        row = session.exec(select(ChannelSubscriptionRow)).one()
        row.filter = "{"
        session.add(row)

    await database.write(spoil)
    await subscribe("C1", "gb")
    await refresh()
    rows = await database.read(lambda session: subscriptions.of_channel(session, "C1"))
    assert [(row.region, row.filter == "{") for row in rows] == [("GB", True), ("gb", False)]


@pytest.fixture
def replicas(database, client, clock):
    """What the job does in each of its slots, in one of three replicas by turns; how many requests each made."""
    client.answers = AWAY
    notices = Notices("CADMINS", admin_notice, clock=clock)
    books = [ReferenceBook(database, client, clock) for _ in range(3)]

    async def run(slots):
        asked = []
        for number in range(slots):
            before = len(client.asked)
            await refresh_for_filters(books[number % 3], database, notices, clock, asyncio.Event())
            asked.append(len(client.asked) - before)
            clock.pass_(seconds=CHECK_EVERY_S)
        return asked

    return run


@pytest.fixture
def subscribe_unchecked(database, clock):
    async def save(channel_id, region):
        chosen = ChannelFilter(region=region, topics=DEFAULT_TOPICS, unchecked_since=clock())
        await database.write(lambda session: subscriptions.save(session, channel_id, chosen, user_id="U1", now=clock()))

    return save


async def test_service_that_is_away_is_asked_ever_more_rarely_for_an_unchecked_filter(
    client, clock, replicas, subscribe_unchecked
):
    assert await replicas(4) == [0, 0, 0, 0]
    await subscribe_unchecked("C1", "gb")
    assert await replicas(16) == [2, 2, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2]
    client.answers = BACK
    assert sum(await replicas(8)) == 2
    clock.pass_(days=2)
    client.answers = AWAY
    await subscribe_unchecked("C1", "nowhere")
    await subscribe_unchecked("C2", "ire")
    assert await replicas(4) == [2, 0, 0, 0]


async def test_lists_that_came_by_another_way_are_used_before_the_service_is_asked_again(
    database, replicas, subscribe_unchecked, regions_of, clock
):
    await subscribe_unchecked("C1", "gb")
    await replicas(9)
    await database.write(lambda session: reference_store.put_regions(session, ["GB"], clock()))
    await replicas(1)
    assert await regions_of("C1") == {"GB"}
