"""What a channel receives, in words: the answers of subscribe, unsubscribe and list."""

from collections.abc import Sequence

from bot.domain.events import Topic
from bot.domain.filters import ALL_REGIONS, ChannelFilter
from bot.domain.message import Message
from bot.domain.races import Course
from bot.slack.messages.plain import listing, sentence
from bot.slack.messages.text import safe
from bot.slack.messages.times import moment_for_readers
from bot.storage.subscriptions import UNTIL_RESUMED
from bot.storage.tables import ChannelSubscriptionRow, SubscriptionState

_ORDER = tuple(Topic)

STATE_WORDS = {
    SubscriptionState.LIVE: "live",
    SubscriptionState.WAITING: "waiting for me to be invited",
    SubscriptionState.PAUSED: "paused",
    SubscriptionState.SUSPENDED: "suspended",
}


def region_words(region: str) -> str:
    """A region as people type it."""
    return "all" if region == ALL_REGIONS else region


def describe(chosen: ChannelFilter) -> str:
    """A filter as the rest of the sentence "This channel receives …"."""
    topics = _and([topic.value for topic in _ORDER if topic in chosen.topics])
    where = "from all regions" if chosen.region == ALL_REGIONS else f"from {chosen.region}"
    only = f", only {_and(_names(chosen.courses))}" if chosen.courses else ""
    without = f", without {_and(_names(chosen.not_courses))}" if chosen.not_courses else ""
    return f"{topics} {where}{only}{without}"


def subscribed(
    filters: Sequence[ChannelFilter],
    unchecked: Sequence[str],
    is_member: bool | None,
    bot_name: str,
    uncovered: Sequence[str],
    *,
    is_paused: bool,
) -> Message:
    """What will arrive, and when that begins."""
    what = "; ".join(describe(chosen) for chosen in filters)
    parts = [f"This channel receives {what}."]
    if unchecked:
        parts.append(
            f"I could not check {_and(list(unchecked))} against the data service just now: it was taken as typed."
        )
    if uncovered:
        parts.append(
            f"But the data service is not asked to deliver {_and(list(uncovered))}: an admin has to subscribe to it."
        )
    if is_paused:
        parts.append("The channel is paused, though: what comes is kept until the pause ends, or /racing resume.")
    if is_member is False:
        parts[0] = f"Saved, but I am not in this channel yet: type /invite @{bot_name} here. Then it receives {what}."
    elif is_member is None:
        parts.append(f"I could not see whether I am in this channel: if nothing arrives, type /invite @{bot_name}.")
    return sentence(" ".join(parts))


def unsubscribed(changed: int, left: Sequence[ChannelFilter]) -> Message:
    """What is left."""
    ended = "Done." if changed == 1 else f"Done: {changed} subscriptions changed."
    if not left:
        return sentence(f"{ended} This channel has no subscriptions left.")
    return sentence(f"{ended} This channel still receives {'; '.join(describe(chosen) for chosen in left)}.")


def subscription_list(rows: Sequence[tuple[ChannelSubscriptionRow, ChannelFilter]]) -> Message:
    """A channel's subscriptions: what, in which state, by whom."""
    if not rows:
        return sentence("This channel has no subscriptions. For example: /racing subscribe GB results abandonments")
    lines = [
        f"• {safe(describe(chosen), 400)} — {_state(row)}, by <@{safe(row.created_by)}> on "
        f"{row.created_at.date().isoformat()}"
        for row, chosen in rows
    ]
    return listing("*What this channel receives*", lines, "End one with `/racing unsubscribe REGION`.")


def _state(row: ChannelSubscriptionRow) -> str:
    state = STATE_WORDS[SubscriptionState(row.state)]
    if row.state == SubscriptionState.PAUSED and row.paused_until is not None and row.paused_until < UNTIL_RESUMED:
        return f"{state} until {moment_for_readers(row.paused_until)}"
    return f"{state} ({safe(row.state_reason)})" if row.state_reason and row.state != "waiting" else state


def _names(courses: Sequence[Course]) -> list[str]:
    return [course.name or course.course_id or "?" for course in courses]


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
