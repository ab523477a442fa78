"""A delivery to our own address over real HTTP and TLS: each failure of the address has own words. And proxies."""

import asyncio
import hashlib
import hmac
import socket
import ssl
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import httpx
import pytest
from aiohttp import web
from pydantic import SecretStr

from bot.db.vault import OpenedSecrets
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import SlackError, SlackUnreached
from bot.operations.health import Heartbeat
from bot.operations.public_url import SelfDelivery, unreached
from bot.outbox.message import Message, NativeBlocks
from bot.racedata.client.service_errors import ServiceUnreachable
from bot.racedata.client.transport import Request, Transport
from bot.slack.socket_mode import Connection
from bot.slack.web_client import Reply, Responder, SlackClient, make_session, make_web_client
from bot.web.outgoing import open_http
from tests.answering import answering, failing
from tests.authority import Authority
from tests.clock import real_clock
from tests.world import own_port

BODY = b'{"event":"racing-bot.drill","drill":"0123456789abcdef"}'
OLD, NEW = "whsec-old", "whsec-new"
NOTHING_LISTENS = "http://127.0.0.1:9"


def delivery(address, *secrets, call_s=2.0):
    async def none_stored():
        return OpenedSecrets({}, {})

    return SelfDelivery(
        address, SigningSecrets(secrets, none_stored, lambda: 0.0, print), time.monotonic, call_s=call_s
    )


def check(answered, *words):
    """The problem has the words, as the failure or as the remedy."""
    problem = answered.problem
    assert problem is not None
    assert [one for one in words if one not in f"{problem.told} {problem.mend}"] == []


@asynccontextmanager
async def endpoint(answer, context=None):
    """A server with the endpoint as the only path, and the address."""
    app = web.Application()
    app.router.add_post("/webhooks/racing", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = own_port()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def answers(status, body="", **headers):
    async def answer(_request):
        return web.Response(status=status, text=body, headers=headers)

    return answer


async def silence(_request):
    await asyncio.Event().wait()


async def break_off(request):
    request.transport.abort()
    await asyncio.Event().wait()


async def test_body_comes_signed_by_the_newest_secret():
    came = []

    async def answer(request):
        came.append((await request.read(), request.headers["X-SVC-Signature"]))
        return web.Response(body=b'{"status":"accepted"}')

    async with endpoint(answer) as address:
        answered = await delivery(address, OLD, NEW)(BODY)
    assert (answered.problem, answered.address) == (None, f"{address}/webhooks/racing")
    assert came == [(BODY, hmac.new(NEW.encode(), BODY, hashlib.sha256).hexdigest())]
    async with endpoint(answers(200, '{"status":"duplicate"}')) as address:
        assert (await delivery(address, NEW)(BODY)).problem is None


async def test_secret_of_a_moment_ago_signs_though_the_stored_secrets_were_just_read():
    stored: dict[int, str] = {}

    async def read_stored():
        return OpenedSecrets(dict(stored), {})

    secrets = SigningSecrets([], read_stored, lambda: 0.0, print)
    async with endpoint(answers(200, '{"status":"accepted"}')) as address:
        deliver = SelfDelivery(address, secrets, time.monotonic)
        check(await deliver(BODY), "no signing secret")
        stored[1] = NEW
        assert (await deliver(BODY)).problem is None


ELSEWHERE = "https://www.example.com/x"
TO_THE_BOT = "Have the proxy pass"
WRONG = {
    "a page": (answers(200, "<html>welcome</html>"), "would swallow deliveries", TO_THE_BOT),
    "401": (answers(401, '{"error":"no"}'), "answered 401: it refused the signature", "lead to this bot and no other"),
    "404": (answers(404), "answered 404: it knows no such path", TO_THE_BOT),
    "405": (answers(405), "does not take the request", TO_THE_BOT),
    "413": (answers(413), "too large", "Raise the proxy's limit"),
    "418": (answers(418), "answered 418: it does not answer as the bot does", TO_THE_BOT),
    "429": (answers(429), "limits requests", "Take the proxy's rate limit off"),
    "502": (answers(502), "does not reach the bot", "point the proxy"),
    "503": (answers(503, "<html>"), "answered 503: it fails", TO_THE_BOT),
    "503 of ours": (answers(503, '{"error":"not stored"}'), "I answered 503: not stored", "See /readyz"),
    "a redirect to nowhere": (answers(302), "answered 302: it does not answer as the bot does", TO_THE_BOT),
    "lists without an end": (answers(200, "[" * 4_096), "would swallow deliveries", TO_THE_BOT),
    "a redirect": (answers(301, Location=ELSEWHERE), f"a redirect to {ELSEWHERE}", "final address"),
    "silence": (silence, "did not answer within 0.2 seconds"),
    "an end": (break_off, "broke off"),
}


@pytest.mark.parametrize("way", WRONG)
async def test_other_answer_is_said_with_what_mends_it(way):
    answer, *words = WRONG[way]
    async with endpoint(answer) as address:
        check(await delivery(address, NEW, call_s=0.2 if answer is silence else 2.0)(BODY), *words)


async def test_redirect_is_not_followed():
    followed = []

    async def answer(request):
        followed.append(request.path)
        return web.Response(status=307, headers={"Location": "/webhooks/racing"})

    async with endpoint(answer) as address:
        await delivery(address, NEW)(BODY)
    assert followed == ["/webhooks/racing"]


async def test_certificate_that_nobody_trusts_is_named(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with real_clock():
        context.load_cert_chain(*Authority(tmp_path).certify(1))
    async with endpoint(answers(200, '{"status":"accepted"}'), context) as address:
        check(await delivery(address, NEW)(BODY), "TLS certificate", "unable to get", "Renew the certificate")
    async with endpoint(answers(200)) as address:
        check(await delivery(address.replace("http://", "https://"), NEW)(BODY), "TLS")


async def test_address_that_leads_nowhere_is_named_and_without_secret_or_address_nothing_is_sent():
    words = ("Nothing takes connections", "some networks do not lead back")
    check(await delivery(NOTHING_LISTENS, NEW)(BODY), *words)
    check(await delivery(NOTHING_LISTENS)(BODY), "no signing secret")
    check(await delivery(None, OLD)(BODY), "PUBLIC_URL")
    error = httpx.ConnectError("all attempts failed")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert "nowhere.invalid is not known (DNS)" in unreached(error, "https://nowhere.invalid", 5).told


# Each way out of the bot, by the proxy of the environment, and past the proxy


REFUSAL = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"


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
        connection = Connection(SecretStr("xapp-test"), web, f"wss://{place}/link", failing(AssertionError()))
        with suppress(aiohttp.ClientError):
            await connection.connect()
        await connection.close()


async def beat(place):
    url = f"https://{place}/ping"

    async with open_http(url, 5.0) as http:
        assert not await Heartbeat(SecretStr(url), http, answering(())).beat()


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
