"""The lines a channel reads when somebody changes its subscriptions: who did it, and how much is left."""

from collections.abc import Sequence
from datetime import datetime

from bot.domain.events import Topic
from bot.domain.filters import Abandonments, ChannelFilter, Meeting
from bot.domain.message import Message
from bot.slack.messages.blocks import message, section
from bot.slack.messages.filter_words import described, listed, topics_in_order
from bot.slack.messages.mentions import named
from bot.slack.messages.mute import abandonments_words, meeting_words
from bot.slack.messages.text import SECTION_MAX, clip
from bot.slack.messages.times import moment_for_readers
from bot.storage.subscriptions import UNTIL_RESUMED


def paused_by(user_id: str, filters: Sequence[ChannelFilter], until: datetime) -> Message:
    """Somebody paused the channel."""
    topics = listed(topics_in_order(frozenset[Topic]().union(*(chosen.topics for chosen in filters))))
    ends = moment_for_readers(until, seconds=False) if until < UNTIL_RESUMED else "somebody types `/racing resume`"
    return _line(f"{named(user_id)} paused {topics} here until {ends}.")


def resumed_by(user_id: str) -> Message:
    """Somebody ended the channel's pause."""
    return _line(f"{named(user_id)} ended the pause here: what waited is posted now.")


def muted_by(user_id: str, meeting: Meeting, abandonments: Abandonments) -> Message:
    """Somebody muted a meeting in the channel."""
    still = abandonments_words(abandonments)
    words = f"{named(user_id)} muted {meeting_words(meeting)} here: its results and racecards are not posted."
    return _line(f"{words} {still}".strip())


def unmuted_by(user_id: str, meeting: Meeting) -> Message:
    """Somebody ended the mute of a meeting."""
    return _line(f"{named(user_id)} unmuted {meeting_words(meeting)}: its results and racecards are posted here again.")


def ended_by(user_id: str, ended: Sequence[ChannelFilter], left: Sequence[ChannelFilter]) -> Message:
    """Somebody ended subscriptions of the channel."""
    rest = f"This channel still receives {described(left)}." if left else "This channel receives nothing now."
    return _line(f"{named(user_id)} ended {described(ended)} here. {rest}")


def narrowed_by(user_id: str, before: Sequence[ChannelFilter], after: Sequence[ChannelFilter]) -> Message:
    """Somebody narrowed subscriptions."""
    was, now = described(before), described(after)
    if was == now:
        return _line(f"{named(user_id)} changed whom abandonments mention here. `/racing list` shows it.")
    return _line(f"{named(user_id)} changed what this channel receives. It was {was}. Now it is {now}.")


def _line(words: str) -> Message:
    text = clip(words, SECTION_MAX)
    return message(text, [section(text)])
