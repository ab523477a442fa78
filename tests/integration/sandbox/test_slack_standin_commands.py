"""Commands, events, buttons and modals, sent to a bot made with Bolt, and to bots that do it wrong."""

import asyncio
import json
from urllib.parse import parse_qsl

import pytest
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sandbox.loopback_server import serve
from sandbox.slack.workspace import SlackWorkspace

pytestmark = pytest.mark.usefixtures("real_time")

BUTTON = {"type": "button", "action_id": "pause", "value": "C1", "text": {"type": "plain_text", "text": "Pause"}}
ACTIONS = {"type": "actions", "block_id": "controls", "elements": [BUTTON]}
MODAL = {
    "type": "modal",
    "callback_id": "subscribe",
    "title": {"type": "plain_text", "text": "Subscribe"},
    "blocks": [{"type": "divider"}],
}


@pytest.fixture
async def workspace():
    slack = SlackWorkspace()
    slack.add_user("U1", "ann")
    slack.add_user("U0ADMIN", is_admin=True)
    slack.add_channel("C1", "gb-racing")
    slack.add_channel("G1", "desk", is_private=True)
    async with slack.running():
        yield slack


@pytest.fixture
def events():
    return []


@pytest.fixture
async def bolt_bot(workspace, events):
    async with serve(_bolt_app(workspace, events)) as address:
        yield address


