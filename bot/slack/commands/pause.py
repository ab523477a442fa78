"""`/racing pause` and `/racing resume`."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sqlmodel import Session

from bot.channels import ack_request, pauses, subscriptions, watches
from bot.errors import CommandError
from bot.events.days import UTC_NAME, WEEKDAYS, is_day, likely_day, parse_day, zone_of
from bot.events.typed_times import read_clock, read_length
from bot.operations.status_figures import FIGURES_COVER
from bot.outbox import acknowledgements, backlog, held_queues
from bot.outbox.acknowledgements import Untaken
from bot.outbox.channel_closing import pause_channel
from bot.outbox.channel_move import move_person
from bot.outbox.message import Message
from bot.slack.channel_membership import DIRECT_MESSAGE, is_member
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.subscription_changes import audited, change
from bot.slack.messages.answers import pause_and_mute as messages

PAUSE_MEMBERSHIP_S = 0.8
"""Part of the three seconds before the ack."""

NOTHING_TO_PAUSE = "This channel has no subscriptions and no watches, so there is nothing to pause."

LONGEST_PAUSE = timedelta(days=365)
_HALF_UNSAID = re.compile(r"(?:1[0-2]|[1-9])[:.]\d{2}", re.ASCII)
"""A racing time: 2.30 may mean afternoon or night."""

_UNTIL = ("until", "till", "til")
_HALF_DAY = 12
_END_OF_DAY = "24"
_MORNING_H = 10
"""Of a named day, 10.30 is in the morning: there is racing at 2.30."""


@dataclass(frozen=True)
class Paused:
    """`until` is None for a pause without an end. `zone`: the time zone used for reading a day or time.

    `asks`: abandonments of the channel are to be acknowledged. `untaken`: of the channel, and nobody has taken them.
    """

    until: datetime | None
    zone: str | None = None
    asks: bool = False
    untaken: Untaken | None = None


async def commit_pause(desk: Desk, invocation: Invocation) -> Paused:
    """Raises CommandError for an unknown time, and without a subscription or watch."""
    await desk.people.check_may_change(invocation, invocation.channel_id)
    paused = await _read(desk, invocation)
    is_direct = invocation.channel_id.startswith(DIRECT_MESSAGE)
    left_s = invocation.left_s(PAUSE_MEMBERSHIP_S)
    is_own = is_direct and await is_member(desk.slack, invocation.channel_id, left_s) is not False

    def pause(session: Session) -> Paused | None:
        """None if there is nothing to pause."""
        if is_own:
            # Watches may be under the person's id still.
            move_person(session, invocation.user_id, invocation.channel_id)
        with audited(session, desk, invocation, "pause"):
            if not pause_channel(session, invocation.channel_id, paused.until, desk.clock()):
                return None
        rows = subscriptions.of_channel(session, invocation.channel_id)
        asks = any(ack_request.asks(subscriptions.read_filter(row)) for row in rows)
        untaken = acknowledgements.untaken(session, desk.clock() - FIGURES_COVER, invocation.channel_id)
        return replace(paused, asks=asks, untaken=untaken)

    committed = await change(desk, invocation, pause)
    if committed is None:
        raise CommandError(NOTHING_TO_PAUSE)
    return committed


async def check_pause(desk: Desk, invocation: Invocation) -> None:
    await _read(desk, invocation)

    def look(session: Session) -> None:
        channel_id = invocation.channel_id
        places = {channel_id, invocation.user_id} if channel_id.startswith(DIRECT_MESSAGE) else {channel_id}
        watching = any(watches.has_any(session, one) for one in places)
        if not watching and not subscriptions.of_channel(session, channel_id):
            raise CommandError(NOTHING_TO_PAUSE)

    await desk.database.read(look)


async def answer_pause(desk: Desk, _invocation: Invocation, committed: Paused) -> Message:
    return messages.paused(
        committed.until,
        desk.clock(),
        desk.settings.queue_keep_hours,
        committed.zone,
        asks=committed.asks,
        untaken=committed.untaken,
    )


@dataclass(frozen=True)
class Resumed:
    """How many subscriptions and watches were paused, and how many messages waited, or were given up meanwhile."""

    paused: int
    waited: int
    dropped: int
    is_closed: bool


async def commit_resume(desk: Desk, invocation: Invocation) -> Resumed:
    await check_resume(desk, invocation)
    await desk.people.check_may_change(invocation, invocation.channel_id)

    def resume(session: Session) -> Resumed:
        channel_id = invocation.channel_id
        held = held_queues.held_of(session, channel_id)
        waited = backlog.count_waiting(session, channel_id)
        dropped = backlog.count_given_up(session, channel_id, held) if held else 0
        with audited(session, desk, invocation, "resume"):
            paused = desk.reopening.resume(session, channel_id, desk.clock())
        return Resumed(paused, waited, dropped, held_queues.closing_of(session, channel_id) is not None)

    return await change(desk, invocation, resume)


async def answer_resume(desk: Desk, _invocation: Invocation, committed: Resumed) -> Message:
    desk.wake.set()
    return messages.resumed(committed.paused, committed.waited, committed.dropped, is_closed=committed.is_closed)


async def check_resume(_desk: Desk, invocation: Invocation) -> None:
    if invocation.text:
        raise CommandError("It is /racing resume, without further words.", lines={"resume": "resume"})


async def would_resume(desk: Desk, invocation: Invocation) -> bool:
    """True if the channel is paused. Raises CommandError as `check_resume`."""
    await check_resume(desk, invocation)
    now = desk.clock()

    def is_paused(session: Session) -> bool:
        return pauses.until(session, invocation.channel_id, now) is not None

    found: bool = await desk.database.read(is_paused)
    return found


async def _read(desk: Desk, invocation: Invocation) -> Paused:
    """The end of the pause: by a length of time, or by day and time in the person's zone, else UTC."""
    now, text = desk.clock(), " ".join(invocation.text.split())
    word, _, rest = text.partition(" ")
    if word.lower() not in _UNTIL:
        length = read_duration(rest if word.lower() == "for" and rest else text, now.date())
        return Paused(now + length if length else None)
    person = await desk.people.person(invocation.user_id)
    zone = zone_of(person.zone if person else None)
    until = read_until(rest, now.astimezone(zone))
    return Paused(until.astimezone(UTC), getattr(zone, "key", UTC_NAME))


