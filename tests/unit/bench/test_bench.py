"""The bench's own honesty: arithmetic, requests, counts, and filled databases."""

import asyncio
import hashlib
import hmac
import importlib
import json
import math
from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from bench import filled, load
from bench.__main__ import said
from bench.common import AtLeast, AtMost, Measure, number, paired_ratio, percentile, percentiles, table
from bench.load import Connection, Load, Pool
from bench.outside import Outside
from bench.overload import PREFIX, not_kept, report
from bench.payloads import BODY_BYTES, SECRET, Results
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import BookRace, EventVersion, InboxDelivery, OutboxMessage, SaidRow
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.events.event import RacingEvent
from bot.events.races import Race
from tests.answering import failing
from tests.rows import over

NOW = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)

# Arithmetic


@given(st.lists(st.floats(0, 100), min_size=1), st.integers(1, 100))
def test_percentile_occurred_and_is_exceeded_by_no_more_than_the_rest(values, percent):
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= len(values) * percent
    assert percentile(values, 100) == max(values)


def test_ratio_is_the_median_of_the_rounds_ratios_and_nan_without_a_round():
    # The second round was slow for both: dividing the medians of each side would say 0.25.
    assert paired_ratio([100, 20, 90], [200, 40, 400]) == 0.5
    assert all(math.isnan(one) for one in (percentile([], 99), paired_ratio([], []), paired_ratio([10.0], [0.0])))


@over(("target", "met", "missed"), [(AtLeast(8), 8.0, 7.99), (AtMost(8), 8.0, 8.01)])
def test_verdict_follows_the_target_and_figures_have_three_digits(target, met, missed):
    verdicts = [Measure("it", value, "ms", target).verdict for value in (met, missed, math.nan)]
    assert verdicts == ["met", "NOT MET", "NOT MET"]
    assert Measure("it", met, "ms").verdict == ""

    shown = [number(value) for value in (12345.6, 123.4, 12.34, 1.234, 0.02371, 0)]
    assert shown == ["12,346", "123", "12.3", "1.23", "0.0237", "0"]


def test_report_has_a_line_for_each_measure_and_marks_a_missed_target():
    lines = percentiles("webhook", [0.001, 0.020], {50: None, 99: AtMost(15)})
    assert [line.split() for line in table(lines).splitlines()[2:]] == [
        ["webhook,", "p50", "1", "ms"],
        ["webhook,", "p99", "20.0", "ms", "≤", "15.0", "NOT", "MET"],
    ]


async def test_part_that_fails_is_a_line_that_is_not_met(capsys):
    (line,) = await said("posting", failing(OSError("no room")))
    assert (line.name, line.verdict) == ("posting: failed, OSError", "NOT MET")
    assert "no room" in capsys.readouterr().err


@over("part", ["__main__.main", "bot_unpaced.main", "history.main", "servers.main"])
def test_every_part_of_the_bench_has_its_entry(part):
    module, _, entry = part.partition(".")
    assert callable(getattr(importlib.import_module(f"bench.{module}"), entry))
    for name in ("acks", "delivery", "footprint", "ingest", "overload", "wide"):
        assert callable(importlib.import_module(f"bench.{name}").measure)


@pytest.mark.parametrize(("argument", "code"), [("--wrong", 2), ("--help", 0)])
@pytest.mark.parametrize("part", ["__main__", "history", "idle"])
def test_argument_without_a_measure_measures_nothing(part, argument, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", argument])
    monkeypatch.setattr("asyncio.Runner.run", lambda *_: pytest.fail("measured"))
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"bench.{part}").main()
    assert ended.value.code == code
    assert "usage: bench" in "".join(capsys.readouterr())


# Load


def parts_of(request):
    head, _, body = request.partition(b"\r\n\r\n")
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]), body


def test_load_counts_only_accepted_requests_as_served_and_offers_what_was_held_back():
    load = Load(seconds=2.0)
    for status in (200, 503, 200, 0):
        load.note(status, 0.01)
    assert (load.per_s, load.refused, len(load.latencies)) == (1.0, 2, 2)
    assert (load.answers[200], load.answers[503], load.answers[0]) == (2, 1, 1)
    assert Load(due=[0.0, 1.0, 2.0], lateness=[0.0, 0.5, 2.0]).offered_per_s == 0.5
    assert Load(due=[0.0, 2.0], lateness=[0.0, 0.0], held_back=3).offered_per_s == 2


