"""What can go wrong below HTTP, and that none of it shows the key."""

import asyncio
import gzip
import json
import logging
import traceback
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.errors import SettingsError
from bot.ports import Ports
from bot.racedata.client import service_errors
from bot.racedata.client.service_client import open_client
from bot.racedata.client.transport import Request, Transport

KEY = "sk_recognisable_0123456789"
BASE_URL = "https://api.example.com/v1"
SECRET_QUERY = "cursor_recognisable"


def raising(kind):
    def answer(request):
        raise kind(f"{request.url} {request.headers!r} {KEY}", request=request)

    return answer


def replying(status, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: httpx.Response(status, content=content, headers=headers)


TRANSPORT_ERRORS = [
    httpx.ConnectTimeout,
    httpx.ReadTimeout,
    httpx.WriteTimeout,
    httpx.PoolTimeout,
    httpx.ConnectError,
    httpx.ReadError,
    httpx.WriteError,
    httpx.CloseError,
    httpx.LocalProtocolError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
]

FAILURES = {
    **{kind.__name__: raising(kind) for kind in TRANSPORT_ERRORS},
    "broken gzip": replying(200, b"not gzip", **{"content-encoding": "gzip"}),
    "too large": replying(200, b"x" * 5000),
    "not json": replying(200, KEY.encode()),
    "not the envelope": replying(200, {"meta": {}, "data": {KEY: KEY}}),
    "redirect": replying(302, b"", location=f"https://evil.example/?key={KEY}"),
    **{
        code: replying(status, {"error": {"code": code, "message": f"key {KEY}", "doc_url": f"https://x/?key={KEY}"}})
        for code, status in [
            ("unauthorized", 401),
            ("upgrade_required", 403),
            ("outside_window", 403),
            ("invalid_param", 422),
            ("rate_limited", 429),
            ("quota_exceeded", 429),
            ("server_error", 500),
        ]
    },
    "unknown code": replying(400, {"error": {"code": KEY, KEY: [KEY]}}, **{"x-request-id": KEY}),
}


async def failure(client):
    try:
        await client.races_page("GB", cursor=SECRET_QUERY)
    except service_errors.ServiceFailure as error:
        return error
    raise AssertionError("it did not fail")


def mock(handler, store, fake_time):
    http = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    return http, open_client(BASE_URL, SecretStr(KEY), store, http=http, timing=fake_time.timing())


def shown(error):
    """Everything that a log, a debugger or an error tracker might print of it, chained errors and locals included."""
    parts = [str(error), repr(error), error.told, str(vars(error))]
    for chained in (error, error.__context__, error.__cause__):
        if chained is not None:
            report = traceback.TracebackException.from_exception(chained, capture_locals=True)
            report.stack = traceback.StackSummary.from_list(
                [frame for frame in report.stack if "/tests/" not in frame.filename]
            )
            parts += report.format()
    return "\n".join(parts)


@pytest.mark.parametrize("name", FAILURES)
async def test_failure_shows_neither_key_nor_address(name, store, fake_time, caplog):
    caplog.set_level(logging.DEBUG)
    http, client = mock(FAILURES[name], store, fake_time)
    async with http:
        client._calls.transport._max_answer_bytes = 4000
        with capture_logs() as lines:
            error = await failure(client)
            if name in {"unauthorized", "quota_exceeded"}:
                error = await failure(client)
    everything = "\n".join([shown(error), caplog.text, str(lines), str(store.values)])
    assert KEY not in everything
    assert "api.example.com" not in everything
    assert SECRET_QUERY not in f"{error} {error!r} {error.told} {caplog.text} {lines}"
    assert lines


@pytest.mark.parametrize("kind", TRANSPORT_ERRORS)
async def test_every_httpx_transport_error_becomes_unreachable(kind, store, fake_time):
    asked = []

    def answer(request):
        asked.append(request)
        raise kind("no", request=request)

    http, client = mock(answer, store, fake_time)
    async with http:
        error = await failure(client)
    assert type(error) is service_errors.ServiceUnreachable
    assert error.message == kind.__name__
    assert (len(asked), fake_time.slept) == (4, [0.5, 1, 2])


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (
            [replying(429, {"error": {"code": "rate_limited"}}, **{"retry-after": "7"})],
            "Too many requests this minute. Try again in 7 s.",
        ),
        ([replying(500, {"error": {"code": "server_error"}}, **{"x-request-id": "req_1"})], "(request req_1)"),
        ([], "did not answer"),
    ],
)
async def test_call_that_has_no_answer_so_far_says_why(store, fake_time, answers, told):
    waiting = asyncio.Event()

    async def answer(request):
        if answers:
            return answers.pop()(request)
        waiting.set()
        return await asyncio.Event().wait()

    http, client = mock(answer, store, fake_time)
    async with http:
        asking = asyncio.create_task(client.races_page("GB"))
        await waiting.wait()
        assert told in client.held_up().told
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert "did not answer" in client.held_up().told


