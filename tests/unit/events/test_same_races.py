"""The work on an event grows in proportion to the event's size, whatever a stranger's card names."""

import cProfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.merge import completed
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.same_races import SAME_MAX, SameRaces, is_same_race, is_told_again
from bot.racedata import event_completion
from bot.racedata.day_card import outcomes_of
from bot.racedata.event_completion import KnownElsewhere
from bot.racedata.lexicon import Lexicon
from bot.slack.messages import MessageContext, render
from tests.rows import over

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = st.sampled_from([None, "1", "2"])
MOMENTS = st.sampled_from([None, NOW, NOW + timedelta(hours=1)])
RACES = st.builds(
    lambda race_id, off, number, title: Race(race_id=race_id, off=off, number=number, title=title),
    NAMES,
    st.builds(lambda text, off_at: OffTime(text=text, off_at=off_at), NAMES, MOMENTS),
    NAMES,
    NAMES,
)

SHAPES: dict[str, Callable[[int], Race]] = {
    "one number": lambda _: Race(number="1"),
    "one title": lambda _: Race(title="Same"),
    "one id": lambda number: Race(race_id="rc_1", title=f"Race {number}"),
    "one off time": lambda number: Race(race_id=f"rc_{number}", off=OffTime(text="14:30")),
    "no name": lambda number: Race(distance=f"{number} m"),
    "ids": lambda number: Race(race_id=f"rc_{number}", title="Same"),
    "titles": lambda number: Race(title=f"Race {number}", number="1"),
    "every other": lambda number: (
        Race(title="Same") if number % 2 else Race(off=OffTime(text=f"{number}"), title="Same")
    ),
}


def card(shape: str, count: int, kind: EventKind = EventKind.MEETING_ABANDONED, key: str = "k") -> RacingEvent:
    place = {"region": "GB", "race_date": "2026-11-20", "course": Course(name="Ascot")}
    races = tuple(SHAPES[shape](number).model_copy(update=place) for number in range(count))
    return RacingEvent(key=key, kind=kind, race=Race(**place, meeting_id="mt_1"), races=races)


def filled_in(shape: str, count: int) -> None:
    elsewhere = KnownElsewhere(None, Lexicon(("GB",)), ())  # type: ignore[arg-type]
    elsewhere.listen([card(shape, count, key="another")])
    event = card(shape, count)
    elsewhere.filled(event, event)


def listed(shape: str, count: int) -> None:
    elsewhere = KnownElsewhere(None, Lexicon(("GB",)), ())  # type: ignore[arg-type]
    elsewhere.listen([card(shape, count, key="another")])
    elsewhere.filled(card(shape, 0))


def compared(shape: str, count: int) -> None:
    first, later = (card(shape, count - left_out, EventKind.RACECARD_PUBLISHED) for left_out in (0, 1))
    changes_between(first, later, received_at=NOW)
    completed(later, first)


def shown(shape: str, count: int) -> None:
    lost = [RacingEvent(key="", kind=EventKind.RACE_ABANDONED, race=race) for race in card(shape, count).races]
    render(card(shape, count), MessageContext(received_at=NOW, now=NOW, late_after_s=600, lost=tuple(lost)))


def told(shape: str, count: int) -> None:
    outcomes_of(card(shape, count).races, [card(shape, count)], None, None)


@over("shape", SHAPES)
@over("work", [filled_in, listed, compared, shown, told])
def test_work_grows_with_the_number_of_races(monkeypatch, work, shape):
    # Up to this bound each known race is looked for among all before: 100 races take a tenth of a second.
    monkeypatch.setattr(event_completion, "MEETING_RACES_MAX", 20)
    work(shape, 2)
    few, many = (calls(work, shape, count) for count in (30, 90))
    assert many < 4.5 * few


@over("runner", [lambda n, tag: Runner(number="1", horse=f"{tag}{n}"), lambda _n, _tag: Runner(number="1")])
def test_work_grows_with_the_number_of_runners(runner):
    def work(count: int) -> None:
        events = [
            RacingEvent(
                key="k",
                kind=EventKind.RESULT_RECEIVED,
                race=Race(runners=tuple(runner(number, tag) for number in range(count))),
            )
            for tag in ("A", "B")
        ]
        changes_between(*events, received_at=NOW)
        completed(*events)

    work(2)
    few, many = calls(work, 60), calls(work, 240)
    assert many < 6 * few


def off(text, hour=None):
    return OffTime(text=text, off_at=hour and NOW.replace(hour=hour))


