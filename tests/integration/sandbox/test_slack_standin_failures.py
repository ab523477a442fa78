"""Scripted failures over a real socket: what the client sees, and whether the call was carried out."""

import asyncio
import logging
from contextlib import asynccontextmanager

import aiohttp
import httpx
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.loopback_server import serve
from sandbox.slack import failures
from sandbox.slack.workspace import SlackWorkspace

POST = "chat.postMessage"


@pytest.fixture
async def workspace():
    slack = SlackWorkspace()
    slack.add_user("U1")
    slack.add_channel("C1", "gb-racing")
    async with slack.running():
        yield slack


@asynccontextmanager
async def patient_for(seconds, workspace):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        yield AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, session=session, retry_handlers=[])


@pytest.fixture
async def client(workspace):
    async with patient_for(10, workspace) as patient:
        yield patient


@pytest.fixture
async def impatient(workspace):
    async with patient_for(0.3, workspace) as client:
        yield client


def _texts(workspace):
    return [message.text for message in workspace.messages("C1")]


def _post(client, text="x"):
    return client.chat_postMessage(channel="C1", text=text)


@pytest.mark.parametrize(("failure", "stored"), [(failures.drop_before(), []), (failures.drop_after(), ["x"])])
async def test_dropped_connection_is_a_reset_whether_or_not_the_message_was_stored(client, workspace, failure, stored):
    workspace.script(POST, [failure])
    with pytest.raises(aiohttp.ClientConnectionError):
        await _post(client)
    assert _texts(workspace) == stored
    call = workspace.calls[-1]
    assert (call.failure, call.carried_out, call.ok) == (failure.name, bool(stored), False)
    await _post(client, "next")
    assert _texts(workspace)[-1] == "next"


@pytest.mark.parametrize("failure", [failures.delay_before(0.6), failures.delay_after(60)], ids=lambda f: f.name)
async def test_late_answer_is_a_timeout_and_the_message_comes_all_the_same(impatient, workspace, failure):
    workspace.script(POST, [failure])
    with pytest.raises(TimeoutError):
        await _post(impatient)
    await workspace.wait_for(lambda: _texts(workspace) == ["x"])


async def test_message_of_a_call_that_is_late_is_not_there_before(impatient, workspace):
    workspace.script(POST, [failures.delay_before(60)])
    with pytest.raises(TimeoutError):
        await _post(impatient)
    assert _texts(workspace) == []


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (failures.http_error(500), 500),
        (failures.http_error(503), 503),
        (failures.html(502), 502),
        (failures.html(), 200),
    ],
)
async def test_answer_that_is_no_json_is_an_error_and_nothing_was_stored(client, workspace, failure, status):
    workspace.script(POST, [failure])
    with pytest.raises(SlackApiError) as caught:
        await _post(client)
    assert caught.value.response.status_code == status
    assert _texts(workspace) == []


async def test_error_after_the_message_was_accepted_leaves_it_stored(client, workspace):
    workspace.script(POST, [failures.http_error(500).accepted()])
    with pytest.raises(SlackApiError):
        await _post(client)
    assert _texts(workspace) == ["x"]


async def test_truncated_json_cannot_be_read_although_the_message_was_stored(client, workspace):
    workspace.script(POST, [failures.truncated()])
    with pytest.raises(SlackApiError, match="non-JSON"):
        await _post(client)
    assert _texts(workspace) == ["x"]


async def test_failures_are_taken_in_turn_and_only_by_their_method(client, workspace):
    workspace.script(POST, [failures.slack_error("fatal_error"), failures.passes(), failures.rate_limited(7)])
    await client.auth_test()
    with pytest.raises(SlackApiError, match="fatal_error"):
        await _post(client, "1")
    await _post(client, "2")
    with pytest.raises(SlackApiError) as caught:
        await _post(client, "3")
    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "7")
    await _post(client, "4")
    assert _texts(workspace) == ["2", "4"]


