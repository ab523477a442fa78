"""What a channel receives, in words: the answers of subscribe and unsubscribe, and the sentences that lists use too."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.events import EventKind, RacingEvent, Topic
from bot.domain.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.domain.message import Message
from bot.domain.races import Course
from bot.slack.messages.blocks import message, section
from bot.slack.messages.mentions import mentions_in_markup
from bot.slack.messages.names import course_name, race_name
from bot.slack.messages.text import counted, safe
from bot.storage.recent import DAYS, Recent

_ORDER = tuple(Topic)

WORDS_MAX = 600
NAMED_MAX = 20
"""Abandonments of today that are named; more are counted."""


@dataclass(frozen=True)
class Said:
    """What `subscribe` has to say back.

    `is_member` None: Slack does not say whether the bot is in the channel. `unchecked` words were taken as typed, and
    `uncovered` is what the data service does not deliver to us.
    """

    filters: Sequence[ChannelFilter]
    unchecked: Sequence[str]
    uncovered: Sequence[str]
    recent: Recent
    is_member: bool | None
    is_paused: bool
    bot_name: str


def region_words(region: str) -> str:
    """A region as people type it."""
    return "all" if region == ALL_REGIONS else region


def describe(chosen: ChannelFilter) -> str:
    """A filter as the rest of the sentence "This channel receives …", but for who is mentioned."""
    topics = _and([topic.value for topic in _ORDER if topic in chosen.topics])
    where = "from all regions" if chosen.region == ALL_REGIONS else f"from {chosen.region}"
    only = f", only {_and(_names(chosen.courses))}" if chosen.courses else ""
    without = f", without {_and(_names(chosen.not_courses))}" if chosen.not_courses else ""
    return f"{topics} {where}{only}{without}"


def in_words(chosen: ChannelFilter) -> str:
    """A filter in plain words, those who are mentioned by their ids."""
    rings = f", mentioning {_and(list(chosen.mentions))}" if chosen.mentions else ""
    return f"{describe(chosen)}{rings}"


def in_markup(chosen: ChannelFilter) -> str:
    """A filter as it is shown to people."""
    people = mentions_in_markup(one for one in chosen.mentions if one != HERE)
    shown = " ".join(filter(None, [people, "@here" if HERE in chosen.mentions else ""]))
    rings = f", an abandonment mentions {shown}" if shown else ""
    return f"{safe(describe(chosen), WORDS_MAX)}{rings}"


def subscribed(said: Said) -> Message:
    """What will arrive and when that begins, how much of it there was, and what is abandoned today."""
    what = "; ".join(in_markup(chosen) for chosen in said.filters)
    parts = [f"This channel receives {what}."]
    if said.unchecked:
        words = _and([safe(word) or "?" for word in said.unchecked])
        parts.append(f"I could not check {words} against the data service just now: it was taken as typed.")
    if said.uncovered:
        events = safe(_and(list(said.uncovered)), WORDS_MAX)
        parts.append(f"But the data service is not asked to deliver {events}: an admin has to subscribe to it.")
    if said.is_paused:
        parts.append("The channel is paused, though: what comes is kept until the pause ends, or `/racing resume`.")
    invite = f"`/invite @{said.bot_name}`"
    if said.is_member is False:
        parts[0] = f"Saved, but I am not in this channel yet: type {invite} here. Then it receives {what}."
    elif said.is_member is None:
        parts.append(f"I could not see whether I am in this channel: if nothing arrives, type {invite}.")
    text = " ".join([*parts, *_lately(said.recent)])
    return message(text, [section(text), section(abandoned_today(said))])


def abandoned_today(said: Said) -> str:
    """What is abandoned today already of what was asked for, by name; "" where nothing is known to be."""
    if not any(Topic.ABANDONMENTS in chosen.topics for chosen in said.filters) or not said.recent.abandoned:
        return ""
    names = sorted(_abandoned(event) for event in said.recent.abandoned)
    more = [f"{len(names) - NAMED_MAX} more"] if len(names) > NAMED_MAX else []
    return f"Already abandoned today: {_and(names[:NAMED_MAX] + more)}."


def unsubscribed(changed: int, left: Sequence[ChannelFilter]) -> Message:
    """What is left."""
    ended = "Done." if changed == 1 else f"Done: {changed} subscriptions changed."
    if not left:
        text = f"{ended} This channel has no subscriptions left."
    else:
        text = f"{ended} This channel still receives {'; '.join(in_markup(chosen) for chosen in left)}."
    return message(text, [section(text)])


def _lately(recent: Recent) -> list[str]:
    """How much of it there was; nothing where nothing is known."""
    if not recent.is_whole and not (recent.results or recent.abandonments):
        return []
    known = "" if recent.is_whole else ", as far as I know"
    figures = f"{counted(recent.results, 'result')} and {counted(recent.abandonments, 'abandonment')}"
    return [f"In the last {DAYS} days there were {figures} of these{known}."]


def _abandoned(event: RacingEvent) -> str:
    if event.kind is EventKind.MEETING_ABANDONED:
        return f"{course_name(event.race) or 'course not given'}, whole meeting"
    return race_name(event.race)


def _names(courses: Sequence[Course]) -> list[str]:
    return [course.name or course.course_id or "?" for course in courses]


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
