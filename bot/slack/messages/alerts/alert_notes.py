"""The parts shared by all event messages: lateness, conflicts, links to other messages, small print, buttons.

Also an abandonment to be acknowledged, and messages that tell of no race: a notice about the bot, a drill, a delivery
that could not be read.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from bot.channels.filters import QUIETED, meeting_of
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import only
from bot.events.kinds import DECLARATIONS
from bot.events.races import Race
from bot.events.sentences import counted, listed
from bot.outbox.acknowledgements import Escalation, Untaken
from bot.outbox.message import Block, Message
from bot.outbox.message_view import AskedInView
from bot.outbox.notices import Urgency
from bot.slack.messages.alerts.alert_context import MessageContext, late_in_words
from bot.slack.messages.alerts.corrections import DISAGREE, corrected_in_words, repeated_in_words
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit.blocks import action_button, actions, command_button, context_block, header, section
from bot.slack.messages.kit.layout import MessagePart, lines, message
from bot.slack.messages.kit.marks import CONFLICTING, CORRECTED, DRILLED, LEVELS, TAKEN_OVER, UNREAD
from bot.slack.messages.kit.names import SHORT_MAX, doubtful_name, order_note, present_state, race_day
from bot.slack.messages.kit.text import (
    as_words,
    clip,
    code,
    first_of,
    given,
    joined,
    link_to,
    mentions_in_markup,
    named,
    safe,
    with_mentions,
)
from bot.slack.messages.kit.times import in_readers_zone, published_moment

MUTE = "mute_meeting"

_FROM_BOOK = "region course.name race_date off title race_class race_type distance going surface reason runners"
_BOOK_WORDS = {"course.name": "course", "off": "time", "title": "name"}
"""The fields of a race that the small print names, and their words; other fields go by their own names."""

ACKNOWLEDGE = "acknowledge"
GIVE_BACK = "give_back"
I_HAVE_IT = "I have it"

ALERT_MAX = 600
EVENT_NAME_MAX = 80

HEADLINE = f"{UNREAD} A delivery could not be read: it may be an abandonment"


def alert(
    event: RacingEvent,
    context: MessageContext,
    title: str,
    first: str,
    *,
    facts: str,
    said: Sequence[str | None],
    in_text: str | None = None,
    listed: Sequence[str] = (),
    details_filled_in: bool = False,
    conflict_said: bool = False,
) -> Message:
    """The message of a lost race or meeting. `first` begins the text.

    `facts` and `listed` stand in the blocks alone, `in_text` in the text alone, `said` in both.
    """
    watched = watch_lines(event, context)
    text = [first, *watched, in_text, *map(_in_text, filter(None, said))]
    small = small_print(event, context, details_filled_in=details_filled_in)
    parts = [lines(listed), small, alert_buttons(event, context)]
    above = ["\n".join(watched), facts]
    return framed(event, context, title, text, above, notes=said, parts=parts, conflict_said=conflict_said)


def framed(
    event: RacingEvent,
    context: MessageContext,
    title: str | None,
    text: Sequence[str | None],
    said: Sequence[str | None],
    *,
    notes: Sequence[str | None],
    parts: Sequence[MessagePart],
    conflict_said: bool = False,
) -> Message:
    """The frame of every event's message. `text`: the notification's sentences, before the asides.

    `said`: sections, followed by a section of `notes` and asides. `conflict_said`: CONFLICT stands before.
    """
    beside = _asides(event, context, conflict_said=conflict_said)
    # In the blocks the small print has the link.
    earlier = None if context.contradicts else given("See the {}", _earlier_message(context))
    above = _superseded(context)
    told = joined([_in_text(above), *text, *map(_in_text, beside), earlier], ". ") + (
        given(" ({})", late_in_words(context)) or ""
    )
    sections = map(section, [*said, joined([*notes, *beside], "\n")])
    return headed(told, title, context.mentions, [*sections, *parts], above)


def headed(
    text: str,
    title: str | None,
    mentions: Iterable[str],
    parts: Iterable[MessagePart],
    above: str = "",
) -> Message:
    """A channel's message, with the mentions below the header, and in the text."""
    rung = [*mentions]
    head = [section(above), header(title) if title else None, section(mentions_in_markup(rung))]
    return message(with_mentions(text, rung), [*head, *parts])


def _in_text(words: str) -> str:
    return words.removeprefix(f"{CORRECTED} ")


