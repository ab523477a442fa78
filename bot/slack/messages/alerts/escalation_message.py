"""The message of an escalation: an abandonment that nobody has acknowledged, and later who has."""

from datetime import datetime

from bot.outbox.message import Message
from bot.slack.messages.alerts.acknowledge_words import acknowledge_button, taken_words
from bot.slack.messages.kit.blocks import actions, context, message, section
from bot.slack.messages.kit.marks import ABANDONED
from bot.slack.messages.kit.mentions import mentions_in_markup, named, with_mentions
from bot.slack.messages.kit.text import clip, counted, joined
from bot.slack.messages.kit.times import in_readers_zone, utc_clock

ALERT_MAX = 600


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
