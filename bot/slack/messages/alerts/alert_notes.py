"""The parts shared by all event messages: lateness, conflicts, links to other messages, small print."""

import re
from collections.abc import Callable, Iterable
from functools import partial

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import only
from bot.events.kinds import DECLARATIONS
from bot.events.races import Race
from bot.outbox.message import Block, Blocks, Message
from bot.slack.messages.alerts.acknowledge_words import taken_words
from bot.slack.messages.alerts.alert_context import MessageContext, SupersededBy, minutes_late
from bot.slack.messages.alerts.corrections import DISAGREE, corrected_in_words, repeated_in_words
from bot.slack.messages.alerts.finishing_order import order_note
from bot.slack.messages.kit.blocks import context as context_block
from bot.slack.messages.kit.blocks import mrkdwn, section
from bot.slack.messages.kit.marks import CONFLICTING, CORRECTED
from bot.slack.messages.kit.names import SHORT_MAX, race_date, race_day
from bot.slack.messages.kit.text import TEXT_MAX, clip, safe
from bot.slack.messages.kit.times import in_readers_zone, published_moment, utc_clock

_LINK = re.compile(r"https://[!-;=?-{}~]{1,500}")
"""Printable ASCII without the characters that end a link's address: `<`, `>` and `|`."""

_BOOK_WORDS = {
    "region": "region",
    "course.name": "course",
    "race_date": "date",
    "off": "time",
    "title": "name",
    "race_class": "class",
    "race_type": "type",
    "distance": "distance",
    "going": "going",
    "surface": "surface",
    "reason": "reason",
    "runners": "runners",
}


def late_mark(context: MessageContext) -> str:
    minutes = minutes_late(context)
    return f" (alert {minutes} min late)" if minutes else ""


def asides(
    context: MessageContext,
    race: Race | None = None,
    *,
    in_text: bool = False,
    conflict_said: bool = False,
    link_said: bool = False,
) -> list[str]:
    """Sentences on corrections and on related messages.

    `race`: of a result, for the horses of a dead heat. `in_text`: for a notification, with times in UTC and without
    marks. `conflict_said`: CONFLICT stands before. `link_said`: the link to the earlier message too.
    """
    edited = "" if in_text else f"{CORRECTED} "
    said = list[str]()
    if context.asked and context.asked.by and context.asked.at:
        clock = utc_clock(context.asked.at) if in_text else in_readers_zone(context.asked.at)
        said.insert(0, taken_words(context.asked.by, clock))
    if context.corrected:
        clock = utc_clock(context.corrected.at) if in_text else in_readers_zone(context.corrected.at)
        said.append(edited + corrected_in_words(context.corrected, clock, race or Race()))
    if context.repeated:
        clock = utc_clock(context.repeated.at) if in_text else in_readers_zone(context.repeated.at)
        said.append(edited + repeated_in_words(context.repeated, clock, race or Race()))
    if context.in_meeting or context.card_lost:
        words = "This meeting was abandoned" if context.card_lost else "Part of the abandoned meeting"
        link = _linked(context.meeting_link, "see its message")
        said.append(f"{words}: {link}" if link else words)
    link = None if link_said else earlier_message(context)
    if context.contradicts is not None:
        kind = "Check" if conflict_said else "CONFLICT: check"
        # A header does not say that a whole meeting was reported abandoned.
        is_said = conflict_said and link and context.contradicts != EventKind.MEETING_ABANDONED
        said.append(f"{kind} before you act: {f'see the {link}' if is_said else _contradicted(context.contradicts)}")
        link = None if is_said else link
    return [*said, f"See the {link}"] if link else said


def earlier_message(context: MessageContext) -> str | None:
    return _linked(context.previous_link, "earlier message")


def other_day(event: RacingEvent, context: MessageContext) -> str:
    """For example ", Sat 28 Nov", if different from the day of receipt: readers take "14:30" for today."""
    is_another = event.race.race_date != f"{context.received_at:%Y-%m-%d}"
    day = race_day(event.race)
    return f", {day}" if day and is_another else ""