def alert_buttons(event: RacingEvent, context: MessageContext, *more: Block) -> Block | None:
    """`more`: of one kind of event."""
    asked = context.asked
    is_quieted = asked is None and event.topic in QUIETED and meeting_of(event.race).is_known
    buttons = [
        *([acknowledge_button(asked.key)] if asked is not None and asked.by is None else []),
        *more,
        *([action_button("Mute this meeting", MUTE, event.key)] if is_quieted else []),
        command_button("Who was told", f"trace {event.key}"),
    ]
    return actions(buttons)


def _asides(event: RacingEvent, context: MessageContext, *, conflict_said: bool) -> list[str]:
    """Sentences on corrections and on related messages."""
    said = [taken_words(context.asked)]
    if context.corrected:
        said.append(f"{CORRECTED} {corrected_in_words(context.corrected, event.race)}")
    if context.repeated:
        said.append(f"{CORRECTED} {repeated_in_words(context.repeated, event.race)}")
    if context.in_meeting:
        is_card = event.kind is EventKind.RACECARD_PUBLISHED
        of_card = f"{'Part of this' if context.partly_run else 'This'} meeting was abandoned"
        words = of_card if is_card else "Part of the abandoned meeting"
        said.append(joined([words, link_to(context.meeting_link, "see its message")], ": "))
    if context.contradicts is not None:
        link = _earlier_message(context)
        kind = "Check" if conflict_said else "CONFLICT: check"
        # A header does not say that a whole meeting was reported abandoned.
        said_by_header = context.contradicts in {EventKind.RACE_ABANDONED, EventKind.RESULT_RECEIVED} or link
        is_said = conflict_said and said_by_header and context.contradicts != EventKind.MEETING_ABANDONED
        other = given("see the {}", link) if is_said else DECLARATIONS[context.contradicts].contradicted
        said.append(joined([f"{kind} before you act", other], ": "))
        said.append(None if is_said else given("See the {}", link))
    elif event.in_doubt:
        said.append("Check before you act")
    return [words for words in said if words]


def _earlier_message(context: MessageContext) -> str | None:
    return link_to(context.previous_link, "earlier message")


def other_day(event: RacingEvent, context: MessageContext) -> str:
    """For example ", Sat 28 Nov", if different from the day of receipt: readers take "14:30" for today.

    The missing day of a loss is named.
    """
    if event.race.race_date == context.received_at.date().isoformat():
        return ""
    unknown = "date not given" if event.reports_loss else None
    return given(", {}", race_day(event.race) or unknown) or ""


def _superseded(context: MessageContext) -> str:
    later = context.superseded
    if later is None:
        return ""
    link, clock = link_to(context.later_link, "later message") or "later message", in_readers_zone(later.at)
    if later.by is None:
        mark, disagrees = (CONFLICTING, f"{DISAGREE.lower()}, ") if later.disagrees else (CORRECTED, "")
        return f"{mark} Superseded {clock}: {disagrees}see the {link}"
    see = f", see the {link}" if later.is_posted else ""
    return f"{CONFLICTING} Contradicted {clock}: {DECLARATIONS[later.by].contradicted}{see}"


def small_print(event: RacingEvent, context: MessageContext, *, details_filled_in: bool = False) -> Block | None:
    """The last line: date, winning time, receipt. `/racing trace` shows the ids.

    `details_filled_in`: the lines of races show fields from the race book (`shows_filled_in`).
    """
    is_result, country = event.kind is EventKind.RESULT_RECEIVED, context.country
    later = "another version" if context.order_unknown else "corrected"
    came = later if only(context.changes, additions=False) else "received"
    return context_block(
        # As published, for copying into a command.
        safe(event.race.race_date, SHORT_MAX),
        given("winning time {}", safe(event.race.winning_time, SHORT_MAX)) if is_result else None,
        f"{came} {in_readers_zone(context.received_at)}",
        _from_book(event, details_filled_in),
        given("told without runners and races: {}", safe(event.unreadable_because)) if event.kind else None,
        None if context.contradicts else _earlier_message(context),
        order_note((country,), {country.country_code}) if country else None,
        given("data as of {}", published_moment(event.data_as_of, context.received_at)),
        late_in_words(context),
        "may be a repeat" if context.may_be_repeat else None,
    )


def shows_filled_in(races: Iterable[Race], line: Callable[[Race], str]) -> bool:
    """True if a race's line shows a field from the race book.

    A filled-in field may be absent from the line: a reason equal to the meeting's reason is left out.
    """
    return any(line(race) != line(race.as_delivered()) for race in races if race.from_book)


