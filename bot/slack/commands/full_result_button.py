"""The button below a result: all that is known of the race."""

from datetime import datetime

from sqlmodel import Session

from bot.errors import CommandError, ServiceError
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.messages.alerts.alert_context import Corrected, corrected
from bot.slack.messages.alerts.alert_notes import FULL_RESULT_WORD
from bot.slack.messages.answers.full_result_answer import full_result

log = get_logger(__name__)


Delivered = tuple[RacingEvent, Corrected | None, datetime]


async def _plan(desk: Desk, invocation: Invocation) -> Delivered:
    found: Delivered | None = await desk.database.read(lambda session: _delivered(session, invocation.text))
    if found is None:
        raise CommandError("I have no result of that race any more.")
    return found


async def _answer(desk: Desk, invocation: Invocation, planned: Delivered) -> Message:
    """The race by the race book or the service, else as delivered."""
    event, changed, received_at = planned
    try:
        known = await desk.races.race(event.race.race_id) if event.race.race_id else None
    except ServiceError as error:
        log.info("full_result_as_delivered", reference=invocation.reference, reason=str(error))
        known = None
    return full_result(event, known, received_at, await desk.reference.known_countries(), changed)


def _delivered(session: Session, event_key: str) -> Delivered | None:
    rows = event_store.versions(session, [event_key]).get(event_key)
    return (event_store.read(rows[-1])[0], corrected(rows), rows[-1].received_at) if rows else None


FULL_RESULT_BUTTON = Command(FULL_RESULT_WORD, "", "All that is known of a race", _answer, _plan)
