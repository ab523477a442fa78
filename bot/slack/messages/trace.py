"""The answer of `/racing trace`: of each event who was told, when and where, or why not; those not told first."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

from bot.domain.message import Message
from bot.slack.messages.blocks import context, message, mrkdwn, section
from bot.slack.messages.mentions import named
from bot.slack.messages.names import ID_MAX
from bot.slack.messages.text import clip, code, counted, joined, safe
from bot.slack.messages.times import moment_for_readers
from bot.storage.inbox import reference
from bot.storage.ledger import Told, Trace, TracedDelivery, TracedVersion

LINES = 60
"""Channels named in all; each event names a share of them, and counts them all."""

LINES_LEAST = 3
WHY_MAX = 200
KEY_MAX = 120

Link = Callable[[str, str], str | None]
"""The address of a message, by its channel and its ts; None before Slack has told the workspace's."""


def trace_answer(found: Trace, wanted: str, link: Link, only_channel: str | None) -> Message:
    """Who was told of what was asked for; with `only_channel` the answer is limited to it, and says so."""
    name = code(wanted, ID_MAX) or "it"
    limited = f"Limited to this channel, {named(only_channel)}: admins see all." if only_channel else None
    if not found.versions and not found.deliveries:
        return message(text := _nothing(name, found.kept_since), [section(text)])
    room = max(LINES_LEAST, LINES // max(1, len(found.versions)))
    lines = [line for one in found.versions for line in _version(one, link, room, limited=bool(only_channel))]
    lines += [_delivery(one) for one in found.deliveries]
    text = (
        f"{name}: {counted(len(found.versions), 'version')} of events. {_in_short(found, limited=bool(only_channel))}"
    )
    more = f"and {counted(found.more, 'earlier version')}" if found.more else None
    small = context([mrkdwn(words) for words in (limited, more) if words])
    return message(text, [section(f"*What became of {name}*")], lines, len(lines), [small])


def _nothing(name: str, kept_since: datetime | None) -> str:
    since = f"since {moment_for_readers(kept_since)}" if kept_since else "and none of anything else so far"
    return (
        f"I have received no delivery about {name}, {since}. A race's id, a meeting's, an event's key or a reference "
        "(inbox-1) is looked up exactly as it was published, letter case included."
    )


def _in_short(found: Trace, *, limited: bool) -> str:
    """What became of all of it together; where nobody was told, why not."""
    counts = Counter(str(told.outcome) for one in found.versions for told in one.told)
    untold = [_summary(one, counts, limited) for one in found.versions]
    waiting = [f"{reference(one.inbox_id)} {_delivered(one)}" for one in found.deliveries]
    return _in_figures(counts) or "; ".join(dict.fromkeys(untold or waiting))


def _version(one: TracedVersion, link: Link, room: int, *, limited: bool) -> Iterator[str]:
    counts = Counter(str(told.outcome) for told in one.told)
    number = f"version {one.version}" if one.version > 1 else None
    head = joined([code(one.kind) or "*could not be read*", code(one.event_key, KEY_MAX), number])
    received = f"received {moment_for_readers(one.received_at)} ({reference(one.inbox_id)})"
    yield f"{head}, {received}: {_summary(one, counts, limited)}"
    for told in one.told[:room]:
        yield f"• {named(told.channel_id)}: {_told(told, link)}"
    if rest := one.told[room:]:
        yield f"• and {len(rest)} more: {_in_figures(Counter(str(told.outcome) for told in rest))}"


def _summary(one: TracedVersion, counts: Counter[str], limited: bool) -> str:
    if one.told:
        return _in_figures(counts)
    if limited:
        return "this channel had not asked for it"
    return "nobody was subscribed to it" if not one.posts else "no channel was to be told"


def _told(told: Told, link: Link) -> str:
    """What became of it in a channel: "posted 2026-11-20 14:32:10 UTC (ts 1763649130.000100)", or why not."""
    how = "an edit of an earlier message" if told.by_edit else "another message" if told.within else None
    said = [f"{told.outcome}{f', by {how}' if how else ''}"]
    if told.sent_at is not None:
        said.append(f"at {moment_for_readers(told.sent_at)}")
    if told.message_ts is not None:
        address = link(told.channel_id, told.message_ts)
        shown = code(told.message_ts)
        said.append(f"(ts {shown}, <{address}|see it>)" if address else f"(ts {shown})")
    if told.muted_by:
        said.append(f"here by <@{safe(told.muted_by)}>")
    if told.why:
        said.append(f"because: {safe(told.why, WHY_MAX)}")
    if told.attempts > 1 or (not told.attempts and not told.muted_by):
        said.append(f"after {counted(told.attempts, 'attempt')}")
    return " ".join(said)


def _delivery(one: TracedDelivery) -> str:
    received = moment_for_readers(one.received_at)
    return f"{reference(one.inbox_id)} ({code(one.event_key, KEY_MAX)}), received {received}: {_delivered(one)}"


def _delivered(one: TracedDelivery) -> str:
    """What became of a delivery that made no version."""
    if not one.waits:
        return "said nothing new, so nobody was told again"
    if not one.error:
        return "waits to be read; nobody is told yet"
    again = f", next try {moment_for_readers(one.not_before)}" if one.not_before else ""
    return clip(f"failed {counted(one.attempts, 'time')}{again}: {safe(one.error, WHY_MAX)}", WHY_MAX * 2)


def _in_figures(counts: Counter[str]) -> str:
    """How many there are of each: "985 posted, 12 waiting"."""
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
