"""Refusals and limits of the stand-in of Slack, as of Slack, by Slack's own client over a real socket.

A stand-in more lenient than Slack would let the bot's tests pass for nothing. The bot's tests try the actions and views
of people.
"""

import asyncio
from urllib.parse import parse_qsl

import httpx
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.loopback_server import serve
from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.limits import SlackLimits

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "*Kempton* 14:30"}}
LONG = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2_700}}
TABLE = {"type": "data_table", "caption": "Runners", "rows": [[{"type": "raw_text", "text": "Horse"}]] * 2}
METADATA = {"event_type": "racing_post", "event_payload": {"post_id": "p-1"}}
MODAL = {
    "type": "modal",
    "callback_id": "subscribe",
    "title": {"type": "plain_text", "text": "Subscribe"},
    "blocks": [SECTION],
}


async def refusal(call):
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response


USUAL = {"chat.postMessage": {"channel": "C1", "text": "x"}, "chat.update": {"channel": "C1", "text": "y"}}


@pytest.mark.parametrize(
    ("error", "method", "arguments"),
    [
        ("channel_not_found", "chat.postMessage", {"channel": "C9"}),
        ("channel_not_found", "chat.postMessage", {"channel": "G2"}),
        ("not_in_channel", "chat.postMessage", {"channel": "C2"}),
        ("no_text", "chat.postMessage", {"text": None, "attachments": [{"fallback": "x"}]}),
        ("invalid_blocks", "chat.postMessage", {"blocks": [{"type": "wheel"}]}),
        ("invalid_blocks", "chat.postMessage", {"blocks": [{"type": "header"}]}),
        ("invalid_blocks", "chat.postMessage", {"blocks": [TABLE]}),
        ("invalid_blocks_format", "chat.postMessage", {"blocks": "[{"}),
        ("msg_blocks_too_long", "chat.postMessage", {"blocks": [LONG] * 5}),
        ("invalid_metadata_format", "chat.postMessage", {"metadata": {"event_type": "a"}}),
        ("thread_not_found", "chat.postMessage", {"thread_ts": "1.000001"}),
        ("cant_update_message", "chat.update", {"ts": "theirs"}),
        ("message_not_found", "chat.update", {"ts": "1.000001"}),
        ("msg_too_long", "chat.update", {"ts": "mine", "text": "y" * 4_001}),
        ("no_text", "chat.update", {"ts": "mine", "text": None}),
        ("unknown_method", "chat.sing", {}),
        ("user_not_found", "users.info", {"user": "U9"}),
        ("channel_not_found", "conversations.info", {"channel": "G2"}),
        ("not_in_channel", "conversations.history", {"channel": "C2"}),
        ("channel_not_found", "conversations.history", {"channel": "G2"}),
        ("invalid_cursor", "conversations.history", {"channel": "C1", "cursor": "forged"}),
        *(
            ("invalid_ts_oldest", "conversations.history", {"channel": "C1", "oldest": oldest})
            for oldest in ("yesterday", "1.76e9", "-1", "inf")
        ),
        ("invalid_limit", "conversations.history", {"channel": "C1", "limit": 0}),
        ("invalid_trigger_id", "views.open", {"trigger_id": "made-up", "view": MODAL}),
        ("not_found", "views.update", {"view_id": "V999", "view": MODAL}),
        ("invalid_arguments", "views.publish", {"user_id": "U1", "view": MODAL}),
        ("invalid_auth", "apps.connections.open", {}),
    ],
)
async def test_call_is_refused_as_slack_refuses_it(client, workspace, error, method, arguments):
    workspace.scopes.add("users:read")
    workspace.refused_blocks = NEW_BLOCKS
    theirs, mine = workspace.say("C1", "U1", "hello").ts, (await client.chat_postMessage(channel="C1", text="x"))["ts"]
    given = {name: value for name, value in (USUAL.get(method, {}) | arguments).items() if value is not None}
    given |= {"ts": {"theirs": theirs, "mine": mine}.get(given["ts"], given["ts"])} if "ts" in given else {}
    is_a_form = method.startswith(("conversations", "users"))
    call = client.api_call(method, params=given) if is_a_form else client.api_call(method, json=given)
    assert (await refusal(call))["error"] == error
    assert [message.text for message in workspace.messages("C1")] == ["hello", "x"]
    assert workspace.calls[-1].error == error


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("application/json; charset=utf-8", b'{"channel": ', "invalid_json"),
        ("application/json", b"\xff", "invalid_json"),
        ("application/json", b"[" * 100_000, "invalid_json"),
        ("application/json", b'["C1"]', "json_not_object"),
        ("application/x-www-form-urlencoded", b"\xff", "invalid_form_data"),
    ],
)
async def test_body_that_slack_cannot_read_is_refused_by_its_word(workspace, kind, body, error):
    """docs.slack.dev/apis/web-api. A response has one word: docs.slack.dev/changelog, 17 May 2016."""
    headers = {"Content-Type": kind, "Authorization": f"Bearer {workspace.bot_token}"}
    url = workspace.response_urls.issue("C1", "U1")
    async with httpx.AsyncClient(trust_env=False) as http:
        called = await http.post(f"{workspace.api_url}chat.postMessage", content=body, headers=headers)
        responded = await http.post(workspace.address + url.path, content=body, headers=headers)
    assert (called.status_code, called.json()) == (200, {"ok": False, "error": error})
    assert (responded.status_code, responded.json()["error"]) == (400, "invalid_payload")
    assert workspace.posted == {}


