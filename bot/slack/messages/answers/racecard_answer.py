"""The answer of `/racecard`: a line for each meeting, or the races of a single course with their runners.

Several races of a course have their runners collapsed; a single race has a table.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, tzinfo
from functools import partial

from bot.events.days import utc_today
from bot.events.races import Race, Runner, is_same_course
from bot.events.typed_off import minutes_apart, read_off
from bot.outbox.message import Block, Message
from bot.racedata.day_card import CONFLICTS, WITH_RESULT, Card, MeetingCard, RaceOutcome
from bot.slack.messages.alerts.runner_table import FULL_RESULT_COLUMNS, HORSE, RunnerColumns, runners_table
from bot.slack.messages.answers.day_answer import (
    abandoned_in_figures,
    card_title,
    command_line,
    completeness,
    in_order,
    is_dead,
    losses_of,
    missed_off_words,
    small_print,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.answers.outcome_words import (
    CARD_LINE_MAX,
    NO_RESULT_YET,
    became,
    is_overdue,
    is_to_come,
    marked_lost,
    outcome_line,
)
from bot.slack.messages.kit.blocks import command_button, fits, mrkdwn, section
from bot.slack.messages.kit.marks import MARKED_LOST
from bot.slack.messages.kit.names import (
    PERSON_MAX,
    RUNNERS_PLAUSIBLE,
    SHORT_MAX,
    course_name,
    horse_name,
    lost_reason,
    race_details,
    race_line,
    race_line_after_off,
)
from bot.slack.messages.kit.native_blocks import collapsed
from bot.slack.messages.kit.pages import Paper, Turning, Unit, paged
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import SECTION_MAX, clip, counted, joined, safe, sentences, size, without_bold
from bot.slack.messages.kit.times import aware, off_for_readers, off_text

MORE_ROOM = 40

LINES_ON_PAGE = 8
"""Meetings of a day, or races of a course: about the screen of a phone."""

IN_FIGURES = {
    frozenset({RaceOutcome.SETTLED}): "run",
    frozenset({RaceOutcome.ABANDONED}): "abandoned",
    CONFLICTS: "in conflict",
    frozenset({RaceOutcome.VOID}): "void",
}

NEAREST_MAX = 6
"""Races named where no race is off at the asked time."""

TABLE_ROOM = 4_000
"""A table with forty runners and every column. With the abandonments, the table fits on a page."""

CARD_COLUMNS: RunnerColumns = {
    title: value for title, value in FULL_RESULT_COLUMNS.items() if title not in {"Pos", "Why"}
} | {HORSE: lambda runner: joined([FULL_RESULT_COLUMNS[HORSE](runner), "non-runner" if runner.is_out else None], ", ")}


def racecard(
    card: Card,
    now: datetime,
    unchecked: Sequence[str] = (),
    page: int = 1,
    *,
    reader: AnswerReader = NOBODY_KNOWN,
    first_regions: Collection[str] = (),
) -> Message:
    """The meetings of `first_regions` come before the others."""
    today = utc_today(now)
    title = joined([card_title("Racecard", card, today), _abandoned(card)], ", ")
    is_missed = bool(card.course and card.missed_off)
    missed = missed_off_words(card, "these are the nearest" if is_missed else "this is the whole card")
    notes = (missed, completeness(card, today, unchecked, reader), unchecked_words(unchecked))
    said = [words for words in notes if words]
    summary, in_text = (_summary(card, with_lost=with_lost) for with_lost in (True, False))
    losses = losses_of(card)
    on_every_page, listed_first = losses.parts()
    paper = Paper(
        title,
        lambda shown: sentences([joined([shown, in_text], ": "), losses.in_text, *said]),
        [*listed_first, *(_nearest(card, now) if is_missed else _units(card, now, reader.zone, first_regions))],
        head=[*on_every_page, section("\n".join([*said, *([summary] if summary and not _is_alone(card) else [])]))],
        foot=small_print(card, now),
    )
    return paged(paper, Turning(command_line("racecard", card), page), most=LINES_ON_PAGE)


def shows_readers_clock(card: Card) -> bool:
    """True if the reader's time zone matters: a race's own lines on a course's card, with a time and its moment."""
    races = (one for place in range(len(card.meetings)) for one in card.outcomes.of_meeting(place))
    return (card.course is not None and not card.missed_off) and any(
        race.off.text and aware(race.off.off_at)
        for race, outcome in races
        if card.off or outcome is not RaceOutcome.ABANDONED
    )


def _abandoned(card: Card) -> str | None:
    if card.off:
        return share(card.outcomes.count(RaceOutcome.ABANDONED), len(card.outcomes.of), "abandoned")
    return abandoned_in_figures(card.outcomes)


