"""`python -m bench.idle [MINUTES]`: the writes of an idle bot, with the past deliveries of about a month and a half.

Counts the commits of a minute, and times the statements of the writer's transactions, after a minute to settle.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from bench import bot_unpaced
from bench.common import AtMost, Measure, table
from bench.delivery import CHANNELS, REGIONS, subscribe
from bench.filled import fill
from bench.outside import Outside
from bench.processes import bot
from bot.db.engine import Database
from sandbox.loopback_server import serve

ROWS = 200_000
MINUTES = 10.0
SETTLE_S = 60.0
FIGURES = "BENCH_IDLE_FIGURES"
"""The file for the figures of the bot's process."""


class Watched:
    """Commits by the statements of their transactions, from the end of the settling on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._from_s = time.monotonic() + SETTLE_S
        self._commits = Counter[str]()
        self._slowest: tuple[float, str] = (0.0, "")

    def install(self) -> None:
        event.listen(Engine, "before_cursor_execute", self._before)
        event.listen(Engine, "after_cursor_execute", self._after)
        event.listen(Engine, "commit", self._commit)
        event.listen(Engine, "rollback", lambda connection: connection.info.pop("ran", None))
        self._note()

    def _before(self, connection: Connection, *_args: object) -> None:
        connection.info["began_s"] = time.perf_counter()

    def _after(self, connection: Connection, _cursor: object, statement: str, *_args: object) -> None:
        took_s = time.perf_counter() - connection.info["began_s"]
        connection.info.setdefault("ran", []).append((took_s, " ".join(statement.split())[:120]))

    def _commit(self, connection: Connection) -> None:
        ran = connection.info.pop("ran", [])
        if not ran or time.monotonic() < self._from_s:
            return
        writes = [one for _, one in ran if not one.startswith("SELECT")]
        # Without a write the commit is no work of the disk.
        self._commits.update(writes[:1])
        self._slowest = max(self._slowest, *ran)
        self._note()

    def _note(self) -> None:
        self._file.write_text(json.dumps([self._commits, self._slowest]), encoding="utf-8")


async def measure(minutes: float) -> list[Measure]:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, figures = Path(name), Path(name) / "idle.json"
        url = f"sqlite:///{folder / 'idle.db'}"
        await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
        await asyncio.to_thread(fill, Database(url), ROWS)
        async with (
            serve(Outside()) as outside_url,
            bot(folder, outside_url, url, "bench.idle", "serve", **{FIGURES: str(figures)}) as server,
        ):
            await asyncio.sleep(SETTLE_S)
            before_s = server.cpu_s
            await asyncio.sleep(minutes * 60)
            cpu_s = server.cpu_s - before_s
        commits, (slowest_s, slowest) = json.loads(figures.read_text(encoding="utf-8"))
    print("\n".join(f"{count:5} {words}" for words, count in Counter(commits).most_common()))
    print(f"slowest: {slowest}\n")
    return [
        Measure(f"idle with {ROWS:,} past deliveries: commits", sum(commits.values()) / minutes, "/min", AtMost(6)),
        Measure("idle: slowest statement of the writer", slowest_s * 1000, "ms", AtMost(5)),
        Measure("idle: CPU of the process", cpu_s / minutes, "s/min"),
    ]


def be_the_bot(inner: int, news: int, life: int) -> None:
    """The receiver's child."""
    Watched(Path(os.environ[FIGURES])).install()
    bot_unpaced.be_the_bot(inner, news, life)


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        bot_unpaced.main("bench.idle")
        return
    parser = argparse.ArgumentParser(description="Measure the writes of an idle bot, after a minute to settle.")
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES)
    print(table(asyncio.run(measure(parser.parse_args().minutes))))


if __name__ == "__main__":
    main()
