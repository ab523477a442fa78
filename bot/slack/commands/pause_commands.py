"""`/racing pause` and `/racing resume`, and the buttons that mute a meeting. Abandonments are never muted."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import takewhile

from sqlmodel import Session

from bot.channels import mutes, subscriptions, watches
from bot.channels.filters import Abandonments, Meeting, asks, meeting_of
from bot.errors import CommandError
from bot.events import event_store
from bot.events.days import UTC_NAME, WEEKDAYS, likely_day, zone_of
from bot.events.event import Topic
from bot.events.races import is_same_course
from bot.events.sentences import listed
from bot.events.typed_times import in_figures, read_clock, read_length, read_race_number
from bot.operations.status_figures import FIGURES_COVER
from bot.outbox import acknowledgements, backlog, held_queues
from bot.outbox.held_channels import pause_channel
from bot.outbox.message import Message
from bot.racedata.day import lacks_meeting
from bot.slack.commands.day_commands import DayPlan, day_grammar, day_plan, only_abandonments
from bot.slack.commands.invocation import SAYING_NOTHING, Command, Desk, Invocation, by_row, may_change, no_words, says
from bot.slack.commands.subscription_changes import abandonments_here, announce, audited, note
from bot.slack.language.grammar import Grammar, Phrase
from bot.slack.language.words import Kind, meanings_in, words_in
from bot.slack.messages.alerts.alert_notes import MUTE
from bot.slack.messages.answers.pause_and_mute import (
    UNMUTE,
    PauseEnd,
    meeting_words,
    muted,
    muted_by,
    paused,
    resumed,
    unmuted,
    unmuted_by,
)

NOTHING_TO_PAUSE = "This channel has no subscriptions and no watches, so there is nothing to pause."

LONGEST_PAUSE = timedelta(days=365)
_HALF_UNSAID = re.compile(r"(?:1[0-2]|[1-9])[:. -]?\d{2}", re.ASCII)
"""A racing time: 2.30 may mean afternoon or night."""

_UNTIL = ("until", "till", "til")
_OVER = ("over", "during")
_HALF_DAY = 12
_END_OF_DAY = "24"
_MORNING_H = 10
"""Of a named day, 10.30 is in the morning: there is racing at 2.30."""

_NIGHT_ENDS_H = 6
"""From this hour on "overnight" and "tonight" mean the coming night, and earlier the present night."""

_WEEKLY = frozenset(("weekend", *WEEKDAYS, *(day[:3] for day in WEEKDAYS)))
_MOMENTS = Grammar(words_in("pause"), has_days=True)
_ENDS_OF_PARTS, _ENDS = meanings_in("end of a part of a day"), meanings_in("end of a pause")
_MOMENT = ([Kind.DAY], [Kind.TIME], [Kind.DAY, Kind.TIME], [Kind.TIME, Kind.DAY])
_HOUR = re.compile(r"(?:^|\bat )(1[0-2]|[1-9])$", re.ASCII | re.IGNORECASE)
_ENDLESS = ("until further notice", "forever", "indefinitely")
_EXAMPLES = "Write until 18:00, until tomorrow, until Sunday, until 22 Nov or until tomorrow 09:00."


def _has_something(session: Session, invocation: Invocation, planned: PauseEnd) -> bool:  # noqa: ARG001  the plan is as good as any
    channel_id = invocation.channel_id
    places = {channel_id, invocation.user_id} if invocation.is_direct else {channel_id}
    if any(watches.has_any(session, one) for one in places) or subscriptions.of_channel(session, channel_id):
        return True
    raise CommandError(NOTHING_TO_PAUSE, form="")


def _pause(session: Session, desk: Desk, invocation: Invocation, ends: PauseEnd) -> Message:
    """Raises CommandError if there is nothing to pause."""
    with audited(session, desk, invocation, "pause"):
        if not pause_channel(session, invocation.channel_id, ends[0], desk.clock()):
            raise CommandError(NOTHING_TO_PAUSE, form="")
    is_asking = any(map(asks, subscriptions.filters_of(session, invocation.channel_id)))
    untaken = acknowledgements.untaken(session, desk.clock() - FIGURES_COVER, invocation.channel_id)
    return paused(ends, desk.clock(), desk.settings.queue_keep_hours, asks=is_asking, untaken=untaken)


def _resume(session: Session, desk: Desk, invocation: Invocation, _planned: int) -> Message:
    channel_id = invocation.channel_id
    held = held_queues.held_of(session, channel_id)
    dropped = backlog.count_given_up(session, channel_id, held) if held else 0
    with audited(session, desk, invocation, "resume") as waited:
        ended = desk.reopening.resume(session, channel_id, desk.clock())
    is_closed = held_queues.closing_of(session, channel_id) is not None
    return resumed(ended, waited, dropped, is_closed=is_closed)


async def _plan(desk: Desk, invocation: Invocation) -> PauseEnd:
    """The end of the pause: by a length of time, or by day and time in the person's zone, else UTC."""
    now, text = desk.clock(), " ".join(word for word in invocation.text.split() if word.lower() not in SAYING_NOTHING)
    text = "" if text.lower() in _ENDLESS else text
    word, _, rest = text.partition(" ")
    if word.lower() not in _UNTIL:
        # "Pause over" tells that a pause has ended.
        is_for = word.lower() == "for" or (rest != "" and word.lower() in _OVER)
        text = rest if is_for else text
        end = _ENDS.get(text.lower().removeprefix("the ").removeprefix("this "))
        if end is None:
            length = read_duration(text, is_for=is_for)
            return now + length if length else None, None
        rest = end
    person = await desk.people.person(invocation.user_id)
    zone = zone_of(person.zone if person else None)
    until = read_until(rest, now.astimezone(zone))
    return until.astimezone(UTC), getattr(zone, "key", UTC_NAME)


