"""The client's readings of Slack's answers, and of answers by others, such as proxies; and Socket Mode."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import SlackChannelClosed, SlackDoubtful, SlackRefused
from bot.outbox.message import Message, Search, Sending
from bot.slack import socket_mode
from bot.slack.socket_mode import SocketMode
from bot.slack.web_client import WORDS_MAX, SlackClient, make_session, make_web_client
from bot.slack.workspace import creator, is_member
from sandbox.slack import failures
from sandbox.slack.failures import Failure
from sandbox.slack.values import Channel
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import now
from tests.integration.conftest import TOKEN
from tests.logged import capture_logs


def odd(body, status=200):
    return Failure(name="odd", status=status, body=json.dumps(body))


def post(pipeline, **more):
    return pipeline.sender.post("CGB", Message("Result"), Sending("k", 5, **more))


async def refusals(pipeline, answers):
    """The error of each post by the answer's name."""
    found = {}
    for name, failure in answers.items():
        pipeline.slack.script("chat.postMessage", [failure])
        try:
            await post(pipeline)
        except Exception as error:  # noqa: BLE001  the test asks for the class
            found[name] = error
    return found


DOUBTFUL = {
    "drop after": failures.drop_after(),
    "drop before": failures.drop_before(),
    "503": failures.http_error(503),
    "html": failures.html(),
    "cut": failures.truncated(),
    "nested too deeply": Failure(name="odd", status=200, body="[" * 5_000),
    "fatal": failures.slack_error("fatal_error"),
    "ts that is no time": odd({"ok": True, "ts": "soon"}),
    **{
        f"{status} {body}": odd(body, status)
        for status in (200, 403)
        for body in ({"error": "Forbidden"}, {"error": "channel_not_found", "ok": "false"}, ["not Slack"])
    },
    "500 with a code": odd({"ok": False, "error": "channel_not_found"}, 500),
}


async def test_answer_that_does_not_say_what_became_of_the_call_is_a_doubt(pipeline):
    found = await refusals(pipeline, DOUBTFUL)
    assert {name: type(error) for name, error in found.items()} == dict.fromkeys(DOUBTFUL, SlackDoubtful)


ECHOES: dict[str, dict[str, Any]] = {
    "in the code": {"error": f"odd_{TOKEN}"},
    "in the scope that it needs": {"error": "missing_scope", "needed": f"chat:write {TOKEN}"},
    "in a message": {"error": "odd", "response_metadata": {"messages": [f"[ERROR] {TOKEN} is odd"]}},
    "in a message about blocks": {"error": "invalid_blocks", "response_metadata": {"messages": [TOKEN]}},
    "where the words are cut": {"error": "o" * (WORDS_MAX - 5) + TOKEN},
}


async def test_token_that_slack_echoes_is_in_no_words_of_the_refusal(pipeline):
    for status in (200, 500):
        found = await refusals(pipeline, {name: odd({"ok": False} | body, status) for name, body in ECHOES.items()})
        assert found.keys() == ECHOES.keys()
        assert TOKEN[:10] not in str([(str(error), error.code, error.details) for error in found.values()])


async def test_refusal_says_what_slack_said(pipeline):
    found = await refusals(pipeline, {"odd": odd({"ok": False, "error": "odd", "needed": "chat:write"})})
    assert isinstance(found["odd"], SlackRefused)
    assert str(found["odd"]) == "chat.postMessage: odd (needs chat:write)"


async def test_metadata_has_the_revision_of_the_last_call(pipeline):
    moment = now()
    message_ts = await post(pipeline, rev=1)
    await pipeline.sender.update("CGB", message_ts, Message("later"), Sending("k", 5, rev=7))
    page = await pipeline.sender.find("CGB", Search("k", moment - timedelta(minutes=1), moment + timedelta(minutes=1)))
    assert page.rev == 7


# Whether the bot is in a channel