def superseded(message: Message, context: MessageContext) -> Message:
    if context.superseded is None:
        return message
    later = context.superseded
    mark = CONFLICTING if later.contradicted_by or later.disagrees else CORRECTED
    first = section(f"{mark} {_superseded(later, in_readers_zone(later.at))}")
    text = f"{_superseded(later, utc_clock(later.at))}. {message.text}"
    return message.changed(clip(text, TEXT_MAX), partial(_after, first))


def _superseded(later: SupersededBy, clock: str) -> str:
    link = _linked(later.link, "later message") or "later message"
    if later.contradicted_by is None:
        disagrees = f"{DISAGREE.lower()}, " if later.disagrees else ""
        return f"Superseded {clock}: {disagrees}see the {link}"
    see = f", see the {link}" if later.is_posted else ""
    return f"Contradicted {clock}: {DECLARATIONS[later.contradicted_by].contradicted}{see}"


def _after(first: Block | None, blocks: Blocks) -> Blocks:
    return tuple(block for block in (first, *blocks) if block) if blocks else ()


def _linked(address: str | None, words: str) -> str | None:
    return f"<{address.replace('&', '&amp;')}|{words}>" if address and _LINK.fullmatch(address) else None


def small_print(event: RacingEvent, context: MessageContext, *, details_filled_in: bool = False) -> Block | None:
    """The last line: date, winning time, receipt. `/racing trace` shows the ids.

    `details_filled_in`: the lines of races show fields from the race book (`shows_filled_in`).
    """
    received = mrkdwn(f"{_came(context)} {in_readers_zone(context.received_at)}")
    elements = [*_of_the_event(event, details_filled_in), received, *_of_the_post(context)]
    return context_block(elements)


def shows_filled_in(races: Iterable[Race], line: Callable[[Race], str]) -> bool:
    """True if a race's line shows a field from the race book.

    A filled-in field may be absent from the line: a reason equal to the meeting's reason is left out.
    """
    return any(line(race) != line(race.as_delivered()) for race in races if race.from_book)


def _of_the_event(event: RacingEvent, details_filled_in: bool) -> list[Block]:
    time = safe(event.race.winning_time, SHORT_MAX) if event.kind is EventKind.RESULT_RECEIVED else None
    texts = (
        race_date(event.race),
        f"winning time {time}" if time else None,
        _from_book(event, details_filled_in),
        _plain_form(event),
    )
    return [mrkdwn(text) for text in texts if text]


def _from_book(event: RacingEvent, details_filled_in: bool) -> str | None:
    words = [words for name, words in _BOOK_WORDS.items() if name in event.race.from_book]
    if event.races_from_book:
        words.append("races")
    elif details_filled_in:
        words.append("details of races")
    return f"{_enumerated(words)} from the race book" if words else None


def _plain_form(event: RacingEvent) -> str | None:
    because = safe(event.unreadable_because) if event.kind else None
    return f"told without runners and races: {because}" if because else None


def _enumerated(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _of_the_post(context: MessageContext) -> list[Block]:
    as_of = published_moment(context.data_as_of, context.received_at)
    minutes, country = minutes_late(context), context.country
    said = (
        order_note((country,), {country.country_code}) if country else None,
        f"data as of {as_of}" if as_of else None,
        f"alert {minutes} min late" if minutes else None,
        "may be a repeat" if context.may_be_repeat else None,
    )
    return [mrkdwn(text) for text in said if text]


def _came(context: MessageContext) -> str:
    if not only(context.changes, additions=False):
        return "received"
    return "another version" if context.order_unknown else "corrected"


def _contradicted(by: str) -> str:
    known = {kind.value: declared.contradicted for kind, declared in DECLARATIONS.items()}
    return known.get(by) or safe(by) or "what it said is not known"
