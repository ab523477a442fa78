"""Requests a second through the client, beside bare httpx asking the same server for the same page in the same run.

    python bench/client.py [seconds]

The throttle is wide open: circuit breakers, pacing, reading and typing are measured. Rounds alternate, so that a noisy
machine is noisy for both.
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from contextlib import contextmanager

import httpx
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.doctor.deployment import ForgetfulStore
from bot.ports import Ports
from bot.racedata.client.service_client import open_client

ROUNDS = 5
WORKERS = 8
META = {"request_id": "req_1", "plan": "analyst", "window": "2017 → upcoming", "count": 50, "has_more": False}
RACES = [{"race_id": f"rc_{number}", "region": "GB", "runners": [{"horse": "A"}] * 10} for number in range(50)]
PAGE = json.dumps({"meta": META, "data": RACES}).encode()
OPEN = {"x-ratelimit-limit": "1000000", "x-ratelimit-remaining": "999999", "x-ratelimit-reset": "60"}


def serve(listener):
    async def races(_request):
        return Response(PAGE, media_type="application/json", headers=OPEN)

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
    client = open_client(base_url, SecretStr("sk_bench"), ForgetfulStore(), Ports().timing)
    bare = httpx.AsyncClient(headers={"X-API-Key": "sk_bench"})

    async def through_the_client():
        await anext(client.walk_races("GB"))

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


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with serving() as base_url:
        ours, bare = asyncio.run(measure(base_url, seconds))
    print(f"client {ours:8.0f} requests/s")
    print(f"httpx  {bare:8.0f} requests/s")
    print(f"ratio  {ours / bare:8.2f}")


if __name__ == "__main__":
    main()
