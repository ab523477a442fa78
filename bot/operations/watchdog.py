"""Finds meetings without their outcomes.

A race counts if a delivery is to be expected, and once the race is surely over in every time zone
(bot.operations.overdue).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.tables import WebhookSubscriptionRow
from bot.deliveries import inbox
from bot.events.days import utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import OUTCOMES
from bot.events.races import Race
from bot.operations import undelivered_outcomes
from bot.operations.overdue import is_long_past, surely_began_after
from bot.operations.undelivered_outcomes import DayAndRegion
from bot.outbox import told_once
from bot.racedata import webhook_subscriptions
from bot.racedata.day_card import RaceOutcome, outcomes_of

MISSING_LOOK_BACK = timedelta(days=8)
"""Two racing days of a region with weekly racing. Older days are left alone."""

RACES_OF_A_SILENT_DAY = 3
"""Below this number, meetings are told singly: the day may be fine."""

MISSING_COURSE_MAX = 60

_BEGINNING = "missing:"

IsExpected = Callable[[Race], bool]


def day_key(day: str) -> str:
    """The key of a silent day: three or more missing races, and no delivered outcome at all."""
    return f"{_BEGINNING}{day}:"


def _meeting_key(race: Race) -> str:
    course = (race.course.name or race.course.course_id or "?")[:MISSING_COURSE_MAX]
    return f"{day_key(race.race_date or '')}{race.region or ''}:{course}"


def missing_name(key: str) -> str:
    """For people: "Ascot (GB, 2026-11-20)", or the racing day."""
    _, day, place = key.split(":", 2)
    region, _, course = place.partition(":")
    return f"{course} ({', '.join(filter(None, (region, day)))})" if place else f"the racing day {day}"


@dataclass(frozen=True)
class MissingOutcomes:
    """`news`: missing races to tell, by key of a silent day or of a meeting.

    `over`: told keys to free. `come`: those of them that have no missing race, so admins get an all-clear.
    """

    news: Mapping[str, Sequence[Race]]
    over: Sequence[str]
    come: Collection[str]


def read_missing(session: Session, now: datetime) -> MissingOutcomes:
    today = utc_today(now)
    first, last = (today - MISSING_LOOK_BACK).isoformat(), (today + timedelta(days=1)).isoformat()
    since = datetime.combine(today - MISSING_LOOK_BACK, time.min, UTC)
    delivered = undelivered_outcomes.told_places(session, first, since)
    is_expected = _expectation(session, webhook_subscriptions.live(session), delivered)
    due = [one for one in undelivered_outcomes.of_days(session, first, last) if is_long_past(one, now)]
    missing = _without_outcome(session, due, since)
    told = told_since(session, first)
    heard_of = {day_key(day) for day, _ in delivered}
    of_days: dict[str, list[Race]] = defaultdict(list)
    for race in filter(is_expected, missing):
        of_days[day_key(race.race_date or "")].append(race)
    by_key: dict[str, list[Race]] = defaultdict(list)
    for day, races in sorted(of_days.items()):
        is_silent = day not in heard_of and (len(races) >= RACES_OF_A_SILENT_DAY or day in told)
        for race in races:
            by_key[day if is_silent else _meeting_key(race)].append(race)
    # A new subscription expects no older race, and yet the races that were told stay missing.
    still = {key for race in missing for key in (day_key(race.race_date or ""), _meeting_key(race))}
    over = sorted(key for key in told if key not in still or key in heard_of)
    news = {key: races for key, races in by_key.items() if key not in told}
    return MissingOutcomes(news, over, set(over) - still)


def told_since(session: Session, first_day: str) -> frozenset[str]:
    return frozenset(key for key in told_once.standing(session, _BEGINNING) if key >= day_key(first_day))


def told_as_missing(session: Session, now: datetime) -> int:
    """The meetings and silent days that admins were told of."""
    return len(told_since(session, (utc_today(now) - MISSING_LOOK_BACK).isoformat()))


def races_without_result(session: Session, now: datetime) -> int:
    """Races of yesterday and today that a channel takes, hours past their off, without an outcome of any source."""
    today = utc_today(now)
    first = today - timedelta(days=1)
    filters = [chosen for _, chosen in subscriptions.listening(session)]
    due = [
        race
        for race in undelivered_outcomes.of_days(session, first.isoformat(), today.isoformat())
        if is_long_past(race, now) and not is_listed(race) and _is_taken(race, filters)
    ]
    return len(_without_outcome(session, due, datetime.combine(first, time.min, UTC)))


def _is_taken(race: Race, filters: Iterable[ChannelFilter]) -> bool:
    result = RacingEvent(key="", kind=EventKind.RESULT_RECEIVED, race=race)
    return any(chosen.matches(result) for chosen in filters)


def is_listed(race: Race) -> bool:
    """Whether the data service lists the outcome."""
    return race.is_settled or race.is_void or bool(race.abandoned)


def _expectation(session: Session, live: Sequence[WebhookSubscriptionRow], told: Iterable[DayAndRegion]) -> IsExpected:
    """Tests whether a race's delivery is to be expected: the race began after deliveries could come.

    For subscriptions made elsewhere, each region with a recent delivery counts.
    """
    first = inbox.first_received_at(session)
    regions = {region for _, region in told}

    def is_expected(race: Race) -> bool:
        since = _since(live, race.region) if live else first if race.region in regions else None
        return since is not None and surely_began_after(race, since)

    return is_expected


def _since(live: Sequence[WebhookSubscriptionRow], region: str | None) -> datetime | None:
    made = [webhook_subscriptions.delivers_since(live, region, event) for event in OUTCOMES]
    known = [moment for moment in made if moment]
    return max(known) if len(known) == len(made) else None


def _without_outcome(session: Session, races: Sequence[Race], since: datetime) -> list[Race]:
    """The races that remain without an outcome after comparison with deliveries without a race's id."""
    if not races:
        return []
    at_course: dict[tuple[str | None, str], list[RacingEvent]] = defaultdict(list)
    days = {race.race_date for race in races if race.race_date}
    for event in undelivered_outcomes.told_without_id(session, days, since):
        for place in _places(event.race, *event.races):
            at_course[place].append(event)
    return [race for race in races if race.race_id and _is_open(race, at_course)]


def _is_open(race: Race, at_course: Mapping[tuple[str | None, str], Sequence[RacingEvent]]) -> bool:
    """True unless a delivery of the race's course and day, or undated, tells the outcome."""
    places = [(day, word) for _, word in _places(race) for day in (race.race_date, None)]
    told = {id(event): event for place in places for event in at_course.get(place, ())}
    if not told:
        return True
    # Only deliveries count, so the book's outcome is removed.
    bare = race.model_copy(update={"status": None, "abandoned": None, "runners": ()})
    outcomes = outcomes_of([bare], list(told.values()), None, None)
    return any(one.race_id == race.race_id and outcome is RaceOutcome.OPEN for one, outcome in outcomes.in_order())


def _places(*races: Race) -> set[tuple[str | None, str]]:
    words = ((race.race_date, word) for race in races for word in (race.course.course_id, race.course.name))
    return {(day, word) for day, word in words if word}