def _bolt_app(workspace, events):
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    app = AsyncApp(client=client, signing_secret=workspace.signing_secret)

    async def on_command(ack, respond, command):
        await ack()
        await respond(f"{command['user_name']} in {command['channel_name']}: {command['text']}")

    async def on_pause(ack, respond, action):
        await ack()
        await respond(text=f"paused {action['value']}", replace_original=True)

    async def on_form(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    async def on_submit(ack, view):
        await ack(response_action="errors", errors={"region": view["state"]["values"]["region"]})

    async def on_event(body, request):
        events.append((body["event"]["type"], request.headers.get("x-slack-retry-num")))
        workspace.changes.notify()

    app.command("/racing")(on_command)
    app.command("/form")(on_form)
    app.action("pause")(on_pause)
    app.view("subscribe")(on_submit)
    for kind in ("member_joined_channel", "member_left_channel", "channel_left", "group_left", "channel_archive"):
        app.event(kind)(on_event)
    return _routed(AsyncSlackRequestHandler(app).handle)


def _routed(endpoint):
    return Starlette(routes=[Route("/slack/events", endpoint, methods=["POST"])])


def _answering(response):
    async def endpoint(_request):
        return response

    return _routed(endpoint)


async def test_command_reaches_the_bot_signed_and_is_answered_through_its_address(workspace, bolt_bot):
    answer = await workspace.command(bolt_bot, "/racing", "subscribe GB", channel="C1", user="U1")
    assert (answer.status, answer.body, answer.error) == (200, "", None)
    assert 0 < answer.elapsed_ms < 3000
    [response] = await answer.responses()
    assert (response.text, response.response_type, response.via) == (
        "ann in gb-racing: subscribe GB",
        "ephemeral",
        "response_url",
    )
    assert [(shown.user, shown.text) for shown in workspace.ephemerals] == [("U1", response.text)]


async def test_command_carries_the_fields_that_slack_sends(workspace):
    received: dict[str, str] = {}

    async def endpoint(request):
        received.update(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        return Response()

    async with serve(_routed(endpoint)) as bot:
        await workspace.command(bot, "/racing", "A & B <@U1|ann> <x>", channel="G1", user="U1")
    assert received == {
        "token": workspace.verification_token,
        "team_id": workspace.team_id,
        "team_domain": "sandbox",
        "channel_id": "G1",
        "channel_name": "privategroup",
        "user_id": "U1",
        "user_name": "ann",
        "command": "/racing",
        "text": "A &amp; B <@U1|ann> &lt;x&gt;",
        "api_app_id": workspace.app_id,
        "is_enterprise_install": "false",
        "response_url": received["response_url"],
        "trigger_id": received["trigger_id"],
    }
    assert received["response_url"].startswith(workspace.address)


@pytest.mark.parametrize("forgery", [{"secret": "another"}, {"timestamp": 1_700_000_000}])
async def test_forged_request_is_refused_by_bolt(workspace, bolt_bot, forgery):
    answer = await workspace.post_signed(bolt_bot, b"command=%2Fracing", **forgery)
    assert (answer.status, answer.error) == (401, "dispatch_failed")


async def test_address_is_verified(workspace, bolt_bot):
    assert (await workspace.url_verification(bolt_bot)).error is None
    async with serve(_answering(PlainTextResponse("hello"))) as wrong:
        assert (await workspace.url_verification(wrong)).error == "challenge_failed"


async def test_membership_is_told_to_the_bot(workspace, bolt_bot, events):
    answers = [
        *await workspace.remove_bot("C1", bolt_bot),
        *await workspace.invite_bot("C1", bolt_bot),
        *await workspace.remove_bot("G1", bolt_bot),
        *await workspace.archive("C1", bolt_bot),
        await workspace.event(bolt_bot, {"type": "channel_archive", "channel": "C1"}, event_id="Ev1", retry_num=1),
    ]
    assert [answer.status for answer in answers] == [200] * 7
    await workspace.wait_for(lambda: len(events) == 7)
    assert sorted(kind for kind, _ in events) == [
        "channel_archive",
        "channel_archive",
        "channel_left",
        "group_left",
        "member_joined_channel",
        "member_left_channel",
        "member_left_channel",
    ]
    assert ("channel_archive", ["1"]) in events
    assert workspace.bot_user_id in workspace.channels["C1"].members


async def test_pressed_button_edits_the_message_it_is_on(workspace, bolt_bot):
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    await client.chat_postMessage(channel="C1", text="Subscribed", blocks=[ACTIONS])
    [message] = workspace.messages("C1")
    answer = await workspace.action(bolt_bot, "pause", "C1", message=message, user="U1")
    [response] = await answer.responses()
    assert response.replace_original
    assert [(after.ts, after.text) for after in workspace.messages("C1")] == [(message.ts, "paused C1")]
    with pytest.raises(LookupError, match="no element"):
        await workspace.action(bolt_bot, "resume", "C1", message=message, user="U1")


async def test_button_of_an_ephemeral_message_is_answered_to_who_pressed_it(workspace, bolt_bot):
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    await client.chat_postEphemeral(channel="C1", user="U1", text="Subscribed", blocks=[ACTIONS])
    answer = await workspace.action(bolt_bot, "pause", "C1", message=workspace.ephemerals[0], user="U1")
    assert [response.text for response in await answer.responses()] == ["paused C1"]
    assert [shown.text for shown in workspace.ephemerals] == ["paused C1"]


async def test_modal_opens_on_a_command_and_is_submitted(workspace, bolt_bot):
    await workspace.command(bolt_bot, "/form", channel="C1", user="U1")
    await workspace.wait_for(lambda: bool(workspace.views))
    [view_id] = workspace.views
    answer = await workspace.view_submission(bolt_bot, view_id, {"region": "unknown"}, user="U1")
    assert json.loads(answer.body) == {"response_action": "errors", "errors": {"region": "unknown"}}
    with pytest.raises(LookupError, match="no response_url"):
        await answer.responses()


@pytest.mark.parametrize(
    ("response", "text", "response_type"),
    [
        (PlainTextResponse("Subscribed."), "Subscribed.", "ephemeral"),
        (JSONResponse({"text": "Hear, hear", "response_type": "in_channel"}), "Hear, hear", "in_channel"),
    ],
)
async def test_body_of_the_answer_itself_is_a_response(workspace, response, text, response_type):
    async with serve(_answering(response)) as bot:
        answer = await workspace.command(bot, "/racing", channel="C1", user="U1")
    [taken] = await answer.responses()
    assert (taken.text, taken.response_type, taken.via) == (text, response_type, "ack")
    assert len(workspace.messages("C1")) == (1 if response_type == "in_channel" else 0)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (JSONResponse({"text": "x", "blocks": [{"type": "wheel"}]}), "invalid_blocks"),
        (JSONResponse({"text": ""}), "no_text"),
        (Response(status_code=500), "dispatch_failed"),
        (Response(status_code=302, headers={"Location": "/elsewhere"}), "dispatch_failed"),
    ],
)
async def test_answer_that_slack_would_not_show_is_an_error(workspace, response, error):
    async with serve(_answering(response)) as bot:
        answer = await workspace.command(bot, "/racing", channel="C1", user="U1")
    assert answer.error == error
    assert workspace.ephemerals == []


async def test_bot_that_is_not_there_is_an_error(workspace):
    async with serve(_answering(Response())) as gone:
        pass
    answer = await workspace.command(gone, "/racing", channel="C1", user="U1")
    assert (answer.status, answer.error) == (0, "dispatch_failed")


async def test_bot_that_takes_longer_than_slack_waits_is_an_error(workspace):
    workspace.ack_timeout_s = 0.05
    released = asyncio.Event()

    async def endpoint(_request):
        await released.wait()
        return Response()

    async with serve(_routed(endpoint)) as bot:
        answer = await workspace.command(bot, "/racing", channel="C1", user="U1")
        released.set()
    assert (answer.status, answer.error) == (0, "operation_timeout")


async def test_workspace_without_an_address_says_so():
    workspace = SlackWorkspace()
    workspace.add_user("U1")
    workspace.add_channel("C1", "gb-racing")
    with pytest.raises(RuntimeError, match="not running"):
        assert workspace.api_url
    with pytest.raises(RuntimeError, match="no address yet"):
        await workspace.command("http://127.0.0.1:1", "/racing", channel="C1", user="U1")
