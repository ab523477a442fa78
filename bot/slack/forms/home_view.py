"""App Home: what a person may change, and the bot's health for admins. A view of at most 100 blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.event_conditions import region_named
from bot.channels.filters import ChannelFilter
from bot.db.tables import WatchRow
from bot.events.sentences import counted
from bot.outbox.acknowledgements import PersonsAbandonment
from bot.outbox.dead_letters import DeadLetter
from bot.outbox.message import Block, Message
from bot.slack.messages.answers.filter_words import in_markup
from bot.slack.messages.answers.subscription_answers import EDIT, last_post
from bot.slack.messages.answers.watch_answer import end_line
from bot.slack.messages.kit.blocks import action_button, actions, confirmed_by, context_block, header, section
from bot.slack.messages.kit.marks import ABANDONED
from bot.slack.messages.kit.names import HORSE_MAX, abandonment_name, course_name, race_name, reason
from bot.slack.messages.kit.text import clip, given, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers

HOME = "home"
"""Begins the action_id of each button. The value is the channel's id, a space, and the words of the command."""

POST_AGAIN = "post_again"
"""The word of the button that posts an alert after all, before the message's id."""

CHANNELS_MAX = 20
CHANGES_MAX = 5
DEAD_LETTERS_MAX = 5
HOME_WATCHES_MAX = 10
ABANDONMENTS_MAX = 10
CHANNEL_WORDS_MAX = 1_000
DETAIL_MAX = 150
STATUS_BLOCKS_MAX = 20

NOTHING_YET = (
    "You have not subscribed a channel yet. Invite me to a channel and type `/racing subscribe GB` there, with your "
    "region. `/racing help` shows what else I understand."
)


@dataclass(frozen=True)
class HomeChannel:
    """`state` in words; `is_paused`: the button resumes. `muted` counts meetings, `watched` names."""

    channel_id: str
    filters: Sequence[ChannelFilter]
    state: str
    is_paused: bool
    last_post_at: datetime | None
    muted: int = 0
    watched: int = 0


@dataclass(frozen=True)
class HomePage:
    """`said` answers the last press. `watches` and `abandonments`: the person's own.

    `status` and `dead_letters` are for admins.
    """

    channels: Sequence[HomeChannel]
    total: int
    is_admin: bool
    watches: Sequence[WatchRow] = ()
    abandonments: Sequence[PersonsAbandonment] = ()
    status: Message | None = None
    dead_letters: Sequence[DeadLetter] = ()
    said: str | None = None
    at: datetime | None = None


def home_view(page: HomePage) -> dict[str, Any]:
    blocks = [
        section(page.said),
        *_abandonments(page.abandonments),
        *_channels(page),
        *_watches(page.watches),
        *_dead_letters(page.dead_letters),
        *(page.status.blocks[:STATUS_BLOCKS_MAX] if page.status else ()),
        context_block(
            given("As of {}. Open Home again for newer figures.", moment_for_readers(page.at) if page.at else None)
        ),
    ]
    return {"type": "home", "blocks": [block for block in blocks if block]}


def said_of(channel_id: str, answer: str) -> str:
    """The answer speaks of "this channel", and Home shows several channels."""
    return f"{named(channel_id)}: {answer}" if is_channel(channel_id) else answer


def _part(title: str, blocks: Sequence[Block | None]) -> list[Block]:
    """Nothing without a block."""
    shown = [block for block in blocks if block]
    return [header(title), *shown] if shown else []


def _abandonments(abandonments: Sequence[PersonsAbandonment]) -> list[Block]:
    lines = [
        f"• {abandonment_name(one.event, one.partly_run)} in {named(one.channel_id)}: {_taken(one)}"
        for one in abandonments
    ]
    return _part("Your abandonments of the last 24 hours", [section("\n".join(lines))])


def _taken(one: PersonsAbandonment) -> str:
    if one.taken_at is None:
        return f"{ABANDONED} you were told, and *nobody has taken it*"
    return f"you have it since {moment_for_readers(one.taken_at)}"


def _channels(page: HomePage) -> list[Block]:
    if not page.channels:
        return _part("racing-bot", [section(NOTHING_YET)])
    left = page.total - len(page.channels)
    more = section(f"and {counted(left, 'more channel')}: type `/racing list` there" if left else "")
    blocks = [block for one in page.channels for block in (section(_words(one)), actions(_buttons(one)))]
    return _part("All channels" if page.is_admin else "Channels that you subscribed or changed", [*blocks, more])


def _words(one: HomeChannel) -> str:
    muted = f"{counted(one.muted, 'meeting')} muted" if one.muted else None
    watched = f"{counted(one.watched, 'name')} watched: `/racing watching` lists them there" if one.watched else None
    state = joined([safe(one.state), muted, last_post(one.last_post_at)])
    lines = [f"*{named(one.channel_id)}*", in_markup(*one.filters), watched, state]
    left = len(one.filters) - CHANGES_MAX
    more = f"{counted(left, 'subscription')} without a button: type `/racing list` there"
    return joined([clip(joined(lines, "\n"), CHANNEL_WORDS_MAX), more if left > 0 else None], "\n")


def _buttons(one: HomeChannel) -> list[Block]:
    pause = ("Resume", "resume") if one.is_paused else ("Pause", "pause")
    regions = {chosen.region: f" {region_named(chosen.region)}" for chosen in one.filters}
    change = [
        _button(one.channel_id, f"Change{name if len(regions) > 1 else ''}", f"{EDIT} {region}")
        for region, name in [*regions.items()][:CHANGES_MAX]
    ]
    watched = [_button(one.channel_id, "What is watched", "watching")] if one.watched else []
    return [_button(one.channel_id, *pause), *change, _button(one.channel_id, "Add", "subscribe"), *watched]


def _watches(rows: Sequence[WatchRow]) -> list[Block]:
    shown = [
        section(f"{safe(row.name, HORSE_MAX)} ({row.kind})", _button(row.channel_id, "End", end_line(row)))
        for row in rows[:HOME_WATCHES_MAX]
    ]
    left = len(rows) - len(shown)
    more = section(f"and {counted(left, 'more name')}: type `/racing watching`" if left else "")
    return _part("What you watch", [*shown, more])


def _dead_letters(letters: Sequence[DeadLetter]) -> list[Block]:
    blocks: list[Block | None] = []
    for one in letters:
        name = joined([race_name(one.event.race) or course_name(one.event.race), reason(one.event)])
        kind = f"{ABANDONED} ABANDONED: " if one.event.is_abandonment else ""
        words = f"{kind}{name}, for {named(one.channel_id)}, {moment_for_readers(one.given_up_at)}"
        blocks += [
            section(f"{words}\n{safe(one.reason, DETAIL_MAX) or ''}"),
            actions([_button(one.channel_id, "Post it after all", f"{POST_AGAIN} {one.message_id}")]),
        ]
    return _part("Given up", blocks)


def _button(channel_id: str, label: str, words: str) -> Block:
    return action_button(label, HOME, f"{channel_id} {words}", confirm=confirmed_by(words))