@over(
    ("one", "other", "is_same"),
    [
        (Race(race_id="rc_1", off=off("14:30", 14)), Race(race_id="rc_2", off=off("14:30", 14)), False),
        # The same moment by the clocks of two zones, and two moments by one text.
        (Race(off=off("14:30", 14)), Race(off=off("15:30", 14)), True),
        (Race(off=off("14:30", 14)), Race(off=off("14:30", 13)), False),
        (Race(off=off("14:30", 14)), Race(off=OffTime(text="14:30", off_at=NOW.replace(hour=14, second=20))), True),
        (Race(off=off("14:30", 14), number="1"), Race(off=off("2:30"), number="2"), True),
        (Race(off=off("14:30"), number="1"), Race(off=off("14:35"), number="1"), False),
        (Race(number="1", title="Same"), Race(number="2", title="Same"), False),
        (Race(number="1", title="Same"), Race(title="Same"), True),
        (Race(number="1"), Race(title="Same"), False),
    ],
)
def test_first_name_that_both_races_have_decides(one, other, is_same):
    """Wherever races are compared: filling in an event, and on a day's card."""
    assert is_same_race(one, other) is is_same_race(other, one) is is_same
    at_ascot = [race.model_copy(update={"course": Course(name="Ascot")}) for race in (one, other)]
    told = [RacingEvent(key="", kind=EventKind.RESULT_RECEIVED, race=race) for race in at_ascot[1:]]
    assert len(outcomes_of(at_ascot[:1], told, None, None).each) == (1 if is_same else 2)


def at_york(*horses, number=None, **more):
    runners = tuple(Runner(horse=horse, position="NR" if horse.islower() else "1") for horse in horses)
    return Race(course=Course(name="York"), race_date="2026-11-20", number=number, runners=runners, **more)


def known(*horses, **more):
    return at_york(*horses, race_id="rc_1", **more)


@over(
    ("one", "other", "is_same"),
    [
        (Race(race_id="rc_1"), known(), True),
        (known("A", off=off("14:30")), at_york("A", race_id="rc_2", off=off("14:30")), False),
        (at_york(off=off("14:30"), title="A"), known(off=off("2:30"), title="B"), True),
        (at_york(off=off("14:30"), title="A"), known(off=off("14:35"), title="A"), False),
        (at_york(off=off("14:30"), number="1"), known(off=off("15:00"), number="1"), False),
        (at_york("A", off=off("14:30")), known("B", off=off("14:30")), False),
        (at_york("A", "B"), known("b (IRE)", "A"), True),
        (at_york("a", "B"), known("a"), False),
        (at_york("A", off=off("14:30")), known("A"), True),
        (at_york("A", number="1"), known("A", number="2"), True),
        (at_york("A", number="1"), known(number="1"), True),
        (at_york("A", number="1"), known("B", number="1"), False),
        (at_york(number="1"), known(number="1", off=off("14:30")), False),
        (at_york(title="A"), known(title="A"), False),
        (at_york(number="1"), known(off=off("14:30")), False),
        (at_york(number="1", region="GB"), known(number="1"), False),
        (at_york(number="1", said_region="Britain"), known(number="1", said_region="Britain"), True),
        (at_york(number="1", meeting_id="m_1"), known(number="1", meeting_id="m_2"), False),
        (at_york(number="1"), at_york(number="1"), True),
        (Race(number="1", off=off("14:30")), known(number="1", off=off("14:30")), False),
    ],
)
def test_deliveries_are_of_one_race_by_id_else_by_place_and_time_else_by_a_horse_or_the_number(one, other, is_same):
    assert is_told_again(one, other) is is_told_again(other, one) is is_same


@given(st.lists(RACES, max_size=SAME_MAX), RACES)
def test_index_finds_the_races_that_a_look_at_each_finds(known, race):
    assert SameRaces(known).of(race) == [one for one in known if is_same_race(one, race)]


def test_very_many_races_of_one_name_say_nothing():
    races = [Race(title="Same", distance=f"{number} m") for number in range(SAME_MAX + 1)]
    assert SameRaces(races[1:]).of(Race(title="Same")) == races[1:]
    assert SameRaces(races).of(Race(title="Same")) == []


def calls(work: Callable[..., None], *values: object) -> int:
    """How many functions the work calls."""
    profile = cProfile.Profile()
    profile.runcall(work, *values)
    return sum(entry.callcount for entry in profile.getstats())
