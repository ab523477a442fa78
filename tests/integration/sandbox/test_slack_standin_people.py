"""People in the stand-in: what they type, press and fill in, by HTTP and by Socket Mode, to a bot made with Bolt."""

import json

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.routing import Route

from sandbox.loopback_server import serve
from sandbox.slack import failures
from sandbox.slack.workspace import SlackWorkspace

pytestmark = pytest.mark.usefixtures("real_time")

PLAIN = {"type": "plain_text"}
BUTTON = {"type": "button", "action_id": "pause", "value": "C1", "text": {**PLAIN, "text": "Pause it"}}
MENU = {
    "type": "static_select",
    "action_id": "region",
    "options": [{"text": {**PLAIN, "text": f"Region {code}"}, "value": code} for code in ("GB", "IRE")],
}
INPUTS = [
    {"type": "input", "block_id": "where", "label": {**PLAIN, "text": "Region"}, "element": MENU},
    {
        "type": "input",
        "block_id": "why",
        "optional": True,
        "label": {**PLAIN, "text": "Why"},
        "element": {"type": "plain_text_input", "action_id": "reason"},
    },
]


def modal(blocks=(), **fields):
    view = {"type": "modal", "callback_id": "form", "title": {**PLAIN, "text": "Form"}, "blocks": list(blocks)}
    return {**view, "submit": {**PLAIN, "text": "Send"}, **fields}


async def answer_submission(ack, reason):
    match reason:
        case None:
            await ack()
        case "update":
            await ack(response_action="update", view=modal(INPUTS[1:], callback_id="second"))
        case "clear":
            await ack(response_action="clear")
        case other:
            await ack(response_action="errors", errors={"why": f"not {other}"})


def make_bolt(workspace, heard):
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    app = AsyncApp(client=client, signing_secret=workspace.signing_secret, ignoring_self_events_enabled=False)

    async def on_message(event, body):
        heard.append((event["channel_type"], event["text"]))
        workspace.changes.notify()

    async def on_form(ack, body, client):
        await ack()
        view = modal([*INPUTS, {"type": "actions", "elements": [BUTTON]}], notify_on_close=True)
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    async def on_panel(ack, respond):
        await ack()
        await respond("Panel", blocks=[{"type": "actions", "elements": [BUTTON, MENU]}])

    async def on_pressed(ack, body, respond):
        heard.append((body["container"]["type"], body["actions"][0].get("value")))
        workspace.changes.notify()
        await ack()
        if body["container"]["type"] == "message":
            await respond("Paused", replace_original=True)

    async def on_chosen(ack, body, respond):
        await ack()
        await respond(delete_original=True)

    async def on_submitted(ack, view):
        values = view["state"]["values"]
        heard.append(("submitted", values["where"]["region"]["selected_option"]["value"]))
        await answer_submission(ack, values["why"]["reason"]["value"])

    async def on_closed(ack):
        heard.append(("closed", None))
        await ack()

    app.event("message")(on_message)
    app.command("/form")(on_form)
    app.command("/panel")(on_panel)
    app.action("pause")(on_pressed)
    app.action("region")(on_chosen)
    app.view("form")(on_submitted)
    app.view_closed("form")(on_closed)
    return app


@pytest.fixture(params=["http", "socket"])
async def workspace(request):
    slack = SlackWorkspace(socket_mode=request.param == "socket")
    slack.add_user("U1", "ann")
    slack.add_channel("C1", "gb-racing")
    async with slack.running():
        yield slack


@pytest.fixture
def heard():
    return []


@pytest.fixture
async def ann(workspace, heard):
    app = make_bolt(workspace, heard)
    if workspace.socket_mode:
        handler = AsyncSocketModeHandler(app, workspace.sockets.app_token)
        await handler.connect_async()
        yield workspace.person("U1", "")
        await handler.close_async()
        return
    routes = [Route("/slack/events", AsyncSlackRequestHandler(app).handle, methods=["POST"])]
    async with serve(Starlette(routes=routes)) as address:
        yield workspace.person("U1", address)


async def opened(ann):
    await ann.types("/form", channel="C1")
    return await ann.opened("form")


async def test_button_of_what_one_person_sees_changes_it(ann):
    answer = await ann.types("/panel", channel="C1")
    await answer.responses()
    pressed = await ann.clicks("Pause it", channel="C1")
    await pressed.responses()
    assert [seen.text for seen in ann.sees("C1")] == ["Paused"]
    with pytest.raises(LookupError, match="nothing to click"):
        await ann.clicks("Pause it", channel="C1")


async def test_choice_in_a_menu_takes_the_message_away(ann):
    await (await ann.types("/panel", channel="C1")).responses()
    with pytest.raises(LookupError, match="no option"):
        await ann.clicks("region", channel="C1", choice="Region FR")
    await (await ann.clicks("region", channel="C1", choice="Region IRE")).responses()
    assert ann.sees("C1") == []


async def test_modal_is_filled_in_and_closes(ann, workspace, heard):
    view_id = await opened(ann)
    assert (await ann.submits(view_id, {"Region": "Region IRE"})).error is None
    assert ("submitted", "IRE") in heard
    assert workspace.views == {}


async def test_modal_with_errors_stays_open(ann, workspace):
    view_id = await opened(ann)
    answer = await ann.submits(view_id, {"region": "GB", "reason": "boredom"})
    assert json.loads(answer.body)["errors"] == {"why": "not boredom"}
    assert list(workspace.views) == [view_id]
    await ann.submits(view_id, {"Region": "GB", "Why": "update"})
    assert workspace.views[view_id]["callback_id"] == "second"


async def test_modal_is_cleared(ann, workspace):
    await ann.submits(await opened(ann), {"Region": "GB", "Why": "clear"})
    assert workspace.views == {}


async def test_modal_is_not_sent_without_what_it_needs_or_with_what_it_lacks(ann):
    view_id = await opened(ann)
    with pytest.raises(ValueError, match="must be filled in"):
        await ann.submits(view_id, {})
    with pytest.raises(LookupError, match="no input"):
        await ann.submits(view_id, {"Region": "GB", "Colour": "red"})


async def test_button_in_a_modal_and_its_closing_are_told(ann, workspace, heard):
    view_id = await opened(ann)
    assert (await ann.clicks_in_view(view_id, "Pause it")).error is None
    assert await ann.closes(view_id) is not None
    assert heard == [("view", "C1"), ("closed", None)]
    assert workspace.views == {}


async def test_text_to_the_bot_is_an_event_of_a_direct_message(ann, heard, workspace):
    assert (await ann.writes("hello")).error is None
    await workspace.wait_for(lambda: heard == [("im", "hello")])


async def test_answers_through_the_address_fail_as_scripted(ann, workspace):
    workspace.script("response_url", [failures.http_error(500)])
    workspace.script("*", [])
    answer = await ann.types("/panel", channel="C1")
    assert answer.status == 200
    with pytest.raises(TimeoutError):
        await answer.responses(timeout_s=0.5)


async def test_everybody_is_listed_with_who_is_an_admin(workspace):
    workspace.add_user("U2", "bob", is_admin=True)
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    listed = (await client.users_list())["members"]
    assert {user["id"]: user["is_admin"] for user in listed} == {"U0BOT": False, "U1": False, "U2": True}


async def test_connections_need_the_apps_own_token(workspace):
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, retry_handlers=[])
    with pytest.raises(SlackApiError) as caught:
        await client.apps_connections_open(app_token=workspace.bot_token)
    assert caught.value.response["error"] == "invalid_auth"
    assert (await client.apps_connections_open(app_token=workspace.sockets.app_token))["url"].startswith("ws://")
