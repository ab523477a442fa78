"""Warns admins once of each meeting without its outcomes, and takes the warning back when the outcomes come.

A racing day without any delivery is one warning, in place of the day's meetings. Days without any delivery are a
warning where no such day was told: the race book may know no race. Before a warning on races the race book reads the
days anew, within the quota: the data service may list an undelivered outcome.

A race counts if a delivery is to be expected, and once the race is surely over in every time zone
(bot.operations.overdue).
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from itertools import chain

from sqlalchemy import and_, exists, or_, select, union
from sqlmodel import Session, col

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.clock import Clock
from bot.db.engine import Database
from bot.db.tables import BookRace, EventVersion, NamedRace, WebhookSubscriptionRow
from bot.deliveries import inbox
from bot.events import event_store
from bot.events.days import racing_day, utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import ABANDONMENTS, OUTCOMES
from bot.events.race_state import STILL_OPEN, RaceOutcome
from bot.events.races import Race
from bot.events.sentences import counted
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.overdue import LONG_PAST, is_long_past, surely_began_after
from bot.operations.self_notices import notice_words
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency
from bot.racedata import race_book_store, webhook_subscriptions
from bot.racedata.day_card import Coverage, outcomes_of
from bot.racedata.month_quota import Purpose
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import Budget, RaceBook

log = get_logger(__name__)

MISSING_LOOK_BACK = timedelta(days=8)
"""Two racing days of a region with weekly racing. Older days are left alone."""

SILENT_AFTER = timedelta(days=3)
"""For all regions: some region races on each day but Christmas. A single region may race once a week."""

RACES_OF_A_SILENT_DAY = 3
"""Below this number, meetings are told singly: the day may be fine."""

MISSING_COURSE_MAX = 60

DELIVERED_EARLY_AT_MOST = timedelta(days=30)
"""Deliveries come at most this long before the racing day."""

REGION_DAYS_ASKED = 12
"""The most pairs of a region and a day that a run reads anew."""

BUDGET_PER_REGION_DAY = Budget(pages=10, seconds=15.0, purpose=Purpose.UPKEEP)
REQUESTS_LEFT_TO_PEOPLE = 500
"""Below this number of requests for commands the job asks nothing."""

MEETINGS_NAMED = 10
HOURS = int(LONG_PAST.total_seconds()) // 3600

ByKey = Mapping[str, Sequence[Race]]

DayAndRegion = tuple[str, str | None]

_BEGINNING = "missing:"


def day_key(day: str) -> str:
    """The key of a silent day: three or more missing races, and no delivered outcome at all."""
    # A date as published may have colons.
    return f"{_BEGINNING}{day.replace(':', '.')}:"


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
    delivered = _told_places(session, first, since)
    due = [one for one in _undelivered(session, first, last) if is_long_past(one, now)]
    missing = _without_outcome(session, due, since)
    told = told_since(session, first)
    heard_of = {day_key(day) for day, _ in delivered}
    of_days: dict[str, list[Race]] = defaultdict(list)
    for race in _expected(session, missing, delivered):
        of_days[day_key(race.race_date or "")].append(race)
    by_key: dict[str, list[Race]] = defaultdict(list)
    for day, races in sorted(of_days.items()):
        is_silent = day not in heard_of and (len(races) >= RACES_OF_A_SILENT_DAY or day in told)
        for race in races:
            by_key[day if is_silent else _meeting_key(race)].append(race)
    # A new subscription expects no older race, and yet the races that were told stay missing.
    days = {_meeting_key(race): day_key(race.race_date or "") for race in missing}
    untold = {day for meeting, day in days.items() if meeting not in {*told, *by_key}}
    over = told - {*by_key, *days, *untold}
    news = {key: races for key, races in by_key.items() if key not in told}
    return MissingOutcomes(news, sorted(over), over - {*days.values()})


def untold_silence(session: Session, now: datetime) -> datetime | None:
    """The start of a silence that is too long. None if admins have heard of the silence, or of a silent day since."""
    last, live = inbox.last_received_at(session), webhook_subscriptions.live(session)
    longest = SILENT_AFTER if any(row.region is None for row in live) else MISSING_LOOK_BACK
    since = max([last, *(row.created_at for row in live)]) if last else now
    if now - since <= longest or told_once.is_noted(session, _silence_key(since)):
        return None
    return None if any(map(_is_day, told_since(session, since.date().isoformat()))) else since


def _silence_key(since: datetime) -> str:
    return f"silence:{since.isoformat()}"


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
        for race in _undelivered(session, first.isoformat(), today.isoformat())
        if is_long_past(race, now) and not is_listed(race) and _is_taken(race, filters)
    ]
    return len(_without_outcome(session, due, datetime.combine(first, time.min, UTC)))


def _is_taken(race: Race, filters: Iterable[ChannelFilter]) -> bool:
    result = RacingEvent(key="", kind=EventKind.RESULT_RECEIVED, race=race)
    return any(chosen.matches(result) for chosen in filters)


def is_listed(race: Race) -> bool:
    """Whether the data service lists the outcome."""
    return race.outcome() is not RaceOutcome.OPEN


def _expected(session: Session, races: Iterable[Race], told: Iterable[DayAndRegion]) -> list[Race]:
    """The races whose deliveries are to be expected: a race that began after deliveries could come.

    For subscriptions made elsewhere, each region with a recent delivery counts.
    """
    live, first = webhook_subscriptions.live(session), inbox.first_received_at(session)
    regions = {region for _, region in told}

    def since(region: str | None) -> datetime | None:
        return _since(live, region) if live else first if region in regions else None

    return [race for race in races if (moment := since(race.region)) and surely_began_after(race, moment)]


def _since(live: Sequence[WebhookSubscriptionRow], region: str | None) -> datetime | None:
    made = [webhook_subscriptions.delivers_since(live, region, event) for event in OUTCOMES]
    known = [moment for moment in made if moment]
    return max(known) if len(known) == len(made) else None


def _without_outcome(session: Session, races: Sequence[Race], since: datetime) -> list[Race]:
    """The races that remain without an outcome after comparison with deliveries without a race's id."""
    days = {race.race_date for race in races}
    told = _told_without_id(session, {day for day in days if day}, since) if races else []
    still_open = set[str | None]()
    for day in days:
        # Only deliveries count, so the book's outcome is removed.
        unsaid = {"status": None, "abandoned": None, "runners": ()}
        bare = [race.model_copy(update=unsaid) for race in races if race.race_date == day]
        of_day = [event for event in told if event.race.race_date in {day, None}]
        found = outcomes_of(bare, of_day, None, None).in_order()
        still_open |= {race.race_id for race, outcome in found if outcome in STILL_OPEN}
    return [race for race in races if race.race_id in still_open]


