"""The lines a channel reads when somebody changes its subscriptions, and after the bot's invitation."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bot.channels.conditions.condition import Loss
from bot.channels.conditions.event_conditions import region_named, topics_in_order
from bot.channels.conditions.table import CONDITIONS, TOPICS
from bot.channels.filters import Abandonments, ChannelFilter, Meeting
from bot.channels.pauses import UNTIL_RESUMED
from bot.channels.watches import WatchedName
from bot.events.event import Topic
from bot.events.sentences import listed
from bot.outbox.message import Message
from bot.slack.messages.answers.filter_words import FILTER_WORDS_MAX, described, in_plain_words
from bot.slack.messages.answers.pause_and_mute import IS_PAUSED, WHERE_ABANDONMENTS_ARE, meeting_words
from bot.slack.messages.answers.watch_answer import races_still_coming
from bot.slack.messages.kit.layout import sentence, told
from bot.slack.messages.kit.text import given, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers


def paused_by(user_id: str, filters: Sequence[ChannelFilter], until: datetime) -> Message:
    topics = listed(topics_in_order(frozenset[Topic]().union(*(chosen.topics for chosen in filters))))
    ends = moment_for_readers(until) if until < UNTIL_RESUMED else "somebody types `/racing resume`"
    return told(f"{named(user_id)} paused {topics or 'what is watched'} here until {ends}.")


def resumed_by(user_id: str, waited: int) -> Message:
    """`waited` counts messages."""
    posted = "Messages that waited are posted now." if waited else None
    return told(joined([f"{named(user_id)} ended the pause here.", posted], " "))


def muted_by(user_id: str, meeting: Meeting, abandonments: Abandonments) -> Message:
    words = f"{named(user_id)} muted {meeting_words(meeting)} here: its results and racecards are not posted."
    return told(f"{words} {WHERE_ABANDONMENTS_ARE[abandonments]}")


def unmuted_by(user_id: str, meeting: Meeting) -> Message:
    return told(f"{named(user_id)} unmuted {meeting_words(meeting)}: its results and racecards are posted here again.")


def unwatched_by(user_id: str, name: WatchedName) -> Message:
    return told(f"{named(user_id)} ended the watch on {name.kind} {safe(name.name)} here.")


def ended_by(
    user_id: str, ended: Sequence[ChannelFilter], left: Sequence[ChannelFilter], *, watched: int = 0
) -> Message:
    """`watched`: names that the channel watches."""
    if left:
        rest = f"This channel still receives {described(left)}."
    else:
        rest = races_still_coming(watched) or "This channel receives nothing now."
    return told(f"{named(user_id)} ended {described(ended)} here. {rest}")


def narrowed_by(user_id: str, before: Sequence[ChannelFilter], after: Sequence[ChannelFilter]) -> Message:
    left = {chosen.region: chosen for chosen in after}
    regions: dict[Loss, list[str]] = {}
    for was in before:
        for loss in _losses(was, left.get(was.region)):
            regions.setdefault(loss, []).append(region_named(was.region))
    if not regions:
        return told(f"{named(user_id)} changed who is mentioned for abandonments here. `/racing list` shows who.")
    changes: dict[str, list[str]] = {}
    for loss, where in regions.items():
        changes.setdefault(f"{loss.words} {listed(where)}", []).extend([loss.now] if loss.now else [])
    lost = listed([change + (given(": now {}", listed(now)) or "") for change, now in changes.items()])
    has_lost_topics = any(was.topics - (left[was.region].topics if was.region in left else set()) for was in before)
    still = f" Still coming: {_still(before, left)}." if has_lost_topics else ""
    return told(f"{named(user_id)} {safe(lost, FILTER_WORDS_MAX)}.{still}")


def _losses(was: ChannelFilter, now: ChannelFilter | None) -> Iterator[Loss]:
    if now is None:
        yield Loss(f"ended {TOPICS.words(was, None)} from")
        return
    for condition in CONDITIONS:
        yield from condition.losses(was, now)


def _still(before: Sequence[ChannelFilter], left: Mapping[str, ChannelFilter]) -> str:
    topics = {chosen.topics for chosen in left.values()}
    is_short = len(topics) == 1 and all(was.region in left for was in before)
    return ", ".join(topics_in_order(topics.pop())) if is_short else described(left.values())


def welcome(filters: Sequence[ChannelFilter], *, is_paused: bool) -> Message:
    if not filters:
        return sentence(
            "Thank you for the invitation. I post horse racing results and abandonments. Type /racing subscribe GB for "
            "a region, or /racing subscribe all. /racing help shows what else I understand."
        )
    receives = f"This channel receives {in_plain_words(filters)}."
    paused, rest = IS_PAUSED if is_paused else None, "/racing list shows the subscriptions."
    return sentence(joined(["Thank you for the invitation.", receives, paused, rest], " "))
