"""`/racing trace`. Admins see all channels, other people their own."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlmodel import Session, col

from bot.db.database_clock import database_now
from bot.db.tables import EventVersion
from bot.errors import CommandError
from bot.events.event import EventKind, RacingEvent
from bot.outbox import ledger
from bot.outbox.message import Message
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.trace_answer import trace_answer

_COURSE_AND_TIME = re.compile(r"([^\W\d][^\d:#|]{2,}?)(?:[ ,]+([0-2]?[0-9])[:.]([0-5][0-9]))?")

NAMED_WITHIN = timedelta(days=7)
LOST_WITHIN = timedelta(days=1)

AROUND_AN_ID = "`'\"“”‘’ "  # noqa: RUF001  as an id is copied, and as phones write quotes


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError without an id."""
    await check(desk, invocation)
    wanted = invocation.text.strip(AROUND_AN_ID)
    only_channel = None if await desk.people.is_admin(invocation.user_id) else invocation.channel_id

    def read(session: Session) -> tuple[str, ledger.Trace]:
        named = named_race(session, wanted, desk.clock()) or wanted
        return named, ledger.trace(session, named, database_now(session, desk.clock), channel_id=only_channel)

    named, found = await desk.database.read(read)
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
    typed = _COURSE_AND_TIME.fullmatch(wanted)
    if typed is None:
        return None
    course, time = " ".join(typed[1].split()).casefold(), f"{int(typed[2])}:{typed[3]}" if typed[2] else None
    meeting, lately = None, (now - LOST_WITHIN).date().isoformat()
    since = (now - NAMED_WITHIN).date().isoformat()
    newest = (col(EventVersion.race_date).desc(), col(EventVersion.id).desc())
    recent = select(EventVersion).where(col(EventVersion.race_date) >= since, col(EventVersion.kind).is_not(None))
    rows: Sequence[EventVersion] = session.execute(recent.order_by(*newest)).scalars().all()
    for row in rows:
        race = RacingEvent.model_validate_json(row.data).race
        if not (race.course.name or "").casefold().startswith(course):
            continue
        if time and (race.off.text or "").lstrip("0") == time.lstrip("0"):
            return row.race_id or row.event_key
        if row.kind == EventKind.MEETING_ABANDONED and (row.race_date or "") >= lately:
            meeting = meeting or row.event_key
    return meeting
