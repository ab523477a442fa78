"""Shared parts of `/racecard`, `/results` and `/racing next`: the frame, meetings, abandonments, conflicts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.events.days import utc_today
from bot.events.event import RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.race_state import CONFLICTS, RaceOutcome
from bot.events.races import Course, Race, is_same_course
from bot.events.sentences import counted, listed
from bot.events.typed_times import none_known
from bot.outbox.message import Block, Message
from bot.racedata.client.records import KnownCountry
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, order_of
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words, shown_to
from bot.slack.messages.answers.outcome_words import (
    MARKED_UNPLACED,
    REPORTED_TOO,
    TO_COME,
    RaceView,
    marked_lost,
    unplaced_lines,
)
from bot.slack.messages.kit.blocks import command_button, context_block, section
from bot.slack.messages.kit.layout import PAGE_LINE_MAX, Either, line_units, paged, unit
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST
from bot.slack.messages.kit.names import SHORT_MAX, course_name, day_line, lost_part, lost_reason, race_name
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, given, joined, safe, size
from bot.slack.messages.kit.times import published_day, published_moment, weekday_and_day

LINES_ON_PAGE = 8
"""Meetings of a day, or races of a course: about the screen of a phone."""

ON_EVERY_PAGE_MAX = 2_000
"""Longer lists of abandonments are on pages of their own, before the meetings."""

CONFLICTS_ON_EVERY_PAGE_MAX = 1_000

IN_FIGURES = {
    RaceOutcome.SETTLED: "run",
    RaceOutcome.ABANDONED: "abandoned",
    RaceOutcome.BOTH: "reported abandoned and run",
    RaceOutcome.IN_DOUBT: "reported abandoned and reinstated",
    RaceOutcome.UNCERTAIN: "with disputed places",
    RaceOutcome.VOID: "void",
    RaceOutcome.MAY_BE_LOST: "perhaps abandoned",
}

DOUBTFUL = CONFLICTS | {RaceOutcome.MAY_BE_LOST}
IN_CONFLICT = {which: f"reported abandoned and {words}, check" for which, words in REPORTED_TOO.items()}


@dataclass(frozen=True)
class DayQuestion:
    """`unchecked` words could not be looked up. The meetings of `first_regions` come before the others.

    Of results: `countries` tell which order is partial. `only_abandonments`: the list of abandonments alone.
    """

    now: datetime
    unchecked: Sequence[str] = ()
    page: int = 1
    reader: AnswerReader = NOBODY_KNOWN
    first_regions: Collection[str] = ()
    countries: Sequence[KnownCountry] = ()
    only_abandonments: bool = False


class DayView:
    """A day's card, as the asking person reads it: its names, sentences, meetings and abandonments."""

    def __init__(self, card: Card, question: DayQuestion) -> None:
        self.card, self.question, self.today = card, question, utc_today(question.now)
        self.meetings = [MeetingView(card, meeting, question.now) for meeting in card.meetings]
        self.day = weekday_and_day(card.day, self.today)
        # An unchecked region may not exist, and looks like a day without racing.
        words = listed([word for word in (safe(word, SHORT_MAX) for word in question.unchecked) if word])
        self.unchecked = given("I could not check {} against the data service's lists: taken as typed.", words)

    def answer(
        self,
        title: str,
        *,
        lines: Sequence[str | None],
        units: Sequence[Either],
        command: str,
        room: int = MESSAGE_MAX,
    ) -> Message:
        """The `lines` stand above the `units`. The abandonments of the card stand on every page, or first."""
        on_every_page, listed_first = losses_of(self.card, self.question.now)
        return paged(
            title,
            [*listed_first, *units],
            command,
            self.question.page,
            head=[*on_every_page, section(joined(lines, "\n"))],
            foot=self._small_print(),
            most=LINES_ON_PAGE,
            room=room,
        )

    @property
    def place(self) -> str:
        shown, course = safe(self.card.region, SHORT_MAX) or "all regions", self.card.course
        name = safe(course.name, SHORT_MAX * 2) or safe(course.course_id) if course else None
        return f"{name} ({shown})" if name else shown

    def title(self, kind: str) -> str:
        """For example "Racecard: York (GB), 15:50, Fri 20 Nov"."""
        return joined([f"{kind}: {self.place}", self.card.off, self.day], ", ")

    @property
    def in_order(self) -> list["MeetingView"]:
        """The meetings of `first_regions`, then the others, each by their first off."""
        order = order_of([one.race for meeting in self.meetings for one in meeting.races])
        first = self.question.first_regions
        return sorted(self.meetings, key=lambda one: (one.meeting.region not in first, order(one.meeting.races[0])))

    def missed_off(self, listed_below: str) -> str | None:
        missed = safe(self.card.missed_off)
        return f"{none_known(missed)}: {listed_below}." if missed else None

    @property
    def nowhere_else(self) -> str:
        """For example "for GB", "for Ascot (GB)", "for the 15:10 at Ascot (GB)", "in any region"."""
        card = self.card
        if card.off:
            return f"for the {safe(card.off)} {'at' if card.course else 'in'} {self.place}"
        return "in any region" if card.region is None and card.course is None else f"for {self.place}"

    def line(self, name: str, *words: str) -> str:
        """The words after /racing."""
        card = self.card
        return day_line(name, card.region, card.day.isoformat(), card.course, card.off, *words)

    @property
    def completeness(self) -> str | None:
        """A sentence on missing data; None for a complete card. A day with deliveries is never called "No racing"."""
        card, reader = self.card, self.question.reader
        reached = given(" and have come to {}", published_day(card.reached, self.today)) or ""
        reading = f"I am still reading the data service's list{reached}. Ask again in a moment."
        incomplete = "Not read" if card.is_empty else "This may not be all"
        failure = shown_to(failure_words(card.failure, reader), reader) if card.failure else ""
        setting = " (COMMAND_QUOTA_SHARE)" if reader.is_admin else ""
        spent = f"Commands have used their share{setting} of this month's requests. Alerts go on."
        window = given(" ({})", safe(card.window)) or ""
        return {
            Coverage.COMPLETE: self._none() if card.is_empty else None,
            Coverage.PARTIAL: f"This may not be all: {reading}",
            Coverage.UNREAD: f"Not read yet: {reading}",
            Coverage.OUTSIDE_WINDOW: f"{self.day} is outside your plan's window{window}.",
            Coverage.QUOTA: f"{incomplete}. {failure or spent}",
            Coverage.FAILED: f"{incomplete}. {failure or 'The data service could not answer.'}",
        }[card.coverage]

    @property
    def abandoned(self) -> str | None:
        """For example "part of 1 meeting (6 races) and 1 other race abandoned". Each race counts once."""
        outcomes = self.card.outcomes
        races = _races(outcomes, RaceOutcome.ABANDONED)
        lost = _meetings(outcomes, RaceOutcome.ABANDONED)
        of_lost = sum(_is_of(race, lost) for race in races)
        others = len(races) - of_lost
        if not lost:
            return f"{counted(others, 'race')} abandoned" if others else None
        parts = sum(event.key in outcomes.partly_run for event in lost)
        each = {"part of ": parts, "": len(lost) - parts}
        meetings = " and ".join(f"{part}{counted(number, 'meeting')}" for part, number in each.items() if number)
        named = f"{meetings} ({counted(of_lost, 'race')})" if of_lost else meetings
        more = f" and {counted(others, 'other race')}" if others else ""
        return f"{named}{more} abandoned"

    @property
    def figures(self) -> str:
        """For example "1 race abandoned, 2 results in, 2 races to come"."""
        count, races = self.card.outcomes.count, [one for some in self.meetings for one in some.races]
        coming = sum(one.is_to_come and one.outcome is RaceOutcome.OPEN for one in races)
        settled, void = count(RaceOutcome.SETTLED), count(RaceOutcome.VOID)
        doubtful = {words: count(one) for one, words in IN_FIGURES.items() if one in DOUBTFUL}
        open_races = {"without a result yet": count(RaceOutcome.OPEN) - coming, TO_COME: coming}

        def named(races: Mapping[str, int]) -> list[str]:
            return [f"{counted(number, 'race')} {words}" for words, number in races.items() if number]

        in_and_void = [f"{counted(settled, 'result')} in" if settled else None, f"{void} void" if void else None]
        others = [] if self.question.only_abandonments else [*in_and_void, *named(open_races)]
        return joined([self.abandoned, *named(doubtful), *others], ", ")

    def _none(self) -> str:
        where = f"{self.nowhere_else} on {self.day}"
        if self.question.unchecked or self.card.outcomes.unplaced:
            return f"Nothing found {where}."
        if self.card.day > self.today:
            return f"No card has been published yet {where}."
        return f"No racing: the data service lists no races {where}."

    def _small_print(self) -> Block | None:
        """The list is read now and then; deliveries come at any moment."""
        card, now = self.card, self.question.now
        latest = card.latest_at.isoformat() if card.latest_at else None
        news = given("latest news {}", published_moment(latest, now))
        if card.read_at:
            news = f"list read {published_moment(card.read_at.isoformat(), now)}; later news included"
        as_of = given("data as of {}", published_moment(card.data_as_of, now))
        return context_block(card.day.isoformat(), news, as_of, "dates and times as published")


