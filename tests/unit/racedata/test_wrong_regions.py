"""A region that was subscribed to while nothing could tell that it is none: mended, or told, once the list is there."""

import asyncio

import pytest
from sqlmodel import select

from bot.channels import audit_log, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import ChannelSubscriptionRow, OutboxMessage, SubscriptionState
from bot.events.event import DEFAULT_TOPICS
from bot.operations.jobs.upkeep_jobs import CHECK_EVERY_S, refresh_for_filters, refresh_reference
from bot.outbox.message import Message
from bot.outbox.notices import Notices
from bot.racedata import lexicon
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.bot_notices import admin_notice
from tests.notice_levels import WARNING, level_of
from tests.unit.racedata.conftest import START

FAULT = ServerFault("reference", code="server_error", status=500)
AWAY = {"courses": FAULT, "reference": FAULT, "countries": FAULT}
BACK = {"courses": [], "reference": {"regions": ["AUS", "GB", "HK", "hk", "IRE"]}, "countries": []}


class Desk:
    """A channel's subscriptions, and replicas that look after them by turns."""

    def __init__(self, database, client, clock):
        self.database, self.client, self.clock = database, client, clock
        self.notices = Notices("CADMINS", admin_notice, clock=clock)
        self.books = [ReferenceBook(database, client, clock) for _ in range(3)]
        client.answers = AWAY

    async def subscribe(self, *regions, **unchecked):
        def write(session):
            for region in regions:
                chosen = ChannelFilter(region=region, topics=DEFAULT_TOPICS, **unchecked)
                subscriptions.save(session, "C1", chosen, user_id="U1", now=self.clock())

        await self.database.write(write)

    async def refresh(self, answers=BACK, *, times=1):
        """What the job does, some time later, with the service away or back."""
        self.client.answers = answers
        for _ in range(times):
            self.clock.pass_(minutes=10)
            await refresh_reference(self.books[0], self.database, self.notices, self.clock).run()

    async def slots(self, count):
        """What the job for unchecked filters does in so many slots; how many requests each made."""
        asked = []
        for number in range(count):
            before = len(self.client.asked)
            book, wake = self.books[number % 3], asyncio.Event()
            job = refresh_for_filters(book, self.database, self.notices, self.clock, wake)
            if await self.database.read(job.look):
                await job.run()
            asked.append(len(self.client.asked) - before)
            self.clock.pass_(seconds=CHECK_EVERY_S)
        return asked

    async def rows(self):
        return await self.database.read(lambda session: subscriptions.of_channel(session, "C1"))

    async def regions(self):
        rows = await self.rows()
        assert [row.region for row in rows] == [subscriptions.read_filter(row).region for row in rows]
        return {row.region for row in rows}

    async def told(self):
        """What was told, by channel."""
        found = await self.database.read(lambda session: session.exec(select(OutboxMessage)).all())
        return [(post.channel_id, Message.from_json(post.content).text) for post in found]

    async def spoil(self):
        """Leave a filter that cannot be read."""

        def spoil(session):
            row = session.exec(select(ChannelSubscriptionRow)).one()
            row.filter = "{"
            session.add(row)

        await self.database.write(spoil)


@pytest.fixture
def desk(database, client, clock):
    return Desk(database, client, clock)


# The regions of the channel before and after, and what was told.
WRONG = {
    "letter case, beside others": (["gb", "IRE", ALL_REGIONS], ["GB", "IRE", ALL_REGIONS], "subscribed to gb"),
    "letter case, beside the right one": (["gb", "GB"], ["GB"], "the subscription is to GB now"),
    "another code": (["IRL"], ["IRE"], "the subscription is to IRE now"),
    "a name": (["great britain"], ["GB"], "the subscription is to GB now"),
    "two that it may be": (["Hk"], ["Hk"], "Did you mean HK or hk?"),
    "a mistake": (["IREX"], ["IREX"], "Did you mean IRE?"),
    "nothing near": (["nowhere"], ["nowhere"], "to nowhere, but the data service publishes no such region"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_region_is_mended_or_told_once_with_what_may_be_right(desk, name):
    typed, kept, words = WRONG[name]
    await desk.subscribe(*typed)
    await desk.refresh(AWAY)
    assert (await desk.regions(), await desk.told()) == (set(typed), [])
    await desk.refresh(times=2)
    assert await desk.regions() == set(kept)
    told = await desk.told()
    assert [channel_id for channel_id, _ in told] == ["CADMINS", "C1"]
    assert {level_of(text) for _, text in told} == {WARNING}
    assert all(words in text for _, text in told)


async def test_mended_region_is_audited(desk):
    await desk.subscribe("gb")
    await desk.refresh()
    entry = await desk.database.read(lambda session: audit_log.last_of_channel(session, "C1"))
    assert (entry.before, entry.after) == ("the region gb", "the region GB")


async def test_subscription_that_waits_for_the_bot_is_looked_at_once_it_is_live(desk):
    await desk.subscribe("gb")
    await desk.database.write(lambda session: subscriptions.set_state(session, "C1", SubscriptionState.WAITING, START))
    await desk.refresh()
    assert (await desk.regions(), await desk.told()) == ({"gb"}, [])
    await desk.database.write(lambda session: subscriptions.reopen(session, "C1", START))
    await desk.refresh()
    assert await desk.regions() == {"GB"}


@pytest.mark.parametrize(("spoilt", "later"), [("gb", ()), ("GB", ("gb",))], ids=["by itself", "beside another"])
async def test_filter_that_can_not_be_read_is_not_written_over_and_joined_with_none(desk, spoilt, later):
    await desk.subscribe(spoilt)
    await desk.spoil()
    await desk.subscribe(*later)
    await desk.refresh()
    found = [(row.region, row.filter == "{") for row in await desk.rows()]
    assert found == [(spoilt, True), *((region, False) for region in later)]
    assert len(await desk.told()) == 2


async def test_service_that_is_away_is_asked_for_an_unchecked_filter_alone(desk):
    assert await desk.slots(4) == [0, 0, 0, 0]
    await desk.subscribe("gb", unchecked_since=desk.clock())
    assert await desk.slots(3) == [2, 2, 2]
    desk.client.answers = BACK
    assert sum(await desk.slots(8)) == 2
    desk.clock.pass_(days=2)
    desk.client.answers = AWAY
    await desk.subscribe("nowhere", "ire", unchecked_since=desk.clock())
    assert await desk.slots(4) == [2, 0, 0, 0]


async def test_lists_that_came_by_another_way_are_used_before_the_service_is_asked_again(desk):
    await desk.subscribe("gb", unchecked_since=desk.clock())
    await desk.slots(2)
    await desk.database.write(lambda session: lexicon.REGIONS.put(session, ["GB"], desk.clock()))
    await desk.slots(1)
    assert await desk.regions() == {"GB"}
