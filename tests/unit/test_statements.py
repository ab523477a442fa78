"""The ledger of statements takes a statement of SQLite and a statement of PostgreSQL for the same."""

import pytest
from sqlalchemy import func, select, union_all, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from bot.channels import watches
from bot.db.engine import insert_into
from bot.db.tables import BookRace, Notice, WatchRow
from tests.statements import Ledger, shapes

RACES = select(col(BookRace.race_id))


def on_sqlite(statement):
    return set(shapes(statement.compile(dialect=sqlite.dialect())))


def on_postgresql(statement):
    return set(shapes(statement.compile(dialect=postgresql.dialect())))


def once(dialect):
    return insert_into(dialect, Notice).values(key="a").on_conflict_do_nothing(index_elements=["key"])


def found(name):
    return getattr(func, name)(col(BookRace.data), "a") > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (once("sqlite"), once("postgresql")),
        (RACES.where(found("instr")), RACES.where(found("strpos") | found("strpos"))),
        (RACES.where(col(BookRace.region).in_(["GB"])), RACES.where(col(BookRace.region).in_(["GB", "FR"]))),
    ],
    ids=["on conflict", "words of a course", "number of values"],
)
def test_same_statement_has_one_shape(one, other):
    assert on_sqlite(one) == on_postgresql(other)


def test_lock_is_a_shape_of_its_own():
    assert on_sqlite(RACES).isdisjoint(on_sqlite(RACES.with_for_update(skip_locked=True)))


def test_parts_of_a_statement_are_shapes():
    days = select(col(BookRace.race_date))
    assert on_sqlite(union_all(RACES, days)) == on_sqlite(RACES) | on_sqlite(days)
    assert len(on_sqlite(update(WatchRow).where(col(WatchRow.id) == 1).values(name="a", kind="b"))) == 2


@pytest.fixture
def ledger():
    kept = Ledger()
    yield kept
    kept.close()


async def test_statement_of_the_bot_is_missing_on_postgresql_and_a_statement_of_a_test_is_not(ledger, database):
    await database.read(lambda session: session.execute(select(col(Notice.key))).all())
    assert ledger.missing() == {}
    await database.read(lambda session: watches.of_channel(session, "C1"))
    ((shape, test),) = ledger.missing().items()
    assert "FROM watch WHERE" in shape
    assert "test_statement_of_the_bot" in test
    ledger.ran["postgresql"][shape] = "another test"
    assert ledger.missing() == {}