async def test_message_is_kept_as_posted_and_an_edit_changes_what_the_edit_mentions(client, workspace):
    posted = await client.chat_postMessage(channel="C1", text="old", blocks=[SECTION], metadata=METADATA)
    await client.chat_update(channel="C1", ts=posted["ts"], text="new")
    [message] = workspace.messages("C1")
    assert (message.ts, message.text, message.blocks, message.metadata) == (posted["ts"], "new", (SECTION,), METADATA)
    assert message.edited is not None


async def test_archived_channel_takes_no_edit_and_no_post(client, workspace):
    mine = (await client.chat_postMessage(channel="C1", text="x"))["ts"]
    await workspace.archive("C1")
    assert (await refusal(client.chat_update(channel="C1", ts=mine, text="y")))["error"] == "is_inactive"
    assert (await refusal(client.chat_postMessage(channel="C1", text="y")))["error"] == "is_archived"


@pytest.mark.parametrize(
    ("scope", "call"),
    [
        ("channels:history", lambda client: client.conversations_history(channel="C1")),
        ("groups:read", lambda client: client.conversations_info(channel="G1")),
        ("users:read", lambda client: client.users_info(user="U1")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_missing_scope_names_what_is_needed(client, workspace, scope, call):
    workspace.scopes.discard(scope)
    response = await refusal(call(client))
    assert (response["error"], response["needed"]) == ("missing_scope", scope)
    workspace.scopes.add(scope)
    await call(client)


async def test_wrong_and_missing_tokens_are_told_apart_and_never_logged(workspace):
    stranger = AsyncWebClient("xoxb-sandbox-other", base_url=workspace.api_url, retry_handlers=[])
    assert (await refusal(stranger.auth_test()))["error"] == "invalid_auth"
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(f"{workspace.api_url}auth.test")).json()["error"] == "not_authed"
    assert "xoxb" not in repr(workspace.calls)


async def test_rate_limit_is_a_429_that_says_how_long_to_wait(client, workspace, clock):
    workspace.limits = SlackLimits(burst=1)
    await client.chat_postMessage(channel="C1", text="1")
    response = await refusal(client.chat_postMessage(channel="C1", text="2"))
    assert (response.status_code, response["error"], response.headers["Retry-After"]) == (429, "ratelimited", "1")
    clock.forward(1)
    await client.chat_postMessage(channel="C1", text="3")
    assert [message.text for message in workspace.messages("C1")] == ["1", "3"]


async def test_history_has_pages_bounds_and_metadata_and_lags_as_told(client, workspace, clock):
    issued = []
    for n in range(4):
        issued.append((await client.chat_postMessage(channel="C1", text=f"{n}", metadata=METADATA))["ts"])
        clock.forward(10)
    await client.chat_postMessage(channel="C1", text="reply", thread_ts=issued[0])
    pages = [
        [message["text"] for message in page["messages"]]
        async for page in await client.conversations_history(channel="C1", limit=3)
    ]
    assert pages == [["3", "2", "1"], ["0"]]
    between = {"channel": "C1", "oldest": issued[1], "latest": issued[3]}
    outside = await client.conversations_history(**between)
    assert [message["text"] for message in outside["messages"]] == ["2"]
    assert "metadata" not in outside["messages"][0]
    inside = await client.conversations_history(**between, inclusive=True, include_all_metadata=True)
    assert [message["metadata"] for message in inside["messages"]] == [METADATA] * 3
    workspace.history_lag_s = 25
    assert len((await client.conversations_history(channel="C1"))["messages"]) == 2


async def test_trigger_opens_one_modal_within_three_seconds_and_a_view_changes_by_its_hash(client, workspace, clock):
    trigger_id = workspace.triggers.issue()
    opened = (await client.views_open(trigger_id=trigger_id, view=MODAL))["view"]
    assert (await refusal(client.views_open(trigger_id=trigger_id, view=MODAL)))["error"] == "exchanged_trigger_id"
    update = {"view_id": opened["id"], "hash": opened["hash"], "view": MODAL}
    await client.views_update(**update)
    assert (await refusal(client.views_update(**update)))["error"] == "hash_conflict"
    late = workspace.triggers.issue()
    clock.forward(3.1)
    assert (await refusal(client.views_open(trigger_id=late, view=MODAL)))["error"] == "expired_trigger_id"


# Slack's calls of the bot, and the bot's answers


async def respond(url, body):
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(url, json=body)
    return answer.status_code, answer.json()["error"] if answer.status_code != 200 else None


async def test_response_address_is_good_for_five_uses_and_thirty_minutes(workspace, clock):
    url = workspace.response_urls.issue("C1", "U1")
    answers = [await respond(workspace.address + url.path, {"text": f"{n}"}) for n in range(6)]
    assert answers == [(200, None)] * 5 + [(404, "used_url")]
    later = workspace.response_urls.issue("C1", "U1")
    clock.forward(31 * 60)
    assert await respond(workspace.address + later.path, {"text": "late"}) == (404, "expired_url")
    assert await respond(f"{workspace.address}/commands/{later.number + 1}", {"text": "lost"}) == (404, "invalid_url")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "x", "response_type": "loud"}, "invalid_response_type"),
        ({"text": "x", "blocks": [{"type": "header"}]}, "invalid_blocks"),
        ({"text": "x", "replace_original": "yes"}, "invalid_arguments"),
    ],
)
async def test_response_that_slack_would_not_take_is_a_400(workspace, body, error):
    url = workspace.response_urls.issue("C1", "U1")
    assert await respond(workspace.address + url.path, body) == (400, error)
    assert url.responses == []