async def test_channel_is_one_of_ours_while_we_are_in_it(pipeline, slack):
    assert await is_member(pipeline.sender, "CGB") is True
    await slack.archive("CGB")
    assert await is_member(pipeline.sender, "CGB") is False
    await slack.remove_bot("CIRE")
    assert await is_member(pipeline.sender, "CIRE") is False
    assert await is_member(pipeline.sender, "CNOWHERE") is False
    slack.script("conversations.info", [failures.slack_error("internal_error")])
    assert await is_member(pipeline.sender, "CALL") is None


async def test_direct_message_is_ours_where_it_is_with_us(pipeline, slack):
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
    assert await is_member(pipeline.sender, ours) is None
    slack.scopes.add("im:history")
    assert await is_member(pipeline.sender, ours) is True
    assert await is_member(pipeline.sender, "DTHEIRS") is False


async def test_creator_of_a_channel_is_asked_of_slack(pipeline, slack):
    slack.channels["CGB"].creator = "UALICE"
    assert await creator(pipeline.sender, "CGB", 5.0) == "UALICE"
    with pytest.raises(SlackChannelClosed):
        await creator(pipeline.sender, "CNOWHERE", 5.0)


# Socket Mode with a Bolt app of the test's, over a real connection: acks, ends and stops


APP_TOKEN = "xapp-test-sockets"


class Rig:
    """A SocketMode, the connected workspace, and a command whose commit the test holds up."""

    def __init__(self, workspace, session, app_token=APP_TOKEN):
        async def authorize(**_):
            return AuthorizeResult(enterprise_id=None, team_id="T1", bot_token=TOKEN, bot_user_id="UBOT")

        bolt = AsyncApp(
            process_before_response=True,
            request_verification_enabled=False,
            authorize=authorize,
            client=AsyncWebClient(retry_handlers=[]),
        )
        self.workspace = workspace
        self.begun = asyncio.Event()
        self.may_commit = asyncio.Event()
        self.committed = 0
        self.counted: list[str] = []

        @bolt.command("/slow")
        async def on_slow(ack):
            self.begun.set()
            await self.may_commit.wait()
            self.committed += 1
            await ack()

        @bolt.command("/broken")
        async def on_broken(ack):
            raise RuntimeError("a bug")

        @bolt.error
        async def on_error(error):
            return None

        client = SlackClient(make_web_client(TOKEN, workspace.api_url, session))
        self.socket_mode = SocketMode(bolt, client, SecretStr(app_token), count=self.counted.append)
        self.running = asyncio.create_task(self.socket_mode.run())

    async def connected(self):
        await self.workspace.wait_for(lambda: self.workspace.sockets.connections == 1)

    def types(self, command):
        return asyncio.create_task(self.workspace.person("U1", "").types(command, channel="C1"))

    async def begin(self):
        """A command whose commit has begun."""
        asked = self.types("/slow")
        await self.begun.wait()
        return asked

    async def stop(self):
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.socket_mode.finish(3.0)


@pytest_asyncio.fixture
async def workspace():
    slack = SlackWorkspace(TOKEN, app_token=APP_TOKEN, socket_mode=True)
    slack.add_user("U1", "ann")
    slack.add_channel("C1", "gb-racing")
    async with slack.running():
        yield slack


@pytest_asyncio.fixture
async def make_rig(workspace, monkeypatch):
    monkeypatch.setattr(socket_mode, "FIRST_RECONNECT_S", 0.05)
    monkeypatch.setattr(socket_mode, "LIVENESS_CHECK_S", 0.05)
    session = make_session()
    rigs = []

    def make(**changes):
        rigs.append(Rig(workspace, session, **changes))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.may_commit.set()
        await rig.stop()
    await session.close()


@pytest_asyncio.fixture
async def rig(make_rig):
    made = make_rig()
    await made.connected()
    return made


