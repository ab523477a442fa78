"""Posting, editing and reading over a real socket with Slack's own client. Nothing here leaves this machine."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.limits import SlackLimits
from sandbox.slack.workspace import SlackWorkspace

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "*Kempton* 14:30"}}
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
    slack.add_user("U1", "ann")
    slack.add_user("U0ADMIN", is_admin=True)
    slack.add_channel("C1", "gb-racing")
    slack.add_channel("C2", "elsewhere", bot_is_member=False)
    slack.add_channel("G1", "desk", is_private=True)
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


async def test_auth_test_tells_who_the_bot_is_and_its_scopes(client, workspace):
    answer = await client.auth_test()
    assert (answer["user_id"], answer["team_id"]) == (workspace.bot_user_id, workspace.team_id)
    assert "chat:write" in answer.headers["X-OAuth-Scopes"].split(",")


async def test_posted_message_is_kept_with_blocks_and_metadata(client, workspace):
    answer = await client.chat_postMessage(channel="C1", text="Kempton", blocks=[SECTION], metadata=METADATA)
    [message] = workspace.messages("C1")
    assert message.ts == answer["ts"]
    assert (message.text, message.blocks, message.metadata) == ("Kempton", (SECTION,), METADATA)
    assert answer["message"]["blocks"][0]["text"] == SECTION["text"]


async def test_message_in_a_form_with_json_in_its_fields_is_the_same(workspace):
    form = {"channel": "C1", "text": "x", "blocks": json.dumps([SECTION]), "metadata": json.dumps(METADATA)}
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"Authorization": f"Bearer {workspace.bot_token}"}
        answer = await http.post(f"{workspace.api_url}chat.postMessage", data=form, headers=headers)
    assert answer.json()["ok"] is True
    [message] = workspace.messages("C1")
    assert (message.blocks, message.metadata) == ((SECTION,), METADATA)


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        ("channel_not_found", {"channel": "C9", "text": "x"}),
        ("channel_not_found", {"channel": "G2", "text": "x"}),
        ("not_in_channel", {"channel": "C2", "text": "x"}),
        ("no_text", {"channel": "C1", "attachments": [{"fallback": "x"}]}),
        ("no_text", {"channel": "C1", "blocks": [], "attachments": [{"fallback": "x"}]}),
        ("invalid_blocks", {"channel": "C1", "text": "x", "blocks": [{"type": "wheel"}]}),
        ("invalid_blocks_format", {"channel": "C1", "text": "x", "blocks": "[{"}),
        (
            "msg_blocks_too_long",
            {
                "channel": "C1",
                "text": "x",
                "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2700}}] * 5,
            },
        ),
        ("invalid_metadata_format", {"channel": "C1", "text": "x", "metadata": {"event_type": "a"}}),
        ("thread_not_found", {"channel": "C1", "text": "x", "thread_ts": "1.000001"}),
    ],
)
async def test_post_is_refused_as_slack_refuses_it(client, workspace, error, arguments):
    assert (await _refusal(client.chat_postMessage(**arguments)))["error"] == error
    assert workspace.messages("C1") == []
    assert workspace.calls[-1].error == error


async def test_invalid_blocks_say_where(client):
    response = await _refusal(client.chat_postMessage(channel="C1", text="x", blocks=[{"type": "header"}]))
    assert response["errors"] == ["missing required field: text [json-pointer:/blocks/0]"]
    assert response["response_metadata"]["messages"][0].startswith("[ERROR] missing required field")


async def test_archived_channel_takes_no_posts_and_no_edits(client, workspace):
    posted = await client.chat_postMessage(channel="C1", text="x")
    await workspace.archive("C1")
    assert (await _refusal(client.chat_postMessage(channel="C1", text="x")))["error"] == "is_archived"
    assert (await _refusal(client.chat_update(channel="C1", ts=posted["ts"], text="y")))["error"] == "is_inactive"
    await workspace.unarchive("C1")
    await client.chat_postMessage(channel="C1", text="x")


async def test_public_channel_can_be_posted_to_from_outside_with_the_scope_for_it(client, workspace):
    workspace.scopes.add("chat:write.public")
    await client.chat_postMessage(channel="#elsewhere", text="x")
    assert [message.text for message in workspace.messages("C2")] == ["x"]


async def test_missing_scope_names_what_is_needed(client, workspace):
    workspace.scopes.discard("channels:history")
    response = await _refusal(client.conversations_history(channel="C1"))
    assert (response["error"], response["needed"]) == ("missing_scope", "channels:history")
    assert "chat:write" in response["provided"].split(",")
    await client.chat_postMessage(channel="C1", text="posting goes on")


async def test_wrong_and_missing_tokens_are_told_apart_and_never_logged(workspace):
    stranger = AsyncWebClient("xoxb-sandbox-other", base_url=workspace.api_url, retry_handlers=[])
    assert (await _refusal(stranger.auth_test()))["error"] == "invalid_auth"
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(f"{workspace.api_url}auth.test")).json()["error"] == "not_authed"
    assert "xoxb" not in repr(workspace.calls)


async def test_unknown_method_is_refused(client):
    assert (await _refusal(client.api_call("chat.sing")))["error"] == "unknown_method"


async def test_long_text_is_cut_with_a_warning(client, workspace):
    answer = await client.chat_postMessage(channel="C1", text="x" * 40_001)
    assert answer["response_metadata"]["warnings"] == ["message_truncated"]
    assert len(workspace.messages("C1")[0].text) == 40_000


async def test_timestamps_are_unique_and_increase_in_a_burst(client, workspace):
    await asyncio.gather(*(client.chat_postMessage(channel="C1", text=f"{n}") for n in range(10)))
    issued = [message.ts for message in workspace.messages("C1")]
    assert issued == sorted(set(issued))
    assert issued[0] == "1763640000.000000"


async def test_edit_replaces_text_and_keeps_blocks_and_metadata_it_does_not_mention(client, workspace):
    posted = await client.chat_postMessage(channel="C1", text="old", blocks=[SECTION], metadata=METADATA)
    await client.chat_update(channel="C1", ts=posted["ts"], text="new")
    [message] = workspace.messages("C1")
    assert (message.ts, message.text, message.blocks, message.metadata) == (posted["ts"], "new", (SECTION,), METADATA)
    assert message.edited is not None
    await client.chat_update(channel="C1", ts=posted["ts"], text="newer", blocks=[])
    assert workspace.messages("C1")[0].blocks == ()


async def test_edit_is_refused_where_slack_refuses_it(client, workspace):
    theirs = workspace.say("C1", "U1", "hello")
    mine = await client.chat_postMessage(channel="C1", text="x")
    refusals = {
        "cant_update_message": client.chat_update(channel="C1", ts=theirs.ts, text="y"),
        "message_not_found": client.chat_update(channel="C1", ts="1.000001", text="y"),
        "msg_too_long": client.chat_update(channel="C1", ts=mine["ts"], text="y" * 4001),
        "no_text": client.api_call("chat.update", json={"channel": "C1", "ts": mine["ts"]}),
    }
    for error, call in refusals.items():
        assert (await _refusal(call))["error"] == error


async def test_ephemeral_message_is_seen_by_one_member(client, workspace):
    await client.chat_postEphemeral(channel="C1", user="U1", text="only you")
    assert [(shown.user, shown.text, shown.via) for shown in workspace.ephemerals] == [
        ("U1", "only you", "chat.postEphemeral")
    ]
    assert workspace.messages("C1") == []
    workspace.channels["C1"].members.discard("U1")
    refused = await _refusal(client.chat_postEphemeral(channel="C1", user="U1", text="x"))
    assert refused["error"] == "user_not_in_channel"


async def test_permalink_leads_to_a_message_that_exists(client):
    posted = await client.chat_postMessage(channel="C1", text="x")
    link = await client.chat_getPermalink(channel="C1", message_ts=posted["ts"])
    assert link["permalink"].endswith("/archives/C1/p" + posted["ts"].replace(".", ""))
    assert (await _refusal(client.chat_getPermalink(channel="C1", message_ts="1.000001")))["error"] == (
        "message_not_found"
    )


async def test_rate_limit_is_a_429_that_says_how_long_to_wait(client, workspace, clock):
    workspace.limits = SlackLimits(burst=1)
    await client.chat_postMessage(channel="C1", text="1")
    response = await _refusal(client.chat_postMessage(channel="C1", text="2"))
    assert (response.status_code, response["error"], response.headers["Retry-After"]) == (429, "ratelimited", "1")
    clock.advance(1)
    await client.chat_postMessage(channel="C1", text="3")
    assert [message.text for message in workspace.messages("C1")] == ["1", "3"]


async def test_new_blocks_can_be_refused(client, workspace):
    cells = [[{"type": "raw_text", "text": "Horse"}], [{"type": "raw_text", "text": "Ann's Joy"}]]
    table = {"type": "data_table", "caption": "Runners", "rows": cells}
    await client.chat_postMessage(channel="C1", text="x", blocks=[table])
    workspace.refused_blocks = NEW_BLOCKS
    assert (await _refusal(client.chat_postMessage(channel="C1", text="x", blocks=[table])))["error"] == (
        "invalid_blocks"
    )


async def test_waiting_ends_when_the_message_is_there(client, workspace):
    waiting = asyncio.create_task(workspace.wait_for(lambda: len(workspace.messages("C1")) == 2, timeout_s=5))
    for n in range(2):
        await client.chat_postMessage(channel="C1", text=f"{n}")
    await waiting
    with pytest.raises(TimeoutError):
        await workspace.wait_for(lambda: False, timeout_s=0.01)


async def test_callback_and_stream_see_what_happens(client, workspace):
    seen = []
    workspace.on_message(lambda message: seen.append(message.text))
    stream = workspace.stream()
    following = asyncio.ensure_future(anext(stream))
    posted = await client.chat_postMessage(channel="C1", text="one")
    await client.chat_update(channel="C1", ts=posted["ts"], text="two")
    assert (await following).text == "one"
    assert (await anext(stream)).text == "two"
    await stream.aclose()
    assert seen == ["one", "two"]


@pytest.mark.parametrize(
    ("error", "body", "content_type"),
    [
        ("invalid_json", b"{", "application/json"),
        ("invalid_json", b"[" * 100_000, "application/json"),
        ("json_not_object", b"[]", "application/json; charset=utf-8"),
        ("invalid_charset", b"\xff", "application/x-www-form-urlencoded"),
    ],
)
async def test_body_that_cannot_be_read_is_refused(workspace, error, body, content_type):
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"Content-Type": content_type, "Authorization": f"Bearer {workspace.bot_token}"}
        answer = await http.post(f"{workspace.api_url}auth.test", content=body, headers=headers)
    assert answer.json() == {"ok": False, "error": error}
