"""Buttons below messages: *I have it* of an abandonment, *Full result*, and an alert that was given up."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from bot.errors import CommandError, ServiceError
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.logs import get_logger
from bot.outbox import acknowledgements, said_anew
from bot.outbox.acknowledgements import Press
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, admins_only, row_number, says
from bot.slack.commands.subscription_changes import note
from bot.slack.messages.alerts.alert_context import Corrected, corrected
from bot.slack.messages.alerts.alert_notes import ACKNOWLEDGE, GIVE_BACK, give_back_button
from bot.slack.messages.alerts.event_alerts import FULL_RESULT_WORD, full_result
from bot.slack.messages.kit.layout import sentence, told
from bot.slack.messages.kit.names import doubtful_name
from bot.slack.messages.kit.text import with_names
from bot.slack.messages.kit.times import utc_clock

log = get_logger(__name__)

NOT_KNOWN = (
    "I don't know that message any more, so nothing was stored. Say in the channel that you have it: "
    "/racing trace shows who was told."
)
NOT_YOURS = "You don't have that abandonment, so nothing was changed. Its message in the channel shows who has it."
ASKS_ELSEWHERE = "A newer message in the channel asks in place of this message. Press the button there."


async def _is_no_outsider(desk: Desk, invocation: Invocation) -> None:
    await desk.people.check_is_member(invocation)


def _take(session: Session, desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError for a message that does not ask any more."""
    taken = acknowledgements.take(session, invocation.text, invocation.user_id, desk.clock())
    if taken is None:
        raise CommandError(NOT_KNOWN)
    if taken.by is None:
        raise CommandError(ASKS_ELSEWHERE)
    if taken.is_news:
        log.info("acknowledged", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return taken


async def _answer_take(_desk: Desk, invocation: Invocation, committed: Press) -> Message:
    """Said after the first press too: in a closed channel the message is edited later."""
    by = committed.by or ""
    who = "You have" if by == invocation.user_id else f"{by} has"
    already = "" if committed.is_news else " already"
    since = f" since {utc_clock(committed.at)}" if committed.at else ""
    race = doubtful_name(committed.event, committed.partly_run)
    buttons = [give_back_button(invocation.text)] if by == invocation.user_id else []
    return told(with_names(f"{who} it{already}{since}: {race}.", [by]), *buttons)


def _give_back(session: Session, desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError unless the person has the abandonment."""
    given = acknowledgements.give_back(session, invocation.text, invocation.user_id, desk.clock())
    if given is None:
        raise CommandError(NOT_KNOWN)
    if not given.is_news:
        raise CommandError(NOT_YOURS)
    log.info("given_back", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return given


def _given_back(press: Press) -> Message:
    race = doubtful_name(press.event, press.partly_run)
    words = "The message has its button again, and the time to the next step begins anew."
    return told(f"You no longer have it: {race}. {words}")


ACKNOWLEDGE_BUTTON = Command(ACKNOWLEDGE, _answer_take, rights=_is_no_outsider, store=_take)
GIVE_BACK_BUTTON = Command(GIVE_BACK, says(_given_back), store=_give_back)


Delivered = tuple[RacingEvent, Corrected | None, datetime]


async def _plan_result(desk: Desk, invocation: Invocation) -> Delivered:
    found: Delivered | None = await desk.database.read(lambda session: _delivered(session, invocation.text))
    if found is None:
        raise CommandError("I have no result of that race any more.")
    return found


async def _answer_result(desk: Desk, invocation: Invocation, planned: Delivered) -> Message:
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


FULL_RESULT_BUTTON = Command(FULL_RESULT_WORD, _answer_result, _plan_result)


POST_AGAIN = "post_again"
"""The word of the button that posts an alert after all, before the message's id."""

NOT_OFFERED = "Nothing was posted: the alert is posted already, was replaced by later news, or is over two days old."


def _post(session: Session, desk: Desk, invocation: Invocation, _planned: Any) -> str:
    """The channel's id. Raises CommandError for an alert not offered any more."""
    text, now = invocation.text, desk.clock()
    channel_id = said_anew.post_again(session, row_number(text), now)
    if channel_id is None:
        raise CommandError(NOT_OFFERED)
    there, post = replace(invocation, channel_id=channel_id), f"message {text}"
    note(session, desk, there, "post after all", before=f"{post} given up", after=f"{post} posted after all")
    return channel_id


DEAD_LETTER_BUTTON = Command(
    POST_AGAIN,
    says(lambda channel_id: sentence(f"The message goes to {channel_id} now.", [channel_id])),
    store=_post,
    rights=admins_only("Only admins may post what was given up."),
)
