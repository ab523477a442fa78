"""Signed bodies whose parts are of another kind than Slack's: refused in words, and never a 500."""

import asyncio
import json
import secrets
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.routing import Route

from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.errors import SlackUnreached
from bot.outbox import told_once
from bot.outbox.held_channels import Reopening
from bot.outbox.notices import Notices
from bot.racedata.client.service_errors import ServiceUnreachable
from bot.racedata.reference_book import ReferenceBook
from bot.slack.bolt_app import Listener, make_bolt
from bot.slack.commands.table import BUTTON_COMMANDS
from bot.slack.listeners.app_home import HomeListener
from bot.slack.listeners.channel_life import ChannelListener
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import CommandListener, FormListener
from bot.slack.messages.alerts.alert_notes import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.request_guard import SLACK_PATH, SlackEndpoint
from bot.slack.subscribe_form import FormOf
from bot.slack.workspace import BotIdentity
from bot.web.request_body import BodyReader
from sandbox.slack import bot_requests
from tests.answering import answering
from tests.clock import now
from tests.rows import over

SECRET = "shapes-secret"
FORM = "application/x-www-form-urlencoded"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BOT = "UBOT"

USER, CHANNEL, TEAM = {"id": "U1", "team_id": "T1"}, {"id": "C1", "name": "gb"}, {"id": "T1", "domain": "desk"}
PERSONS = {"user": USER, "team": TEAM, "enterprise": None, "trigger_id": "1.2.3", "response_url": "https://x.test/1"}


def click(action_id, value="GB"):
    return PERSONS | {
        "type": "block_actions",
        "channel": CHANNEL,
        "container": {"type": "message", "channel_id": "C1", "is_ephemeral": True},
        "message": {"ts": "1.2", "user": BOT, "text": "x"},
        "actions": [{"type": "button", "action_id": action_id, "block_id": "b", "value": value}],
    }


def submission():
    chosen = [{"text": {"type": "plain_text", "text": "GB"}, "value": "GB"}]
    topics = [{"text": {"type": "plain_text", "text": "Results"}, "value": "results"}]
    values = {
        "regions": {"regions": {"type": "multi_static_select", "selected_options": chosen}},
        "topics": {"topics": {"type": "checkboxes", "selected_options": topics}},
        "people": {"people": {"type": "multi_users_select", "selected_users": ["U1"]}},
    }
    view = {
        "id": "V1",
        "type": "modal",
        "callback_id": "subscribe_form",
        "private_metadata": FormOf(channel_id="C1").model_dump_json(),
        "state": {"values": values},
        "blocks": [{"type": "input", "block_id": name} for name in values],
    }
    return PERSONS | {"type": "view_submission", "view": view}


def lookup(action_id):
    where = {"action_id": action_id, "block_id": action_id, "view": submission()["view"]}
    return PERSONS | {"type": "block_suggestion", "value": "asc"} | where


def event(**of_event):
    return {
        "type": "event_callback",
        "event_id": "Ev1",
        "team_id": "T1",
        "authorizations": [{"enterprise_id": None, "team_id": "T1", "user_id": BOT, "is_bot": True}],
        "event": {"channel": "C1", "event_ts": "1.2", **of_event},
    }


def command(text):
    return {
        "command": "/racing",
        "text": text,
        "channel_id": "C1",
        "user_id": "U1",
        "team_id": "T1",
        "response_url": "https://x.test/1",
        "trigger_id": "1.2.3",
    }


BODIES: list[Any] = [
    *(click(f"{name}:1") for name in BUTTON_COMMANDS),
    click("run_command:0", "subscribe GB"),
    click("home:1", "C1 pause"),
    submission(),
    lookup("courses"),
    lookup("groups"),
    event(type="member_joined_channel", user=BOT),
    event(type="member_left_channel", user=BOT),
    event(type="channel_archive", user="U1"),
    event(type="channel_unarchive", user="U1"),
    event(type="channel_id_changed", old_channel_id="C1", new_channel_id="C2"),
    event(type="message", channel_type="im", user="U1", text="hello", ts="1.3"),
    event(type="app_uninstalled"),
    event(type="app_home_opened", user="U1", tab="home"),
    event(type="tokens_revoked", tokens={"bot": [BOT]}),
    command("list"),
    command("subscribe GB"),
]
OTHERS: list[Any] = [None, True, 7, -1.5, "", "x", "\0", [], [None], ["x"], {}, {"id": None}, {"id": ["x"]}, {"x": 1}]
"""Stands in the place of a part; the part is also left out."""

GONE = "gone"


