"""What the measure of too many deliveries calls lost, and what it calls neither accepted nor refused."""

from collections import Counter
from datetime import UTC, datetime
from functools import partial

from bench.load import Load
from bench.overload import PREFIX, not_kept, report
from bench.payloads import Results
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival

NOW = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)


async def test_delivery_is_lost_that_was_accepted_and_is_not_in_the_inbox(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'overload.db'}")
    upgrade(database)
    key = f"result.received:{Results(PREFIX).race_id(1)}"
    arrival = Arrival(key, "result.received", "0" * 64, b"{}", NOW)
    await database.write(partial(inbox.store, arrivals=[arrival]))
    lost = [await database.read(partial(not_kept, load=Load(accepted=numbers))) for numbers in ([], [1], [0, 1, 2])]
    await database.close()
    assert lost == [0, 0, 2]


def test_answers_are_told_apart_and_what_is_neither_meets_no_target():
    closed = Load(seconds=1.0, answers=Counter({200: 100}))
    load = Load(
        seconds=2.0,
        answers=Counter({200: 200, 503: 590, 500: 2, 0: 8}),
        latencies=[0.1, 0.3],
        due=[0.0, 1.0, 2.0],
        lateness=[0.0, 0.0, 0.0],
    )
    lines = {line.name.removeprefix("overload: "): (line.value, line.verdict) for line in report(closed, load, load, 1)}
    expected = {
        "accepted": (100, ""),
        "accepted, p99": (300, "NOT MET"),
        "refused (503)": (295, ""),
        "neither accepted nor refused": (10, "NOT MET"),
        "accepted and not in the inbox": (1, "NOT MET"),
        "offered / closed loop": (0.01, "NOT MET"),
    }
    assert {name: lines[name] for name in expected} == expected
