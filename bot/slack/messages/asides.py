"""What every message can say beside its facts: lateness, contradiction, the earlier message, and the small print."""

import re

from bot.domain.events import EventKind, RacingEvent
from bot.domain.message import Block
from bot.slack.messages.blocks import context as context_block
from bot.slack.messages.blocks import mrkdwn, plain_text
from bot.slack.messages.context import MessageContext
from bot.slack.messages.names import ID_MAX, SHORT_MAX, race_date, region_in_words
from bot.slack.messages.text import plain, safe
from bot.slack.messages.times import in_readers_zone, minutes_late

_LINK = re.compile(r"https://[!-;=?-{}~]{1,500}")
"""Printable ASCII without the three characters that would end a link's address."""

_CONTRADICTED = {
    EventKind.RACE_ABANDONED: "this race was reported abandoned",
    EventKind.MEETING_ABANDONED: "this meeting was reported abandoned",
    EventKind.RESULT_RECEIVED: "a result was reported",
    EventKind.RACECARD_PUBLISHED: "this card was reported on",
}


def late_mark(event: RacingEvent, context: MessageContext) -> str:
    """What ends a late message's text, " (42 min late)", or nothing."""
    minutes = minutes_late(event, context)
    return f" ({minutes} min late)" if minutes else ""


def asides(context: MessageContext) -> list[str]:
    """Sentences on how this message stands to the one before."""
    said: list[str] = []
    if context.contradicts is not None:
        said.append(f"Contradicts an earlier message: {_contradicted(context.contradicts)}")
    if context.order_unknown:
        said.append("Which version is the newer is not known")
    if context.previous_link and _LINK.fullmatch(context.previous_link):
        said.append(f"See the <{context.previous_link.replace('&', '&amp;')}|earlier message>")
    return said


def small_print(event: RacingEvent, context: MessageContext) -> Block | None:
    """The last line of every message: region, date, ids, and when it came."""
    received = mrkdwn(f"received {in_readers_zone(context.received_at, seconds=True)}")
    elements = [*_of_the_event(event), received, *_of_the_post(event, context)]
    return context_block(elements)


def _of_the_event(event: RacingEvent) -> list[Block]:
    # Ids stand as plain text, exactly as they came, because people copy them into commands.
    race_id, meeting_id = plain(event.race.race_id, ID_MAX), plain(event.race.meeting_id, ID_MAX)
    texts = (region_in_words(event), race_date(event.race))
    ids = (f"race {race_id}" if race_id else None, f"meeting {meeting_id}" if meeting_id and not race_id else None)
    return [mrkdwn(text) for text in texts if text] + [plain_text(text) for text in ids if text]


def _of_the_post(event: RacingEvent, context: MessageContext) -> list[Block]:
    as_of = safe(context.data_as_of, SHORT_MAX)
    minutes = minutes_late(event, context)
    said = (
        f"data as of {as_of}" if as_of else None,
        f"corrected {in_readers_zone(context.received_at)}" if context.changes else None,
        f"{minutes} min late" if minutes else None,
        "may be a repeat" if context.may_be_repeat else None,
    )
    return [mrkdwn(text) for text in said if text]


def _contradicted(by: str) -> str:
    known = {kind.value: words for kind, words in _CONTRADICTED.items()}
    return known.get(by) or safe(by) or "what it said is not known"
