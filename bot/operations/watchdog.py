"""Finds races without an outcome.

A race counts if a delivery is to be expected, once surely over in every time zone (bot.operations.overdue).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from bot.operations import missing_rows, undelivered_outcomes
from bot.operations.missing_rows import MissingRace
from bot.operations.overdue import is_long_past, surely_began_after
from bot.operations.undelivered_outcomes import DayAndRegion
from bot.racedata import webhook_subscriptions
from bot.racedata.day_card import RaceOutcome, outcomes_of

MISSING_LOOK_BACK = timedelta(days=8)
"""Two racing days of a region with weekly racing. Older days are left alone."""

RACES_OF_A_SILENT_DAY = 3
"""Below this number, races are told singly: the day may be fine."""

TELL_RACES_EVERY = timedelta(hours=1)

RACE_NAME_MAX = 60

IsExpected = Callable[[Race], bool]


@dataclass(frozen=True)
class DeliveryState:
    """The state of deliveries.

    `due`: races long over without a delivery, with `news` to be told. `delivered_days`: days with a delivered outcome.
    `told`: races told as missing, and not taken back. `undelivered`: those of them without a delivery, by id.
    """

    now: datetime
    due: Sequence[Race]
    news: Sequence[Race]
    delivered_days: frozenset[str]
    told: Sequence[MissingRace]
    undelivered: dict[str, Race]

    @property
    def silent(self) -> dict[str, int]:
        """Racing days without any delivery, with the number of races."""
        races = Counter(race.race_date for race in self.due if race.race_date)
        return {
            day: count
            for day, count in sorted(races.items())
            if count >= RACES_OF_A_SILENT_DAY and day not in self.delivered_days
        }

    @property
    def resolved(self) -> list[MissingRace]:
        """The races to be taken back, also those that were moved to a later day."""
        still = {race_id for race_id, race in self.undelivered.items() if is_long_past(race, self.now)}
        return [race for race in self.told if race.race_id not in still]

    def was_told(self, day: str) -> bool:
        """Whether the day is silent, and was told as a silent day."""
        told = [race for race in self.told if race.race_date == day]
        return day in self.silent and len(told) >= RACES_OF_A_SILENT_DAY


def read_delivery_state(session: Session, now: datetime) -> DeliveryState:
    today = utc_today(now)
    told_races = missing_rows.open_races(session)
    first = (today - MISSING_LOOK_BACK).isoformat()
    last = (today + timedelta(days=1)).isoformat()
    since = datetime.combine(today - MISSING_LOOK_BACK, time.min, UTC)
    told = undelivered_outcomes.told_places(session, min([first, *(race.race_date for race in told_races)]), since)
    live = webhook_subscriptions.live(session)
    is_expected = _expectation(session, live, told)
    due = [
        race
        for race in undelivered_outcomes.of_days(session, first, last)
        if is_long_past(race, now) and is_expected(race)
    ]
    still = undelivered_outcomes.of_races(session, {race.race_id for race in told_races})
    without = _without_outcome(session, [*due, *still], since)
    missing = [race for race in due if race.race_id in without]
    known, told_last = missing_rows.told(session)
    may_tell = told_last is None or now - told_last >= TELL_RACES_EVERY
    return DeliveryState(
        now=now,
        due=missing,
        news=[race for race in missing if race.race_id not in known] if may_tell else [],
        delivered_days=frozenset(day for day, _ in told),
        told=told_races,
        undelivered={race.race_id: race for race in still if race.race_id in without},
    )


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


def _without_outcome(session: Session, races: Sequence[Race], since: datetime) -> set[str]:
    """Ids of races that remain without an outcome after comparison with deliveries without a race's id."""
    if not races:
        return set()
    at_course: dict[tuple[str | None, str], list[RacingEvent]] = {}
    days = {race.race_date for race in races if race.race_date}
    for event in undelivered_outcomes.told_without_id(session, days, since):
        for day, word in _places(event.race, *event.races):
            at_course.setdefault((day, word), []).append(event)
    return {race.race_id for race in races if race.race_id and _is_open(race, at_course)}


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


def name_of(race: Race) -> str:
    """For people."""
    course = (race.course.name or race.course.course_id or "?")[:RACE_NAME_MAX]
    off = race.off.text or (f"{race.off.off_at:%H:%M} UTC" if race.off.off_at else race.race_id)
    where = ", ".join(part for part in (race.region, race.race_date) if part)
    return f"{course} {off} ({where})"