def _summary(card: Card, *, with_lost: bool) -> str | None:
    """The title beside the notification text has the abandonments already."""
    races = card.outcomes.in_order()
    if all(outcome is RaceOutcome.ABANDONED for _, outcome in races):
        return None
    is_of_one = len(card.meetings) == 1 and (card.course is not None or len(races) == 1)
    counts = [None if is_of_one else counted(len(card.meetings), "meeting"), counted(len(races), "race")]
    if _is_alone(card):
        counts = [race_line_after_off(races[0][0]) if card.off else race_line(races[0][0])]
    figures = [
        share(card.outcomes.count(*which), len(races), words)
        for which, words in IN_FIGURES.items()
        if with_lost or RaceOutcome.ABANDONED not in which
    ]
    return joined([*counts, *figures], ", ") or None


def _is_alone(card: Card) -> bool:
    """True for a single race that is shown with everything."""
    return card.course is not None and len(card.outcomes.of) == 1


def share(number: int, total: int, words: str) -> str | None:
    """For example "2 run", "all run"; "run" of a single race."""
    if not number:
        return None
    return words if total == 1 else f"{'all' if number == total else number} {words}"


def lines_section(first: str, lines: Iterator[str] | Sequence[str], total: int) -> Block:
    shown, room = [first], SECTION_MAX - size(first) - MORE_ROOM
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = total - len(shown) + 1
    return {"type": "section", "text": mrkdwn("\n".join([*shown, *([f"and {left} more"] if left else [])]))}


def meeting_title(place: int, card: Card) -> str:
    """For example "*Ayr* (GB) · 🛑 *MEETING ABANDONED*, waterlogged"."""
    meeting, outcomes = card.meetings[place], card.outcomes
    events = [
        event
        for event in outcomes.lost
        if is_same_course(event.race.course, meeting.course) and event.race.region in {meeting.region, None}
    ]
    lost = marked_lost(outcomes, events) or (MARKED_LOST if is_dead(outcomes, place) else None)
    reasons = {lost_reason(race) for race, outcome in outcomes.of_meeting(place) if outcome is RaceOutcome.ABANDONED}
    because = clip(reasons.pop() or "", SHORT_MAX * 2) if lost and len(reasons) == 1 else None
    return joined([_meeting_name(meeting, card), joined([lost, because], ", ")])


def _meeting_name(meeting: MeetingCard, card: Card) -> str:
    name = course_name(meeting.races[0].model_copy(update={"course": meeting.course})) or "course not named"
    region = safe(meeting.region, SHORT_MAX) if card.region is None else None
    return joined([f"*{name}*", f"({region})" if region else None], " ")


def course_button(label: str, name: str, meeting: MeetingCard, card: Card, off: str | None = None) -> Block | None:
    """None without a course, or if the name is too long for a button. `off`: of a single race."""
    course = meeting.course.course_id or meeting.course.name
    if not course:
        return None
    words = [name, meeting.region or card.region, card.day.isoformat(), '"' + course.replace('"', "") + '"']
    button = command_button(label, " ".join(filter(None, [*words, off])))
    return button if fits(button) else None


def _units(card: Card, now: datetime, zone: tzinfo | None, first_regions: Collection[str]) -> list[Unit]:
    if card.course:
        return _course_units(card, now, zone)
    return [meeting_in_a_line(place, card, now) for place in in_order(range(len(card.meetings)), card, first_regions)]


def _nearest(card: Card, now: datetime) -> list[Unit]:
    """The races nearest to a time without a race, in a line with a button each; and the button of the whole card."""
    races = [(meeting, *one) for place, meeting in enumerate(card.meetings) for one in card.outcomes.of_meeting(place)]
    off = card.missed_off or ""
    nearest = sorted(races, key=lambda one: minutes_apart(one[1].off, off))[:NEAREST_MAX]
    units = [
        with_button(_race(race, outcome, now), course_button(read, "racecard", meeting, card, read) if read else None)
        for meeting, race, outcome in races
        if (meeting, race, outcome) in nearest
        for read in [read_off(race.off.text or "")]
    ]
    whole = [course_button("Card", "racecard", meeting, card) for meeting in card.meetings]
    title = f"All {counted(len(races), 'race')} of the card, with their runners"
    return [*units, *(with_button(title, button) for button in whole if button)]


def with_button(words: str, button: Block | None) -> Unit:
    return Unit((lines_section(words, [], 0) | ({"accessory": button} if button else {}),))


def meeting_in_a_line(place: int, card: Card, now: datetime) -> Unit:
    """For example "*Wolverhampton* (GB) · 8 races 16:30-20:30 · next 17:05 · 2 run · Going: Standard"."""
    meeting, races = card.meetings[place], card.outcomes.of_meeting(place)
    offs = [off for race, _ in races if (off := off_text(race.off))]
    times = "\N{EN DASH}".join(dict.fromkeys([offs[0], offs[-1]])) if offs else None
    coming = (race for race, outcome in races if outcome is RaceOutcome.OPEN and is_to_come(race, now))
    following = next((off for race in coming if aware(race.off.off_at) and (off := off_text(race.off))), None)
    overdue = sum(is_overdue(race, outcome, now) for race, outcome in races)
    going = safe(meeting.going)
    figures = [share(_count(races, which), len(races), words) for which, words in IN_FIGURES.items()]
    if is_dead(card.outcomes, place):
        figures = []
    words = [
        meeting_title(place, card),
        joined([counted(len(races), "race"), times], " "),
        f"next {following}" if following else None,
        *figures,
        share(overdue, len(races), "without a result"),
        f"Going: {going}" if going else None,
    ]
    return with_button(joined(words), course_button("Card", "racecard", meeting, card))


