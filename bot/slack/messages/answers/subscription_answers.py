"""The answers of subscribe and unsubscribe."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.channels.filters import ChannelFilter, Overridden
from bot.channels.hours import has_hours
from bot.events.event import EventKind, RacingEvent, Topic
from bot.outbox.message import Message
from bot.racedata.recent_races import RECENT_DAYS, Recent
from bot.slack.messages.answers.day_answer import IN_CONFLICT
from bot.slack.messages.answers.filter_words import (
    FILTER_WORDS_MAX,
    all_courses_are_shown,
    in_markup,
    still_arrives,
)
from bot.slack.messages.answers.subscription_list import (
    abandonments_buttons,
    edit_button,
    no_abandonments,
    overriding_buttons,
)
from bot.slack.messages.answers.watch_answer import races_still_coming
from bot.slack.messages.conditions.region_view import region_named, region_words
from bot.slack.messages.kit.blocks import actions, command_button, message, section, told
from bot.slack.messages.kit.marks import ABANDONED, MARKED_CONFLICT
from bot.slack.messages.kit.names import course_name, lost_part, race_name, reason
from bot.slack.messages.kit.text import TEXT_MAX, clip, code, counted, first_of, joined, listed, safe, size
from bot.slack.messages.kit.times import moment_for_readers

ABANDONMENTS_NAMED = 20
CONFLICTS_NAMED = 5

ABANDONED_TODAY = "Already abandoned today"

ABANDONMENT_NAME_MAX = 120

OVERRIDDEN_NAMED = 3


@dataclass(frozen=True)
class Said:
    """The parts of the answer of `subscribe`.

    `is_member` None: Slack does not say whether the bot is in the channel. `suspended` is the reason of a suspension.
    `unchecked` words were taken as typed. `uncovered` events are not delivered to us. `notes` are sentences on words
    and courses. `overridden` parts arrive though left out. `lacking` are filters without abandonments in the channel.
    `minutes_alone`: the time to acknowledge where nobody else is told. `waiting`: until when each event waits that came
    before.
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
    notes: Sequence[str] = ()
    overridden: Sequence[Overridden] = ()
    lacking: Sequence[ChannelFilter] = ()
    minutes_alone: int | None = None
    waiting: Sequence[datetime] = ()
    is_news: bool = True
    """False: the channel had the filters already."""


def subscribed(said: Said) -> Message:
    first, rest, today = _first(said), _rest(said), _lost_today(said)
    abandoned = joined([in_text for in_text, _ in today], " ")
    # The beginning gives way, so that no abandonment is cut off the text.
    head = clip(" ".join(first), TEXT_MAX - size(abandoned) - 1)
    text = joined([head, abandoned, *rest], " ")
    had = [] if said.is_news else [edit_button(one.region, f"Edit {region_named(one.region)}") for one in said.filters]
    overriding = overriding_buttons(said.overridden[:OVERRIDDEN_NAMED])
    buttons = actions([*abandonments_buttons(said.lacking), *overriding, *had])
    return message(text, [section(" ".join([*first, *rest])), *(section(lines) for _, lines in today), buttons])


def _first(said: Said) -> list[str]:
    what = in_markup(*said.filters)
    receives = f"This channel receives {what}." if said.is_news else f"Nothing changed: this channel receives {what}."
    if said.is_member is False:
        receives = (
            f"Saved, but I am not in this channel yet: type {_invite(said)} here. Then this channel receives {what}."
        )
    overridden = first_of(list(map(still_arrives, said.overridden)), OVERRIDDEN_NAMED, "`/racing list` shows {} more.")
    none = [safe(no_abandonments(said.lacking), FILTER_WORDS_MAX) or ""] if said.lacking else []
    return [receives, *none, *overridden]


def _rest(said: Said) -> list[str]:
    parts = [*(safe(words, FILTER_WORDS_MAX) or "" for words in said.notes), *_where_courses_are(said.filters)]
    if said.unchecked:
        words = listed([safe(word) or "?" for word in said.unchecked])
        parts.append(f"I could not check {words} against the data service just now: it was taken as typed.")
    if said.uncovered:
        events = listed([code(one) or "?" for one in said.uncovered])
        parts.append(f"But the data service is not asked to deliver {events}: an admin has to subscribe to it.")
    if said.minutes_alone is not None:
        span = counted(said.minutes_alone, "minute")
        parts.append(
            f"If nobody has pressed *I have it* after {span}, I post once more here, and tell nobody else. To name "
            "people or channels, use Edit in `/racing list`, or add `escalate:` and an id."
        )
    if any(map(has_hours, said.filters)):
        parts.append("Abandonments never wait.")
    if said.waiting:
        which = "the first due" if len(set(said.waiting)) > 1 else "due"
        until = moment_for_readers(said.waiting[0], seconds=False)
        parts.append(f"Already waiting here: {counted(len(said.waiting), 'event')}, {which} {until}.")
    if said.is_paused:
        parts.append("The channel is paused, though: messages are kept until the pause ends, or `/racing resume`.")
    topics = frozenset().union(*(chosen.topics for chosen in said.filters))
    return [*parts, *_doubts(said), *_lately(said.recent, topics)]