BLOCKS = [{"type": "section", "text": {"type": "mrkdwn", "text": "x"}}]


@pytest.mark.parametrize("blocks", [None, [], "[]"])
async def test_refused_blocks_are_those_of_calls_that_have_some(client, workspace, blocks):
    workspace.script(POST, [failures.blocks_refused()] * 2)
    with pytest.raises(SlackApiError, match="invalid_blocks"):
        await client.chat_postMessage(channel="C1", text="refused", blocks=BLOCKS)
    await client.chat_postMessage(channel="C1", text="carried out", blocks=blocks)
    await client.chat_postMessage(channel="C1", text="out of turn", blocks=BLOCKS)
    assert _texts(workspace) == ["carried out", "out of turn"]
    assert [call.failure for call in workspace.calls] == ["invalid_blocks", None, None]


async def test_refused_blocks_of_an_edit_leave_the_message_as_it_was(client, workspace):
    ts = (await _post(client))["ts"]
    workspace.script("chat.update", [failures.blocks_refused()] * 2)
    with pytest.raises(SlackApiError, match="invalid_blocks"):
        await client.chat_update(channel="C1", ts=ts, text="edited", blocks=BLOCKS)
    assert _texts(workspace) == ["x"]
    await client.chat_update(channel="C1", ts=ts, text="in words", blocks=[])
    assert _texts(workspace) == ["in words"]


async def test_refused_blocks_cannot_be_scripted_for_responses(workspace):
    with pytest.raises(ValueError, match="response_url"):
        workspace.script("response_url", [], then_always=failures.blocks_refused())


async def test_outage_of_every_method_lasts_until_it_is_lifted(client, workspace):
    workspace.script("*", [], then_always=failures.http_error(503))
    for call in (_post(client), client.auth_test(), _post(client)):
        with pytest.raises(SlackApiError):
            await call
    workspace.script("*", [])
    await _post(client, "back")
    assert _texts(workspace) == ["back"]


async def test_connection_cannot_be_cut_without_a_socket_but_fails_all_the_same():
    workspace = SlackWorkspace()
    workspace.script("auth.test", [failures.drop_before()])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(workspace.app), base_url="http://slack") as http:
        with pytest.raises(ConnectionResetError):
            await http.post("/api/auth.test")


async def test_server_ends_although_a_request_is_still_waiting(caplog):
    workspace = SlackWorkspace()
    workspace.script("auth.test", [failures.delay_before(60)])
    reached = asyncio.Event()

    async def app(scope, receive, send):
        reached.set()
        await workspace.app(scope, receive, send)

    async with httpx.AsyncClient(trust_env=False) as http:
        with caplog.at_level(logging.WARNING):
            async with serve(app) as address:
                waiting = asyncio.create_task(http.post(f"{address}/api/auth.test"))
                await reached.wait()
        with pytest.raises(httpx.TransportError):
            await waiting
    assert caplog.records == []


async def test_server_listens_on_loopback_at_the_port_it_is_given():
    async with serve(SlackWorkspace().app) as first:
        assert first.startswith("http://127.0.0.1:")
        with pytest.raises(OSError, match="in use"):
            async with serve(SlackWorkspace().app, port=int(first.rpartition(":")[2])):
                pytest.fail("two servers on one port")


async def test_failure_by_a_call_s_arguments_comes_before_what_is_scripted(client, workspace):
    def failure_of(method, args):
        return failures.slack_error("msg_too_long") if (method, args.text("text")) == (POST, "bad") else None

    workspace.failure_of = failure_of
    workspace.script(POST, [failures.rate_limited(1)])
    for text, code in (("bad", "msg_too_long"), ("bad", "msg_too_long"), ("good", "ratelimited")):
        with pytest.raises(SlackApiError, match=code):
            await _post(client, text)
    await _post(client, "good")
    assert _texts(workspace) == ["good"]
