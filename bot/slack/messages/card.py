"""The answer of `/racecard`: a section for each meeting, as many as fit, and what is not known of the card."""

from collections.abc import Callable, Sequence
from datetime import date

from bot.book.card import Card, Coverage, Meeting
from bot.domain.message import Block, Message
from bot.domain.races import Race
from bot.slack.messages.blocks import context, header, mrkdwn, section, weight
from bot.slack.messages.names import SHORT_MAX, course_name, race_line
from bot.slack.messages.text import BLOCKS_MAX, MESSAGE_MAX, SECTION_MAX, TEXT_MAX, clip, counted, joined, safe, size
from bot.slack.messages.times import in_readers_zone

MORE_ROOM = 300
"""Kept free for the line that says how many meetings are left out, with its container."""

LINE_MAX = 300


def racecard(card: Card, today: date, unchecked: Sequence[str] = ()) -> Message:
    """The card as one message, within Slack's limits however much racing there is."""
    title = f"Racecard: {_where(card)}, {card.day.isoformat()}"
    said = [words for words in (_coverage(card, today, unchecked), _unchecked(unchecked)) if words]
    above = [block for block in (header(title), section("\n".join(said))) if block]
    below = [block for block in (_small_print(card),) if block]
    meetings = _meetings(card, BLOCKS_MAX - len(above) - len(below), MESSAGE_MAX - weight([*above, *below]))
    races = sum(len(meeting.races) for meeting in card.meetings)
    summary = f"{counted(len(card.meetings), 'meeting')}, {counted(races, 'race')}" if card.meetings else None
    text = ". ".join([joined([title, summary], ": "), *said])
    return Message(text=clip(text, TEXT_MAX), blocks=(*above, *meetings, *below))


def _where(card: Card) -> str:
    """Region and course: "GB", "Ascot (GB)", "all regions"."""
    region = safe(card.region, SHORT_MAX) or "all regions"
    course = safe(card.course.name, SHORT_MAX * 2) or safe(card.course.course_id) if card.course else None
    return f"{course} ({region})" if course else region


def _meetings(card: Card, blocks: int, room: int) -> list[Block]:
    """The meetings' sections that fit, and a line for those that don't."""
    shown: list[Block] = []
    room -= MORE_ROOM
    for meeting in card.meetings:
        block = _meeting(meeting, card)
        if weight([block]) > room or len(shown) >= blocks - 1:
            break
        shown.append(block)
        room -= weight([block])
    left = len(card.meetings) - len(shown)
    more = section(f"and {counted(left, 'more meeting')}: {_narrower(card)}") if left else None
    return [*shown, more] if more else shown


def _narrower(card: Card) -> str:
    return "add a course" if card.region else "add a region or a course"


def _meeting(meeting: Meeting, card: Card) -> Block:
    """A meeting's section: its name, the going, and as many races as a section holds."""
    name = course_name(meeting.races[0].model_copy(update={"course": meeting.course})) or "course not named"
    region = safe(meeting.region, SHORT_MAX) if card.region is None else None
    going = safe(meeting.going)
    lines = [joined([f"*{name}*" + (f" ({region})" if region else ""), f"Going: {going}" if going else None])]
    room = SECTION_MAX - size(lines[0]) - 40
    for race in meeting.races:
        line = _race(race)
        room -= size(line) + 1
        if room < 0:
            break
        lines.append(line)
    left = len(meeting.races) - len(lines) + 1
    return {"type": "section", "text": mrkdwn("\n".join([*lines, *([f"and {left} more"] if left else [])]))}


def _race(race: Race) -> str:
    """A race on one line, with a word where it was called off."""
    reason = safe(race.reason, SHORT_MAX)
    abandoned = joined(["*abandoned*", reason], ": ") if race.abandoned else None
    return joined([clip(race_line(race), LINE_MAX), abandoned])


def _coverage(card: Card, today: date, unchecked: Sequence[str]) -> str | None:
    """A sentence on what is not shown, or not known; None where the card is whole."""
    told: dict[Coverage, Callable[[], str | None]] = {
        Coverage.COMPLETE: lambda: None if card.meetings else _none(card, today, unchecked),
        Coverage.PARTIAL: lambda: f"This may not be all: {_reached(card)}",
        Coverage.UNREAD: lambda: f"Not read yet: {_reached(card)}",
        Coverage.OUTSIDE_WINDOW: lambda: f"{card.day.isoformat()} is outside your plan's window{_window(card)}.",
        Coverage.QUOTA: lambda: f"{_incomplete(card)}: stopped by quota. {_quota(card)}",
        Coverage.FAILED: lambda: f"{_incomplete(card)}. {_failure(card)}",
    }
    return told[card.coverage]()


def _none(card: Card, today: date, unchecked: Sequence[str]) -> str:
    """That there is none; of a day to come, only that none was declared so far; of unchecked words, nothing."""
    if unchecked:
        return f"Nothing found for {_where(card)} on {card.day.isoformat()}."
    if card.day > today:
        return f"No card has been published yet for {_where(card)} on {card.day.isoformat()}."
    return f"No racing: the data service lists none for {_where(card)} on {card.day.isoformat()}."


def _reached(card: Card) -> str:
    reached = safe(card.reached, SHORT_MAX)
    so_far = f" It has come to {reached}." if reached else ""
    return f"the data service's list has not been read past this day.{so_far} Ask again in a moment, and it goes on."


def _incomplete(card: Card) -> str:
    return "This may not be all" if card.meetings else "Not read"


def _window(card: Card) -> str:
    window = safe(card.window)
    return f" ({window})" if window else ""


def _quota(card: Card) -> str:
    """The service's own refusal, or else ours."""
    if card.failure is not None:
        return _failure(card)
    return "Commands have spent their share (COMMAND_QUOTA_SHARE) of what the month has left."


def _failure(card: Card) -> str:
    told = getattr(card.failure, "told", None)
    return safe(str(told or card.failure or ""), 600) or "The data service did not do what was asked."


def _unchecked(words: Sequence[str]) -> str | None:
    """A warning: what is no region would find nothing, and look like a day without racing."""
    named = [word for word in (safe(word, SHORT_MAX) for word in words) if word]
    if not named:
        return None
    return f"I could not check {' and '.join(named)} against the data service's lists: taken as typed."


def _small_print(card: Card) -> Block | None:
    as_of = safe(card.data_as_of, SHORT_MAX)
    said = (
        f"read {in_readers_zone(card.read_at)}" if card.read_at else None,
        f"data as of {as_of}" if as_of else None,
        "dates and times as published",
    )
    return context([mrkdwn(words) for words in said if words])
