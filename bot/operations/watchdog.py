"""Finds missing outcomes, racing days without a delivery, and silent webhook subscriptions.

A silent day stands for its races, a silent subscription for its days. A race counts if a delivery is to be expected,
once surely over in every time zone (bot.operations.overdue).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from sqlmodel import Session

from bot.db.tables import MissingKind, MissingRow, WebhookSubscriptionRow
from bot.deliveries import inbox
from bot.events.days import utc_today
from bot.events.event import RacingEvent
from bot.events.kinds import OUTCOMES
from bot.events.races import Race
from bot.operations import missing_rows, undelivered_outcomes
from bot.operations.overdue import is_long_past, surely_began_after
from bot.operations.undelivered_outcomes import DayAndRegion
from bot.racedata import webhook_subscriptions
from bot.racedata.day_card import RaceOutcome, outcomes_of

MISSING_LOOK_BACK = timedelta(days=8)
"""Two racing days of a region with weekly racing. Older days are left alone."""

RACES_OF_A_SILENT_DAY = 3
"""Below this number, races are told singly: the day may be fine."""

SILENT_DAYS = 2
"""Silent racing days in a row before a subscription counts as ended."""

RACE_NAME_MAX = 60

IsExpected = Callable[[Race], bool]


@dataclass(frozen=True)
class DeliveryState:
    """The state of deliveries.

    `due`: races long over without a delivery. `told`: days and regions of deliveries. `subscribed`: regions with live
    subscriptions to all outcomes. `open_rows`: earlier findings, still missing. `undelivered`: races of open rows
    without a delivery, by id.
    """

    now: datetime
    due: Sequence[Race]
    told: frozenset[DayAndRegion]
    subscribed: Sequence[str | None]
    open_rows: Sequence[MissingRow]
    undelivered: dict[str, Race]

    def is_told(self, day: str, region: str | None) -> bool:
        """`region` None: any. A delivery without a region counts for each."""
        return any(one == day and (region is None or where in {None, region}) for one, where in self.told)


def read_delivery_state(session: Session, now: datetime) -> DeliveryState:
    today = utc_today(now)
    open_rows = missing_rows.open_rows(session)
    first = (today - MISSING_LOOK_BACK).isoformat()
    last = (today + timedelta(days=1)).isoformat()
    since = datetime.combine(today - MISSING_LOOK_BACK, time.min, UTC)
    told = undelivered_outcomes.told_places(session, min([first, *(row.race_date for row in open_rows)]), since)
    live = webhook_subscriptions.live(session)
    is_expected = _expectation(session, live, told)
    due = [
        race
        for race in undelivered_outcomes.of_days(session, first, last)
        if is_long_past(race, now) and is_expected(race)
    ]
    still = undelivered_outcomes.of_races(session, {row.race_id for row in open_rows if row.race_id})
    without = _without_outcome(session, [*due, *still], since)
    return DeliveryState(
        now=now,
        due=[race for race in due if race.race_id in without],
        told=frozenset(told),
        subscribed=[region for region in dict.fromkeys(row.region for row in live) if _since(live, region) is not None],
        open_rows=open_rows,
        undelivered={race.race_id: race for race in still if race.race_id in without},
    )


def new_findings(state: DeliveryState) -> list[MissingRow]:
    """New findings. A silent day or subscription hides findings below."""
    stands = [row for row in state.open_rows if not _has_come(state, row)]
    open_of = {kind: [row for row in stands if row.kind == kind] for kind in MissingKind}
    ended = open_of[MissingKind.SUBSCRIPTION]
    silent = _silent_subscriptions(state, {row.region for row in ended})
    ended = [*ended, *silent]
    left = [race for race in state.due if not any(_explains(row, race) for row in ended)]
    days = [_day_row(state, day, count) for day, count in _days(left).items() if not state.is_told(day, None)]
    silent_days = {row.race_date for row in (*open_of[MissingKind.DAY], *days)}
    races = [_race_row(state.now, race) for race in left if race.race_date not in silent_days]
    return [*silent, *days, *races]


def resolved_findings(state: DeliveryState) -> dict[str, MissingRow]:
    return {row.key: row for row in state.open_rows if _has_come(state, row)}


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
    return any(
        one.race_id == race.race_id and outcome is RaceOutcome.OPEN
        for place in range(len(outcomes.meetings))
        for one, outcome in outcomes.of_meeting(place)
    )


def _places(*races: Race) -> set[tuple[str | None, str]]:
    words = ((race.race_date, word) for race in races for word in (race.course.course_id, race.course.name))
    return {(day, word) for day, word in words if word}


def _silent_subscriptions(state: DeliveryState, known: set[str | None]) -> list[MissingRow]:
    """A subscription to all regions speaks for the others."""
    if None in known:
        return []
    found = {region: row for region in state.subscribed if region not in known and (row := _silent(state, region))}
    return [found[None]] if None in found else list(found.values())


def _silent(state: DeliveryState, region: str | None) -> MissingRow | None:
    mine = [race for race in state.due if region is None or race.region == region]
    told_last = max((day for day, where in state.told if region is None or where in {None, region}), default="")
    days = {day: count for day, count in _days(mine).items() if day > told_last}
    if len(days) < SILENT_DAYS:
        return None
    first, where = min(days), region or "all regions"
    races = sum(days.values())
    return _row(
        state.now,
        MissingKind.SUBSCRIPTION,
        f"subscription:{region or '*'}:{first}",
        f"the webhook subscription to {where} ({len(days)} racing days since {first}, {races} races)",
        race_date=first,
        region=region,
    )


def _explains(ended: MissingRow, race: Race) -> bool:
    return ended.region in {None, race.region} and (race.race_date or "") >= ended.race_date


def _days(races: Iterable[Race]) -> dict[str, int]:
    counts = Counter(race.race_date for race in races if race.race_date)
    return {day: count for day, count in sorted(counts.items()) if count >= RACES_OF_A_SILENT_DAY}


def _day_row(state: DeliveryState, day: str, count: int) -> MissingRow:
    return _row(state.now, MissingKind.DAY, f"day:{day}", f"{day} ({count} races)", race_date=day)


def _race_row(now: datetime, race: Race) -> MissingRow:
    course = (race.course.name or race.course.course_id or "?")[:RACE_NAME_MAX]
    off = race.off.text or (f"{race.off.off_at:%H:%M} UTC" if race.off.off_at else race.race_id)
    where = ", ".join(part for part in (race.region, race.race_date) if part)
    return _row(
        now,
        MissingKind.RACE,
        f"race:{race.race_id}",
        f"{course} {off} ({where})",
        race_date=race.race_date or "",
        race_id=race.race_id,
        region=race.region,
    )


def _row(now: datetime, kind: MissingKind, key: str, name: str, **more: str | None) -> MissingRow:
    return MissingRow.model_validate({"key": key, "kind": kind, "name": name, "found_at": now, **more})


def _has_come(state: DeliveryState, row: MissingRow) -> bool:
    if row.kind == MissingKind.DAY:
        return state.is_told(row.race_date, None)
    if row.kind == MissingKind.SUBSCRIPTION:
        return any(day >= row.race_date and state.is_told(day, row.region) for day, _ in state.told)
    race = state.undelivered.get(row.race_id or "")
    if race is None or not is_long_past(race, state.now):
        return True
    return row.kind == MissingKind.RACE and row.told_at is not None and is_listed(race)
