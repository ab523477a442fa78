"""Buttons that mute and unmute a meeting in a channel. Abandonments are never muted."""

from dataclasses import replace
from datetime import date
from functools import partial

from sqlmodel import Session

from bot.channels import mutes
from bot.channels.filters import Abandonments, Meeting, meeting_of
from bot.errors import CommandError
from bot.events import event_store
from bot.events.event import Topic
from bot.events.races import is_same_course
from bot.outbox import backlog
from bot.outbox.channel_move import move_person
from bot.outbox.message import Message
from bot.racedata.day import lacks_meeting
from bot.slack.commands.channel_checks import with_direct
from bot.slack.commands.filter_view import abandonments_here
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change, row_number, says
from bot.slack.commands.pause import PAUSE_COMMAND
from bot.slack.commands.places import DayPlan, day_grammar, day_plan
from bot.slack.commands.subscription_changes import announce, note
from bot.slack.messages.alerts.alert_notes import MUTE
from bot.slack.messages.answers.change_notice import muted_by, unmuted_by
from bot.slack.messages.answers.pause_and_mute import UNMUTE, meeting_words, muted, unmuted

MUTED = "results and racecards muted"

NOT_MUTED = "The meeting is not muted here, or no longer. /racing list shows the muted meetings."

_read = day_plan("mute", day_grammar(), set(Topic))


Muted = tuple[Meeting, int, Abandonments]
"""The meeting, the mute's number, and what becomes of the meeting's abandonments."""


async def _plan_by_key(desk: Desk, invocation: Invocation) -> Meeting:
    """The meeting of the button's event: the button's value is the event's key."""

    def find(session: Session) -> Meeting:
        found = event_store.latest(session, [invocation.text]).get(invocation.text)
        return meeting_of(event_store.read(found)[0].race) if found else Meeting()

    meeting: Meeting = await desk.database.read(find)
    if not meeting.is_known:
        raise CommandError("I don't know which meeting that is, so nothing is muted.")
    return meeting


async def _plan(desk: Desk, invocation: Invocation) -> Meeting:
    """The meeting of the typed course and day. Raises CommandError for the words of a pause: "until 6pm"."""
    if await _is_of_time(desk, invocation):
        raise CommandError(
            "A mute is of one meeting, and its abandonments still come. A pause holds everything that this channel "
            "receives, abandonments too.",
            lines={f"Pause {invocation.text}": f"pause {invocation.text}"},
        )
    asked: DayPlan = await _read(desk, invocation)
    if asked.course is None:
        told = "Name the course whose results and racecards are not to come here: /racing mute York."
        raise CommandError(f"{told} Abandonments still come.", lines={"What is muted": "list"})
    if asked.off:
        told = "A mute is of all results and racecards of a meeting, and not of one race."
        raise CommandError(told, lines={"The meeting": asked.wanted.but(times=()).line("mute")})
    return Meeting(course=asked.course, race_date=asked.day.isoformat(), region=asked.region)


async def _is_of_time(desk: Desk, invocation: Invocation) -> bool:
    """Whether the words are for a pause, such as "until 6pm", or "until 9", which asks for the half of the day."""
    try:
        await PAUSE_COMMAND.plan(desk, invocation)
    except CommandError as error:
        return {"pause until"} == {" ".join(line.split()[:2]) for line in error.lines.values()}
    return bool(invocation.text)


def _mute(session: Session, desk: Desk, invocation: Invocation, asked: tuple[Meeting, bool]) -> Muted:
    (meeting, is_own), now = asked, desk.clock()
    if is_own:
        # A mute of the direct message holds no message under the person's id.
        move_person(session, invocation.user_id, invocation.channel_id)
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


async def _plan_by_number(_desk: Desk, invocation: Invocation) -> int:
    return row_number(invocation.text)


async def _plan_unmute(desk: Desk, invocation: Invocation) -> int:
    """The number of the only mute of a typed course. Raises CommandError, with a button for the list."""
    asked: DayPlan = await _read(desk, invocation)
    rows = await desk.database.read(lambda session: mutes.of_channel(session, invocation.channel_id, desk.clock()))
    there = [row for row in rows if asked.course and is_same_course(mutes.read(row).course, asked.course)]
    if len(there) != 1:
        told = NOT_MUTED if not there else "Several meetings of that course are muted here."
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
    MUTE,
    "",
    "Post no more results of a meeting here",
    says(lambda done: muted(*done)),
    _plan_by_key,
    with_direct,
    may_change,
    store=_mute,
)
MUTE_COMMAND = replace(MUTE_BUTTON, name="mute", plan=_plan, answer=_answer_typed_mute)
UNMUTE_BUTTON = Command(
    UNMUTE,
    "",
    "Post a meeting's results again",
    says(unmuted),
    _plan_by_number,
    rights=may_change,
    store=_unmute,
)
UNMUTE_COMMAND = replace(UNMUTE_BUTTON, name="unmute", plan=_plan_unmute)