def read_duration(text: str, today: date | None = None) -> timedelta | None:
    """For example "30m", "2 hours", "1d" or "1h30m"; None for "". Raises CommandError for other words."""
    typed = text.strip()
    if not typed:
        return None
    length = read_length(typed)
    if length is None or not timedelta(0) < length <= LONGEST_PAUSE:
        is_moment = read_clock(typed) is not None or is_day(typed, today or date(2000, 1, 1))
        raise CommandError(
            f'I can\'t pause for "{typed[:40]}". Write 30m, 2h, 1d or 1h30m, up to 365d, or until 18:00; '
            "/racing pause alone lasts until /racing resume.",
            lines={f"until {typed}": f"pause until {typed}"} if is_moment else None,
        )
    return length


def read_until(text: str, now: datetime) -> datetime:
    """The next moment for the words, in the zone of `now`: a time, the beginning of a day, or both.

    A past time alone means tomorrow. Raises CommandError for other words, for a past moment, beyond LONGEST_PAUSE, and
    for a time such as 2.30 without "am" or "pm".
    """
    words = [word for word in text.replace(",", " ").split() if word.lower() not in {"at", "on", "the"}]
    clocks = [
        (at, size)
        for size in (2, 1)
        for at in range(len(words) - size + 1)
        if read_clock(" ".join(words[at : at + size]))
    ]
    # A time with "am" or a colon; not the 22 of "22 Nov".
    at, size = next(iter(clocks), (len(words), 0))
    typed_clock = " ".join(words[at : at + size])
    clock = read_clock(typed_clock) or time()
    day_words = " ".join(words[:at] + words[at + size :])
    day = _day_of(day_words, now) if day_words or not size else now.date()
    if typed_clock.startswith(_END_OF_DAY) and day < date.max:
        day += timedelta(days=1)
    if _HALF_UNSAID.fullmatch(typed_clock) and not (day_words and clock.hour >= _MORNING_H):
        _check_half(typed_clock, clock, day if day_words else None, now)
    until = datetime.combine(day, clock, now.tzinfo)
    if until <= now and (not day_words or day_words.lower() in _WEEKLY):
        until = datetime.combine(day + timedelta(days=1 if not day_words else 7), clock, now.tzinfo)
    if not now < until <= now + LONGEST_PAUSE:
        why = "is past" if until <= now else "is more than 365 days away"
        raise CommandError(f'"{text[:40]}" {why}. {_EXAMPLES}')
    return until


def _check_half(typed: str, clock: time, day: date | None, now: datetime) -> None:
    """Raise CommandError with both readings of an ambiguous time. A time still to come today is taken."""
    first = datetime.combine(day or now.date(), clock, now.tzinfo)
    if day is None and first > now:
        return
    moments = [first, first + timedelta(hours=_HALF_DAY if clock.hour < _HALF_DAY else -_HALF_DAY)]
    if day is None:
        moments = sorted(moment if moment > now else moment + timedelta(days=1) for moment in moments)
    readings = {_reading(moment, now): moment for moment in moments}
    raise CommandError(
        f"{typed} may be {' or '.join(readings)}. Until when?",
        lines={label: f"pause until {moment:%Y-%m-%d %H:%M}" for label, moment in readings.items()},
    )


def _reading(moment: datetime, now: datetime) -> str:
    days = {0: "today", 1: "tomorrow"}
    day = days.get((moment.date() - now.date()).days, f"on {moment:%a} {moment.day} {moment:%b}")
    return f"{moment:%H:%M} {day}"


_WEEKLY = frozenset((*WEEKDAYS, *(day[:3] for day in WEEKDAYS)))
_EXAMPLES = "Write until 18:00, until tomorrow, until Sunday, until 22 Nov or until tomorrow 09:00."


def _day_of(words: str, now: datetime) -> date:
    try:
        day = parse_day(words, now.date())
    except (ValueError, OverflowError) as error:
        meant = [one.isoformat() for one in getattr(error, "meant", ())]
        lines = {f"until {one}": f"pause until {one}" for one in meant}
        raise CommandError(f'"{words[:40]}" is not a day. {_EXAMPLES}', lines=lines) from None
    if day is None:
        meant_day = likely_day(words)
        lines = {f"until {meant_day}": f"pause until {meant_day}"} if meant_day else {}
        unread = f'I can\'t read the time "{words[:40]}".' if words else "Until when?"
        raise CommandError(f"{unread} {_EXAMPLES}", lines=lines)
    return day