async def test_envelope_is_acked_after_its_commit_and_not_before(rig):
    asked = await rig.begin()
    assert not asked.done()
    assert rig.committed == 0
    rig.may_commit.set()
    answer = await asked
    assert (answer.status, answer.error, rig.committed) == (200, None, 1)
    assert rig.counted == ["200"]
    assert rig.socket_mode.problem is None


async def test_envelope_that_failed_is_not_acked(rig, workspace):
    workspace.ack_timeout_s = 0.5
    assert (await rig.types("/broken")).error == "operation_timeout"


async def test_envelope_of_another_shape_than_slacks_is_refused_and_the_connection_stays(rig, workspace):
    workspace.ack_timeout_s = 0.5
    rig.may_commit.set()
    broken = await workspace.event("", {"type": "member_joined_channel", "user": 7, "channel": "C1"})
    assert broken.error == "operation_timeout"
    assert (await rig.types("/slow")).error is None
    assert rig.counted == ["400", "200"]
    assert workspace.sockets.opened == 1


async def test_stop_acks_what_it_has_begun_and_closes(rig, workspace):
    asked = await rig.begin()
    stopping = asyncio.create_task(rig.stop())
    late = rig.types("/slow")
    rig.may_commit.set()
    await stopping
    assert (await asked).error is None
    await workspace.wait_for(lambda: workspace.sockets.connections == 0)
    late.cancel()


async def test_replaced_connection_acks_its_envelopes(rig, workspace):
    asked = await rig.begin()
    await workspace.sockets.refresh()
    await workspace.wait_for(lambda: workspace.sockets.connections == 2)
    rig.may_commit.set()
    assert (await asked).error is None
    await workspace.wait_for(lambda: workspace.sockets.connections == 1)
    assert (await rig.types("/slow")).error is None


async def test_connection_that_breaks_in_the_middle_is_replaced_and_the_change_stays(rig, workspace):
    workspace.ack_timeout_s = 0.5
    asked = await rig.begin()
    await workspace.sockets.cut()
    await workspace.wait_for(lambda: workspace.sockets.opened == 2 and workspace.sockets.connections == 1)
    rig.may_commit.set()
    assert (await asked).error == "operation_timeout"
    assert rig.committed == 1
    assert (await rig.types("/slow")).error is None


async def test_connections_that_break_soon_are_replaced_at_once_each_time(rig, workspace):
    with capture_logs() as logged:
        for opened in range(2, 6):
            await workspace.sockets.cut()
            await workspace.wait_for(lambda: (workspace.sockets.opened, workspace.sockets.connections) == (opened, 1))  # noqa: B023
    waits = [one["again_in_s"] for one in logged if one["event"] == "socket_mode_connection_ended"]
    assert waits == [socket_mode.FIRST_RECONNECT_S] * 4


@pytest.mark.parametrize(
    "failure",
    [
        failures.slack_error("internal_error"),
        failures.drop_before(),
        failures.html(503),
        failures.slack_error("too_many_websockets"),
    ],
)
async def test_ticket_that_is_not_to_be_had_is_asked_for_again(make_rig, workspace, failure):
    workspace.script("apps.connections.open", [failure] * 3)
    rig = make_rig()
    await rig.connected()
    assert [call.ok for call in workspace.calls] == [False] * 3 + [True]


async def test_used_ticket_is_not_tried_again(make_rig, workspace, monkeypatch):
    issue, used = workspace.sockets.issue, []

    def issue_a_used_one_first(token):
        url = issue(token)
        used.append(url)
        return url.replace("sandbox-ticket", "used-ticket") if len(used) == 1 else url

    monkeypatch.setattr(workspace.sockets, "issue", issue_a_used_one_first)
    rig = make_rig()
    await rig.connected()
    assert len(used) == 2


async def test_wrong_token_is_said_and_not_shown(make_rig, workspace):
    rig = make_rig(app_token="xapp-test-wrong")
    await workspace.wait_for(lambda: len(workspace.calls) >= 2)
    assert rig.socket_mode.problem == "apps.connections.open: invalid_auth"
    assert workspace.sockets.opened == 0
