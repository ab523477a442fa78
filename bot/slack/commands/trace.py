"""`/racing trace`. Admins see all channels, other people their own."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import select
from sqlmodel import Session, col

from bot.db.database_clock import database_now
from bot.db.tables import EventVersion
from bot.errors import CommandError
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.events.typed_off import in_the_afternoon, is_off_at, read_off
from bot.outbox import ledger
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.tokens import join
from bot.slack.messages.answers.trace_answer import trace_answer
from bot.slack.messages.kit.names import card_name, race_day, race_name
from bot.slack.messages.kit.text import joined

_COURSE_AND_TIME = re.compile(r"([^\W\d][^\d:#|]{2,}?)(?:[ ,]+(\d.*))?")

NAMED_WITHIN = timedelta(days=7)
LOST_WITHIN = timedelta(days=1)

RACES_OFFERED_MAX = 10

AROUND_AN_ID = "`'\"“”‘’ "  # noqa: RUF001  as an id is copied, and as phones write quotes


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError without an id."""
    await check(desk, invocation)
    wanted = invocation.text.strip(AROUND_AN_ID)
    only_channel = None if await desk.people.is_admin(invocation.user_id) else invocation.channel_id

    def read(session: Session) -> tuple[str, ledger.Trace, dict[str, str]]:
        named = named_race(session, wanted, desk.clock()) or wanted
        found = ledger.trace(session, named, database_now(session, desk.clock), channel_id=only_channel)
        is_empty = not found.versions and not found.deliveries
        return named, found, races_there(session, wanted, desk.clock()) if is_empty else {}

    named, found, there = await desk.database.read(read)
    if there:
        raise CommandError(f'Which race is "{wanted[:TYPED_MAX]}"? I know these there:', lines=there)
    return trace_answer(found, named, desk.identity.permalink, only_channel)


async def check(_desk: Desk, invocation: Invocation) -> None:
    if not invocation.text.strip(AROUND_AN_ID):
        raise CommandError(
            "Say which race: /racing trace and its id, as it stands in the small print of a message; or course and "
            "time, as York 14:30. The course alone will do for an abandoned meeting. A meeting's id, an event's key or "
            "a delivery's reference (inbox-1) will do too."
        )


def named_race(session: Session, wanted: str, now: datetime) -> str | None:
    """The id, or the event's key, of the newest race with this course and time; None for other words.

    Without such a race, or without a time, the event's key of the abandoned meeting at the course, if that is of today,
    of yesterday or to come.
    """
    course, off = _course_and_off(wanted)
    if course is None:
        return None
    found = _events_at(session, course, now)
    for time in filter(None, (off, off and in_the_afternoon(off))):
        for row, race in found:
            if is_off_at(race.off, time):
                return row.race_id or row.event_key
    lately = (now - LOST_WITHIN).date().isoformat()
    lost = (row for row, _ in found if row.kind == EventKind.MEETING_ABANDONED and (row.race_date or "") >= lately)
    return next((row.event_key for row in lost), None)


def races_there(session: Session, wanted: str, now: datetime) -> dict[str, str]:
    """What is known of the typed course of late: words for a button → the words after `/racing`. Newest day first."""
    course, _ = _course_and_off(wanted)
    lines: dict[str, str] = {}
    for row, race in _events_at(session, course, now) if course else ():
        named = joined([race_name(race), race_day(race)], ", ") if race.off.text else f"{card_name(race)}, the meeting"
        lines.setdefault(named, join(["trace", row.race_id or row.event_key]))
    return dict(islice(lines.items(), RACES_OFFERED_MAX))


def _course_and_off(wanted: str) -> tuple[str | None, str | None]:
    typed = _COURSE_AND_TIME.fullmatch(wanted)
    off = read_off(typed[2]) if typed and typed[2] else None
    if typed is None or (typed[2] and not off):
        return None, None
    return " ".join(typed[1].split()).casefold(), off


def _events_at(session: Session, course: str, now: datetime) -> list[tuple[EventVersion, Race]]:
    """The newest first."""
    since = (now - NAMED_WITHIN).date().isoformat()
    newest = (col(EventVersion.race_date).desc(), col(EventVersion.id).desc())
    recent = select(EventVersion).where(col(EventVersion.race_date) >= since, col(EventVersion.kind).is_not(None))
    rows: Sequence[EventVersion] = session.execute(recent.order_by(*newest)).scalars().all()
    each = ((row, RacingEvent.model_validate_json(row.data).race) for row in rows)
    return [(row, race) for row, race in each if (race.course.name or "").casefold().startswith(course)]
