"""Rows of the race book: merged races, the runners who are out, and the reading of a day by its indexes."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata import race_book_store
from bot.racedata.day import known_day
from bot.racedata.day_card import outcomes_of
from tests.databases import empty, store_told
from tests.rows import over
from tests.statements import noted, plans_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
DAY = TODAY.isoformat()

texts = st.none() | st.sampled_from(["x", "y"])
runners = st.lists(st.builds(Runner, horse=st.sampled_from(["A", "B", "C"]), position=texts), max_size=3).map(tuple)
some_races = st.builds(
    Race,
    race_id=st.just("r1"),
    race_date=st.just(DAY),
    title=texts,
    going=texts,
    status=texts,
    abandoned=st.booleans(),
    course=st.builds(Course, course_id=texts, name=texts),
    off=st.builds(OffTime, text=texts),
    runners=runners,
)


@given(known=some_races, news=some_races, whole=st.booleans())
def test_merged_race_loses_nothing_that_did_not_come_again(known, news, whole):
    after = race_book_store.merged(known, news, whole=whole)
    for name in ("title", "going", "status"):
        assert getattr(after, name) == (getattr(news, name) or getattr(known, name))
    assert after.course.name == (news.course.name or known.course.name)
    assert after.off.text == (news.off.text or known.off.text)
    assert {runner.horse for runner in after.runners} >= {runner.horse for runner in news.runners}
    if not whole:
        assert {runner.horse for runner in after.runners} >= {runner.horse for runner in known.runners}
    # A race that is merged with itself changes nothing but doubled runners.
    again = race_book_store.merged(known, known, whole=True)
    assert again.model_copy(update={"runners": known.runners}) == known


def test_result_of_placed_runners_keeps_those_who_were_declared_and_only_news_take_an_abandonment_back():
    declared = Race(runners=(Runner(horse="A", jockey="J"), Runner(horse="B")))
    result = Race(runners=(Runner(horse="A", position="1"),))
    after = race_book_store.merged(declared, result, whole=False)
    assert after.runners == (Runner(horse="A", jockey="J", position="1"), Runner(horse="B"))
    called_off = Race(abandoned=True, reason="Frost")
    assert race_book_store.merged(called_off, Race(), whole=True).abandoned
    assert not race_book_store.merged(called_off, Race(status="declared"), whole=True).abandoned


CARD, RESULT = EventKind.RACECARD_PUBLISHED, EventKind.RESULT_RECEIVED
LOST = {"status": "Abandoned", "abandoned": True}


def told(kind, *horses, **race):
    runners = tuple(Runner(horse=horse) if isinstance(horse, str) else horse for horse in horses)
    one = Race(race_id="r1", race_date=DAY, region="GB", runners=runners, **race)
    return RacingEvent(key="k", kind=kind, race=Race(race_date=DAY), races=(one,))


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_racecard_takes_out_who_is_no_longer_declared(database, is_at_once):
    cards = [told(CARD, "A", "B", "Charlie", field_size=3), told(CARD, "A", "B")]
    for some in [cards] if is_at_once else [[card] for card in cards]:
        await database.write(lambda session, some=some: race_book_store.learn(session, some, NOW))
    race = await database.read(lambda session: race_book_store.by_id(session, "r1"))
    assert [runner.horse for runner in race.runners] == ["A", "B"]
    assert race.field_size is None


@pytest.mark.parametrize(
    "later",
    [
        [told(RESULT, Runner(horse="A", position="1"))],
        [told(CARD, "A")],
        [told(RESULT, Runner(horse="Charlie", position="1")), told(CARD, "A", "B")],
    ],
    ids=["some placed", "one runner's update", "a card after the result"],
)
async def test_what_names_only_some_takes_nobody_out(database, later):
    await database.write(lambda session: race_book_store.learn(session, [told(CARD, "A", "B", "Charlie")], NOW))
    for one in later:
        await database.write(lambda session, one=one: race_book_store.learn(session, [one], NOW))
    race = await database.read(lambda session: race_book_store.by_id(session, "r1"))
    assert {runner.horse for runner in race.runners} == {"A", "B", "Charlie"}


@over(
    ("delivered", "outcome"),
    [
        (LOST, RaceOutcome.ABANDONED),
        ({"abandoned": True}, RaceOutcome.ABANDONED),
        (LOST | {"status": "Postponed"}, RaceOutcome.ABANDONED),
        ({"status": "Void"}, RaceOutcome.VOID),
        ({"status": "Official"}, RaceOutcome.SETTLED),
    ],
)
@over("listed", [{}, {"status": "declared"}, {"status": "declared", "abandoned": False}])
async def test_list_without_a_state_does_not_overrule_a_delivered_state(database, delivered, outcome, listed):
    empty(database)
    race = Race(race_id="r1", race_date=DAY, region="GB")
    await database.write(lambda session: race_book_store.learn(session, [told(CARD, **delivered)], NOW))
    for region in ("GB", "", None):
        news = race.model_copy(update=listed)
        await database.write(lambda session, news=news, at=region: race_book_store.put(session, [news], NOW, region=at))
    known = await database.read(lambda session: race_book_store.by_id(session, "r1"))
    assert known.is_postponed == (delivered.get("status") == "Postponed")
    assert [one for _, one in outcomes_of([known], [], None, None).in_order()] == [outcome]


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        (told(CARD, abandoned=False), RaceOutcome.OPEN),
        (told(CARD, status="declared"), RaceOutcome.OPEN),
        (told(RESULT, Runner(horse="A", position="1")), RaceOutcome.BOTH),
    ],
)
async def test_later_delivery_overrules_a_delivered_state(database, later, outcome):
    for one in (told(CARD, **LOST), later):
        await database.write(lambda session, one=one: race_book_store.learn(session, [one], NOW))
    known = await database.read(lambda session: race_book_store.by_id(session, "r1"))
    assert [one for _, one in outcomes_of([known], [], None, None).in_order()] == [outcome]


async def test_region_of_a_filter_outlives_what_a_race_says(database):
    race = Race(race_id="r1", region="Great Britain", race_date=DAY)
    await database.write(lambda session: race_book_store.put(session, [race], NOW, region="GB"))
    await database.write(lambda session: race_book_store.put(session, [race], NOW, region=""))
    await database.write(lambda session: race_book_store.put(session, [race], NOW))
    kept = await database.read(partial(known_day, day=TODAY, region="GB"))
    assert [one.region for one in kept.in_book] == ["GB"]


async def test_many_races_go_into_the_book_at_once_without_races_that_lack_id_or_day(database):
    races = [Race(race_id=f"r{number}", race_date=DAY, region="GB") for number in range(450)]
    races += [Race(race_date=DAY), Race(race_id="undated")]
    await database.write(lambda session: race_book_store.put(session, races, NOW))
    assert await database.read(partial(race_book_store.by_id, race_id="undated")) is None
    assert len((await database.read(partial(known_day, day=TODAY))).races) == 450


async def plan_of(database, read):
    with noted(database) as statements:
        await database.read(read)
    return plans_of(database, [one for one in statements if one[0].startswith("SELECT")])


@pytest.mark.parametrize("region", ["GB", None])
async def test_day_and_race_are_found_by_their_indexes(database, region):
    lines = await plan_of(database, partial(known_day, day=TODAY, region=region))
    assert any("ix_book_race_day" in line for line in lines)
    assert sum("ix_event_race_date" in line for line in lines) == 4
    lines += await plan_of(database, partial(race_book_store.by_id, race_id="r1"))
    assert not any(line.startswith(("SCAN event", "SCAN book_race")) for line in lines), lines


async def test_deliveries_of_a_day_are_the_newest_versions_of_that_date_or_received_then_without_one(database):
    def make(key, *, day=DAY, kind=EventKind.RACE_ABANDONED, reason=None):
        return RacingEvent(key=key, kind=kind, race=Race(race_id=key, race_date=day), reason=reason)

    def store(session):
        store_told(session, make("undated before", day=None), received_at=NOW - timedelta(days=1))
        store_told(
            session,
            make("a", reason="Frost"),
            make("a", reason="Fog"),
            make("undated", day=None),
            make("other day", day="2026-11-19"),
            make("card", kind=EventKind.RACECARD_PUBLISHED),
            received_at=NOW,
        )

    await database.write(store)
    told = (await database.read(partial(known_day, day=TODAY))).told
    assert {row.value.key: row.value.reason for row in told} == {"a": "Fog", "undated": None}
