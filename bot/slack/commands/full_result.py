"""The button below a result: all that is known of the race, shown to whoever asks."""

from datetime import datetime
from typing import Any

from sqlmodel import Session

from bot.domain.events import RacingEvent
from bot.domain.message import Message
from bot.errors import CommandError, ServiceError
from bot.logs import get_logger
from bot.slack import since
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.context import Corrected
from bot.slack.messages.full_result import full_result
from bot.storage import events

log = get_logger(__name__)


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """The race whose result's key the button carries: by the race book or the service, else as it was delivered."""
    found = await desk.database.read(lambda session: _delivered(session, invocation.text))
    if found is None:
        raise CommandError("I have no result of that race any more.")
    event, changed, received_at = found
    try:
        known = await desk.races.race(event.race.race_id) if event.race.race_id else None
    except ServiceError as error:
        log.info("full_result_as_delivered", reference=invocation.reference, reason=str(error))
        known = None
    return full_result(event, known, received_at, await desk.reference.known_countries(), changed)


def _delivered(session: Session, event_key: str) -> tuple[RacingEvent, Corrected | None, datetime] | None:
    """The event, what was corrected since its first version, and when its newest was received."""
    rows = events.versions(session, [event_key]).get(event_key)
    return (events.read(rows[-1])[0], since.corrected(rows), rows[-1].received_at) if rows else None