def share(number: int, total: int, words: str) -> str | None:
    """For example "2 run", "all run"; "run" of a single race."""
    if not number:
        return None
    return words if total == 1 else f"{'all' if number == total else number} {words}"


class MeetingView:
    """A meeting of a card, with its races."""

    def __init__(self, card: Card, meeting: MeetingCard, now: datetime) -> None:
        self.card, self.meeting = card, meeting
        self.races = [RaceView(race, outcome, now) for race, outcome in meeting.each]
        self.is_dead = all(one.outcome is RaceOutcome.ABANDONED for one in self.races)
        self.course = course_name(Race(course=meeting.course)) or "course not named"
        self.region = _in_brackets(meeting.region, card.region)
        self.name = joined([f"*{self.course}*", self.region], " ")

    def has(self, outcomes: Collection[RaceOutcome]) -> bool:
        return any(one.outcome in outcomes for one in self.races)

    @property
    def title(self) -> str:
        """For example "*Ayr* (GB) · 🛑 *MEETING ABANDONED*, waterlogged"."""
        course, regions = self.meeting.course, {self.meeting.region, None}
        outcomes = self.card.outcomes
        events = [e for e in outcomes.lost if is_same_course(e.race.course, course) and e.race.region in regions]
        lost = marked_lost(outcomes, events, self.meeting.each) or (MARKED_LOST if self.is_dead else None)
        reasons = {lost_reason(one.race) for one in self.races if one.outcome is RaceOutcome.ABANDONED}
        because = clip(reasons.pop() or "", SHORT_MAX * 2) if lost and len(reasons) == 1 else None
        return joined([self.name, joined([lost, because], ", ")])

    def button(self, label: str, name: str, off: str | None = None) -> Block | None:
        """None without a course. `off`: of a single race."""
        region, course = self.meeting.region or self.card.region, self.meeting.course
        line = day_line(name, region, self.card.day.isoformat(), course, off)
        return command_button(label, line) if course.as_typed else None

    @property
    def in_a_line(self) -> Either:
        """For example "*Wolverhampton* (GB) · 8 races 16:30-20:30 · next 17:05 · 2 run · Going: Standard"."""
        races, is_past = self.races, self.card.day <= utc_today(self.races[0].now)
        offs = [one.off for one in races if one.off]
        times = "\N{EN DASH}".join(dict.fromkeys([offs[0], offs[-1]])) if offs else None
        coming = [one.off for one in races if one.is_to_come and one.race.off.off_at and one.off]
        words = [
            self.title,
            joined([counted(len(races), "race"), times], " "),
            given("next {}", coming[0] if coming and is_past else None),
            *([] if self.is_dead else in_figures([one.outcome for one in races])),
            share(sum(one.is_overdue for one in races), len(races), "without a result"),
            given("Going: {}", safe(self.meeting.going)),
        ]
        return unit(section(joined(words), self.button("Card", "racecard")))


