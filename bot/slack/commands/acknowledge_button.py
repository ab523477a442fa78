"""The button "I have it" of an abandonment: whoever presses first has the abandonment, and may give it back."""

from functools import partial
from typing import Any

from bot.errors import CommandError
from bot.logs import get_logger
from bot.outbox import acknowledgements
from bot.outbox.acknowledgements import Press
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.messages.alerts.acknowledge_words import ACKNOWLEDGE, GIVE_BACK, give_back_button
from bot.slack.messages.kit.blocks import actions, message, section
from bot.slack.messages.kit.names import abandonment_name
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


async def _take(desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError for a message that does not ask any more."""
    take = partial(acknowledgements.take, key=invocation.text, user_id=invocation.user_id, now=desk.clock())
    taken = await desk.database.write(take)
    if taken is None:
        raise CommandError(NOT_KNOWN)
    if taken.by is None:
        raise CommandError(ASKS_ELSEWHERE)
    if taken.is_news:
        log.info("acknowledged", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return taken


async def _answer(_desk: Desk, invocation: Invocation, committed: Press) -> Message:
    """Said after the first press too: in a closed channel the message is edited later."""
    by = committed.by or ""
    who = "You have" if by == invocation.user_id else f"{by} has"
    already = "" if committed.is_news else " already"
    since = f" since {utc_clock(committed.at)}" if committed.at else ""
    race = f": {abandonment_name(committed.event, committed.partly_run)}" if committed.event else ""
    text = with_names(f"{who} it{already}{since}{race}.", [by])
    buttons = [give_back_button(invocation.text)] if by == invocation.user_id else []
    return message(text, [section(text), actions(buttons)])


async def _give_back(desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError unless the person has the abandonment."""
    give_back = partial(acknowledgements.give_back, key=invocation.text, user_id=invocation.user_id, now=desk.clock())
    given = await desk.database.write(give_back)
    if given is None:
        raise CommandError(NOT_KNOWN)
    if not given.is_news:
        raise CommandError(NOT_YOURS)
    log.info("given_back", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return given


async def _answer_give_back(_desk: Desk, _invocation: Invocation, committed: Press) -> Message:
    race = f": {abandonment_name(committed.event, committed.partly_run)}" if committed.event else ""
    text = f"You no longer have it{race}. The message has its button again, and the time to the next step begins anew."
    return message(text, [section(text)])


ACKNOWLEDGE_BUTTON = Command(ACKNOWLEDGE, "", "Take an abandonment", _answer, apply=_take, rights=_is_no_outsider)
GIVE_BACK_BUTTON = Command(GIVE_BACK, "", "Give an abandonment back", _answer_give_back, apply=_give_back)
