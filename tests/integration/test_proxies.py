"""Each way out of the bot, by the proxy of the environment, and past the proxy."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from pydantic import SecretStr

from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import SlackError, SlackUnreached
from bot.operations.heartbeat import Heartbeat
from bot.operations.self_delivery import SelfDelivery
from bot.outbox.message import Message, NativeBlocks
from bot.racedata.client.service_errors import ServiceUnreachable
from bot.racedata.client.transport import Request, Transport
from bot.slack.response_url import Reply, Responder
from bot.slack.socket_mode import Connection
from bot.slack.web_client import SlackClient, make_session, make_web_client
from bot.web.outgoing import open_http

REFUSAL = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"
NAMES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


async def nothing():
    return None


@asynccontextmanager
async def listening(notes, answer=b""):
    """The port of a listener that notes the first line of each connection."""

    async def note(reader, writer):
        notes.append((await reader.read(4_096)).split(b"\r\n")[0])
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(note, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def ask_the_data_service(place):
    transport = Transport(f"https://{place}/v1", SecretStr("key"))
    with suppress(ServiceUnreachable):
        await transport.send(Request("GET", "courses"))
    await transport.aclose()


@asynccontextmanager
async def slack_at(place):
    async with make_session() as session:
        yield make_web_client("xoxb-test", f"https://{place}/api/", session)


async def call_slack(place):
    async with slack_at(place) as web:
        with suppress(SlackError):
            await SlackClient(web).call("auth.test", web.auth_test)


async def answer_by_response_url(place):
    async with slack_at(place) as web:
        responder = Responder(web, f"https://{place}/api/", NativeBlocks(lambda: 0.0), pause_s=0.0)
        assert not await responder.respond(Reply(f"https://{place}/commands/1", "ref"), Message("text"))


async def connect_by_socket_mode(place):
    async with slack_at(place) as web:
        connection = Connection(SecretStr("xapp-test"), web, f"wss://{place}/link", take_nothing)
        with suppress(aiohttp.ClientError):
            await connection.connect()
        await connection.close()


async def take_nothing(*_):
    raise AssertionError


async def beat(place):
    url = f"https://{place}/ping"

    async with open_http(url, 5.0) as http:
        assert not await Heartbeat(SecretStr(url), http, nothing).beat()


async def deliver_to_ourselves(place):
    secrets = SigningSecrets(["secret"], nothing, time.monotonic)
    assert (await SelfDelivery(f"https://{place}", secrets, lambda: 0.0)(b"{}")).problem


WAYS = (
    ask_the_data_service,
    call_slack,
    answer_by_response_url,
    connect_by_socket_mode,
    beat,
    deliver_to_ourselves,
)


@pytest.fixture
def set_environment(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def change(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return change


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("variables", "by_proxy"),
    [
        ({}, False),
        ({"HTTPS_PROXY": "http://{proxy}"}, True),
        ({"https_proxy": "http://{proxy}"}, True),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "example.com, {port}"}, True),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "0.0.0.0"}, False),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "example.com,.0.0.0"}, False),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "*"}, False),
        ({"https_proxy": "http://{proxy}", "no_proxy": "0.0.0.0:{port}"}, False),
    ],
    ids=lambda value: " ".join(map("=".join, value.items())) if isinstance(value, dict) else None,
)
async def test_every_way_out_takes_the_proxy_of_the_environment(set_environment, way, variables, by_proxy):
    asked: list[bytes] = []
    reached: list[bytes] = []
    async with listening(asked, REFUSAL) as proxy, listening(reached) as port:
        given = {name: value.format(proxy=f"127.0.0.1:{proxy}", port=port) for name, value in variables.items()}
        set_environment(**given)
        # An address of this machine that is not a loopback address.
        await way(f"0.0.0.0:{port}")
    assert (set(asked), bool(reached)) == (
        ({f"CONNECT 0.0.0.0:{port} HTTP/1.1".encode()}, False) if by_proxy else (set(), True)
    )


async def test_what_the_proxy_does_not_let_out_was_not_sent(set_environment):
    async with listening([], REFUSAL) as proxy:
        set_environment(HTTPS_PROXY=f"http://127.0.0.1:{proxy}")
        async with slack_at("0.0.0.0:1") as web:
            with pytest.raises(SlackUnreached):
                await SlackClient(web).call("auth.test", web.auth_test)
        transport = Transport("https://0.0.0.0:1/v1", SecretStr("key"))
        with pytest.raises(ServiceUnreachable) as caught:
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
        assert not caught.value.may_have_arrived
        secrets = SigningSecrets(["secret"], nothing, time.monotonic)
        problem = (await SelfDelivery("https://0.0.0.0:1", secrets, lambda: 0.0)(b"{}")).problem
        assert problem
        assert problem.told == "The proxy in the environment does not lead to 0.0.0.0:1."


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_no_way_to_this_machine_takes_a_proxy(set_environment, way):
    asked: list[bytes] = []
    reached: list[bytes] = []
    async with listening(asked) as proxy, listening(reached) as port:
        set_environment(HTTPS_PROXY=f"http://127.0.0.1:{proxy}", ALL_PROXY=f"http://127.0.0.1:{proxy}")
        await way(f"127.0.0.1:{port}")
    assert (asked, bool(reached)) == ([], True)