def in_figures(outcomes: Sequence[RaceOutcome], *unsaid: RaceOutcome) -> list[str | None]:
    """For example "2 run" and "1 abandoned"."""
    counts = {words: outcomes.count(which) for which, words in IN_FIGURES.items() if which not in unsaid}
    return [share(number, len(outcomes), words) for words, number in counts.items()]


_LOSSES = {
    RaceOutcome.ABANDONED: (f"{MARKED_LOST}{{}}", ON_EVERY_PAGE_MAX),
    **{which: (f"{MARKED_CONFLICT}{{}}: {IN_CONFLICT[which]}", CONFLICTS_ON_EVERY_PAGE_MAX) for which in REPORTED_TOO},
    RaceOutcome.MAY_BE_LOST: (MARKED_UNPLACED, CONFLICTS_ON_EVERY_PAGE_MAX),
}
"""The titles of losses, and how long a list stands on every page."""


def losses_of(card: Card, now: datetime, when: str = "") -> tuple[list[Block | None], list[Either]]:
    """The blocks for every page, and long lists as units. `when`: said of races that were not asked for.

    A line for each abandoned meeting, and for the other abandoned races of a meeting with one reason; then such lines
    of conflicts about a loss; then the abandonments that may be elsewhere.
    """
    outcomes, region = card.outcomes, card.region
    blocks, units = list[Block | None](), list[Either]()
    for which, (title, on_every_page_max) in _LOSSES.items():
        if which is RaceOutcome.MAY_BE_LOST:
            lines = [*unplaced_lines(outcomes, now)]
        else:
            whole = _meetings(outcomes, which)
            singly = [race for race in _races(outcomes, which) if not _is_of(race, whole)]
            lines = [*(_lost_meeting(event, outcomes, region) for event in whole), *_lines(singly, region)]
        text = "\n".join([title.format(when), *(clip(line, PAGE_LINE_MAX) for line in lines)])
        if lines and size(text) <= on_every_page_max:
            blocks.append(section(text))
        elif lines:
            units += line_units([title.format(when), *lines])
    return blocks, units


