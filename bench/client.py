"""Requests a second through the client, beside bare httpx asking the same server for the same page in the same run.

    python bench/client.py [seconds]

The throttle is wide open: circuit breakers, pacing, reading and typing are measured. Rounds alternate, so that a noisy
machine is noisy for both. Then a list of 100,000 races is walked, and what memory grew by in that time.
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from contextlib import contextmanager

import httpx
import psutil
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.ports import Ports
from bot.racedata.client.service_client import RECORDS_PER_PAGE, WalkPosition, open_client

ROUNDS = 5
WORKERS = 8
META = {"request_id": "req_1", "plan": "analyst", "window": "2017 → upcoming", "count": 50, "has_more": False}
RACES = [{"race_id": f"rc_{number}", "region": "GB", "runners": [{"horse": "A"}] * 10} for number in range(50)]
PAGE = json.dumps({"meta": META, "data": RACES}).encode()
WALKED_RACES = 100_000
WALKED_PAGES = WALKED_RACES // RECORDS_PER_PAGE
WARM_PAGES = 50
"""After so many pages of a walk memory is compared with its end."""

OPEN = {"x-ratelimit-limit": "1000000", "x-ratelimit-remaining": "999999", "x-ratelimit-reset": "60"}


class Nothing:
    """A StateStore that holds nothing."""

    async def get(self, _name):
        return None

    async def set(self, _name, _value):
        return None


def serve(listener):
    async def races(request):
        page = PAGE if "region" in request.query_params else page_of_walk(request.query_params.get("cursor"))
        return Response(page, media_type="application/json", headers=OPEN)

    app = Starlette(routes=[Route("/v1/races/search", races)])
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def serving():
    """The address of a server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(listener,), daemon=True)
        server.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            server.terminate()
            server.join()


def page_of_walk(cursor):
    """A page of the list of all regions: its cursors count the pages."""
    number = int(cursor or 0) + 1
    more = number < WALKED_PAGES
    meta = META | {"count": RECORDS_PER_PAGE, "has_more": more, "next_cursor": str(number) if more else None}
    return json.dumps({"meta": meta, "data": RACES * (RECORDS_PER_PAGE // len(RACES))}).encode()


async def rate(ask, seconds):
    """Requests a second of `ask`, with WORKERS at it for so long."""
    done, end = 0, time.perf_counter() + seconds

    async def work():
        nonlocal done
        while time.perf_counter() < end:
            await ask()
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return done / (time.perf_counter() - started)


async def measure(base_url, seconds):
    client = open_client(base_url, SecretStr("sk_bench"), Nothing(), Ports().timing)
    bare = httpx.AsyncClient(headers={"X-API-Key": "sk_bench"})

    async def through_the_client():
        await anext(client.walk_races(WalkPosition(region="GB")))

    async def through_httpx():
        (await bare.get(f"{base_url}/races/search", params={"region": "GB", "limit": 200})).json()

    ours, theirs = [], []
    await through_the_client()
    for _ in range(ROUNDS):
        ours.append(await rate(through_the_client, seconds / ROUNDS / 2))
        theirs.append(await rate(through_httpx, seconds / ROUNDS / 2))
    await client.aclose()
    await bare.aclose()
    return sorted(ours)[ROUNDS // 2], sorted(theirs)[ROUNDS // 2]


async def measure_walk(base_url):
    """Races a second of a walk of WALKED_RACES, and by how many MiB the process has grown since the first pages."""
    client = open_client(base_url, SecretStr("sk_bench"), Nothing(), Ports().timing)
    process, races, pages, warm = psutil.Process(), 0, 0, 0
    started = time.perf_counter()
    async for step in client.walk_races(WalkPosition()):
        races, pages = races + len(step.page.data), pages + 1
        if pages == WARM_PAGES:
            warm = process.memory_info().rss
    took_s = time.perf_counter() - started
    await client.aclose()
    assert races == WALKED_RACES
    return races / took_s, (process.memory_info().rss - warm) / 2**20


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with serving() as base_url:
        ours, bare = asyncio.run(measure(base_url, seconds))
        walked, grown_mib = asyncio.run(measure_walk(base_url))
    print(f"client {ours:8.0f} requests/s")
    print(f"httpx  {bare:8.0f} requests/s")
    print(f"ratio  {ours / bare:8.2f}")
    print(f"walk   {walked:8.0f} races/s, {WALKED_RACES:,} races; memory {grown_mib:+.1f} MiB")


if __name__ == "__main__":
    main()