def paths(value, here=()):
    """Where a body's parts are, however deep."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield (*here, name)
        yield from paths(part, (*here, name))


def changed(body, path, other):
    """The body with another part at the path, if the path is still there."""
    *way, last = path
    part = body
    try:
        for name in way:
            part = part[name]
        if other == GONE:
            del part[last]
        else:
            part[last] = deepcopy(other)
    except (KeyError, IndexError, TypeError):
        return body
    return body


@st.composite
def malformed(draw):
    body = deepcopy(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(1, 3))):
        every = list(paths(body))
        if every:
            body = changed(body, draw(st.sampled_from(every)), draw(st.sampled_from([GONE, *OTHERS])))
    return body


async def unreached(method, _start, **_more):
    raise SlackUnreached(method, "nobody is there")


async def no_service():
    raise ServiceUnreachable("reference", message="nobody is there", may_have_arrived=False)


class Endpoint:
    """The endpoint of Slack's requests: the guard, Bolt and every listener, with a real database, without Slack."""

    def __init__(self, database):
        nobody: Any = None
        away: Any = SimpleNamespace(courses=no_service, reference=no_service, countries=no_service)
        reference = ReferenceBook(database, away, lambda: NOW)
        self.database = database
        wake = asyncio.Event()
        desk: Any = SimpleNamespace(
            database=database,
            reference=reference,
            settings=SimpleNamespace(announce_changes=True),
            people=SimpleNamespace(check_may_change=answering(), is_admin=answering(False)),
            slack=SimpleNamespace(call=unreached, web=SimpleNamespace(usergroups_list=None)),
            reopening=Reopening(waited),
            identity=BotIdentity("xoxb-test", bot_user_id=BOT),
            clock=lambda: NOW,
            token=secrets.token_hex,
            wake=wake,
        )
        runner = CommandRunner(desk, nobody, SimpleNamespace(start=lambda answer, _name: answer.close()))  # type: ignore[arg-type]  # answers are of no concern here
        notices = Notices(None, admin_notice, clock=lambda: NOW)
        channels = ChannelListener(database, desk.identity, answering(), notices, desk.reopening, desk.clock, wake)
        listeners: list[Listener] = [HomeListener(runner), CommandListener(runner), FormListener(runner), channels]
        self.endpoint = SlackEndpoint(
            bolt=make_bolt(desk.identity, listeners),
            signing_secret=SecretStr(SECRET),
            bodies=BodyReader(max_bytes=64 * 1024, budget_bytes=1024 * 1024),
            clock=now,
            count=lambda _status: None,
            token=secrets.token_hex,
        )
        app = Starlette(routes=[Route(SLACK_PATH, self.endpoint.__call__, methods=["POST"])])
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")

    async def send(self, body: Any) -> httpx.Response:
        """The body in Slack's form: commands as a form, clicks as a `payload`, events as JSON."""
        if "command" in body:
            content, kind = urlencode(body), FORM
        elif body.get("type") == "event_callback":
            content, kind = json.dumps(body), "application/json"
        else:
            content, kind = urlencode({"payload": json.dumps(body)}), FORM
        return await self.send_raw(content.encode(), kind)

    async def send_raw(self, content: bytes, kind: str) -> httpx.Response:
        timestamp = int(now().timestamp())
        headers = {
            "X-Slack-Request-Timestamp": str(timestamp),
            "X-Slack-Signature": bot_requests.sign(SECRET, timestamp, content),
            "Content-Type": kind,
        }
        return await self.client.post(SLACK_PATH, content=content, headers=headers)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def endpoint(runner, tmp_path_factory):
    """The endpoint of all examples: a request takes less time than building."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('shapes') / 'bot.db'}")
    upgrade(database)

    async def opened():
        return Endpoint(database)

    made = runner.run(opened())
    yield made
    runner.run(made.client.aclose())
    runner.run(database.close())


@settings(max_examples=100)
@given(body=malformed())
def test_no_malformed_body_is_a_500(runner, endpoint, body):
    assert runner.run(endpoint.send(body)).status_code in {200, 400}


def of_kind(kind, **parts):
    return PERSONS | {"type": kind, "callback_id": "x", **parts}


UNHEARD: list[Any] = [
    *map(of_kind, ("workflow_step_edit", "interactive_message", "shortcut", "view_closed", "nope")),
    of_kind("workflow_step_edit", callback_id=7),
    *(of_kind(kind, callback_id=[]) for kind in ("dialog_submission", "dialog_suggestion")),
    of_kind("message_action", message={"text": "x"}),
    {"type": "app_rate_limited", "minute_rate_limited": 1},
    {"type": "app_requested", "event": {"type": {"id": "x"}}},
    event(type="function_executed", function=7),
    event(type="channel_rename", channel={"id": "C1", "name": "x"}),
    event(type="workflow_step_execute", workflow_step=None),
    click("gone_button:1"),
    lookup("gone_menu"),
    command("list") | {"command": "/gone"},
]
ODD_AND_TAKEN: list[Any] = [
    click("unmute_meeting:1", "9" * 23),
    event(type="message", channel_type="im", user="U1", ts="1.9", channel="D1", text=r"\u0000 \ud800 🐎"),
]


@over("body", [*BODIES, *UNHEARD, *ODD_AND_TAKEN])
def test_body_of_slacks_shape_is_taken_and_what_nothing_listens_to_is_acked(runner, endpoint, capsys, body):
    assert runner.run(endpoint.send(body)).status_code == 200
    said = capsys.readouterr().err
    assert [words for words in ("Suggestion", "command_failed") if words in said] == []


def test_command_of_another_version_is_answered_in_words_and_its_form_does_not_look_saved(runner, endpoint):
    told = runner.run(endpoint.send(command("list") | {"command": "/gone"})).json()["text"]
    assert told == "/gone belongs to another version of the bot. /racing help shows what I understand."
    answer = runner.run(endpoint.send(changed(submission(), ("view", "callback_id"), "gone_form"))).json()
    assert answer["response_action"] == "update"
    assert "nothing was saved" in answer["view"]["blocks"][0]["text"]["text"]


def test_each_loss_of_the_token_is_logged_and_told_once(runner, endpoint, capsys):
    lost = event(type="app_uninstalled")
    of_a_person = event(type="tokens_revoked", tokens={"oauth": ["U1"]}) | {"event_id": "EvPerson"}
    for body in (of_a_person, *[lost | {"event_id": event_id} for event_id in ("EvLost1", "EvLost1", "EvLost2")]):
        assert runner.run(endpoint.send(body)).status_code == 200
    logged = capsys.readouterr().err
    assert logged.count("slack_token_revoked") == 3
    assert [logged.count(f"key=revoked:{event_id} ") for event_id in ("EvPerson", "EvLost1", "EvLost2")] == [0, 1, 1]
    assert logged.count("urgency=critical") == 2
    for event_id in ("EvLost1", "EvLost2"):
        assert runner.run(endpoint.database.read(partial(told_once.is_noted, key=f"revoked:{event_id}")))


@over(
    "body",
    [
        event(type="member_joined_channel", user=BOT, channel=None),
        event(type="message", channel_type="im", user="U1", text="hello", ts="1.4", channel=""),
        event(type="channel_archive", channel={"id": "C1"}),
        event(type="channel_id_changed", old_channel_id="C1"),
        {"type": "event_callback"},
        command("subscribe GB") | {"user_id": ""},
        command("subscribe GB") | {"channel_id": ""},
        click("mute_meeting:1") | {"user": {"name": "ann"}},
        click("run_command:1") | {"channel": None, "container": {"type": "message"}},
        submission() | {"user": None},
        submission() | {"response_urls": None},
        {name: part for name, part in click("mute_meeting:1").items() if name != "actions"},
        {"token": "x"},
        command("list") | dict.fromkeys(map(str, range(1_001)), "x"),
        command("list") | {"user_id": "U\0"},
    ],
)
def test_what_does_not_say_who_or_where_or_has_too_many_fields_is_refused(runner, endpoint, body):
    assert runner.run(endpoint.send(body)).status_code == 400


@over(
    ("path", "other"),
    [
        (("actions",), "y"),
        (("actions",), []),
        (("actions", 0), "y"),
        (("actions", 0, "action_id"), GONE),
        (("user",), "x"),
        (("channel",), "C1"),
        (("container",), []),
        (("message",), "x"),
        (("team",), 7),
    ],
)
def test_click_of_another_shape_is_refused_with_the_place_and_without_what_stands_there(runner, endpoint, path, other):
    answer = runner.run(endpoint.send(changed(click("mute_meeting:1", "secret words"), path, other)))
    assert answer.status_code == 400
    assert str(path[0]) in answer.json()["error"]
    assert "secret words" not in answer.text


@over("metadata", ["", "{}", "[]", "no JSON", '{"channel_id": 7}'])
def test_form_whose_metadata_can_not_be_read_says_what_to_do(runner, endpoint, metadata):
    answer = runner.run(endpoint.send(changed(submission(), ("view", "private_metadata"), metadata)))
    assert answer.status_code == 200
    assert "open it again" in answer.json()["errors"]["regions"]


@over("odd", ["\\ud800", "\\udc00x", "a\\u0000b", "\\\\\\u0000"])
def test_text_that_no_database_takes_is_refused(runner, endpoint, odd):
    body = json.dumps(event(type="member_joined_channel", user=BOT, channel="C7")).replace("Ev1", odd)
    assert runner.run(endpoint.send_raw(body.encode(), "application/json")).status_code == 400
