"""An abandonment to be acknowledged: button, words once somebody has the abandonment, message of an escalation."""

from bot.events.sentences import counted, listed
from bot.outbox.acknowledgements import Escalation, Untaken
from bot.outbox.message import Block, Message
from bot.outbox.message_view import AskedInView
from bot.slack.messages.kit.blocks import action_button, actions, context_block, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import ABANDONED, TAKEN_OVER
from bot.slack.messages.kit.names import abandonment_name
from bot.slack.messages.kit.text import clip, first_of, joined, link_to, mentions_in_markup, named, with_mentions
from bot.slack.messages.kit.times import in_readers_zone

ACKNOWLEDGE = "acknowledge"

GIVE_BACK = "give_back"

I_HAVE_IT = "I have it"

ALERT_MAX = 600


def acknowledge_button(key: str) -> Block:
    """`key`: of the abandonment's message."""
    return action_button(I_HAVE_IT, ACKNOWLEDGE, key) | {"style": "primary"}


def give_back_button(key: str) -> Block:
    return action_button("I don't have it", GIVE_BACK, key)


def taken_words(asked: AskedInView | None) -> str | None:
    """None until somebody has the abandonment."""
    if asked is None or asked.by is None or asked.at is None:
        return None
    return f"{TAKEN_OVER} {named(asked.by)} has it since {in_readers_zone(asked.at)}"


def untaken_words(untaken: Untaken, where: str) -> str:
    """For example "Not taken here: 1 abandonment of the last 24 hours (Ascot 14:30)". `where`: " here"."""
    told = counted(untaken.count, "abandonment")
    return f"Not taken{where}: {told} of the last 24 hours ({untaken_named(untaken)})"


def untaken_named(untaken: Untaken) -> str:
    """For example "Ascot 14:30, York (whole meeting) and 2 more"."""
    names = [abandonment_name(event, untaken.partly_run) for event in untaken.first]
    return listed(first_of(names, len(names), "{} more", untaken.count))


def escalation(told: Escalation, alert: str, link: str | None) -> Message:
    """`alert`: the text of the abandonment's message. `link`: to the alert in its channel, if any."""
    taken, channel_id = taken_words(told.alert.beside.asked), told.alert.post.channel_id
    first, channel = clip(alert, ALERT_MAX), named(channel_id)
    see = link_to(link, "See the alert") or f"The alert is for {channel}"
    where = see if link is None or told.post.channel_id == channel_id else f"{see} in {channel}"
    people, pressed = told.people, actions([acknowledge_button(told.alert.post.idempotency_key)])
    if told.is_replaced or taken:
        people, pressed = (), None
    if taken:
        news, said = taken, f"{taken}. {where}."
    elif told.is_replaced:
        news, said = f"A newer message in {channel} has more", f"{where}. A newer message there has more."
    else:
        news = f"Nobody has taken it after {counted(told.minutes, 'minute')}."
        said = joined([news, mentions_in_markup(people), f"{where}."], " ")
    repeat = context_block("may be a repeat" if told.post.may_be_repeat else None)
    blocks = [section(f"{ABANDONED} *{first}*"), section(said), pressed, repeat]
    return message(with_mentions(f"{first}. {news}", people), blocks)
