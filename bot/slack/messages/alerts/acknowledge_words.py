"""An abandonment that is to be acknowledged: button, words once somebody has, and the message of an escalation."""

from datetime import datetime

from bot.outbox.acknowledgements import Untaken
from bot.outbox.message import Block, Message
from bot.slack.messages.kit.blocks import action_button, actions, context, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import ABANDONED, TAKEN_OVER
from bot.slack.messages.kit.names import abandonment_name
from bot.slack.messages.kit.text import clip, counted, joined, listed, mentions_in_markup, named, with_mentions
from bot.slack.messages.kit.times import in_readers_zone, utc_clock

ACKNOWLEDGE = "acknowledge"

GIVE_BACK = "give_back"

I_HAVE_IT = "I have it"

ALERT_MAX = 600


def acknowledge_button(key: str) -> Block:
    """`key`: of the abandonment's message."""
    return action_button(I_HAVE_IT, ACKNOWLEDGE, key) | {"style": "primary"}


def give_back_button(key: str) -> Block:
    return action_button("I don't have it", GIVE_BACK, key)


def taken_words(by: str, clock: str) -> str:
    return f"{TAKEN_OVER} {named(by)} has it since {clock}"


def untaken_words(untaken: Untaken, where: str) -> str:
    """For example "Taken by nobody here: 1 abandonment of the last 24 hours (Ascot 14:30)". `where`: " here"."""
    told = counted(untaken.count, "abandonment")
    return f"Taken by nobody{where}: {told} of the last 24 hours ({untaken_named(untaken)})"


def untaken_named(untaken: Untaken) -> str:
    """For example "Ascot 14:30, York (whole meeting) and 2 more"."""
    names = [abandonment_name(event, untaken.partly_run) for event in untaken.first]
    more = untaken.count - len(names)
    return listed([*names, f"{more} more"] if more else names)


def escalation(
    alert: str,
    channel_id: str,
    link: str | None,
    *,
    is_there: bool,
    key: str,
    minutes: int,
    people: tuple[str, ...],
    taken: tuple[str, datetime] | None,
    is_replaced: bool = False,
    may_be_repeat: bool = False,
) -> Message:
    """`alert`: the text of the abandonment's message. `link`: to that message in its channel; None if not there.

    `is_there`: the escalation is for the same channel. `is_replaced`: a newer message in the channel asks.
    """
    told = clip(alert, ALERT_MAX)
    head, repeat = section(f"{ABANDONED} *{told}*"), context("may be a repeat" if may_be_repeat else None)
    see = f"<{link.replace('&', '&amp;')}|See the alert>" if link else "The alert is for"
    where = see if is_there and link else f"{see} in {named(channel_id)}" if link else f"{see} {named(channel_id)}"
    if taken is not None:
        by, at = taken
        text = f"{told}. {taken_words(by, utc_clock(at))}"
        return message(text, [head, section(f"{taken_words(by, in_readers_zone(at))}. {where}."), repeat])
    if is_replaced:
        text = f"{told}. A newer message in {named(channel_id)} tells more"
        return message(text, [head, section(f"{where}. A newer message there tells more."), repeat])
    unanswered = f"Nobody has taken it after {counted(minutes, 'minute')}"
    return message(
        with_mentions(f"{told}. {unanswered}.", people),
        [
            head,
            section(joined([f"{unanswered}.", mentions_in_markup(people), f"{where}."], " ")),
            actions([acknowledge_button(key)]),
            repeat,
        ],
    )
