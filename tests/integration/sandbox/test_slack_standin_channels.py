"""Channels, people and views over a real socket with Slack's own client. Nothing here leaves this machine."""

from datetime import UTC, datetime, timedelta

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.workspace import SlackWorkspace

MODAL = {
    "type": "modal",
    "callback_id": "subscribe",
    "title": {"type": "plain_text", "text": "Subscribe"},
    "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Regions"}}],
}


class _Clock:
    def __init__(self):
        self.now = datetime(2025, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return _Clock()


@pytest.fixture
async def workspace(clock):
    slack = SlackWorkspace(clock=clock)
    slack.add_user("U1", "ann")
    slack.add_user("U2", "bob", is_admin=True)
    slack.add_channel("C1", "gb-racing")
    slack.add_channel("C2", "elsewhere", bot_is_member=False, members=("U1",))
    slack.add_channel("G1", "desk", is_private=True)
    slack.add_channel("G2", "secret", is_private=True, bot_is_member=False)
    async with slack.running():
        yield slack


@pytest.fixture
def client(workspace):
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])


async def _error(call):
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


async def test_channel_info_tells_membership_and_state(client, workspace):
    joined = (await client.conversations_info(channel="C1"))["channel"]
    assert (joined["name"], joined["is_member"], joined["is_private"], joined["is_archived"]) == (
        "gb-racing",
        True,
        False,
        False,
    )
    assert (await client.conversations_info(channel="C2"))["channel"]["is_member"] is False
    assert (await client.conversations_info(channel="G1"))["channel"]["is_private"] is True
    assert await _error(client.conversations_info(channel="G2")) == "channel_not_found"
    await workspace.rename("C1", "uk-racing")
    assert (await client.conversations_info(channel="C1"))["channel"]["name"] == "uk-racing"


async def test_channel_info_needs_the_scope_of_its_kind(client, workspace):
    workspace.scopes.discard("groups:read")
    assert await _error(client.conversations_info(channel="G1")) == "missing_scope"
    await client.conversations_info(channel="C1")


async def test_channels_are_listed_by_type_a_page_at_a_time(client, workspace):
    both = "public_channel,private_channel"
    pages = [
        [channel["id"] for channel in page["channels"]]
        async for page in await client.conversations_list(types=both, limit=2)
    ]
    assert pages == [["C1", "C2"], ["G1"]]
    await workspace.archive("C2")
    listed = await client.conversations_list(exclude_archived=True)
    assert [channel["id"] for channel in listed["channels"]] == ["C1"]
    assert await _error(client.conversations_list(types="rooms")) == "invalid_types"
    assert await _error(client.conversations_list(types="im")) == "missing_scope"


async def test_members_are_listed(client, workspace):
    assert (await client.conversations_members(channel="C1"))["members"] == [workspace.bot_user_id, "U1", "U2"]
    first = await client.conversations_members(channel="C1", limit=2)
    rest = await client.conversations_members(channel="C1", cursor=first["response_metadata"]["next_cursor"])
    assert first["members"] + rest["members"] == [workspace.bot_user_id, "U1", "U2"]


async def test_bot_that_was_removed_cannot_post_until_invited_again(client, workspace):
    await workspace.remove_bot("C1")
    assert await _error(client.chat_postMessage(channel="C1", text="x")) == "not_in_channel"
    await workspace.invite_bot("C1")
    await client.chat_postMessage(channel="C1", text="x")


async def test_direct_message_is_opened_with_its_scope_and_posted_to_without(client, workspace):
    assert await _error(client.conversations_open(users="U1")) == "missing_scope"
    workspace.scopes.add("im:write")
    opened = await client.conversations_open(users="U1")
    assert opened["already_open"] is False
    posted = await client.chat_postMessage(channel="U1", text="psst")
    assert posted["channel"] == opened["channel"]["id"]
    assert workspace.add_dm("U1").id == posted["channel"]
    assert await _error(client.conversations_open(users="U9")) == "user_not_found"


async def test_user_info_tells_admins_apart(client):
    assert (await client.users_info(user="U2"))["user"]["is_admin"] is True
    assert (await client.users_info(user="U1"))["user"]["is_admin"] is False
    assert await _error(client.users_info(user="U9")) == "user_not_found"


async def test_modal_opens_once_for_each_trigger(client, workspace):
    trigger_id = workspace.triggers.issue()
    opened = (await client.views_open(trigger_id=trigger_id, view=MODAL))["view"]
    assert workspace.views[opened["id"]]["callback_id"] == "subscribe"
    assert await _error(client.views_open(trigger_id=trigger_id, view=MODAL)) == "exchanged_trigger_id"
    assert await _error(client.views_open(trigger_id="made-up", view=MODAL)) == "invalid_trigger_id"


async def test_modal_does_not_open_after_three_seconds(client, workspace, clock):
    trigger_id = workspace.triggers.issue()
    clock.now += timedelta(seconds=3.1)
    assert await _error(client.views_open(trigger_id=trigger_id, view=MODAL)) == "expired_trigger_id"


async def test_view_is_updated_unless_it_changed_meanwhile(client, workspace):
    opened = (await client.views_open(trigger_id=workspace.triggers.issue(), view=MODAL))["view"]
    changed = {**MODAL, "callback_id": "second"}
    updated = (await client.views_update(view_id=opened["id"], hash=opened["hash"], view=changed))["view"]
    assert workspace.views[opened["id"]]["callback_id"] == "second"
    assert updated["hash"] != opened["hash"]
    assert await _error(client.views_update(view_id=opened["id"], hash=opened["hash"], view=MODAL)) == "hash_conflict"
    assert await _error(client.views_update(view_id="V999", view=MODAL)) == "not_found"


async def test_home_is_published_for_a_person(client, workspace):
    await client.views_publish(user_id="U1", view={"type": "home", "blocks": MODAL["blocks"]})
    assert workspace.views["VHOMEU1"]["type"] == "home"
    assert await _error(client.views_publish(user_id="U1", view=MODAL)) == "invalid_arguments"