class Server(asyncio.Transport):
    """A transport whose server answers at once, in the same words each time."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer
        self.connection = Connection()
        self.connection.connection_made(self)

    def write(self, _request):
        asyncio.get_running_loop().call_soon(self.connection.data_received, self.answer)


@pytest.mark.parametrize(
    ("answer", "status", "is_open"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, True),
        (b"HTTP/1.1 503 No\r\nConnection: close\r\ncontent-length: 2\r\n\r\nno", 503, False),
    ],
)
async def test_connection_carries_no_request_after_an_answer_that_ends_it(answer, status, is_open):
    connection = Server(answer).connection
    pool = Pool(0, [connection])
    assert await pool.ask(b"GET /") == status
    assert connection.is_open is is_open
    assert pool.free == [connection] * is_open
    # A request on a connection that breaks has no status.
    connection = Server(b"").connection
    asked = asyncio.create_task(connection.ask(b"GET /"))
    await asyncio.sleep(0)
    connection.connection_lost(None)
    assert (await asked, connection.is_open) == (0, False)


async def test_requests_at_once_open_a_connection_each(monkeypatch):
    async def connect(_port, opened):
        await asyncio.sleep(0)
        opened.append(Server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").connection)
        return opened[-1]

    monkeypatch.setattr(load, "connect", connect)
    pool = Pool(0, [])
    assert {*await asyncio.gather(pool.ask(b"GET /"), pool.ask(b"GET /"))} == {200}
    assert len(pool.opened) == 2


def test_deliveries_are_2_kb_signed_all_different_and_the_races_that_they_are_looked_for_by():
    results = Results("t", ("R00", "R01"))
    requests = list(islice(results.requests(), 40))
    assert len(set(requests)) == len(requests)
    by_course = defaultdict(list)
    for place, request in enumerate(requests):
        headers, body = parts_of(request)
        race = json.loads(body)["race"]
        assert body == results.body(place)
        assert len(body) == int(headers["Content-Length"]) == BODY_BYTES
        assert headers["X-SVC-Signature"] == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert (race["race_id"], race["region"]) == (results.race_id(place), f"R0{place % 2}")
        by_course[race["course"]["course_id"]].append((race["region"], race["off_time"]))
    assert [len(of_course) for of_course in by_course.values()] == [8, 8, 8, 8, 4, 4]
    for of_course in by_course.values():
        assert len({code for code, _ in of_course}) == 1
        assert len(set(of_course)) == len(of_course)


async def test_post_of_the_bot_is_known_by_its_key():
    outside = Outside()
    message = {"channel": "C1", "metadata": {"event_payload": {"post": "p1"}}}

    async def receive():
        return {"type": "http.request", "body": json.dumps(message).encode()}

    async def send(_part):
        await asyncio.sleep(0)

    await outside({"type": "http", "path": "/api/chat.postMessage"}, receive, send)
    assert list(outside.arrived) == ["p1"]


def test_answers_are_told_apart_and_what_is_neither_meets_no_target():
    closed = Load(seconds=1.0, answers=Counter({200: 100}))
    answers = Counter({200: 200, 503: 590, 500: 2, 0: 8})
    load = Load(seconds=2.0, answers=answers, latencies=[0.1, 0.3], due=[0.0, 1.0, 2.0], lateness=[0.0, 0.0, 0.0])
    lines = {line.name.removeprefix("overload: "): (line.value, line.verdict) for line in report(closed, load, 1)}
    expected = {
        "accepted": (100, ""),
        "accepted, p99": (300, "NOT MET"),
        "refused (503)": (295, ""),
        "neither accepted nor refused": (10, "NOT MET"),
        "accepted and not in the inbox": (1, "NOT MET"),
        "offered / closed loop": (0.01, "NOT MET"),
    }
    assert {name: lines[name] for name in expected} == expected


# Databases


@pytest.fixture
async def empty(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'filled.db'}")
    yield opened
    await opened.close()


async def rows_of(database, model):
    rows = await database.read(lambda session: session.execute(select(model)).scalars().all())
    return sorted(rows, key=lambda row: getattr(row, "id", 0) or 0)


async def test_delivery_is_lost_that_was_accepted_and_is_not_in_the_inbox(empty):
    upgrade(empty)
    key = f"result.received:{Results(PREFIX).race_id(1)}"
    await empty.write(partial(inbox.store, arrivals=[Arrival(key, "result.received", "0" * 64, b"{}", NOW)]))
    lost = [await empty.read(partial(not_kept, load=Load(accepted=numbers))) for numbers in ([], [1], [0, 1, 2])]
    assert lost == [0, 0, 2]


async def test_filled_database_is_what_the_bot_could_have_left_there(empty):
    upgrade(empty)
    filled.fill(empty, rows := 1_200, NOW)
    deliveries, versions, messages, races = [
        await rows_of(empty, model) for model in (InboxDelivery, EventVersion, OutboxMessage, BookRace)
    ]
    said = await rows_of(empty, SaidRow)
    assert [len(found) for found in (deliveries, versions, [*messages, *said])] == [rows] * 3
    assert await empty.read(inbox.count_waiting) == 0
    assert [each.event_key for each in deliveries] == [each.event_key for each in versions]
    assert deliveries[-1].received_at == NOW
    days_s = (NOW - deliveries[0].received_at).total_seconds()
    assert days_s == pytest.approx((rows - 1) * 86_400 / filled.A_DAY, abs=0.01)
    for version in versions:
        told = RacingEvent.model_validate_json(version.data)
        stored = (version.event_key, version.kind, version.race_id, version.meeting_id, version.race_date)
        assert (told.key, told.kind, told.race.race_id, told.race.meeting_id, told.race.race_date) == stored
    assert versions[-1].race_date == filled.LAST_DAY.isoformat()
    assert Counter((message.kind, message.state) for message in messages) == {
        ("event", "sent"): 1_102,
        ("event", "folded"): 12,
        ("event", "muted"): 12,
        ("event", "dead_letter"): 12,
        ("notice", "sent"): 2,
    }
    by_id, key_of = {one.id: one for one in messages}, {version.id: version.event_key for version in versions}
    for edit in said:
        edited = by_id[edit.message_id]
        assert (edited.sent_rev, key_of[edited.event_id]) == (edit.rev, key_of[edit.event_id])
    assert len(races) > rows // 2
    for row in races:
        race = Race.model_validate_json(row.data)
        assert (race.race_id, race.race_date, race.meeting_id) == (row.race_id, row.race_date, row.meeting_id)