def _count(races: Sequence[tuple[Race, RaceOutcome]], which: Collection[RaceOutcome]) -> int:
    return sum(outcome in which for _, outcome in races)


def _race(race: Race, outcome: RaceOutcome, now: datetime) -> str:
    return outcome_line(race, _said(race, outcome, now))


def _said(race: Race, outcome: RaceOutcome, now: datetime) -> str | None:
    """A race to come needs no words. A race past its off without a result is marked."""
    return became(race, outcome) or (NO_RESULT_YET if is_overdue(race, outcome, now) else None)


def _course_units(card: Card, now: datetime, zone: tzinfo | None) -> list[Unit]:
    several = len(card.meetings) > 1
    races = [
        (race, outcome, _meeting_name(meeting, card) if several else None)
        for place, meeting in enumerate(card.meetings)
        for race, outcome in card.outcomes.of_meeting(place)
    ]
    return [
        _race_in_a_line(race, outcome, at, now)
        if outcome is RaceOutcome.ABANDONED and not card.off
        else _race_with_runners(race, outcome, at, now, zone, is_alone=len(races) == 1)
        for race, outcome, at in races
    ]


def _race_in_a_line(race: Race, outcome: RaceOutcome, at: str | None, now: datetime) -> Unit:
    return Unit((lines_section(joined([at, _race(race, outcome, now)], "  "), [], 0),))


def _race_with_runners(
    race: Race, outcome: RaceOutcome, at: str | None, now: datetime, zone: tzinfo | None, *, is_alone: bool
) -> Unit:
    runners = [runner for runner in race.runners if runner.horse or runner.number]
    if not runners and race.field_size:
        return _race_in_a_line(race, outcome, at, now)
    off = off_for_readers(race.off, zone)
    details = clip(race_details(race), CARD_LINE_MAX) or None
    said = _said(race, outcome, now)
    first = joined([at, f"*{off}*" if off else None, said], "  ")
    name = joined([first, details], " · " if said else "  ") or race_line(race)
    columns, line, result = CARD_COLUMNS, _declared, None
    if outcome in WITH_RESULT:
        columns, line, result = FULL_RESULT_COLUMNS, partial(_placed, RaceField(race)), race
        # Sorting keeps the card's order among runners without a place.
        runners = sorted(runners, key=lambda runner: runner.finishing_position or RUNNERS_PLAUSIBLE)
    in_sections = lines_section(name, map(line, runners), len(runners))
    if runners and not is_alone:
        title = without_bold(joined([at, _race(race, outcome, now)], "  "))
        return Unit((collapsed(title, [in_sections]),), sections=(in_sections,))
    caption = joined(["Runners", off_text(race.off)], ", ")
    table = runners_table(caption, runners, columns, TABLE_ROOM, result=result) if runners else []
    if not table:
        return Unit((in_sections,))
    blocks = tuple(block for block in (section(name), *table) if block)
    return Unit(blocks, sections=(in_sections,))


def _declared(runner: Runner) -> str:
    """For example "4  Desert Crown · draw 3 · R Moore / A O'Brien · OR 121"."""
    facts = [*_facts(runner, safe(runner.starting_price, SHORT_MAX)), "non-runner" if runner.is_out else None]
    return clip(joined([_first(runner.number, runner), *facts]), CARD_LINE_MAX)


def _placed(field: RaceField, runner: Runner) -> str:
    """For example "1  Desert Crown · no. 4 · draw 3 · R Moore / A O'Brien · OR 121 · SP 5/2F"."""
    number = safe(runner.number, SHORT_MAX) if runner.horse else None
    facts = [f"no. {number}" if number else None, *_facts(runner, field.price(runner))]
    return clip(joined([_first(runner.position, runner), *facts]), CARD_LINE_MAX)


def _first(first: str | None, runner: Runner) -> str:
    return joined([safe(first, SHORT_MAX), horse_name(runner)], "  ")


def _facts(runner: Runner, price: str | None) -> list[str | None]:
    draw = safe(runner.draw, SHORT_MAX)
    people = joined([safe(runner.jockey, PERSON_MAX), safe(runner.trainer, PERSON_MAX)], " / ")
    rating = safe(runner.official_rating, SHORT_MAX)
    return [
        f"draw {draw}" if draw else None,
        people or None,
        f"OR {rating}" if rating else None,
        f"SP {price}" if price else None,
    ]