def read_duration(text: str, *, is_for: bool = False) -> timedelta | None:
    """For example "30m", "2 hours", "1d" or "1h30m"; None for "". Raises CommandError for other words."""
    typed = text.strip()
    if not typed:
        return None
    length = read_length(typed)
    if length is None or not timedelta(0) < length <= LONGEST_PAUSE:
        raise CommandError(
            f'I can\'t pause for "{typed[:40]}". Write 30m, 2h, 1d or 1h30m, up to 365d, or until 18:00; '
            "/racing pause alone lasts until /racing resume.",
            lines={f"until {end}": f"pause until {end}" for end in _ends_of(typed, is_for=is_for)}
            or {f"{typed} {unit}": f"pause {typed} {unit}" for unit in ("minutes", "hours") if typed.isdecimal()}
            or {f"Mute {typed}": f"mute {typed}", "Everything for 2 hours": "pause 2h"},
        )
    return length


def _ends_of(typed: str, *, is_for: bool) -> Sequence[str]:
    """The ends of a pause "for" a moment: a time itself, and the end of a day or of a part of a day.

    A day without "for" may mean "until": such a day's beginning comes first.
    """
    phrases = [one for one in _MOMENTS.read(typed) if one.kind is not Kind.FILLER]
    kinds, words = [one.kind for one in phrases], [one.typed for one in phrases]
    if kinds not in _MOMENT:
        return ()
    if Kind.TIME not in kinds:
        end = f"{words[0]} 24:00"
        return (end,) if is_for else (words[0], end)
    ends = [_ENDS_OF_PARTS.get(one.lower(), one) for one in words]
    # An afternoon that is over is no afternoon of tomorrow.
    return (" ".join(ends if ends == words or len(ends) > 1 else ["today", *ends]),)


def read_until(text: str, now: datetime) -> datetime:
    """The next moment for the words, in the zone of `now`: a time, the beginning of a day, or both.

    A past time alone means tomorrow. Raises CommandError for other words, for a past moment, beyond LONGEST_PAUSE, and
    for a time such as 2.30 without "am" or "pm".
    """
    is_night = now.hour < _NIGHT_ENDS_H
    night_ends, tonight_ends = ("morning", "morning") if is_night else ("tomorrow morning", "24:00")
    said = {"next week": "monday", "overnight": night_ends, "end of tonight": tonight_ends}
    said |= dict.fromkeys(("end of day", "end of the day"), "24:00")
    text = in_figures(text)
    text = said.get(text.lower().removeprefix("the "), _HOUR.sub(r"\1:00", text))
    phrases = [one for one in _MOMENTS.read(text, today=now.date()) if one.kind is not Kind.FILLER]
    times, days = ([one for one in phrases if one.kind is kind] for kind in (Kind.TIME, Kind.DAY))
    _check_moment(text, phrases)
    day = date.fromisoformat(days[0].value) if days else None
    clock = read_clock(times[0].value) if times else None
    begins = day or now.date()
    if times and times[0].typed.startswith(_END_OF_DAY) and begins < date.max:
        begins += timedelta(days=1)
    if clock and _HALF_UNSAID.fullmatch(times[0].typed) and not (day and clock.hour >= _MORNING_H):
        _check_half(times[0].typed, clock, day, now)
    # At the end of summer time an hour comes twice: during the second, people mean the second.
    at = (clock or time()).replace(fold=now.fold)
    until = datetime.combine(begins, at, now.tzinfo)
    if until <= now and (not day or days[0].typed.lower() in _WEEKLY):
        until = datetime.combine(begins + timedelta(days=7 if day else 1), at, now.tzinfo)
    is_tomorrow = day == now.date() + timedelta(days=1) and days[0].typed.isalpha()
    if is_night and is_tomorrow and days[0].typed.lower() not in _WEEKLY:
        # At night people may say "tomorrow" of the day that has begun.
        earlier = until - timedelta(days=1) if clock else read_until("morning", now)
        _check_meant(days[0].typed, [one for one in (earlier, until) if one > now], now)
    if not now < until <= now + LONGEST_PAUSE:
        why = "is past" if until <= now else "is more than 365 days away"
        raise CommandError(f'"{text[:40]}" {why}. {_EXAMPLES}')
    return until


