"""What the measure of a long history calls a statement that grows, and how statements are timed."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import Engine, create_engine, event, text

from bench.history import grown, per_delivery_ms
from bench.statements import Statement, Timing, alike, explained


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT a FROM t WHERE b IN (?, ?)", "SELECT a  FROM t\nWHERE b IN (?, ?, ?)"),
        ("INSERT INTO t VALUES (?, ?), (?, ?)", "INSERT INTO t VALUES (?, ?), (?, ?), (?, ?)"),
        ("a IN (%(b_1)s::VARCHAR, %(b_2)s::VARCHAR)", "a IN (%(b_1)s::VARCHAR, %(b_2)s::VARCHAR, %(b_3)s::VARCHAR)"),
    ],
)
def test_statements_that_differ_in_their_number_of_values_are_one(first, second):
    assert alike(first) == alike(second)


def test_statement_takes_its_median_each_time():
    assert Statement("", [0.001, 0.002, 5.0]).seconds == 0.006
    assert Statement("").seconds == 0


def test_statement_that_grows_is_told_with_its_plan_and_the_costliest_first():
    without = {"a": Statement("a", [0.001] * 10), "b": Statement("b", [0.001] * 10), "c": Statement("c", [0.001] * 20)}
    with_ = {
        "a": Statement("a", [0.0012] * 10, plan="SEARCH a"),
        "b": Statement("b", [0.002] * 10, plan="SCAN b"),
        "c": Statement("c", [0.002] * 20, plan="SCAN c"),
        "d": Statement("d", [0.5], plan="SCAN d"),
    }
    assert grown(without, with_, 10) == [
        "1.000 → 2.000 ms, 2.00 times a delivery\nc\nSCAN c\n",
        "1.000 → 2.000 ms, 1.00 times a delivery\nb\nSCAN b\n",
    ]
    # A statement that comes by the clock, as "d", is no part of what a delivery takes.
    assert per_delivery_ms(with_, 10) == pytest.approx(1.2 + 2 + 4)


@pytest.fixture
def timing():
    made = Timing()
    made.install()
    yield made
    event.remove(Engine, "do_connect", made.connect)


def test_statements_are_timed_while_the_timing_is_on(tmp_path, timing):
    path = str(tmp_path / "timed.db")
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        timing.is_on = True
        connection.execute(text("INSERT INTO t VALUES (:a)"), [{"a": 1}, {"a": 2}])
        assert connection.execute(text("SELECT a FROM t WHERE a > :least"), {"least": 1}).scalars().all() == [2]
        timing.is_on = False
        connection.execute(text("DELETE FROM t"))
    engine.dispose()
    found = explained(f"sqlite:///{path}", timing.by_database[path])
    times = {name: len(each.each_s) for name, each in found.items()}
    assert times == {"INSERT INTO t VALUES (?)": 1, "SELECT a FROM t WHERE a > ?": 1}
    assert found["SELECT a FROM t WHERE a > ?"].plan == "SCAN t"
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone() == (0,)
