"""Shared parts of `/racecard` and `/results`: place, completeness, abandonments, conflicts, small print."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from bot.events.event import RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.races import Course, Race
from bot.outbox.message import Block
from bot.racedata.day_card import CONFLICTS, Card, Coverage, Outcomes, RaceOutcome, order_of
from bot.slack.messages.answers.failure_words import AnswerReader, failure_words, shown_to
from bot.slack.messages.kit.blocks import context, section
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST
from bot.slack.messages.kit.names import SHORT_MAX, course_name, lost_part, lost_reason, race_name, reason
from bot.slack.messages.kit.pages import PAGE_LINE_MAX, Unit, line_units
from bot.slack.messages.kit.text import clip, counted, given, joined, listed, safe, sentences, size
from bot.slack.messages.kit.times import off_text, published_day, published_moment, weekday_and_day

LOST_NAMED = 12
"""Abandonments, and conflicts, named in the notification text. The blocks name all."""

IN_CONFLICT = "reported abandoned and as run, check"

ON_EVERY_PAGE_MAX = 2_000
"""Longer lists of abandonments are on pages of their own, before the meetings."""

CONFLICTS_ON_EVERY_PAGE_MAX = 1_000


def place_of(region: str | None, course: Course | None) -> str:
    shown = safe(region, SHORT_MAX) or "all regions"
    name = safe(course.name, SHORT_MAX * 2) or safe(course.course_id) if course else None
    return f"{name} ({shown})" if name else shown


def card_title(kind: str, card: Card, today: date) -> str:
    """For example "Racecard: York (GB), 15:50, Fri 20 Nov"."""
    return joined([f"{kind}: {place_of(card.region, card.course)}", card.off, weekday_and_day(card.day, today)], ", ")


def in_order(places: Sequence[int], card: Card, first_regions: Collection[str]) -> list[int]:
    """The places of meetings: those of `first_regions`, then the others, each by their first off."""
    order = order_of([race for meeting in card.meetings for race in meeting.races])

    def rank(place: int) -> tuple[bool, tuple[float, int]]:
        meeting = card.meetings[place]
        return meeting.region not in first_regions, order(meeting.races[0])

    return sorted(places, key=rank)


def missed_off_words(card: Card, listed_below: str) -> str | None:
    return f"I know no race off at {safe(card.missed_off)} there: {listed_below}." if card.missed_off else None


def nowhere_else(region: str | None, course: Course | None) -> str:
    """For example "for GB", "for Ascot (GB)", "in any region"."""
    return "in any region" if region is None and course is None else f"for {place_of(region, course)}"


def command_line(name: str, card: Card, *words: str) -> str:
    course = card.course and (card.course.course_id or card.course.name)
    quoted = '"' + course.replace('"', "") + '"' if course else None
    return " ".join(filter(None, [name, card.region, card.day.isoformat(), quoted, card.off, *words]))


def completeness(card: Card, today: date, unchecked: Sequence[str], reader: AnswerReader) -> str | None:
    """A sentence on missing data; None for a complete card. A day with deliveries is never called "No racing"."""
    day = weekday_and_day(card.day, today)
    told: dict[Coverage, Callable[[], str | None]] = {
        Coverage.COMPLETE: lambda: _none(card, today, unchecked) if card.is_empty else None,
        Coverage.PARTIAL: lambda: f"This may not be all: {_reached(card, today)}",
        Coverage.UNREAD: lambda: f"Not read yet: {_reached(card, today)}",
        Coverage.OUTSIDE_WINDOW: lambda: f"{day} is outside your plan's window{_window(card)}.",
        Coverage.QUOTA: lambda: f"{_incomplete(card)}. {_quota(card, reader)}",
        Coverage.FAILED: lambda: f"{_incomplete(card)}. {_failure(card, reader)}",
    }
    return told[card.coverage]()


def unchecked_words(words: Sequence[str]) -> str | None:
    """A warning: an unchecked region may not exist, and looks like a day without racing."""
    named = [word for word in (safe(word, SHORT_MAX) for word in words) if word]
    if not named:
        return None
    return f"I could not check {listed(named)} against the data service's lists: taken as typed."


def small_print(card: Card, now: datetime) -> Block | None:
    as_of = published_moment(card.data_as_of, now)
    return context(
        card.day.isoformat(),
        _sources(card, now),
        given("data as of {}", as_of),
        "dates and times as published",
    )


def _sources(card: Card, now: datetime) -> str | None:
    """The list is read now and then; deliveries come at any moment."""
    if card.read_at:
        return f"list read {published_moment(card.read_at.isoformat(), now)}; news since then from deliveries"
    return f"latest news {published_moment(card.latest_at.isoformat(), now)}" if card.latest_at else None


def _none(card: Card, today: date, unchecked: Sequence[str]) -> str:
    where, day = nowhere_else(card.region, card.course), weekday_and_day(card.day, today)
    if unchecked:
        return f"Nothing found {where} on {day}."
    if card.day > today:
        return f"No card has been published yet {where} on {day}."
    return f"No racing: the data service lists no races {where} on {day}."


def _reached(card: Card, today: date) -> str:
    reached = published_day(card.reached, today)
    so_far = f" and have come to {reached}" if reached else ""
    return f"I am still reading the data service's list{so_far}. Ask again in a moment."


def _incomplete(card: Card) -> str:
    return "Not read" if card.is_empty else "This may not be all"


def _window(card: Card) -> str:
    window = safe(card.window)
    return f" ({window})" if window else ""


def _quota(card: Card, reader: AnswerReader) -> str:
    if card.failure is not None:
        return _failure(card, reader)
    setting = " (COMMAND_QUOTA_SHARE)" if reader.is_admin else ""
    return f"Commands have used their share{setting} of this month's requests. Alerts go on."


def _failure(card: Card, reader: AnswerReader) -> str:
    words = failure_words(card.failure, reader) if card.failure else ""
    return shown_to(words, reader) or "The data service did not do what was asked."


@dataclass(frozen=True)
class Losses:
    """A line for each abandoned meeting, and for the other abandoned races of a meeting with one reason.

    `disputed`: such lines of races that were reported abandoned and run. `day`: named where another day is asked for.
    """

    lost: Sequence[str]
    disputed: Sequence[str]
    day: str | None = None

    @property
    def in_text(self) -> str | None:
        day = f" {self.day}" if self.day else ""
        lost = f"ABANDONED{day}: {_first_named(self.lost)}" if self.lost else None
        disputed = f"CONFLICT{day}, {IN_CONFLICT}: {_first_named(self.disputed)}" if self.disputed else None
        return sentences([lost, disputed]) or None

    def parts(self) -> tuple[list[Block | None], list[Unit]]:
        """The blocks for every page, and a long list as units."""
        day = f" {self.day}" if self.day else ""
        lost, lost_units = _part(f"{MARKED_LOST}{day}", self.lost, ON_EVERY_PAGE_MAX)
        disputed, disputed_units = _part(
            f"{MARKED_CONFLICT}{day}: {IN_CONFLICT}", self.disputed, CONFLICTS_ON_EVERY_PAGE_MAX
        )
        return [lost, disputed], [*lost_units, *disputed_units]

    def units(self) -> list[Unit]:
        blocks, units = self.parts()
        return [*(Unit((block,)) for block in blocks if block), *units]


def losses_of(card: Card, day: str | None = None) -> Losses:
    outcomes, region = card.outcomes, card.region
    places = range(len(outcomes.meetings))
    whole = [_lost_meeting(event, outcomes, region) for event in outcomes.lost]
    singly = [line for place in places for line in _lines(_lost_singly(place, outcomes), region)]
    disputed = [line for place in places for line in _lines(_of(place, outcomes, RaceOutcome.BOTH), region)]
    return Losses([*whole, *singly], disputed, day)


def is_dead(outcomes: Outcomes, place: int) -> bool:
    """True for a meeting whose races are all abandoned."""
    return all(outcome is RaceOutcome.ABANDONED for _, outcome in outcomes.of_meeting(place))


def abandoned_in_figures(outcomes: Outcomes) -> str | None:
    """For example "1 meeting (6 races) and 1 other race abandoned". Each race counts once."""
    places = range(len(outcomes.meetings))
    races = [race for place in places for race in _of(place, outcomes, RaceOutcome.ABANDONED)]
    of_lost = sum(_is_of_lost(race, outcomes) for race in races)
    others = len(races) - of_lost
    if not outcomes.lost:
        return f"{counted(others, 'race')} abandoned" if others else None
    meetings = counted(len(outcomes.lost), "meeting") + (f" ({counted(of_lost, 'race')})" if of_lost else "")
    more = f" and {counted(others, 'other race')}" if others else ""
    return f"{meetings}{more} abandoned"


def conflicts_in_figures(outcomes: Outcomes) -> str | None:
    disputed = outcomes.count(*CONFLICTS)
    return f"{counted(disputed, 'race')} in conflict" if disputed else None


def _is_of_lost(race: Race, outcomes: Outcomes) -> bool:
    return any(is_part_of(RacingEvent(key="", race=race), event) for event in outcomes.lost)


def _part(title: str, lines: Sequence[str], on_every_page_max: int) -> tuple[Block | None, list[Unit]]:
    if not lines:
        return None, []
    text = "\n".join([title, *(clip(line, PAGE_LINE_MAX) for line in lines)])
    return (section(text), []) if size(text) <= on_every_page_max else (None, line_units([title, *lines]))


def _first_named(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - LOST_NAMED} more, listed below"] if len(lines) > LOST_NAMED else []
    return "; ".join([*lines[:LOST_NAMED], *more])


def _lost_singly(place: int, outcomes: Outcomes) -> list[Race]:
    return [race for race in _of(place, outcomes, RaceOutcome.ABANDONED) if not _is_of_lost(race, outcomes)]


def _of(place: int, outcomes: Outcomes, outcome: RaceOutcome) -> Iterator[Race]:
    """A race without a course or region of its own has those of the meeting."""
    meeting = outcomes.meetings[place]
    for race, of_race in outcomes.of_meeting(place):
        if of_race is outcome:
            course = race.course if course_name(race) else meeting.course
            yield race.model_copy(update={"course": course, "region": race.region or meeting.region})


def _lines(races: Iterable[Race], region: str | None) -> Iterator[str]:
    """A line for the races with one reason."""
    together: dict[tuple[str | None, str | None], list[Race]] = {}
    for race in races:
        together.setdefault((course_name(race), lost_reason(race)), []).append(race)
    for (course, because), same in together.items():
        unknown = "" if same[0].region else " (region unknown)"
        yield joined([_named_together(course, same, region), because], ", ") + unknown


def _named_together(course: str | None, races: Sequence[Race], region: str | None) -> str:
    """For example "Naas 13:00, 13:30 and 14:00"."""
    if course is None:
        return f"{_in_region('course not given', races[0], region)} {listed([race_name(race) for race in races])}"
    times = listed([off_text(race.off) or safe(race.title) or "time not given" for race in races])
    return f"{_in_region(course, races[0], region)} {times}"


def _lost_meeting(event: RacingEvent, outcomes: Outcomes, region: str | None) -> str:
    unknown = "" if event.race.region else " (region unknown)"
    course = _in_region(course_name(event.race) or "course not given", event.race, region)
    part = lost_part(partly_run=outcomes.partly_run(event))
    return joined([course, f"{part}{unknown}", reason(event)], ", ")


def _in_region(course: str, race: Race, region: str | None) -> str:
    shown = safe(race.region, SHORT_MAX) if region is None else None
    return f"{course} ({shown})" if shown else course