def _doubts(said: Said) -> list[str]:
    if said.is_member is not None:
        return []
    if said.suspended:
        why = safe(said.suspended)
        return [f"But Slack did not let me post here lately ({why}): messages wait until Slack does."]
    if said.is_direct:
        return ["I could not see whether these are the direct messages with me: I can post in no others."]
    return [f"I could not see whether I am in this channel: if nothing arrives, type {_invite(said)}."]


def _invite(said: Said) -> str:
    return f"`/invite @{said.bot_name}`"


def _listed_today(title: str, marked: str, events: Sequence[RacingEvent], most: int, said: Said) -> tuple[str, str]:
    """A list of abandonments or conflicts in the text and in lines, with the command for the rest."""
    names = sorted(clip(_abandoned(event, said.recent), ABANDONMENT_NAME_MAX) for event in events)
    if not names:
        return "", ""
    regions = {region_words(chosen.region) for chosen in said.filters}
    all_of_them = f"`/results {safe(regions.pop()) if len(regions) == 1 else 'all'} abandonments` lists them all"
    text = f"{title}: {'; '.join(first_of(names, most))}."
    lines = [marked, *first_of(names, most, f"and {{}} more: {all_of_them}")]
    return f"{text} {all_of_them}." if len(names) > most else text, "\n".join(lines)


def _lost_today(said: Said) -> list[tuple[str, str]]:
    if not any(Topic.ABANDONMENTS in chosen.topics for chosen in said.filters):
        return []
    lost, disputed = said.recent.abandoned, said.recent.disputed
    conflict = f"{MARKED_CONFLICT}: {IN_CONFLICT}"
    return [
        _listed_today(ABANDONED_TODAY, f"{ABANDONED} *{ABANDONED_TODAY}*", lost, ABANDONMENTS_NAMED, said),
        _listed_today(f"CONFLICT, {IN_CONFLICT}", conflict, disputed, CONFLICTS_NAMED, said),
    ]


def unsubscribed(
    ended: int,
    left: Sequence[ChannelFilter],
    *,
    changed: int = 0,
    lacking: Sequence[ChannelFilter] = (),
    watched: int = 0,
) -> Message:
    """`watched`: names that the channel watches."""
    numbers = {"ended": ended, "changed": changed}
    several = listed([f"{counted(number, 'subscription')} {what}" for what, number in numbers.items() if number])
    done = "Done." if ended + changed == 1 else f"Done: {several}."
    said = [f"{done} This channel has no subscriptions left.", races_still_coming(watched)]
    if left:
        said = [f"{done} This channel still receives {in_markup(*left)}.", *_where_courses_are(left)]
    none = safe(no_abandonments(lacking), FILTER_WORDS_MAX) if lacking else None
    watching = [command_button("What is watched", "watching")] if watched and not left else []
    return told(joined([*said, none], " "), *abandonments_buttons(lacking), *watching)


def _lately(recent: Recent, topics: frozenset[Topic]) -> list[str]:
    figures = {Topic.RESULTS: (recent.results, "result"), Topic.ABANDONMENTS: (recent.abandonments, "abandonment")}
    shown = [figure for topic, figure in figures.items() if topic in topics]
    if not shown or not recent.is_whole:
        return []
    counts = listed([counted(number, name) if number else f"no {name}s" for number, name in shown])
    return [f"In the last {RECENT_DAYS} days: {counts}."]


def _abandoned(event: RacingEvent, recent: Recent) -> str:
    if event.kind is not EventKind.MEETING_ABANDONED:
        return joined([race_name(event.race), reason(event)], ", ")
    part = lost_part(partly_run=event.key in recent.partly_run)
    return joined([course_name(event.race) or "course not given", part, reason(event)], ", ")


def _where_courses_are(filters: Sequence[ChannelFilter]) -> list[str]:
    return [] if all_courses_are_shown(*filters) else ["Edit in `/racing list` shows all courses."]
