"""Counts of told, lost, doubled and misplaced messages, from deliveries and channels alone.

The bot is never asked. A message belongs to an event when the message names the event's kind, course and time.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from bot.sandbox.demo_words import Expectations
from bot.sandbox.racing_service.delivery_queue import Delivery
from bot.sandbox.slack.state import WorkspaceState
from bot.sandbox.slack.values import Json, PostedMessage

RESULT, RACE_OFF, MEETING_OFF, CARD = "result.received", "race.abandoned", "meeting.abandoned", "racecard.published"

BEGINNINGS = {
    RESULT: re.compile(r"^(Result|CORRECTION|Superseded|Contradicted|CONTRADICTION)\b"),
    RACE_OFF: re.compile(r"^(ABANDONED|CORRECTION|Superseded|Contradicted|CONTRADICTION)\b"),
    MEETING_OFF: re.compile(r"^(ABANDONED|CORRECTION|Superseded)\b.*(?:whole|rest of the) meeting"),
    CARD: re.compile(r"^(Racecard|CORRECTION|Superseded|ABANDONED)\b"),
}
"""The first words of a message about each kind of event, before and after edits."""

SUMMARY = re.compile(r"\bwaited\b|could not deliver|while (?:this|the) channel")
"""Words of a summary of several events."""

LOST_AFTER_S = 45.0
"""A missing message is on the way until the channel has been quiet for so long."""

PROBLEMS_NAMED = 20


@dataclass(frozen=True)
class Subject:
    """The subject of a message in a channel. `off` None is a whole meeting."""

    channel_id: str
    event: str
    course: str
    off: str | None
    date: str


@dataclass(frozen=True)
class Counts:
    """Lateness runs from the first delivery attempt to the message.

    `waiting` deliveries are sent again, `given_up` deliveries are not. `uncounted` channels have unread subscriptions.
    """

    told: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    on_the_way: int = 0
    given_up: int = 0
    waiting: int = 0
    late_median_s: float | None = None
    late_longest_s: float | None = None
    uncounted: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class _Tally:
    """The counts in the making."""

    told: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    on_the_way: int = 0
    given_up: int = 0
    late: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def count(
    deliveries: Sequence[Delivery],
    slack: WorkspaceState,
    expectations: Expectations,
    is_quiet: Callable[[Delivery, str], bool] = lambda _delivery, _channel_id: True,
) -> Counts:
    """The counts of all deliveries but those that wait.

    `is_quiet` tells of a delivery and a channel whether a missing message counts as lost.
    """
    due: dict[Subject, list[Delivery]] = defaultdict(list)
    uncounted: set[str] = set()
    for delivery in deliveries:
        if delivery.status == "pending":
            continue
        for channel_id in expectations.wanted:
            wanted = expectations.of(channel_id, delivery.created_at)
            if wanted is None:
                uncounted.add(channel_id)
            elif wanted.takes(delivery.happening.event, delivery.happening.region):
                due[subject_of(delivery, channel_id)].append(delivery)
    tally, said = _Tally(), {channel_id: _said_in(slack, channel_id) for channel_id in expectations.wanted}
    for subject, about in due.items():
        if subject.channel_id not in uncounted:
            _add(tally, subject, _distinct(about), said[subject.channel_id], is_quiet)
    return Counts(
        told=tally.told,
        lost=tally.lost,
        doubled=tally.doubled,
        out_of_order=tally.out_of_order,
        on_the_way=tally.on_the_way,
        given_up=tally.given_up,
        waiting=sum(delivery.status == "pending" for delivery in deliveries),
        late_median_s=round(max(0.0, median(tally.late)), 3) if tally.late else None,
        late_longest_s=round(max(tally.late), 3) if tally.late else None,
        uncounted=tuple(sorted(uncounted)),
        problems=tuple(tally.problems[:PROBLEMS_NAMED]),
    )


def subject_of(delivery: Delivery, channel_id: str) -> Subject:
    payload = delivery.happening.payload
    subject: Json = payload.get("race") or payload["meeting"]
    return Subject(
        channel_id, delivery.happening.event, subject["course"]["name"], subject.get("off_time"), subject["date"]
    )


def _add(
    tally: _Tally,
    subject: Subject,
    distinct: Sequence[Delivery],
    said: Sequence[tuple[PostedMessage, str]],
    is_quiet: Callable[[Delivery, str], bool],
) -> None:
    """Compares the deliveries about a subject with the channel's messages and their words."""
    named = [(message, words) for message, words in said if subject.course in words]
    messages = [message for message, _ in named]
    there = [one for one in messages if _is_about(one, subject)]
    is_elsewhere = any(SUMMARY.search(words) for _, words in named) or (
        subject.event == RACE_OFF
        and not there
        and any(BEGINNINGS[MEETING_OFF].match(words) and (subject.off or "") in words for _, words in named)
    )
    tally.told += min(len(there), len(distinct)) or int(is_elsewhere)
    missing = len(distinct) - len(there)
    if missing > 0 and distinct[-1].status == "failed":
        tally.given_up += missing
    elif missing > 0 and not is_elsewhere:
        if is_quiet(distinct[-1], subject.channel_id):
            tally.lost += missing
            tally.problems.append(f"lost: {_name(subject)}")
        else:
            tally.on_the_way += missing
    elif missing < 0:
        tally.doubled -= missing
        tally.problems.append(f"doubled: {_name(subject)}")
    tally.out_of_order += _inversions(there)
    tally.late += [
        (message.received_at - delivery.attempts[0].at).total_seconds()
        for message, delivery in zip(there, distinct, strict=False)
    ]


def _said_in(slack: WorkspaceState, channel_id: str) -> list[tuple[PostedMessage, str]]:
    """Each message with its text and the words of its blocks."""
    return [(one, "\n".join((one.text, *_words(one.blocks)))) for one in slack.channel_messages(channel_id)]


def _name(subject: Subject) -> str:
    return f"{subject.event}, {subject.course} {subject.off or subject.date}"


def _distinct(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Deliveries that need a message each, in the order of arrival.

    A repeated body needs no second message. A body older than an arrived body needs no message.
    """
    seen: list[Json] = []
    found: list[Delivery] = []
    for delivery in sorted(deliveries, key=_arrived):
        said = {name: value for name, value in delivery.happening.payload.items() if name != "occurred_at"}
        if said not in seen and not any(one.number > delivery.number for one in found):
            seen.append(said)
            found.append(delivery)
    return found


def _arrived(delivery: Delivery) -> datetime:
    return next((one.at for one in delivery.attempts if one.accepted), delivery.created_at)


def _is_about(message: PostedMessage, subject: Subject) -> bool:
    text = message.text
    if not BEGINNINGS[subject.event].match(text) or subject.course not in text:
        return False
    if subject.event == MEETING_OFF:
        return True
    if subject.event == CARD:
        return not re.search(r"(?:whole|rest of the) meeting", text)
    if subject.event == RACE_OFF and not re.search(r"ABANDONED|abandonment", text):
        return False
    if subject.event == RESULT and text.startswith("ABANDONED"):
        return False
    return subject.off is not None and re.search(rf"\b{re.escape(subject.off)}\b", text) is not None


def _inversions(there: Sequence[PostedMessage]) -> int:
    """Corrections above the first message."""
    firsts = [place for place, one in enumerate(there) if not one.text.startswith("CORRECTION")]
    return sum(one.text.startswith("CORRECTION") and place < min(firsts, default=0) for place, one in enumerate(there))


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _words(one)
