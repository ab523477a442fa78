"""`python -m bench.demo_page`: seconds from a clone to the first message, and the page's memory over an hour."""

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.demo_stand import Stand, open_browser, open_stand
from sandbox.loopback_server import free_port

ROOT = Path(__file__).parents[1]
MIB = 1024 * 1024
PATIENCE_MS = 120_000
EVENTS_OF_AN_HOUR = 900
"""An event each four seconds, as the button “Play” plays."""


async def first_message() -> float:
    """Clones the committed state, installs from uv's cache or the internet, starts the demo, and looks at the page."""
    with tempfile.TemporaryDirectory(prefix="racing-bot-clone-") as folder:
        async with open_browser() as browser:
            page = await browser.new_page()
            began = time.monotonic()
            port = free_port()
            commands = (
                f"git clone -q {ROOT} clone && cd clone && python3 -m venv .tool && .tool/bin/pip install -q uv"
                f" && exec .tool/bin/uv run racing-bot demo --port {port}"
            )
            env = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "VIRTUAL_ENV"))}
            nothing = asyncio.subprocess.DEVNULL
            demo = await asyncio.create_subprocess_exec(
                "bash", "-ec", commands, cwd=folder, env=env, stdin=nothing, stdout=nothing
            )
            try:
                await reached(f"http://127.0.0.1:{port}/")
                await page.goto(f"http://127.0.0.1:{port}/")
                await page.wait_for_selector(".message", timeout=PATIENCE_MS)
                return time.monotonic() - began
            finally:
                for process in psutil.Process(demo.pid).children(recursive=True):
                    process.terminate()
                demo.terminate()
                await demo.wait()


async def reached(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(PATIENCE_MS / 1000):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(url)).is_success:
                    return
            await asyncio.sleep(0.1)


async def memory(events: int, every_s: float) -> list[tuple[int, float, int, float]]:
    """Events so far, MiB of the page's heap, DOM nodes, and MiB of the demo's process: ten times."""
    async with open_stand() as stand:
        await stand.stage.say("C0ALL", "U0ALICE", "/racing subscribe all")
        page = await stand.browser.new_page()
        await page.goto(stand.address)
        await page.click("#channels button:has-text('#everything')")
        session = await page.context.new_cdp_session(page)
        found = []
        for number in range(events):
            happen(stand)
            await asyncio.sleep(every_s)
            if (number + 1) % max(1, events // 10) == 0:
                found.append((number + 1, *await sizes(session), psutil.Process().memory_info().rss / MIB))
        return found


def happen(stand: Stand) -> None:
    """The next race settles; a settled race is corrected when no race is left."""
    service, racing = stand.stage.service, stand.stage.service.racing
    races = racing.races(racing.today)
    to_come = [race for race in races if racing.state(race).status == "declared"]
    if to_come:
        service.settle(to_come[0].race_id)
    else:
        service.correct(races[len(service.deliveries) % len(races)].race_id)


async def sizes(session: Any) -> tuple[float, int]:
    await session.send("Performance.enable")
    await session.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in (await session.send("Performance.getMetrics"))["metrics"]}
    return metrics["JSHeapUsedSize"] / MIB, int(metrics["Nodes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS_OF_AN_HOUR)
    parser.add_argument("--every", type=float, default=4.0, help="seconds from event to event")
    chosen = parser.parse_args()
    print(f"first message: {asyncio.run(first_message()):.1f} s after the clone began (target: 60)", flush=True)
    print("events   page's heap   DOM nodes   demo's process")
    for events, heap, nodes, process in asyncio.run(memory(chosen.events, chosen.every)):
        print(f"{events:6}   {heap:7.1f} MiB   {nodes:9}   {process:9.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