def loss_units(card: Card, now: datetime, when: str) -> list[Either]:
    blocks, units = losses_of(card, now, f" {when}")
    return [*map(unit, blocks), *units]


def _meetings(outcomes: Outcomes, which: RaceOutcome) -> list[RacingEvent]:
    """The meetings that are abandoned, or in doubt."""
    return [one for one in outcomes.lost if which is (RaceOutcome.IN_DOUBT if one.in_doubt else RaceOutcome.ABANDONED)]


def _is_of(race: Race, meetings: Iterable[RacingEvent]) -> bool:
    return any(is_part_of(race, event) for event in meetings)


def _races(outcomes: Outcomes, which: RaceOutcome) -> list[Race]:
    """A race without a course or region of its own has those of its meeting."""
    return [
        race.model_copy(
            update={
                "course": race.course if course_name(race) else meeting.course,
                "region": race.region or meeting.region,
            }
        )
        for meeting in outcomes.meetings
        for race, outcome in meeting.each
        if outcome is which
    ]


def _lines(races: Iterable[Race], region: str | None) -> Iterator[str]:
    """A line for the races with one reason."""
    together: dict[tuple[str | None, str | None, str | None], list[Race]] = {}
    for race in races:
        together.setdefault((race.region, course_name(race), lost_reason(race)), []).append(race)
    for (of_region, course, because), same in together.items():
        unknown = "" if of_region else " (region unknown)"
        where = joined([course or "course not given", _in_brackets(of_region, region)], " ")
        # For example "Naas 13:00, 13:30 and 14:00".
        names = (race.model_copy(update={"course": Course()}) if course else race for race in same)
        named = listed([*map(race_name, names)])
        yield joined([f"{where} {named}", because], ", ") + unknown


def _lost_meeting(event: RacingEvent, outcomes: Outcomes, region: str | None) -> str:
    unknown = "" if event.race.region else " (region unknown)"
    course = joined([course_name(event.race) or "course not given", _in_brackets(event.race.region, region)], " ")
    part = lost_part(event, partly_run=event.key in outcomes.partly_run)
    return joined([course, f"{part}{unknown}", lost_reason(event.race, event.reason)], ", ")


def _in_brackets(region: str | None, asked: str | None) -> str | None:
    """Where races of several regions are shown."""
    return given("({})", safe(region, SHORT_MAX)) if asked is None else None
