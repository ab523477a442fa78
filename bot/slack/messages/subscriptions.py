"""What a channel receives, in words: the answers of subscribe and unsubscribe, and the sentences that lists use too."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from bot.domain.events import EventKind, RacingEvent, Topic
from bot.domain.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.domain.message import Message
from bot.domain.races import Course
from bot.slack.messages.blocks import message, section
from bot.slack.messages.mentions import mentions_in_markup
from bot.slack.messages.names import course_name, race_name
from bot.slack.messages.text import clip, counted, safe, size
from bot.storage.recent import DAYS, Recent

_ORDER = tuple(Topic)

WORDS_MAX = 1_000
NAMES_MAX = 240
"""Characters of the names in a list of courses, where one filter is shown; of several each has its part of them."""

NAME_MAX = 100
NAMED_MAX = 20
"""Abandonments of today that are named; more are counted."""

ABANDONED_MAX = 120
"""Of the name of one, so that a section holds them all."""


@dataclass(frozen=True)
class Said:
    """What `subscribe` has to say back.

    `is_member` None: Slack does not say whether the bot is in the channel; `suspended` is why that was closed to us,
    where it was. `unchecked` words were taken as typed, and `uncovered` is what the data service does not deliver to
    us. `about_courses` are sentences on them.
    """

    filters: Sequence[ChannelFilter]
    unchecked: Sequence[str]
    uncovered: Sequence[str]
    recent: Recent
    is_member: bool | None
    is_paused: bool
    bot_name: str
    is_direct: bool = False
    suspended: str | None = None
    about_courses: Sequence[str] = ()


def region_words(region: str) -> str:
    """A region as people type it."""
    return "all" if region == ALL_REGIONS else region


def describe(chosen: ChannelFilter, names_max: int | None = NAMES_MAX) -> str:
    """A filter as the rest of the sentence "This channel receives …", but for who is mentioned.

    A list of courses with more than `names_max` characters (None: whatever it has) is counted, and named in part.
    """
    topics = _and([topic.value for topic in _ORDER if topic in chosen.topics])
    where = "from all regions" if chosen.region == ALL_REGIONS else f"from {chosen.region}"
    only = f", only {_named(chosen.courses, names_max)}" if chosen.courses else ""
    without = f", without {_named(chosen.not_courses, names_max)}" if chosen.not_courses else ""
    return f"{topics} {where}{only}{without}"


def in_words(chosen: ChannelFilter) -> str:
    """A filter in plain words, whole, those who are mentioned by their ids."""
    rings = f", mentioning {_and(list(chosen.mentions))}" if chosen.mentions else ""
    return f"{describe(chosen, None)}{rings}"


def in_markup(*filters: ChannelFilter) -> str:
    """Filters as they are shown to people."""
    return "; ".join(_in_markup(chosen, NAMES_MAX // len(filters)) for chosen in filters)


def all_courses_are_shown(*filters: ChannelFilter) -> bool:
    """Whether `in_markup` names every course."""
    return all(describe(chosen, NAMES_MAX // len(filters)) == describe(chosen, None) for chosen in filters)


def name_of(course: Course) -> str:
    """What a filter's course is called."""
    return course.name or course.course_id or "?"


def _in_markup(chosen: ChannelFilter, names_max: int) -> str:
    people = mentions_in_markup(one for one in chosen.mentions if one != HERE)
    shown = " ".join(filter(None, [people, "@here" if HERE in chosen.mentions else ""]))
    rings = f", an abandonment mentions {shown}" if shown else ""
    return f"{safe(describe(chosen, names_max), WORDS_MAX)}{rings}"


def subscribed(said: Said) -> Message:
    """What will arrive and when that begins, how much of it there was, and what is abandoned today."""
    what = in_markup(*said.filters)
    parts = [
        f"This channel receives {what}.",
        *(safe(words, WORDS_MAX) or "" for words in said.about_courses),
        *_rest(said.filters),
    ]
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
    elif said.is_member is None and said.suspended:
        why = safe(said.suspended)
        parts.append(f"But Slack did not let me post here lately ({why}): what comes waits until it does.")
    elif said.is_member is None and said.is_direct:
        parts.append("I could not see whether these are the direct messages with me: I can post in no others.")
    elif said.is_member is None:
        parts.append(f"I could not see whether I am in this channel: if nothing arrives, type {invite}.")
    text = " ".join([*parts, *_lately(said.recent)])
    return message(text, [section(text), section(abandoned_today(said))])


def abandoned_today(said: Said) -> str:
    """What is abandoned today already of what was asked for, by name, and where the rest is; "" where nothing is."""
    if not any(Topic.ABANDONMENTS in chosen.topics for chosen in said.filters) or not said.recent.abandoned:
        return ""
    names = sorted(clip(_abandoned(event), ABANDONED_MAX) for event in said.recent.abandoned)
    more = [f"{len(names) - NAMED_MAX} more"] if len(names) > NAMED_MAX else []
    regions = {region_words(chosen.region) for chosen in said.filters}
    where = safe(regions.pop()) if len(regions) == 1 else "all"
    see = f" `/results {where} abandonments` lists them all." if more else ""
    return f"Already abandoned today: {_and(names[:NAMED_MAX] + more)}.{see}"


def unsubscribed(changed: int, left: Sequence[ChannelFilter]) -> Message:
    """What is left."""
    ended = "Done." if changed == 1 else f"Done: {changed} subscriptions changed."
    if not left:
        text = f"{ended} This channel has no subscriptions left."
    else:
        text = " ".join([f"{ended} This channel still receives {in_markup(*left)}.", *_rest(left)])
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


def _rest(filters: Sequence[ChannelFilter]) -> list[str]:
    """Where the rest of the courses can be seen."""
    return [] if all_courses_are_shown(*filters) else ["Edit in `/racing list` shows all courses."]


def _named(courses: Sequence[Course], names_max: int | None) -> str:
    names = [clip(name_of(course), NAME_MAX) for course in courses]
    if names_max is None or sum(map(size, names)) <= names_max:
        return _and(names)
    shown = [name for name, room in zip(names, accumulate(map(size, names)), strict=True) if room <= names_max]
    shown = shown or names[:1]
    return f"{counted(len(names), 'course')}: {', '.join(shown)}{_more(len(names) - len(shown))}"


def _more(number: int) -> str:
    return f", and {number} more" if number else ""


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
