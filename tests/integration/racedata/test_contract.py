"""The client over a real socket: the stand-in keeps to the interface; failures below HTTP."""

import asyncio
import gc
import gzip
import json
import logging
import tracemalloc
from contextlib import aclosing, asynccontextmanager
from datetime import datetime

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.racedata.client.cursor_walk import collect
from bot.racedata.client.records import KnownCountry, KnownCourse, read_reference
from bot.racedata.client.service_client import RECORDS_PER_PAGE, open_client
from bot.racedata.client.service_errors import (
    BY_CODE,
    AnswerUnreadable,
    NotFound,
    ServerFault,
    ServiceFailure,
    ServiceUnreachable,
)
from bot.racedata.client.transport import Request, Transport
from bot.racedata.month_quota import PLANS
from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService, Switches
from tests.unit.racedata.scripted_service import KEY


async def first_page(steps):
    async with aclosing(steps):
        return (await anext(steps)).page


HOOK = ("https://bot.example.com/webhooks/racing", ["result.received", "race.abandoned"], "GB")
CALLS = {
    "countries": lambda client: client.countries(),
    "courses": lambda client: client.courses(),
    "reference": lambda client: client.reference(),
    "races/search": lambda client: first_page(client.walk_races("GB", 100)),
    "webhooks/deliveries": lambda client: collect(client.walk_failed_deliveries()),
    "account/usage": lambda client: client.usage("endpoint"),
    "webhooks/subscribe": lambda client: client.subscribe_webhook(*HOOK),
}


@pytest.fixture
async def stand_in(sleep_clock):
    today = sleep_clock.clock().date()
    async with RacingService(
        today, api_key=KEY, plan="analyst", clock=sleep_clock.clock, switches=Switches(slow_s=0.3)
    ) as running:
        yield running


@pytest.fixture
async def client(stand_in, sleep_clock, store):
    async with serve(stand_in.app) as address:
        opened = open_client(f"{address}/v1", SecretStr(KEY), store, timing=sleep_clock.timing())
        yield opened
        await opened.aclose()


def asked(stand_in):
    return [(one.method, one.endpoint.removeprefix("/")) for one in stand_in.requests]


async def test_each_endpoint_is_asked_once_and_its_account_is_remembered(stand_in, client, caplog):
    caplog.set_level(logging.DEBUG)
    for path, call in CALLS.items():
        page = await call(client)
        assert asked(stand_in)[-1] == ("POST" if "subscribe" in path else "GET", path)
        assert page.meta.request_id == stand_in.requests[-1].request_id
        assert client.state.plan == page.meta.plan == "analyst"
        assert client.state.window == page.meta.window == "2017 → upcoming"
        assert datetime.fromisoformat(page.meta.data_as_of or "").tzinfo is not None
    assert len(stand_in.requests) == len(CALLS)
    assert client.state.plan in PLANS
    assert page.data.secret.get_secret_value().startswith("whsec_")
    assert "127.0.0.1" not in caplog.text


async def test_records_have_every_specified_field(client):
    for page, record, nullable in (
        (await client.countries(), KnownCountry, {"note"}),
        (await client.courses(), KnownCourse, {"shortcode"}),
    ):
        assert page.meta.count == len(page.data) > 0
        for one in page.data:
            assert isinstance(one, record)
            assert {name for name in record.model_fields if getattr(one, name) is None} <= nullable
    data = (await client.reference()).data
    assert "GB" in read_reference(data, "regions")
    assert read_reference(data, "classes")


