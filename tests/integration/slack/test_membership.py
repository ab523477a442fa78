"""Whether the bot is in a channel, asked of a Slack over a socket."""

import pytest

from bot.errors import SlackChannelClosed
from bot.slack.channel_membership import creator, is_member
from bot.slack.web_client import SlackClient, make_session, make_web_client
from sandbox.slack import failures
from sandbox.slack.values import Channel
from tests.integration.conftest import TOKEN


@pytest.fixture
async def client(slack):
    session = make_session()
    yield SlackClient(make_web_client(TOKEN, slack.api_url, session))
    await session.close()


async def test_channel_is_one_of_ours_while_we_are_in_it(client, slack):
    assert await is_member(client, "CGB") is True
    await slack.archive("CGB")
    assert await is_member(client, "CGB") is False
    await slack.remove_bot("CIRE")
    assert await is_member(client, "CIRE") is False
    assert await is_member(client, "CNOWHERE") is False
    slack.script("conversations.info", [failures.slack_error("internal_error")])
    assert await is_member(client, "CALL") is None


async def test_direct_message_is_ours_where_it_is_with_us(client, slack):
    ours = slack.direct_message("UALICE").id
    slack.add_user("UBOB", "bob")
    slack.channels["DTHEIRS"] = Channel(
        id="DTHEIRS",
        name="directmessage",
        created_at=slack.clock(),
        is_private=True,
        dm_user="UBOB",
        members={"UALICE"},
    )
    assert await is_member(client, ours) is None
    slack.scopes.add("im:history")
    assert await is_member(client, ours) is True
    assert await is_member(client, "DTHEIRS") is False


async def test_creator_of_a_channel_is_asked_of_slack(client, slack):
    slack.channels["CGB"].creator = "UALICE"
    assert await creator(client, "CGB", 5.0) == "UALICE"
    with pytest.raises(SlackChannelClosed):
        await creator(client, "CNOWHERE", 5.0)
