"""The bench's own honesty: arithmetic, requests, counts, and filled databases."""

import importlib
import math
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from bench import filled
from bench.common import AtLeast, AtMost, Measure, number, paired_ratio, percentile
from bench.load import Load
from bench.overload import PREFIX, not_kept
from bench.payloads import Results
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import BookRace, EventVersion, InboxDelivery, OutboxMessage, SaidRow
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.events.event import RacingEvent
from bot.events.races import Race
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
    for version in versions:
        told = RacingEvent.model_validate_json(version.data)
        stored = (version.event_key, version.kind, version.race_id, version.meeting_id, version.race_date)
        assert (told.key, told.kind, told.race.race_id, told.race.meeting_id, told.race.race_date) == stored
    assert len(races) > rows // 2
    for row in races:
        race = Race.model_validate_json(row.data)
        assert (race.race_id, race.race_date, race.meeting_id) == (row.race_id, row.race_date, row.meeting_id)
