"""The answer of `/racing status`."""

from collections.abc import Iterator, Mapping

from bot.deliveries.inbox import reference
from bot.events.sentences import counted
from bot.operations.status_figures import Status
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.alert_notes import untaken_named, untaken_words
from bot.slack.messages.alerts.backlog_summary import COUNTED
from bot.slack.messages.answers.trace_answer import why_not_posted
from bot.slack.messages.answers.usage_answer import in_short
from bot.slack.messages.kit.blocks import context_block, fields, header, section
from bot.slack.messages.kit.layout import lines, message
from bot.slack.messages.kit.text import code, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers

REASON_MAX = 300
EVENTS_MAX = 8


def status_answer(found: Status, degraded: Mapping[str, str], only_channel: str | None = None) -> Message:
    """Reasons, jobs, versions and other channels are for admins only. `only_channel`: of anybody else."""
    for_admins = only_channel is None
    where = f" for {named(only_channel)}" if only_channel else ""
    deliveries = counted(found.waiting_deliveries, "delivery", "deliveries") if found.waiting_deliveries else None
    waits = joined([deliveries, f"{counted(found.waiting_posts, 'post')}{where}"], ", ")
    head = [
        header("Status"),
        section(f"*{_health(found, degraded, only_channel)}*"),
        section("\n".join(_reasons(found, degraded)) if for_admins else ""),
        fields(
            ("Deliveries, last 24 hours", _deliveries(found.deliveries)),
            ("Posts, last 24 hours", _posts(found)),
            ("Waiting", waits),
            ("Quota", in_short(found.reading) if found.reading else "not read this month yet"),
            ("Last repair", moment_for_readers(found.done["repair"]) if "repair" in found.done else None),
        ),
    ]
    listed = [*_waiting(found, for_admins=for_admins), *(_jobs(found) if for_admins else ())]
    return message(None, [*head, lines(listed), _small_print(found, only_channel)])


def _health(found: Status, degraded: Mapping[str, str], only_channel: str | None) -> str:
    if not (degraded or found.missing or found.without_result or found.untaken.count):
        return "All is well." if found.done else "Nothing has been checked yet."
    wrong, late = len(degraded), counted(found.without_result, "past race")
    said = [
        f"{counted(wrong, 'thing needs', 'things need')} attention." if wrong else None,
        _untaken(found, only_channel) if found.untaken.count else None,
        f"Missing: outcomes of {counted(found.missing, 'meeting')}." if found.missing else None,
        f"{late} without a result hours after the off." if found.without_result else None,
        "An admin can see why." if only_channel and wrong else None,
    ]
    return joined(said, " ")


def _untaken(found: Status, only_channel: str | None) -> str:
    told = untaken_words(found.untaken, f" in {named(only_channel)}" if only_channel else "")
    here = found.untaken_here
    if here is None:
        return f"{told}."
    inside = f"{here.count} ({untaken_named(here)})" if here.count else "none"
    return f"{told}, in this channel {inside}."


def _reasons(found: Status, degraded: Mapping[str, str]) -> Iterator[str]:
    words_of = {f"job {job.id}": job.words for job in found.jobs}
    for name, reason in degraded.items():
        yield f"• *{safe(words_of.get(name, name))}*: {safe(reason, REASON_MAX)}"


def _posts(found: Status) -> str:
    sent = found.sent
    if sent.p50_s is None or sent.p95_s is None:
        return "0 posts"
    times = f"half of them within {_seconds(sent.p50_s)} of receipt, 95% within {_seconds(sent.p95_s)}"
    return f"{counted(sent.posts, 'post')}, {times}"


def _seconds(took_s: float) -> str:
    """For example "0.4 s", "12 s", "3 min", "2.5 h"."""
    if took_s < 10:
        return f"{took_s:.1f} s"
    if took_s < 120:
        return f"{took_s:.0f} s"
    return f"{took_s / 60:.0f} min" if took_s < 7_200 else f"{took_s / 3_600:.1f} h"


def _deliveries(by_event: Mapping[str, int]) -> str:
    if not by_event:
        return "0"
    most = sorted(by_event.items(), key=lambda one: (-one[1], one[0]))
    shown = [
        counted(count, *COUNTED[name]) if name in COUNTED else f"{count:,} {code(name, 60) or 'without an event'}"
        for name, count in most[:EVENTS_MAX]
    ]
    more = sum(count for _, count in most[EVENTS_MAX:])
    return f"{sum(by_event.values()):,}: {joined([*shown, f'{more:,} others' if more else None], ', ')}"


def _waiting(found: Status, *, for_admins: bool) -> Iterator[str]:
    first = found.first_waiting
    if for_admins and first is not None and first.error:
        yield f"• {reference(first.inbox_id)} is tried again: {safe(first.error, REASON_MAX)}"
    for one in found.waiting_channels:
        posts = f"{counted(one.count, 'post')}, the first since {moment_for_readers(one.since)}"
        yield f"• {named(one.channel_id)}: {posts}: {why_not_posted(one.outcome, one.why, has_ids=for_admins)}"
    if rest := found.waiting_posts - sum(one.count for one in found.waiting_channels):
        yield f"• other channels: {counted(rest, 'post')}"


def _jobs(found: Status) -> Iterator[str]:
    yield "*When each job was last done*"
    for job in found.jobs:
        done = moment_for_readers(found.done[job.id]) if job.id in found.done else "not yet"
        yield f"• {job.words}: {done}"


def _small_print(found: Status, only_channel: str | None) -> Block | None:
    if only_channel:
        return context_block("Admins see reasons, jobs and all channels.")
    return context_block(
        f"racing-bot {safe(found.version)}",
        f"schema {safe(found.schema) or 'unknown'}",
        counted(found.replicas, "replica"),
        f"read {moment_for_readers(found.at)}",
    )