def test_table_of_httpx_transport_errors_is_whole():
    leaves = {
        kind for kind in vars(httpx).values() if isinstance(kind, type) and issubclass(kind, httpx.TransportError)
    }
    abstract = {httpx.TransportError, httpx.TimeoutException, httpx.NetworkError, httpx.ProtocolError}
    assert leaves - abstract == set(TRANSPORT_ERRORS)


@pytest.mark.parametrize(
    ("kind", "may_have_arrived"),
    [
        (httpx.ConnectError, False),
        (httpx.ConnectTimeout, False),
        (httpx.ProxyError, False),
        (httpx.ReadTimeout, True),
        (httpx.ReadError, True),
    ],
)
async def test_unreachable_subscribe_is_sent_once_and_says_whether_it_may_have_arrived(
    kind, may_have_arrived, store, fake_time
):
    asked = []

    def answer(request):
        asked.append(request)
        raise kind("no", request=request)

    http, client = mock(answer, store, fake_time)
    async with http:
        with pytest.raises(service_errors.ServiceUnreachable) as caught:
            await client.subscribe_webhook("https://bot.example.com/", ["result.received"])
    assert caught.value.may_have_arrived is may_have_arrived
    assert len(asked) == 1


async def test_answer_over_the_cap_is_dropped_while_it_streams():
    produced = []

    async def endless():
        while True:
            produced.append(1)
            yield b"x" * 1000

    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=endless())))
    transport = Transport(BASE_URL, SecretStr(KEY), http=http, max_answer_bytes=10_000)
    async with http:
        with pytest.raises(service_errors.AnswerUnreadable, match="over 10000 bytes"):
            await transport.send(Request("GET", "courses"))
    assert len(produced) <= 12


async def test_answer_is_capped_by_its_unpacked_size():
    body = gzip.compress(b"x" * 1_000_000)
    headers = {"content-encoding": "gzip"}
    http = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
    )
    transport = Transport(BASE_URL, SecretStr(KEY), http=http, max_answer_bytes=10_000)
    async with http:
        with pytest.raises(service_errors.AnswerUnreadable):
            await transport.send(Request("GET", "courses"))


@asynccontextmanager
async def raw_server(*chunks, for_ever):
    """The address of a server that answers with these bytes, then drops the connection or trickles for ever."""
    done = asyncio.Event()

    async def serve(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.writelines(chunks)
            while for_ever and not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            return
        finally:
            writer.close()
            done.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        await done.wait()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"


async def test_answer_that_trickles_for_ever_is_given_up():
    async with raw_server(HEAD, for_ever=True) as base_url:
        transport = Transport(base_url, SecretStr(KEY), whole_answer_s=0.2)
        with pytest.raises(service_errors.ServiceUnreachable) as caught:
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
    assert caught.value.message == "TimeoutError"


async def test_connection_that_drops_within_the_answer_is_unreachable():
    async with raw_server(HEAD, b"{", for_ever=False) as base_url:
        transport = Transport(base_url, SecretStr(KEY))
        with pytest.raises(service_errors.ServiceUnreachable) as caught:
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
    assert caught.value.may_have_arrived


@pytest.mark.parametrize("key", ["", "has space", "line\nbreak", "clé"])
def test_client_refuses_a_key_that_no_header_can_carry(key, store):
    with pytest.raises(SettingsError) as caught:
        open_client(BASE_URL, SecretStr(key), store, Ports().timing)
    assert "RACING_API_KEY" in str(caught.value)
    assert not key or key not in str(caught.value)


def test_client_refuses_an_address_that_would_show_the_key(store):
    with pytest.raises(SettingsError, match="RACING_API_URL must be https"):
        open_client("http://api.example.com/v1", SecretStr(KEY), store, Ports().timing)
