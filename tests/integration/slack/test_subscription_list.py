"""`/racing list` flags a subscription without its creator, its region or its course, as far as the bot knows."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Course
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCourse
from bot.settings import SubscribeBy
from bot.slack.bot_identity import BotIdentity
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.subscription_pages import LIST_COMMAND
from bot.slack.permissions import People
from bot.slack.web_client import SlackClient, make_session, make_web_client
from tests.clock import START
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
            reference=book or SimpleNamespace(regions=not_asked),
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


async def not_asked(_timeout_s):
    return None


async def subscribe(database, *filters, user_id="UALICE"):
    def save(session):
        for chosen in filters:
            subscriptions.save(session, "CGB", chosen, user_id=user_id, now=START)

    await database.write(save)


def gb(**changes):
    return ChannelFilter(**{"region": "GB", "topics": DEFAULT_TOPICS} | changes)


@pytest.mark.parametrize("text", ["foo", "GB", "page:2 GB"])
async def test_list_of_a_word_is_refused(listed, text):
    with pytest.raises(CommandError, match="It is /racing list, without further words"):
        await listed(text)


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
