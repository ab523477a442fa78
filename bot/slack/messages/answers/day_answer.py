"""Shared parts of `/racecard`, `/results` and `/racing next`: the frame, meetings, abandonments, conflicts."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from bot.events.days import utc_today
from bot.events.event import RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.race_state import RaceOutcome
from bot.events.races import Race, is_same_course
from bot.events.sentences import counted, listed
from bot.outbox.message import Block, Message
from bot.racedata.client.records import KnownCountry
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, order_of
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words, shown_to
from bot.slack.messages.answers.outcome_words import RaceView, marked_lost
from bot.slack.messages.kit.blocks import command_button, context, section
from bot.slack.messages.kit.layout import PAGE_LINE_MAX, Either, line_units, paged, unit
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST
from bot.slack.messages.kit.names import SHORT_MAX, course_name, day_line, lost_part, lost_reason, race_name, reason
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, first_of, given, joined, safe, sentences, size
from bot.slack.messages.kit.times import aware, off_text, published_day, published_moment, weekday_and_day

LINES_ON_PAGE = 8
"""Meetings of a day, or races of a course: about the screen of a phone."""

LOST_NAMED = 12
"""Abandonments, and conflicts, named in the notification text. The blocks name all."""

IN_CONFLICT = "reported abandoned and as run, check"

ON_EVERY_PAGE_MAX = 2_000
"""Longer lists of abandonments are on pages of their own, before the meetings."""

CONFLICTS_ON_EVERY_PAGE_MAX = 1_000

IN_FIGURES = {
    RaceOutcome.SETTLED: "run",
    RaceOutcome.ABANDONED: "abandoned",
    RaceOutcome.BOTH: "reported abandoned and run",
    RaceOutcome.UNCERTAIN: "with disputed places",
    RaceOutcome.VOID: "void",
}


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

    @property
    def today(self) -> date:
        return utc_today(self.now)


def day_answer(
    card: Card,
    question: DayQuestion,
    *,
    title: str,
    in_short: str | None,
    said: Sequence[str | None],
    lines: Sequence[str | None],
    units: Sequence[Either],
    command: str,
    later: Sequence["Losses"] = (),
    room: int = MESSAGE_MAX,
) -> Message:
    """`in_short` and the sentences `said` are the text, the `lines` stand above the meetings.

    The abandonments of the card stand on every page, or first. `later`: of further days or races, behind the `units`.
    """
    losses = losses_of(card)
    on_every_page, listed_first = losses.parts()
    in_text = [one.in_text for one in (losses, *later)]
    return paged(
        title,
        [*listed_first, *units, *(one for some in later for one in some.units())],
        command,
        question.page,
        text=lambda shown: sentences([joined([shown, in_short], ": "), *in_text, *said]),
        head=[*on_every_page, section(joined(lines, "\n"))],
        foot=small_print(card, question.now),
        most=LINES_ON_PAGE,
        room=room,
    )


def place_of(card: Card) -> str:
    shown, course = safe(card.region, SHORT_MAX) or "all regions", card.course
    name = safe(course.name, SHORT_MAX * 2) or safe(course.course_id) if course else None
    return f"{name} ({shown})" if name else shown


def card_title(kind: str, card: Card, today: date) -> str:
    """For example "Racecard: York (GB), 15:50, Fri 20 Nov"."""
    return joined([f"{kind}: {place_of(card)}", card.off, weekday_and_day(card.day, today)], ", ")


def in_order(meetings: Sequence["MeetingView"], first_regions: Collection[str]) -> list["MeetingView"]:
    """The meetings of `first_regions`, then the others, each by their first off."""
    order = order_of([one.race for meeting in meetings for one in meeting.races])
    return sorted(meetings, key=lambda one: (one.meeting.region not in first_regions, order(one.meeting.races[0])))


def missed_off_words(card: Card, listed_below: str) -> str | None:
    return f"No race is known at {safe(card.missed_off)}: {listed_below}." if card.missed_off else None


def nowhere_else(card: Card) -> str:
    """For example "for GB", "for Ascot (GB)", "for the 15:10 at Ascot (GB)", "in any region"."""
    if card.off:
        return f"for the {safe(card.off)} {'at' if card.course else 'in'} {place_of(card)}"
    return "in any region" if card.region is None and card.course is None else f"for {place_of(card)}"


def command_line(name: str, card: Card, *words: str) -> str:
    return day_line(name, card.region, card.day.isoformat(), card.course, card.off, *words)


def completeness(card: Card, question: DayQuestion) -> str | None:
    """A sentence on missing data; None for a complete card. A day with deliveries is never called "No racing"."""
    reached = given(" and have come to {}", published_day(card.reached, question.today)) or ""
    reading = f"I am still reading the data service's list{reached}. Ask again in a moment."
    incomplete = "Not read" if card.is_empty else "This may not be all"
    failure = shown_to(failure_words(card.failure, question.reader), question.reader) if card.failure else ""
    setting = " (COMMAND_QUOTA_SHARE)" if question.reader.is_admin else ""
    spent = f"Commands have used their share{setting} of this month's requests. Alerts go on."
    day, window = weekday_and_day(card.day, question.today), given(" ({})", safe(card.window)) or ""
    return {
        Coverage.COMPLETE: _none(card, question) if card.is_empty else None,
        Coverage.PARTIAL: f"This may not be all: {reading}",
        Coverage.UNREAD: f"Not read yet: {reading}",
        Coverage.OUTSIDE_WINDOW: f"{day} is outside your plan's window{window}.",
        Coverage.QUOTA: f"{incomplete}. {failure or spent}",
        Coverage.FAILED: f"{incomplete}. {failure or 'The data service could not answer.'}",
    }[card.coverage]


def unchecked_words(words: Sequence[str]) -> str | None:
    """A warning: an unchecked region may not exist, and looks like a day without racing."""
    named = listed([word for word in (safe(word, SHORT_MAX) for word in words) if word])
    return given("I could not check {} against the data service's lists: taken as typed.", named)


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
        return f"list read {published_moment(card.read_at.isoformat(), now)}; later news included"
    return f"latest news {published_moment(card.latest_at.isoformat(), now)}" if card.latest_at else None


def _none(card: Card, question: DayQuestion) -> str:
    where, day = nowhere_else(card), weekday_and_day(card.day, question.today)
    if question.unchecked:
        return f"Nothing found {where} on {day}."
    if card.day > question.today:
        return f"No card has been published yet {where} on {day}."
    return f"No racing: the data service lists no races {where} on {day}."


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

    def has(self, outcomes: Collection[RaceOutcome]) -> bool:
        return any(one.outcome in outcomes for one in self.races)

    @property
    def name(self) -> str:
        return joined([f"*{self.course}*", self.region], " ")

    @property
    def course(self) -> str:
        return course_name(Race(course=self.meeting.course)) or "course not named"

    @property
    def region(self) -> str | None:
        """In brackets, where races of several regions are shown."""
        return given("({})", safe(self.meeting.region, SHORT_MAX)) if self.card.region is None else None

    @property
    def title(self) -> str:
        """For example "*Ayr* (GB) · 🛑 *MEETING ABANDONED*, waterlogged"."""
        course, regions = self.meeting.course, {self.meeting.region, None}
        outcomes = self.card.outcomes
        events = [e for e in outcomes.lost if is_same_course(e.race.course, course) and e.race.region in regions]
        lost = marked_lost(outcomes, events) or (MARKED_LOST if self.is_dead else None)
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
        coming = [one.off for one in races if one.is_to_come and aware(one.race.off.off_at) and one.off]
        words = [
            self.title,
            joined([counted(len(races), "race"), times], " "),
            given("next {}", coming[0] if coming and is_past else None),
            *([] if self.is_dead else in_figures([one.outcome for one in races])),
            share(sum(one.is_overdue for one in races), len(races), "without a result"),
            given("Going: {}", safe(self.meeting.going)),
        ]
        return unit(section(joined(words), self.button("Card", "racecard")))


def meetings_of(card: Card, now: datetime) -> list[MeetingView]:
    return [MeetingView(card, meeting, now) for meeting in card.meetings]


def in_figures(outcomes: Sequence[RaceOutcome], *unsaid: RaceOutcome) -> list[str | None]:
    """For example "2 run" and "1 abandoned"."""
    counts = {words: outcomes.count(which) for which, words in IN_FIGURES.items() if which not in unsaid}
    return [share(number, len(outcomes), words) for words, number in counts.items()]


@dataclass(frozen=True)
class Losses:
    """A line for each abandoned meeting, and for the other abandoned races of a meeting with one reason.

    `disputed`: such lines of races that were reported abandoned and run. `when`: named for others than the asked races.
    """

    lost: Sequence[str]
    disputed: Sequence[str]
    when: str = ""

    @property
    def in_text(self) -> str | None:
        named = (
            "; ".join(first_of(lines, LOST_NAMED, "and {} more, listed below")) for lines in (self.lost, self.disputed)
        )
        titles = f"ABANDONED{self.when}", f"CONFLICT{self.when}, {IN_CONFLICT}"
        return sentences([f"{title}: {lines}" for title, lines in zip(titles, named, strict=True) if lines]) or None

    def parts(self) -> tuple[list[Block | None], list[Either]]:
        """The blocks for every page, and a long list as units."""
        lost, lost_units = _part(f"{MARKED_LOST}{self.when}", self.lost, ON_EVERY_PAGE_MAX)
        conflict = f"{MARKED_CONFLICT}{self.when}: {IN_CONFLICT}"
        disputed, disputed_units = _part(conflict, self.disputed, CONFLICTS_ON_EVERY_PAGE_MAX)
        return [lost, disputed], [*lost_units, *disputed_units]

    def units(self) -> list[Either]:
        blocks, units = self.parts()
        return [*(unit(block) for block in blocks if block), *units]


def losses_of(card: Card, when: str | None = None) -> Losses:
    outcomes, region = card.outcomes, card.region
    whole = [_lost_meeting(event, outcomes, region) for event in outcomes.lost]
    lost, disputed = (_of_each_meeting(outcomes, which) for which in (RaceOutcome.ABANDONED, RaceOutcome.BOTH))
    singly = [[race for race in races if not _is_of_lost(race, outcomes)] for races in lost]
    named, both = ([line for races in some for line in _lines(races, region)] for some in (singly, disputed))
    return Losses([*whole, *named], both, given(" {}", when) or "")


def abandoned_in_figures(outcomes: Outcomes) -> str | None:
    """For example "rest of 1 meeting (6 races) and 1 other race abandoned". Each race counts once."""
    races = [race for some in _of_each_meeting(outcomes, RaceOutcome.ABANDONED) for race in some]
    of_lost = sum(_is_of_lost(race, outcomes) for race in races)
    others = len(races) - of_lost
    if not outcomes.lost:
        return f"{counted(others, 'race')} abandoned" if others else None
    rest = sum(map(outcomes.partly_run, outcomes.lost))
    whole = len(outcomes.lost) - rest
    meetings = [f"rest of {counted(rest, 'meeting')}" if rest else None, counted(whole, "meeting") if whole else None]
    named = joined([*meetings], " and ") + (f" ({counted(of_lost, 'race')})" if of_lost else "")
    more = f" and {counted(others, 'other race')}" if others else ""
    return f"{named}{more} abandoned"


def _is_of_lost(race: Race, outcomes: Outcomes) -> bool:
    part = RacingEvent(key="", race=race)
    return any(is_part_of(part, event) for event in outcomes.lost)


def _part(title: str, lines: Sequence[str], on_every_page_max: int) -> tuple[Block | None, list[Either]]:
    if not lines:
        return None, []
    text = "\n".join([title, *(clip(line, PAGE_LINE_MAX) for line in lines)])
    return (section(text), []) if size(text) <= on_every_page_max else (None, line_units([title, *lines]))


def _of_each_meeting(outcomes: Outcomes, outcome: RaceOutcome) -> list[list[Race]]:
    return [
        [_at(meeting, race) for race, of_race in meeting.each if of_race is outcome] for meeting in outcomes.meetings
    ]


def _at(meeting: MeetingCard, race: Race) -> Race:
    """A race without a course or region of its own has those of the meeting."""
    course = race.course if course_name(race) else meeting.course
    return race.model_copy(update={"course": course, "region": race.region or meeting.region})


def _lines(races: Iterable[Race], region: str | None) -> Iterator[str]:
    """A line for the races with one reason."""
    together: dict[tuple[str | None, str | None], list[Race]] = {}
    for race in races:
        together.setdefault((course_name(race), lost_reason(race)), []).append(race)
    for (course, because), same in together.items():
        unknown = "" if same[0].region else " (region unknown)"
        where = _in_region(course or "course not given", same[0], region)
        # For example "Naas 13:00, 13:30 and 14:00".
        times = [off_text(race.off) or safe(race.title) or "time not given" for race in same]
        named = listed(times if course else [race_name(race) for race in same])
        yield joined([f"{where} {named}", because], ", ") + unknown


def _lost_meeting(event: RacingEvent, outcomes: Outcomes, region: str | None) -> str:
    unknown = "" if event.race.region else " (region unknown)"
    course = _in_region(course_name(event.race) or "course not given", event.race, region)
    part = lost_part(partly_run=outcomes.partly_run(event))
    return joined([course, f"{part}{unknown}", reason(event)], ", ")


def _in_region(course: str, race: Race, region: str | None) -> str:
    return joined([course, given("({})", safe(race.region, SHORT_MAX)) if region is None else None], " ")