def _undelivered(session: Session, first_day: str, last_day: str) -> list[Race]:
    """The race book's races from the first day to the last, without a delivered outcome of the same race id.

    An abandonment that was taken back is no outcome.
    """
    book, event, named = BookRace, EventVersion, NamedRace
    of_days = col(event.race_date).between(first_day, last_day)
    abandoned = session.execute(
        select(col(event.event_key)).where(of_days, col(event.kind).in_(ABANDONMENTS))
    ).scalars()
    latest = event_store.latest(session, set(abandoned))
    back = [key for key, row in latest.items() if event_store.known(row)[0].is_taken_back]
    is_outcome = and_(col(event.kind).in_(OUTCOMES), col(event.event_key).not_in(back))
    told = select(col(event.race_id)).where(of_days, is_outcome, col(event.race_id).is_not(None))
    of_race = exists().where(col(event.race_id) == col(book.race_id), is_outcome)
    of_meeting = exists().where(
        col(event.meeting_id) == col(book.meeting_id), col(event.kind) == EventKind.MEETING_ABANDONED, is_outcome
    )
    by_meeting = exists().where(col(named.race_id) == col(book.race_id), col(named.event_key).not_in(back))
    statement = select(col(book.race_id), col(book.region), col(book.data)).where(
        col(book.race_date).between(first_day, last_day),
        # Nearly every race has a delivered outcome: one look-up for each race would read a long history.
        col(book.race_id).not_in(told),
        ~or_(of_race, of_meeting, by_meeting),
    )
    read = (race_book_store.read_row(*row) for row in session.execute(statement))
    return [race for race in read if race is not None and race.race_id]


def _told_places(session: Session, first_day: str, since: datetime) -> set[DayAndRegion]:
    """Days and regions with a delivered outcome.

    A delivery may lack the date known to the book: such deliveries count if received after `since`.
    """
    event, book = EventVersion, BookRace
    is_outcome = col(event.kind).in_(OUTCOMES)
    said = select(col(event.race_date), col(event.region)).where(col(event.race_date) >= first_day, is_outcome)
    by_id = (
        select(col(book.race_date), col(book.region))
        .join(event, col(event.race_id) == col(book.race_id))
        .where(col(event.race_date).is_(None), is_outcome, col(event.received_at) >= since)
    )
    return {(day, region or None) for day, region in session.execute(union(said, by_id)) if day >= first_day}