def _check_moment(text: str, phrases: Sequence[Phrase]) -> None:
    """Raise CommandError for words that are no single moment."""
    kinds, meant = [one.kind for one in phrases], [each for one in phrases for each in one.meant]
    is_of_race = any(read_race_number(one.value) for one in phrases if one.kind is Kind.TIME)
    if any(one.wrong for one in phrases) or kinds not in _MOMENT or is_of_race:
        near = likely_day(" ".join(one.typed for one in phrases if one.kind is not Kind.TIME))
        lines = {f"until {one}": f"pause until {one}" for one in meant or filter(None, [near])}
        told = f'I can\'t read the time "{text[:40]}".' if kinds else "Until when?"
        raise CommandError(f"{told} {_EXAMPLES}", lines=lines)


def _check_half(typed: str, clock: time, day: date | None, now: datetime) -> None:
    """Raise CommandError with both readings of an ambiguous time. A time still to come today is taken."""
    first = datetime.combine(day or now.date(), clock, now.tzinfo)
    if day is None and first > now:
        return
    moments = [first, first + timedelta(hours=_HALF_DAY if clock.hour < _HALF_DAY else -_HALF_DAY)]
    if day is None:
        moments = sorted(moment if moment > now else moment + timedelta(days=1) for moment in moments)
    _check_meant(typed, moments, now)


def _check_meant(typed: str, moments: Sequence[datetime], now: datetime) -> None:
    """Raise CommandError with all readings of words that may mean several moments."""
    if len(moments) == 1:
        return
    readings = {_reading(moment, now): moment for moment in moments}
    raise CommandError(
        f"{typed} may mean {' or '.join(readings)}. Until when?",
        lines={label: f"pause until {moment:%Y-%m-%d %H:%M}" for label, moment in readings.items()},
    )


def _reading(moment: datetime, now: datetime) -> str:
    # At night "today" and "tomorrow" may be taken for the same day.
    days = {} if now.hour < _NIGHT_ENDS_H else {0: "today", 1: "tomorrow"}
    day = days.get((moment.date() - now.date()).days, f"on {moment:%a} {moment.day} {moment:%b}")
    return f"{moment:%H:%M} {day}"


PAUSE_COMMAND = Command(
    "pause", says(lambda message: message), _plan, None, may_change, _has_something, _pause, moves_person=True
)
_plan_resume = no_words("resume", "A pause that ends by itself is /racing pause until 18:00.")
RESUME_COMMAND = Command("resume", says(lambda message: message), _plan_resume, rights=may_change, store=_resume)

MUTED = "results and racecards muted"

NOT_MUTED = "The meeting is not muted here, or no longer. /racing list shows the muted meetings."

_read, _read_unmute = (day_plan(command, day_grammar(), set(Topic)) for command in ("mute", "unmute"))


Muted = tuple[Meeting, int, Abandonments]
"""The meeting, the mute's number, and what becomes of the meeting's abandonments."""


async def _plan_by_key(desk: Desk, invocation: Invocation) -> Meeting:
    """The meeting of the button's event: the button's value is the event's key."""

    def find(session: Session) -> Meeting:
        found = event_store.latest(session, [invocation.text]).get(invocation.text)
        return meeting_of(event_store.known(found)[0].race) if found else Meeting()

    meeting: Meeting = await desk.database.read(find)
    if not meeting.is_known:
        raise CommandError("I don't know which meeting that is, so nothing is muted.")
    return meeting


