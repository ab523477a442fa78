"""`/racing pause` and `/racing resume`: what a channel receives is held for a time, and goes on."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.alerts.closing import pause_channel
from bot.domain.message import Message
from bot.errors import CommandError
from bot.slack.commands.changing import audited
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages import pause as messages

LONGEST = timedelta(days=365)
_DURATION = re.compile(
    r"(?=.)(?:(\d{1,4})\s*d)?\s*(?:(\d{1,4})\s*h)?\s*(?:(\d{1,4})\s*m(?:in)?)?", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True)
class Paused:
    """When the pause ends; None where somebody has to end it."""

    until: datetime | None


async def commit_pause(desk: Desk, invocation: Invocation) -> Paused:
    """Pause the channel. Raises CommandError for a duration that is none, and where there is nothing to pause."""
    length = read_duration(invocation.text)
    await desk.people.check_may_change(invocation.user_id, invocation.channel_id)
    now = desk.clock()
    until = now + length if length else None

    def pause(session: Session) -> int:
        with audited(session, desk, invocation, "pause"):
            return pause_channel(session, invocation.channel_id, until, now)

    if not await desk.database.write(pause):
        raise CommandError("This channel has no subscriptions, so there is nothing to pause. /racing list shows them.")
    return Paused(until)


async def answer_pause(desk: Desk, _invocation: Invocation, committed: Paused) -> Message:
    """Until when, and what happens to what comes meanwhile."""
    return messages.paused(committed.until, desk.settings.queue_keep_hours)


async def commit_resume(desk: Desk, invocation: Invocation) -> int:
    """How many subscriptions go on."""
    if invocation.text:
        raise CommandError("It is /racing resume, without further words.")
    await desk.people.check_may_change(invocation.user_id, invocation.channel_id)

    def resume(session: Session) -> int:
        with audited(session, desk, invocation, "resume"):
            return desk.reopening.resume(session, invocation.channel_id, desk.clock())

    ended: int = await desk.database.write(resume)
    return ended


async def answer_resume(desk: Desk, _invocation: Invocation, committed: Any) -> Message:
    """That it goes on, or that nothing was paused."""
    desk.wake.set()
    return messages.resumed(committed)


def read_duration(text: str) -> timedelta | None:
    """How long: "30m", "2h", "1d", "1h30m"; None for no word. CommandError for another."""
    typed = text.strip()
    if not typed:
        return None
    found = _DURATION.fullmatch(typed)
    days, hours, minutes = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    length = timedelta(days=days, hours=hours, minutes=minutes)
    if not timedelta(0) < length <= LONGEST:
        raise CommandError(
            f'"{typed[:40]}" is no length of time that I know. Write 30m, 2h, 1d or 1h30m, up to 365d; '
            "/racing pause alone lasts until /racing resume."
        )
    return length
