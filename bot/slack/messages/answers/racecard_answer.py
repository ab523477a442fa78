"""The answer of `/racecard`: a section for each meeting, or for each race of a single course."""

from collections.abc import Iterator, Sequence
from datetime import date

from bot.events.races import Race, Runner, is_same_course
from bot.outbox.message import Block, Message
from bot.racedata.day_card import Card, MeetingCard, RaceOutcome
from bot.slack.messages.answers.day_answer import (
    abandoned_in_text,
    abandoned_lines,
    abandoned_units,
    command_line,
    completeness,
    place_of,
    small_print,
    unchecked_words,
)
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.kit.blocks import header, mrkdwn, section
from bot.slack.messages.kit.buttons import command_button, fits
from bot.slack.messages.kit.names import PERSON_MAX, SHORT_MAX, course_name, horse_name, race_details, race_line
from bot.slack.messages.kit.pages import Turning, paged
from bot.slack.messages.kit.text import SECTION_MAX, clip, counted, joined, safe, sentences, size
from bot.slack.messages.kit.times import off_for_readers

CARD_LINE_MAX = 300
MORE_ROOM = 40


def racecard(
    card: Card, today: date, unchecked: Sequence[str] = (), page: int = 1, reader: AnswerReader = NOBODY_KNOWN
) -> Message:
    title = f"Racecard: {place_of(card.region, card.course)}, {card.day.isoformat()}"
    said = [words for words in (completeness(card, today, unchecked, reader), unchecked_words(unchecked)) if words]
    races = sum(len(meeting.races) for meeting in card.meetings)
    summary = f"{counted(len(card.meetings), 'meeting')}, {counted(races, 'race')}" if card.meetings else None
    lost = abandoned_lines(card.outcomes, card.region)
    text = sentences([joined([title, summary], ": "), abandoned_in_text(lost), *said])
    head = [header(title), section("\n".join([*said, *([summary] if summary else [])]))]
    units = _course_units(card) if card.course else [_meeting(place, card) for place in range(len(card.meetings))]
    turn = Turning(command_line("racecard", card), page)
    return paged(text, head, [*abandoned_units(lost), *units], small_print(card), turn)


def lines_section(first: str, lines: Iterator[str] | Sequence[str], total: int) -> Block:
    shown, room = [first], SECTION_MAX - size(first) - MORE_ROOM
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = total - len(shown) + 1
    return {"type": "section", "text": mrkdwn("\n".join([*shown, *([f"and {left} more"] if left else [])]))}


def meeting_title(meeting: MeetingCard, card: Card) -> str:
    name = course_name(meeting.races[0].model_copy(update={"course": meeting.course})) or "course not named"
    region = safe(meeting.region, SHORT_MAX) if card.region is None else None
    lost = any(
        is_same_course(event.race.course, meeting.course) and event.race.region in {meeting.region, None}
        for event in card.outcomes.lost
    )
    return joined(
        [joined([f"*{name}*", f"({region})" if region else None], " "), "*meeting abandoned*" if lost else None]
    )


def course_button(label: str, name: str, meeting: MeetingCard, card: Card) -> Block | None:
    """None without a course, or if the name is too long for a button."""
    course = meeting.course.course_id or meeting.course.name
    if not course:
        return None
    words = [name, meeting.region or card.region, card.day.isoformat(), '"' + course.replace('"', "") + '"']
    button = command_button(label, " ".join(filter(None, words)))
    return button if fits(button) else None


def _meeting(place: int, card: Card) -> Block:
    meeting = card.meetings[place]
    going = safe(meeting.going)
    first = joined([meeting_title(meeting, card), f"Going: {going}" if going else None])
    lines = [_race(race, outcome) for race, outcome in card.outcomes.of_meeting(place)]
    block = lines_section(first, lines, len(lines))
    button = course_button("Card", "racecard", meeting, card)
    return block | ({"accessory": button} if button else {})


def _race(race: Race, outcome: RaceOutcome) -> str:
    return joined([clip(race_line(race), CARD_LINE_MAX), _called_off(race, outcome)])


def _called_off(race: Race, outcome: RaceOutcome) -> str | None:
    said = joined(["*abandoned*", safe(race.reason, SHORT_MAX)], ": ")
    return {
        RaceOutcome.SETTLED: None,
        RaceOutcome.ABANDONED: said,
        RaceOutcome.BOTH: conflict_words(race),
        RaceOutcome.VOID: "*void*",
        RaceOutcome.OPEN: None,
    }[outcome]


def conflict_words(race: Race) -> str:
    because = safe(race.reason, SHORT_MAX * 2)
    return f"*CONFLICT*: reported abandoned{f' ({because})' if because else ''} and as run: check"


def _course_units(card: Card) -> list[Block]:
    several = len(card.meetings) > 1
    return [
        _race_with_runners(race, outcome, meeting_title(meeting, card) if several else None)
        for place, meeting in enumerate(card.meetings)
        for race, outcome in card.outcomes.of_meeting(place)
    ]


def _race_with_runners(race: Race, outcome: RaceOutcome, at: str | None) -> Block:
    off, lost = off_for_readers(race.off), _called_off(race, outcome)
    runners = [runner for runner in race.runners if runner.horse or runner.number]
    if not runners and race.field_size:
        return lines_section(_race(race, outcome), [], 0)
    name = joined([at, f"*{off}*" if off else None, clip(race_details(race), CARD_LINE_MAX) or None, lost], "  ")
    return lines_section(name or race_line(race), map(_runner, runners), len(runners))


def _runner(runner: Runner) -> str:
    """For example "4  Desert Crown (3) · R Moore / A O'Brien · OR 121"."""
    number, draw = safe(runner.number, SHORT_MAX), safe(runner.draw, SHORT_MAX)
    people = joined([safe(runner.jockey, PERSON_MAX), safe(runner.trainer, PERSON_MAX)], " / ")
    rating, price = safe(runner.official_rating, SHORT_MAX), safe(runner.starting_price, SHORT_MAX)
    horse = horse_name(runner) if runner.horse else None
    named = joined([number, joined([horse, f"({draw})" if draw else None], " ")], "  ")
    not_run = "non-runner" if runner.is_out else None
    return clip(
        joined([named, people or None, f"OR {rating}" if rating else None, f"SP {price}" if price else None, not_run]),
        CARD_LINE_MAX,
    )