async def _plan_mute(desk: Desk, invocation: Invocation) -> Meeting:
    """The meeting of the typed course and day. Raises CommandError for the words of a pause: "until 6pm"."""
    if line := await _as_pause(desk, invocation):
        raise CommandError(
            "Only a pause holds messages for a set time, and a pause holds abandonments too. Abandonments still come "
            "during a mute of one meeting (/racing mute York), and in daily quiet hours (/racing quiet 22:00-07:00).",
            lines={f"Pause {invocation.text}": line},
        )
    words = invocation.text.split()
    meeting = list(takewhile(lambda word: word.lower() not in _UNTIL, words))
    if meeting != words:
        told = "A mute ends with its meeting: no other end can be given."
        raise CommandError(told, lines={"The meeting": " ".join(["mute", *meeting])})
    asked: DayPlan = await _read(desk, invocation)
    if asked.course is None:
        told = "Name the course whose results and racecards are not to come here: /racing mute York."
        raise CommandError(f"{told} Abandonments still come.", lines={"What is muted": "list"})
    if asked.off or only_abandonments(asked.wanted):
        not_muted = "one race" if asked.off else "abandonments"
        told = f"A mute covers all results and racecards of a meeting: {not_muted} can't be muted."
        raise CommandError(told, lines={"The meeting": asked.wanted.but(times=(), topics=()).line("mute")})
    return Meeting(course=asked.course, race_date=asked.day.isoformat(), region=asked.region)


async def _as_pause(desk: Desk, invocation: Invocation) -> str | None:
    """The line for the words of a pause: "until 6pm", and "until 9", which asks whether morning or evening is meant."""
    line = f"pause {invocation.text}"
    try:
        until, _ = await PAUSE_COMMAND.plan(desk, invocation)
    except CommandError as error:
        is_moment = {"pause until"} == {" ".join(offer.split()[:2]) for offer in error.lines.values()}
        return line if is_moment else None
    # Only the bare word's button asks for confirmation.
    return invocation.text and (line if until else PAUSE_COMMAND.name)


def _mute(session: Session, desk: Desk, invocation: Invocation, meeting: Meeting) -> Muted:
    now = desk.clock()
    known = {row.id for row in mutes.of_channel(session, invocation.channel_id, now)}
    number = mutes.mute(session, invocation.channel_id, meeting, invocation.user_id, now)
    abandonments = abandonments_here(session, invocation.channel_id, meeting, now)
    if number not in known:
        backlog.withdraw_muted(session, invocation.channel_id, meeting, now)
        note(session, desk, invocation, "mute", before=meeting_words(meeting), after=_words(meeting))
        announce(session, desk, invocation, muted_by(invocation.user_id, meeting, abandonments))
    return meeting, number, abandonments


async def _answer_typed_mute(desk: Desk, _invocation: Invocation, committed: Muted) -> Message:
    meeting, number, abandonments = committed
    day = date.fromisoformat(meeting.race_date or "")
    lacks = partial(lacks_meeting, region=meeting.region, day=day, course=meeting.course)
    return muted(meeting, number, abandonments, is_missing=await desk.database.read(lacks))


async def _plan_unmute(desk: Desk, invocation: Invocation) -> int:
    """The number of the only mute of a typed course. Raises CommandError, with a button for the list."""
    asked: DayPlan = await _read_unmute(desk, invocation)
    rows = await desk.database.read(lambda session: mutes.of_channel(session, invocation.channel_id, desk.clock()))
    there = [row for row in rows if asked.course and is_same_course(mutes.read(row).course, asked.course)]
    is_several = len(there) > 1
    if is_several or asked.wanted.of(Kind.DAY):
        there = [row for row in there if mutes.read(row).race_date == asked.day.isoformat()]
    if len(there) != 1:
        told = "Several meetings of that course are muted here: name the day." if is_several else NOT_MUTED
        if rows and asked.course is None:
            told = f"Name the course. Muted here: {listed([meeting_words(mutes.read(row)) for row in rows])}."
        raise CommandError(told, lines={"What is muted": "list"})
    return there[0].id or 0


def _unmute(session: Session, desk: Desk, invocation: Invocation, number: int) -> Meeting:
    """Raises CommandError for an ended mute."""
    meeting = mutes.end(session, invocation.channel_id, number, desk.clock())
    if meeting is None:
        raise CommandError(NOT_MUTED)
    note(session, desk, invocation, "unmute", before=_words(meeting), after=meeting_words(meeting))
    announce(session, desk, invocation, unmuted_by(invocation.user_id, meeting))
    return meeting


def _words(meeting: Meeting) -> str:
    return f"{meeting_words(meeting)}, {MUTED}"


MUTE_BUTTON = Command(
    MUTE, says(lambda done: muted(*done)), _plan_by_key, rights=may_change, store=_mute, moves_person=True
)
MUTE_COMMAND = replace(MUTE_BUTTON, name="mute", plan=_plan_mute, answer=_answer_typed_mute)
UNMUTE_BUTTON = Command(UNMUTE, says(unmuted), by_row, rights=may_change, store=_unmute)
UNMUTE_COMMAND = replace(UNMUTE_BUTTON, name="unmute", plan=_plan_unmute)
