"""The receiver's relay to the bot's own server, over real sockets, and the answers without the bot."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.errors import StorageUnavailable
from bot.receiver import program
from bot.receiver.program import OtherRequests
from bot.receiver.relay import Relay
from sandbox.loopback_server import LOOPBACK, cut_connection, serve
from tests.answering import answering
from tests.world import own_port


async def echo(request: Request):
    body = await request.body()
    said = {"X-Method": request.method, "X-Query": str(request.query_params), "X-Host": request.headers["host"]}
    return PlainTextResponse(body, 201, said)


async def refuse_unread(_request: Request):
    return PlainTextResponse("too large", 413)


async def large(_request: Request):
    return PlainTextResponse("x" * 210_000)


up = answering(True)


class Cut:
    async def __call__(self, scope, receive, send):
        await cut_connection(scope, receive)


BOT = Starlette(
    routes=[
        Route("/echo", echo, methods=["GET", "POST"]),
        Route("/large", refuse_unread, methods=["POST"]),
        Route("/figures", large),
        Route("/cut", Cut()),
    ]
)


@asynccontextmanager
async def relayed(port=None):
    """A client of the receiver, behind a real server, as strangers come."""
    async with serve(BOT) as bot:
        relay = Relay(LOOPBACK, port or int(bot.rpartition(":")[2]), up)
        async with serve(relay) as address, httpx.AsyncClient(base_url=address, timeout=20) as client:
            yield client


async def in_parts():
    for number in range(5):
        await asyncio.sleep(0)
        yield f"{number}".encode() * 50_000


async def test_request_arrives_as_it_came_and_so_does_the_answer():
    async with relayed() as client:
        asked = await client.get("/echo?a=b%20c", headers={"Host": "bot.example.com"})
        assert (asked.status_code, asked.headers["x-method"], asked.headers["x-query"]) == (201, "GET", "a=b+c")
        assert asked.headers["x-host"] == "bot.example.com"
        head = await client.head("/echo")
        assert (head.status_code, head.headers["x-method"], head.text) == (201, "HEAD", "")
        assert (await client.post("/echo", content=b"x" * 200_000)).text == "x" * 200_000
        assert (await client.post("/echo", content=in_parts())).text == "".join(str(n) * 50_000 for n in range(5))
        assert (await client.get("/figures")).text == "x" * 210_000
        assert (await client.get("/nowhere")).status_code == 404


async def test_answer_before_the_end_of_the_body_is_passed_on_at_once():
    async with relayed() as client:
        reader, writer = await asyncio.open_connection(LOOPBACK, client.base_url.port)
        writer.write(b"POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()
        for _ in range(10):
            assert (await client.post("/large", content=b"x" * 1_000_000)).status_code == 413


@pytest.mark.parametrize("path", ["/cut", "/echo"])
async def test_bot_that_is_away_or_ends_meanwhile_is_a_503(path):
    async with relayed(own_port() if path == "/echo" else None) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "try again" in answer.json()["error"]


async def test_sender_that_leaves_is_no_request_of_the_bots():
    heard = asyncio.Event()

    async def bot(scope, receive, send):
        while (await receive())["type"] != "http.disconnect":
            continue
        heard.set()

    async with serve(bot) as address, serve(Relay(LOOPBACK, int(address.rpartition(":")[2]), up)) as front:
        _, writer = await asyncio.open_connection(LOOPBACK, int(front.rpartition(":")[2]))
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
        await writer.drain()
        writer.close()
        await asyncio.wait_for(heard.wait(), 20)


OF_A_LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n"
WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\nserver: x\r\n\r\nabc"


@asynccontextmanager
async def hung_bot(said=b""):
    """Takes connections, and says no more than `said`. Gives the port and the readers."""
    taken, writers = asyncio.Queue[asyncio.StreamReader](), []

    def take(reader, writer):
        writers.append(writer)
        writer.write(said)
        taken.put_nowait(reader)

    server = await asyncio.start_server(take, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1], taken
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@pytest.mark.parametrize("said", [b"", OF_A_LENGTH])
@pytest.mark.parametrize("content", [b"", b"x" * 1_000_000])
async def test_bot_that_hangs_is_a_503_after_a_while(said, content):
    async with (
        hung_bot(said) as (port, _),
        serve(Relay(LOOPBACK, port, up, answer_s=0.05)) as front,
        httpx.AsyncClient(base_url=front, timeout=20) as client,
    ):
        assert (await client.post("/slack/events", content=content)).status_code == 503


async def test_sender_that_leaves_ends_the_relay_to_a_bot_that_hangs():
    async with hung_bot() as (port, taken), serve(Relay(LOOPBACK, port, up)) as front:
        _, writer = await asyncio.open_connection(LOOPBACK, int(front.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        reader = await asyncio.wait_for(taken.get(), 20)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_requests_over_the_limit_are_refused_at_once_also_while_the_bot_starts(monkeypatch):
    monkeypatch.setattr("bot.receiver.relay.RELAYS", 2)
    never, sent = asyncio.Event(), []
    starts = iter((up(), never.wait()))
    async with hung_bot() as (port, taken):
        relay = Relay(LOOPBACK, port, starts.__next__)

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        scope = {"method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "headers": []}
        ones = [asyncio.create_task(relay(scope, receive, send)) for _ in range(2)]
        await asyncio.wait_for(taken.get(), 20)
        await asyncio.wait_for(relay(scope, receive, send), 1)
        assert (sent[0]["status"], len(sent)) == (503, 2)
        for one in ones:
            one.cancel()
        await asyncio.gather(*ones, return_exceptions=True)


@asynccontextmanager
async def ending_bot(said):
    """The port of a bot that ends after the words."""

    async def end(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(end, LOOPBACK, 0) as bot:
        yield bot.sockets[0].getsockname()[1]


@asynccontextmanager
async def relayed_from(said):
    """A client of the receiver, with a bot that ends after the words."""
    async with (
        ending_bot(said) as port,
        serve(Relay(LOOPBACK, port, up)) as address,
        httpx.AsyncClient(base_url=address, timeout=20) as client,
    ):
        yield client


NO_STATUS = b"HTTP/1.1 no\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("said", [b"", OF_A_LENGTH[:-2], OF_A_LENGTH, OF_A_LENGTH + b"abc", WITHOUT_LENGTH, NO_STATUS])
async def test_bot_that_ends_within_its_answer_is_a_503_with_a_reference_of_the_log(said, caplog, capsys):
    async with relayed_from(said) as client:
        answers = [await client.get("/"), await client.post("/", content=in_parts())]
    logged = capsys.readouterr().err
    assert [(answer.status_code, answer.json()["reference"] in logged) for answer in answers] == [(503, True)] * 2
    assert "Exception in ASGI application" not in caplog.text


async def test_answer_to_head_has_the_length_and_no_body():
    async with relayed_from(OF_A_LENGTH) as client:
        assert (await client.head("/")).headers["content-length"] == "6"


class Up:
    """A bot that has been up, by the word of its process."""

    is_up = was_up = True


@asynccontextmanager
async def asked_ready(port, prove):
    bot: Any = Up()
    others = OtherRequests(bot, Relay(LOOPBACK, port, up), prove, shows_reasons=True)
    async with serve(others) as address, httpx.AsyncClient(base_url=address, timeout=20) as client:
        yield client


storable = answering()


async def test_bot_that_is_away_ends_or_hangs_is_told_by_the_receiver(monkeypatch):
    monkeypatch.setattr(program, "BOT_READY_S", 0.2)
    async with ending_bot(OF_A_LENGTH + b"abc") as ending, hung_bot() as (hanging, _):
        for port in (own_port(), ending, hanging):
            async with asked_ready(port, storable) as client:
                answer = await client.get("/readyz")
            assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


async def test_readiness_that_the_bot_tells_is_passed_on_and_a_bot_that_hangs_is_given_up_in_time():
    async def bot(scope, receive, send):
        await PlainTextResponse("ready")(scope, receive, send)

    async with serve(bot) as address, asked_ready(int(address.rpartition(":")[2]), storable) as client:
        assert (await client.get("/readyz")).text == "ready"
    assert program.BOT_READY_S + program.JOURNAL_READY_S <= 2


@pytest.mark.parametrize("can_store", [True, False])
async def test_requests_share_a_look_at_the_journal_for_a_while(monkeypatch, can_store):
    looks = []

    async def prove():
        looks.append(1)
        await asyncio.sleep(0.05)
        if not can_store:
            raise StorageUnavailable("locked")

    async with asked_ready(own_port(), prove) as client:
        answers = await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
        answers.append(await client.get("/readyz"))
        assert ({answer.status_code for answer in answers}, len(looks)) == ({200 if can_store else 503}, 1)
        monkeypatch.setattr(program, "PROOF_HOLDS_S", 0)
        await client.get("/readyz")
    assert len(looks) == 2