def routed(endpoint):
    return serve(Starlette(routes=[Route("/slack/events", endpoint, methods=["POST"])]))


async def test_command_carries_the_fields_that_slack_sends(workspace):
    received: dict[str, str] = {}

    async def endpoint(request):
        received.update(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        return Response()

    async with routed(endpoint) as bot:
        await workspace.person("U1", bot).types("/racing A & B <@U1|ann> <x>", channel="G1")
    assert received["response_url"].startswith(workspace.address)
    assert received.items() >= {
        ("channel_name", "privategroup"),
        ("user_id", "U1"),
        ("command", "/racing"),
        ("text", "A &amp; B <@U1|ann> &lt;x&gt;"),
    }


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (JSONResponse({"text": "x", "blocks": [{"type": "wheel"}]}), "invalid_blocks"),
        (JSONResponse({"text": ""}), "no_text"),
        (Response(status_code=500), "dispatch_failed"),
        (Response(status_code=302, headers={"Location": "/elsewhere"}), "dispatch_failed"),
        (None, "operation_timeout"),
    ],
)
async def test_answer_that_slack_would_not_take_is_an_error(workspace, response, error):
    released = asyncio.Event()

    async def endpoint(_request):
        if response is None:
            await released.wait()
        return response or Response()

    workspace.ack_timeout_s = 0.05 if response is None else workspace.ack_timeout_s
    async with routed(endpoint) as bot:
        answer = await workspace.person("U1", bot).types("/racing", channel="C1")
        released.set()
    assert answer.error == error
    assert workspace.posted == {}