def _told_without_id(session: Session, days: Collection[str], since: datetime) -> list[RacingEvent]:
    """Outcomes without a race's id: of these days, or undated and received after `since`."""
    row = EventVersion
    # By day and receipt, else SQLite reads all events without an id.
    of_days = [
        (col(row.race_date) == day, col(row.received_at) >= since - DELIVERED_EARLY_AT_MOST) for day in sorted(days)
    ]
    is_undated = (col(row.race_date).is_(None), col(row.received_at) >= since)
    ways = [select(col(row.event_key)).where(col(row.race_id).is_(None), *when) for when in (*of_days, is_undated)]
    newest = event_store.latest(session, session.execute(union(*ways)).scalars())
    return [event_store.known(version)[0] for version in newest.values() if version.kind in OUTCOMES]


@dataclass(frozen=True)
class DeliveryWatch:
    database: Database
    notices: Notices
    races: RaceBook
    quota: QuotaBook
    clock: Clock
    wake: asyncio.Event

    @property
    def job(self) -> Job:
        return Job("watch_deliveries", "Missing results and deliveries looked for", 600, self.run)

    async def run(self) -> bool:
        read, is_asked = partial(read_missing, now=self.clock()), False
        if since := await self.database.read(partial(untold_silence, now=self.clock())):
            await self.database.write(partial(self._tell_silence, since=since))
            self.wake.set()
        found = await self.database.read(read)
        if not found.news and not found.over:
            return False
        if found.news:
            is_asked = await self._ask(list(chain.from_iterable(found.news.values())))
            found = await self.database.read(read)
        is_told = await self.database.write(partial(self._note, found=found, is_asked=is_asked))
        if is_told:
            self.wake.set()
        return is_told

    async def _ask(self, races: Sequence[Race]) -> bool:
        """True if the race book has the service's whole list of the races' regions and days."""
        wanted = {(race.region, racing_day(race.race_date)) for race in races if not is_listed(race)}
        left = await self.quota.commands_left()
        if left is not None and left < REQUESTS_LEFT_TO_PEOPLE:
            log.info("missing_races_not_asked_for", requests_left=left)
            return False
        asked = sorted((region, day) for region, day in wanted if region and day)[:REGION_DAYS_ASKED]
        cards = [await self.races.card(region, day, budget=BUDGET_PER_REGION_DAY) for region, day in asked]
        return len(asked) == len(wanted) and all(card.coverage is Coverage.COMPLETE for card in cards)

    def _tell_silence(self, session: Session, *, since: datetime) -> None:
        words = notice_words("silence", since=since)
        self.notices.tell(session, _silence_key(since), words, urgency=Urgency.CRITICAL)

    def _note(self, session: Session, *, found: MissingOutcomes, is_asked: bool) -> bool:
        """True if anything was told. A single replica tells each meeting, and takes each meeting back."""
        now = self.clock()
        come = [key for key in told_once.free(session, found.over) if key in found.come]
        news = {key: found.news[key] for key in told_once.note(session, found.news, now)}
        if come:
            words = notice_words("come", named=_named(map(missing_name, come)))
            self.notices.tell(session, f"outcomes-come:{now.isoformat()}:{come[0]}", words, urgency=Urgency.ALL_CLEAR)
        if news:
            is_silent = any(_is_day(key) for key in news)
            urgency = Urgency.CRITICAL if is_silent else Urgency.WARNING
            key = f"outcomes-missing:{now.isoformat()}:{next(iter(news))}"
            self.notices.tell(session, key, " ".join(_missing(news, is_asked=is_asked)), urgency=urgency)
        return bool(come or news)


def _is_day(key: str) -> bool:
    return key == day_key(key.split(":")[1])


def _missing(news: ByKey, *, is_asked: bool) -> Iterator[str]:
    for key, races in news.items():
        if _is_day(key):
            due = counted(len(races), "race")
            yield notice_words("silent-day", day=missing_name(key), due=due, hours=HOURS)
    meetings = {key: races for key, races in news.items() if not _is_day(key)}
    if meetings:
        of_all = list(chain.from_iterable(meetings.values()))
        named = _named(f"{missing_name(key)} {_offs(races)}" for key, races in meetings.items())
        yield notice_words("missing", due=counted(len(of_all), "race"), hours=HOURS, named=named)
        if listed := sum(map(is_listed, of_all)):
            yield notice_words("listed", listed=listed)
        if listed < len(of_all):
            which = "for the other races" if listed else "either"
            yield notice_words("not-listed" if is_asked else "not-asked", which=which)


def _offs(races: Sequence[Race]) -> str:
    return ", ".join(
        race.off.text or (f"{race.off.off_at:%H:%M} UTC" if race.off.off_at else race.race_id or "?") for race in races
    )


def _named(words: Iterator[str]) -> str:
    names = list(words)
    more = f" and {len(names) - MEETINGS_NAMED} more" if len(names) > MEETINGS_NAMED else ""
    return "; ".join(names[:MEETINGS_NAMED]) + more
