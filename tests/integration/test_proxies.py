"""Each way out of the bot, by the proxy of the environment, and past the proxy."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from pydantic import SecretStr

from bot.db.vault import OpenedSecrets
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import SlackError, SlackUnreached
from bot.operations.health import Heartbeat
from bot.operations.public_url import SelfDelivery
from bot.outbox.message import Message, NativeBlocks
from bot.racedata.client.service_errors import ServiceUnreachable
from bot.racedata.client.transport import Request, Transport
from bot.slack.response_url import Reply, Responder
from bot.slack.socket_mode import Connection
from bot.slack.web_client import SlackClient, make_session, make_web_client
from bot.web.outgoing import open_http

REFUSAL = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"


async def nothing():
    return ()


async def none_stored():
    return OpenedSecrets({}, {})


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
    secrets = SigningSecrets(["secret"], none_stored, time.monotonic, print)
    assert (await SelfDelivery(f"https://{place}", secrets, lambda: 0.0)(b"{}")).problem


WAYS = (ask_the_data_service, call_slack, answer_by_response_url, connect_by_socket_mode, beat, deliver_to_ourselves)
PROXY = {"HTTPS_PROXY": "http://127.0.0.1:{proxy}"}
ENVIRONMENTS = [
    ("0.0.0.0", {}, False),
    ("0.0.0.0", PROXY, True),
    ("0.0.0.0", {"https_proxy": "http://127.0.0.1:{proxy}"}, True),
    ("0.0.0.0", PROXY | {"NO_PROXY": "example.com, {port}"}, True),
    ("0.0.0.0", PROXY | {"NO_PROXY": "0.0.0.0"}, False),
    ("0.0.0.0", PROXY | {"NO_PROXY": "example.com,.0.0.0"}, False),
    ("0.0.0.0", PROXY | {"NO_PROXY": "*"}, False),
    ("0.0.0.0", {"https_proxy": "http://127.0.0.1:{proxy}", "no_proxy": "0.0.0.0:{port}"}, False),
    ("127.0.0.1", PROXY | {"ALL_PROXY": "http://127.0.0.1:{proxy}"}, False),
]
"""The bot goes to 0.0.0.0, an address of this machine that is not a loopback address, or to a loopback address."""


@pytest.fixture
def set_environment(monkeypatch):
    def change(variables, **ports):
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.lower(), raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(**ports))

    return change


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_every_way_out_takes_the_proxy_of_the_environment_but_to_this_machine(set_environment, way):
    for host, variables, by_proxy in ENVIRONMENTS:
        asked: list[bytes] = []
        reached: list[bytes] = []
        async with listening(asked, REFUSAL) as proxy, listening(reached) as port:
            set_environment(variables, proxy=proxy, port=port)
            await way(f"{host}:{port}")
        connect = f"CONNECT {host}:{port} HTTP/1.1".encode()
        assert (set(asked), bool(reached)) == (({connect}, False) if by_proxy else (set(), True)), variables


async def test_what_the_proxy_does_not_let_out_was_not_sent(set_environment):
    async with listening([], REFUSAL) as proxy:
        set_environment(PROXY, proxy=proxy)
        async with slack_at("0.0.0.0:1") as web:
            with pytest.raises(SlackUnreached):
                await SlackClient(web).call("auth.test", web.auth_test)
        transport = Transport("https://0.0.0.0:1/v1", SecretStr("key"))
        with pytest.raises(ServiceUnreachable) as caught:
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
        assert not caught.value.may_have_arrived
        secrets = SigningSecrets(["secret"], none_stored, time.monotonic, print)
        problem = (await SelfDelivery("https://0.0.0.0:1", secrets, lambda: 0.0)(b"{}")).problem
        assert problem
        assert problem.told == "The proxy in the environment does not lead to 0.0.0.0:1."
