"""The server itself, by raw bytes: requests in odd forms, and connections that keep others waiting."""

import asyncio
import contextlib
import re
import socket
from collections import Counter
from typing import Any

import pytest
from uvicorn.server import ServerState

from bot.receiver import program
from bot.receiver.http_protocol import Connections, Limits
from bot.web.plain_answers import WEBHOOK_PATH
from tests.integration.deliveries.webhooks import Seen, make_app, sign
from tests.logged import capture_logs

BODY = b'{"event": "result.received", "race_id": "rc_1"}'
LENGTH = len(BODY)
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LONG_S = 60.0
"""No test waits so long: a time limit of other tests."""
ALL_LONG = Limits(head_s=LONG_S, rest_s=LONG_S, idle_s=LONG_S)


class Bot:
    """The webhook endpoint behind the server, with an inbox of bytes."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.stored: list[bytes] = []
        self.refused: Counter[str] = Counter()
        self.port = 0
        self.opened: list[asyncio.StreamWriter] = []

    def count(self, reason):
        self.refused[reason] += 1

    async def store(self, letter):
        self.stored.append(letter.body)
        return True

    async def connect(self, sent=b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.opened.append(writer)
        writer.write(sent)
        return reader, writer

    async def ask(self, *parts, then_end=False):
        """The statuses of the answers until the server closes, or was silent for a moment."""
        reader, writer = await self.connect()
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.005)
        if then_end:
            writer.write_eof()
        return statuses_in(await heard(reader, 0.2))


async def heard(reader, silent_s=20.0):
    """All bytes until the server closes, or is silent after the first bytes."""
    heard = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while more := await asyncio.wait_for(reader.read(65_536), silent_s if heard else 20.0):
            heard += more
    return heard


def statuses_in(answers):
    """Each refusal has a reference."""
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answers)]
    assert answers.count(b'"reference":"req-') == sum(status >= 400 for status in statuses), answers
    return statuses


@contextlib.asynccontextmanager
async def served(limits=ALL_LONG, store=None):
    """The server without its loop: a start and a stop take uvicorn a second."""
    bot, state, loop = Bot(), ServerState(), asyncio.get_running_loop()
    app = make_app(bot.seen, store or bot.store, body_s=LONG_S, budget=2**20)
    config = program.public_config(app, Connections(bot.count, limits))
    config.load()

    def connection() -> Any:
        make: Any = config.http_protocol_class
        return make(config=config, server_state=state, app_state={}, _loop=loop)

    listening = await loop.create_server(connection, "127.0.0.1", 0)
    bot.port = listening.sockets[0].getsockname()[1]
    # Answers that nobody reads fill a small buffer soon.
    listening.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    try:
        yield bot
    finally:
        await stop(bot, listening, state)


async def stop(bot, listening, state):
    listening.close()
    for one in list(state.connections):
        one.transport.abort()
    for writer in bot.opened:
        writer.close()
    await asyncio.gather(*state.tasks, *(writer.wait_closed() for writer in bot.opened), return_exceptions=True)


def head(*headers, signed=BODY, length=LENGTH, line=f"POST {WEBHOOK_PATH} HTTP/1.1"):
    lines = [line, "Host: x", *headers]
    lines += [] if length is None else [f"Content-Length: {length}"]
    lines += [] if signed is None else [f"X-SVC-Signature: {sign(signed)}"]
    return "\r\n".join([*lines, "", ""]).encode()


H2C = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
WEBSOCKET = ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
ABSOLUTE = f"POST http://bot.example{WEBHOOK_PATH} HTTP/1.1"
LARGE = b" " * 3_000 + BODY
IN_CHUNKS = head("Transfer-Encoding: chunked", length=None)

TAKEN = {
    "an offer of HTTP/2": [head(*H2C) + BODY],
    "an offer of WebSocket": [head(*WEBSOCKET) + BODY],
    "an offer, the body later": [head(*H2C), BODY[:9], BODY[9:]],
    "an offer, in chunks": [head(*H2C, "Transfer-Encoding: chunked", length=None) + CHUNKED],
    "an offer, a large body": [head(*H2C, signed=LARGE, length=len(LARGE)) + LARGE],
    "an offer in pieces": [head(*H2C)[:70], head(*H2C)[70:] + BODY],
    "an offer without end of line": [b"\r\n\r\n" + head(*H2C) + BODY],
    "chunks": [IN_CHUNKS + CHUNKED],
    "byte after byte": [bytes([byte]) for byte in head() + BODY],
    "a trailer that looks like a signature": [IN_CHUNKS + CHUNKED[:-2] + b"X-SVC-Signature: 0\r\n\r\n"],
    "the whole address": [head(line=ABSOLUTE) + BODY],
    "a path in percent": [head(line="POST /webhooks%2F%72acing HTTP/1.1") + BODY],
    "HTTP/1.0": [head(line=f"POST {WEBHOOK_PATH} HTTP/1.0") + BODY],
    "a question before": [head("Expect: 100-continue"), BODY],
    "sixty headers of a proxy": [head(*(f"X-{number}: {'a' * 1_000}" for number in range(60))) + BODY],
}


async def all_of(asked):
    """All at once: way → statuses."""
    return dict(zip(asked, await asyncio.gather(*asked.values()), strict=True))


async def test_signed_body_is_taken_in_whatever_form_http_allows():
    async with served() as bot:
        found = await all_of({way: bot.ask(*parts) for way, parts in TAKEN.items()})
    taken = {way: [status for status in statuses if status != 100] for way, statuses in found.items()}
    assert taken == {way: [200] for way in TAKEN}
    assert [body.strip() for body in bot.stored] == [BODY] * len(TAKEN)


async def test_requests_that_follow_on_one_connection_are_all_answered():
    async with served() as bot:
        offer, plain, forged = head(*H2C) + BODY, head() + BODY, head(signed=b"another") + BODY
        assert await bot.ask(offer + plain, forged + offer, plain) == [200, 200, 401, 200, 200]
        assert await bot.ask(plain + offer, then_end=True) == [200, 200]
        # More bytes of heads in a read than a head may have.
        assert await bot.ask((head(f"X: {'a' * 4_000}") + BODY) * 20) == [200] * 20


OTHERWISE = {
    "the sender ends early": ([head(length=LENGTH + 5) + BODY], True),
    "a chunk ends early": ([IN_CHUNKS + CHUNKED[:20]], True),
    "a chunk longer than its size": ([IN_CHUNKS + b"5\r\n" + BODY + b"\r\n0\r\n\r\n"], False),
    "a size that is no number": ([IN_CHUNKS + b"x\r\n" + CHUNKED], False),
    "more than the length": ([head(length=LENGTH - 5) + BODY], False),
    "more than the length, at the end": ([head("Connection: close", length=LENGTH - 5) + BODY], False),
    "lines without a carriage return": ([head().replace(b"\r\n", b"\n") + BODY], False),
    "a space before the colon": ([head(f"Content-Length : {LENGTH}", length=None) + BODY], False),
    "a length with a sign": ([head(length=f"+{LENGTH}") + BODY], False),
    "a header on two lines": ([head("X-1: a\r\n b") + BODY], False),
    "two lengths": ([head(f"Content-Length: {len(BODY)}") + BODY], False),
    "length and chunks": ([head("Transfer-Encoding: chunked") + CHUNKED], False),
    "no address": ([head(line="POST http://[x/ HTTP/1.1") + BODY], False),
    "an offer, ends early": ([head(*H2C, length=LENGTH + 5) + BODY], True),
}


async def test_body_that_comes_otherwise_than_announced_is_400_or_411_and_no_wrong_signature():
    with capture_logs() as lines:
        async with served() as bot:
            found = await all_of({way: bot.ask(*parts, then_end=end) for way, (parts, end) in OTHERWISE.items()})
            assert found == {way: [400] for way in OTHERWISE}
            assert bot.refused == {"malformed": len(OTHERWISE)}
            assert (await bot.ask(head(length=None), BODY))[0] == 411
        await bot.seen.hear()
    assert (bot.stored, bot.seen.signature_failures) == ([], [])
    assert "invalid url b'http://[x/'" in [line["reason"] for line in lines]


HEADER = b"X-1: %s\r\n" % (b"a" * 1_000)
START = head(length=None)[:-2]

TOO_MUCH = {
    "one header without end": (431, START + b"X: ", b"a" * 70_000),
    "one header in one read": (431, START + b"X: " + b"a" * 70_000 + b"\r\n\r\n", b""),
    "many headers": (431, START, b"X: a\r\n" * 101),
    "many bytes of headers": (431, START, HEADER * 70),
    "trailers": (431, IN_CHUNKS + CHUNKED[:-2], HEADER * 70),
    "one trailer without end": (431, IN_CHUNKS + CHUNKED[:-2] + b"X: ", b"a" * 70_000),
    "an extension of a chunk": (431, IN_CHUNKS + b"2;", b"a" * 70_000),
    "an address without end": (431, b"POST /", b"a" * 70_000),
    "an address in one read": (431, b"POST /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b""),
    "an offer to another": (400, b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", b""),
    "requests by the hundred": (400, head(signed=None, length=None, line="GET / HTTP/1.1") * 100, b""),
    "offers by the hundred": (400, (head(*H2C, signed=b"another") + BODY) * 100, b""),
    "another protocol": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b""),
}


async def test_more_than_a_head_may_have_is_refused_and_closed():
    async with served() as bot:
        found = await all_of({way: bot.ask(first, then) for way, (_, first, then) in TOO_MUCH.items()})
        assert await bot.ask(head() + BODY) == [200]
    assert {way: statuses[-1] for way, statuses in found.items()} == {way: one for way, (one, _, _) in TOO_MUCH.items()}
    wanted = Counter("head_too_large" if status == 431 else "malformed" for status, _, _ in TOO_MUCH.values())
    assert bot.refused == wanted


def test_request_before_a_malformed_one_is_cut_off_without_an_error(caplog):
    with asyncio.Runner() as runner:
        runner.run(send_a_malformed_request_behind_two())
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def send_a_malformed_request_behind_two():
    async def slow_store(_arrival):
        await asyncio.sleep(0.05)
        return True

    async with served(store=slow_store) as bot:
        assert await bot.ask((head() + BODY) * 2 + b"no request\r\n\r\n") == [400]


SLOW = head(length=100, signed=b"another") + b"{"
WAITS = {"silent": b"", "half a head": b"POST / HTTP/1.1\r\nHost: x\r\n", "half a body": SLOW}


@pytest.mark.parametrize("what", WAITS)
async def test_longest_waiting_connection_gives_way_to_a_new_one(what):
    async with served(Limits(connections=3, head_s=LONG_S)) as bot:
        waiting = [await bot.connect(WAITS[what]) for _ in range(3)]
        for first, _ in waiting[:2]:
            assert await bot.ask(head() + BODY) == [200]
            assert await heard(first) == b""
            waiting.append(await bot.connect(WAITS[what]))
    assert bot.refused["crowded"] >= 2


async def test_connection_at_work_is_not_closed_for_a_new_one():
    begun, stored = asyncio.Event(), asyncio.Event()

    async def slow_store(_arrival):
        begun.set()
        await stored.wait()
        return True

    async with served(Limits(connections=1, head_s=LONG_S), slow_store) as bot:
        at_work = asyncio.create_task(bot.ask(head() + BODY))
        await begun.wait()
        newcomer, _ = await bot.connect()
        assert await heard(newcomer) == b""
        stored.set()
        assert await at_work == [200]


LATE = {
    "silent": (b"", b"", []),
    "half a head": (b"POST / HTTP/1.1\r\nHost: x\r\n", b"x", []),
    "half of a second head": (head() + BODY + b"POST / HTTP/1.1\r\nHost: ", b"x", [200]),
    "empty lines after an answer": (head() + BODY, b"\r\n", [200]),
    "the rest of a refused body": (head(length=2**40), b"x", [413]),
}


@pytest.mark.parametrize("what", LATE)
async def test_connection_without_progress_is_closed_in_time(what):
    sent, trickle, statuses = LATE[what]
    async with served(Limits(head_s=0.2, rest_s=0.2, idle_s=0.2)) as bot:
        reader, writer = await bot.connect(sent)
        answers = asyncio.create_task(heard(reader))
        async with asyncio.timeout(20):
            while not answers.done():
                writer.write(trickle)
                await asyncio.sleep(0.02)
        assert statuses_in(answers.result()) == statuses


async def test_sender_that_reads_no_answer_is_closed():
    async with served(Limits(head_s=0.2, idle_s=LONG_S)) as bot:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
            deaf.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, ("127.0.0.1", bot.port))
            asks = head(signed=None, length=None, line="GET / HTTP/1.1")
            async with asyncio.timeout(20):
                with contextlib.suppress(ConnectionError):
                    while True:
                        await loop.sock_sendall(deaf, asks)


@pytest.mark.parametrize(("hard", "wanted"), [(100_000, program.OPEN_FILES), (1_500, 1_500), (-1, program.OPEN_FILES)])
def test_low_limit_of_open_files_is_raised(monkeypatch, hard, wanted):
    resource = pytest.importorskip("resource")
    given = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1_024, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: given.append(limits))
    assert program._open_files() == wanted
    assert given == [(wanted, hard)]
    assert Limits.connections <= program.OPEN_FILES // 3