def _from_book(event: RacingEvent, details_filled_in: bool) -> str | None:
    names = [name for name in _FROM_BOOK.split() if name in event.race.from_book]
    words = [_BOOK_WORDS.get(name, name.removeprefix("race_")) for name in names]
    if event.races_from_book:
        words.append("races")
    elif details_filled_in:
        words.append("details of races")
    return given("{} from the bot's records", listed(words))


def acknowledge_button(key: str) -> Block:
    """`key`: of the abandonment's message."""
    return action_button(I_HAVE_IT, ACKNOWLEDGE, key) | {"style": "primary"}


def give_back_button(key: str) -> Block:
    return action_button("I don't have it", GIVE_BACK, key)


def taken_words(asked: AskedInView | None) -> str | None:
    """None until somebody has the abandonment."""
    if asked is None or asked.by is None or asked.at is None:
        return None
    return f"{TAKEN_OVER} {named(asked.by)} has it since {in_readers_zone(asked.at)}"


def untaken_words(untaken: Untaken, where: str) -> str:
    """For example "Not taken here: 1 abandonment of the last 24 hours (Ascot 14:30)". `where`: " here"."""
    told = counted(untaken.count, "abandonment")
    return f"Not taken{where}: {told} of the last 24 hours ({untaken_named(untaken)})"


def untaken_named(untaken: Untaken) -> str:
    """For example "Ascot 14:30, York (whole meeting) and 2 more"."""
    names = [doubtful_name(event, untaken.partly_run) for event in untaken.first]
    return listed(first_of(names, len(names), "{} more", untaken.count))


def escalation(told: Escalation, alert: str, link: str | None) -> Message:
    """`alert`: the text of the abandonment's message. `link`: to the alert in its channel, if any."""
    taken, channel_id = taken_words(told.alert.beside.asked), told.alert.post.channel_id
    first, channel = clip(alert, ALERT_MAX), named(channel_id)
    mark = present_state(told.alert.event, "")[0]
    see = link_to(link, "See the alert") or f"The alert is for {channel}"
    where = see if link is None or told.post.channel_id == channel_id else f"{see} in {channel}"
    people, pressed = told.people, actions([acknowledge_button(told.alert.post.idempotency_key)])
    if told.is_replaced or taken:
        people, pressed = (), None
    if taken:
        news, said = taken, f"{taken}. {where}."
    elif told.is_replaced:
        news, said = f"A newer message in {channel} has more", f"{where}. A newer message there has more."
    else:
        news = f"Nobody has taken it after {counted(told.minutes, 'minute')}."
        said = joined([news, mentions_in_markup(people), f"{where}."], " ")
    repeat = context_block("may be a repeat" if told.post.may_be_repeat else None)
    blocks = [section(f"{mark} *{first}*"), section(said), pressed, repeat]
    return message(with_mentions(f"{first}. {news}", people), blocks)


def admin_notice(urgency: Urgency, words: str, named_ids: Iterable[str] = ()) -> Message:
    """Plain words behind the level. An urgent notice has a header. `named_ids` in the words are shown as names."""
    level = LEVELS[urgency]
    shown = as_words(words, named_ids)
    if urgency is Urgency.CRITICAL:
        return message(f"{level}: {shown}", [header(level), section(shown)])
    return message(f"{level}: {shown}", [section(f"*{level}:* {shown}")])


def drill(event: RacingEvent, context: MessageContext) -> Message:
    """The text begins with DRILL, in the notification too, and imitates no abandonment."""
    begun_by = event.drill.begun_by if event.drill else None
    who = named(begun_by) if begun_by else "an admin"
    words = f"Started by {who}. No race is affected."
    received = f"received {in_readers_zone(context.received_at, seconds=True)}"
    repeat = "may be a repeat" if context.may_be_repeat else None
    return message(
        f"DRILL: only a test of the alerts, started by {who}. There is nothing to do.",
        [
            header(f"{DRILLED} DRILL: only a test, nothing to do"),
            section(words),
            context_block(code(event.key), received, repeat),
        ],
    )


def unreadable(event: RacingEvent, context: MessageContext) -> Message:
    name = re.sub("[._]+", " ", event.name or "").strip()
    named_as = given('The data service calls it "{}".', safe(name, EVENT_NAME_MAX))
    check = joined(["Check your other source. Admins were told.", named_as], " ")
    text = f"A delivery could not be read: it may be an abandonment. {check}"
    parts = [small_print(event, context), alert_buttons(event, context)]
    return framed(event, context, HEADLINE, [text], [], notes=[check], parts=parts)
