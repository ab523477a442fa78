"""Reading a channel's messages and threads over a real socket with Slack's own client."""

from datetime import UTC, datetime, timedelta

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.workspace import SlackWorkspace

METADATA = {"event_type": "racing_post", "event_payload": {"post_id": "p-1"}}


class _Clock:
    def __init__(self):
        self.now = datetime(2025, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return _Clock()


@pytest.fixture
async def workspace(clock):
    slack = SlackWorkspace(clock=clock)
    slack.add_channel("C1", "gb-racing")
    slack.add_channel("C2", "elsewhere", bot_is_member=False)
    slack.add_channel("G2", "secret", is_private=True, bot_is_member=False)
    async with slack.running():
        yield slack


@pytest.fixture
def client(workspace):
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])


async def _refusal(call):
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response


async def test_history_pages_newest_first_without_replies(client):
    first = await client.chat_postMessage(channel="C1", text="0")
    await client.chat_postMessage(channel="C1", text="reply", thread_ts=first["ts"])
    for n in range(1, 5):
        await client.chat_postMessage(channel="C1", text=f"{n}")
    pages = [
        [message["text"] for message in page["messages"]]
        async for page in await client.conversations_history(channel="C1", limit=2)
    ]
    assert pages == [["4", "3"], ["2", "1"], ["0"]]
    thread = await client.conversations_replies(channel="C1", ts=first["ts"])
    assert [message["text"] for message in thread["messages"]] == ["0", "reply"]


async def test_history_keeps_to_its_bounds(client, clock):
    issued = []
    for n in range(4):
        issued.append((await client.chat_postMessage(channel="C1", text=f"{n}"))["ts"])
        clock.advance(10)
    between = {"channel": "C1", "oldest": issued[1], "latest": issued[3]}
    outside = await client.conversations_history(**between)
    assert [message["text"] for message in outside["messages"]] == ["2"]
    inside = await client.conversations_history(**between, inclusive=True)
    assert [message["text"] for message in inside["messages"]] == ["3", "2", "1"]


async def test_history_shows_metadata_only_when_asked(client):
    await client.chat_postMessage(channel="C1", text="x", metadata=METADATA)
    plain = await client.conversations_history(channel="C1")
    assert "metadata" not in plain["messages"][0]
    full = await client.conversations_history(channel="C1", include_all_metadata=True)
    assert full["messages"][0]["metadata"] == METADATA


async def test_history_lags_as_long_as_it_is_told_to(client, workspace, clock):
    workspace.history_lag_s = 5
    await client.chat_postMessage(channel="C1", text="x")
    assert (await client.conversations_history(channel="C1"))["messages"] == []
    clock.advance(5)
    assert len((await client.conversations_history(channel="C1"))["messages"]) == 1


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        ("invalid_cursor", {"cursor": "forged"}),
        ("invalid_cursor", {"cursor": "bmV4dDpub25zZW5zZQ=="}),
        ("invalid_ts_oldest", {"oldest": "yesterday"}),
        ("invalid_limit", {"limit": 0}),
    ],
)
async def test_history_refuses_arguments_that_slack_refuses(client, error, arguments):
    await client.chat_postMessage(channel="C1", text="x")
    assert (await _refusal(client.conversations_history(channel="C1", **arguments)))["error"] == error


async def test_history_is_for_members(client):
    assert (await _refusal(client.conversations_history(channel="C2")))["error"] == "not_in_channel"
    assert (await _refusal(client.conversations_history(channel="G2")))["error"] == "channel_not_found"