FAILURES: dict[str, tuple[type[ServiceFailure], int]] = {
    **{code: (kind, 1) for code, kind in BY_CODE.items()},
    "not_found": (NotFound, 1),
    "rate_limited": (BY_CODE["rate_limited"], 10),
    "server_error": (ServerFault, 4),
    "html": (ServerFault, 4),
    "drop": (ServiceUnreachable, 4),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_failure_of_the_stand_in_is_the_interfaces(stand_in, client, name):
    kind, requests = FAILURES[name]
    stand_in.fail_next("/countries", name, 100)
    with pytest.raises(ServiceFailure) as caught:
        await client.countries()
    assert type(caught.value) is kind
    assert len(stand_in.requests) == requests
    assert (caught.value.request_id == stand_in.requests[-1].request_id) is (name not in {"html", "drop"})


# Below HTTP


@asynccontextmanager
async def raw_server(*chunks, for_ever):
    """The address of a server that answers with the bytes, then drops the connection or trickles for ever."""
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


async def test_cookie_is_not_sent_back():
    cookies = list[str | None]()

    async def answer(request):
        cookies.append(request.headers.get("cookie"))
        return Response("{}", headers={"Set-Cookie": f"one{len(cookies)}=1"})

    async with serve(Starlette(routes=[Route("/v1/courses", answer)])) as address:
        transport = Transport(f"{address}/v1", SecretStr(KEY))
        for _ in range(2):
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
    assert cookies == [None, None]


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"


@pytest.mark.parametrize(
    ("chunks", "for_ever", "message"),
    [((HEAD,), True, "TimeoutError"), ((HEAD, b"{"), False, "RemoteProtocolError")],
    ids=["trickles for ever", "drops within the answer"],
)
async def test_answer_that_does_not_end_is_unreachable(chunks, for_ever, message):
    async with raw_server(*chunks, for_ever=for_ever) as base_url:
        transport = Transport(base_url, SecretStr(KEY), whole_answer_s=0.2 if for_ever else 60)
        with pytest.raises(ServiceUnreachable) as caught:
            await transport.send(Request("GET", "courses"))
        await transport.aclose()
    assert (caught.value.message, caught.value.may_have_arrived) == (message, True)


@pytest.mark.parametrize("is_packed", [False, True])
async def test_answer_over_the_cap_is_dropped_while_it_streams(is_packed):
    produced = []

    async def endless():
        while True:
            produced.append(1)
            yield b"x" * 1000

    packed = httpx.Response(200, content=gzip.compress(b"x" * 1_000_000), headers={"content-encoding": "gzip"})
    found = packed if is_packed else httpx.Response(200, content=endless())
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: found))
    transport = Transport("https://api.example.com/v1", SecretStr(KEY), http=http, max_answer_bytes=10_000)
    async with http:
        with pytest.raises(AnswerUnreadable, match="over 10000 bytes"):
            await transport.send(Request("GET", "courses"))
    assert len(produced) <= 12


RACES = 100_000
PAGES = RACES // RECORDS_PER_PAGE
MIB = 1024 * 1024


def page_of_races(request):
    """RECORDS_PER_PAGE races. The cursor is the number of the page: opaque to the client."""
    number = int(request.url.params.get("cursor", "0"))
    runners = [{"number": each, "horse": f"Horse {each}", "jockey": "A. Rider"} for each in range(4)]
    races = [
        {"race_id": f"rc_{number * RECORDS_PER_PAGE + place}", "date": "2020-01-01", "runners": runners}
        for place in range(RECORDS_PER_PAGE)
    ]
    meta = {"has_more": number + 1 < PAGES, "next_cursor": str(number + 1)}
    return httpx.Response(200, content=json.dumps({"meta": meta, "data": races}).encode())


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_walk_of_100_000_races_holds_no_more_than_a_page(sleep_clock, store):
    count, held = 0, []
    tracemalloc.start()
    try:
        async with httpx.AsyncClient(transport=httpx.MockTransport(page_of_races)) as http:
            timing = sleep_clock.timing()
            client = open_client("https://api.example.com/v1", SecretStr(KEY), store, http=http, timing=timing)
            async for step in client.walk_races():
                count += len(step.page.data)
                if count // RECORDS_PER_PAGE % 50 == 0:
                    gc.collect()
                    held.append(tracemalloc.get_traced_memory()[0] / MIB)
        peak = tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()
    assert (count, len(held)) == (RACES, PAGES // 50)
    assert held[-1] - held[0] < 0.5, held
    assert peak < 20
