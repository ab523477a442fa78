"""Counts of told, lost, doubled and misplaced messages, from deliveries and channels alone.

The bot is never asked. A message belongs to an event when the message names the event's kind, course and time.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from statistics import median

from sandbox.demo_words import Expectations
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.event_payloads import CARD, MEETING_OFF, RACE_OFF, RESULT
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json, PostedMessage

_NEWS = "CORRECTION|Two versions disagree"

BEGINNINGS = {
    RESULT: f"Result|CONFLICT|VOID|{_NEWS}",
    RACE_OFF: "ABANDONED",
    MEETING_OFF: "ABANDONED",
    CARD: f"Racecard|ABANDONED|{_NEWS}",
}
"""The words before the name in a message about each kind of event. An edit's mark and watched names stand before."""

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
class Reading:
    """A message as a person reads it, with what was found out about it."""

    message: PostedMessage
    _found: dict[Subject | str, bool] = field(default_factory=dict)

    @cached_property
    def words(self) -> str:
        """The text and the words of the blocks."""
        return "\n".join((self.message.text, *_words(self.message.blocks)))

    @cached_property
    def is_summary(self) -> bool:
        return SUMMARY.search(self.words) is not None

    def names(self, course: str) -> bool:
        if course not in self._found:
            self._found[course] = course in self.words
        return self._found[course]

    def is_about(self, subject: Subject) -> bool:
        if subject not in self._found:
            self._found[subject] = _is_about(self.message, subject)
        return self._found[subject]


@dataclass
class Readings:
    """Each message is read once, and once more after an edit."""

    _kept: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def of(self, slack: WorkspaceState, channel_id: str) -> list[Reading]:
        """The channel's messages, oldest first."""
        return [self._reading(message) for message in slack.messages(channel_id)]

    def _reading(self, message: PostedMessage) -> Reading:
        key = (message.channel, message.ts)
        if key not in self._kept or self._kept[key].message is not message:
            self._kept[key] = Reading(message)
        return self._kept[key]


@dataclass
class _Tally:
    """The counts in the making, by the names of `Counts`."""

    counted: Counter[str] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def count(
    deliveries: Sequence[Delivery],
    slack: WorkspaceState,
    expectations: Expectations,
    is_quiet: Callable[[Delivery, str], bool] = lambda _delivery, _channel_id: True,
    readings: Readings | None = None,
) -> Counts:
    """The counts of all deliveries but those that wait.

    `is_quiet` tells of a delivery and a channel whether a missing message counts as lost. Repeated counts
    share `readings`.
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
    tally, named = _Tally(), _Named(slack, readings or Readings())
    for subject, about in due.items():
        if subject.channel_id not in uncounted:
            _add(tally, subject, _distinct(about), named[subject.channel_id, subject.course], is_quiet)
    return Counts(
        **tally.counted,
        waiting=sum(delivery.status == "pending" for delivery in deliveries),
        late_median_s=round(max(0.0, median(tally.late)), 3) if tally.late else None,
        late_longest_s=round(max(tally.late), 3) if tally.late else None,
        uncounted=tuple(sorted(uncounted)),
        problems=tuple(tally.problems[:PROBLEMS_NAMED]),
    )


class _Named(dict[tuple[str, str], list[Reading]]):
    """By channel and course, the messages that name the course."""

    def __init__(self, slack: WorkspaceState, readings: Readings) -> None:
        super().__init__()
        self._slack, self._readings = slack, readings
        self._said: dict[str, list[Reading]] = {}

    def __missing__(self, key: tuple[str, str]) -> list[Reading]:
        channel_id, course = key
        if channel_id not in self._said:
            self._said[channel_id] = self._readings.of(self._slack, channel_id)
        self[key] = [one for one in self._said[channel_id] if one.names(course)]
        return self[key]


def subject_of(delivery: Delivery, channel_id: str) -> Subject:
    subject = delivery.happening.subject
    return Subject(
        channel_id, delivery.happening.event, subject["course"]["name"], subject.get("off_time"), subject["date"]
    )


def _add(
    tally: _Tally,
    subject: Subject,
    distinct: Sequence[Delivery],
    named: Sequence[Reading],
    is_quiet: Callable[[Delivery, str], bool],
) -> None:
    """Compares the deliveries about a subject with the channel's messages that name the subject's course."""
    there = [one.message for one in named if one.is_about(subject)]
    is_elsewhere = any(one.is_summary and one.message.received_at >= _arrived(distinct[-1]) for one in named) or (
        subject.event == RACE_OFF
        and not there
        and any(
            one.is_about(replace(subject, event=MEETING_OFF, off=None)) and (subject.off or "") in one.words
            for one in named
        )
    )
    tally.counted["told"] += min(len(there), len(distinct)) or int(is_elsewhere)
    missing = len(distinct) - len(there)
    if missing > 0 and distinct[-1].status == "failed":
        tally.counted["given_up"] += missing
    elif missing > 0 and not is_elsewhere:
        if is_quiet(distinct[-1], subject.channel_id):
            tally.counted["lost"] += missing
            tally.problems.append(f"lost: {_name(subject)}")
        else:
            tally.counted["on_the_way"] += missing
    elif missing < 0:
        tally.counted["doubled"] -= missing
        tally.problems.append(f"doubled: {_name(subject)}")
    tally.counted["out_of_order"] += _inversions(there)
    tally.late += [
        (message.received_at - delivery.attempts[0].at).total_seconds()
        for message, delivery in zip(there, distinct, strict=False)
    ]


def _name(subject: Subject) -> str:
    return f"{subject.event}, {subject.course} {subject.off or subject.date}"


def _distinct(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Deliveries that need a message each, in the order of arrival.

    A body that repeats the newest needs no second message, nor does a body older than an arrived body. A result that is
    corrected back is news once more.
    """
    found: list[Delivery] = []
    for delivery in sorted(deliveries, key=_arrived):
        if not found or (delivery.number > found[-1].number and _body(delivery) != _body(found[-1])):
            found.append(delivery)
    return found


def _body(delivery: Delivery) -> Json:
    return {name: value for name, value in delivery.happening.payload.items() if name != "occurred_at"}


def _arrived(delivery: Delivery) -> datetime:
    return next((one.at for one in delivery.attempts if one.accepted), delivery.created_at)


def _is_about(message: PostedMessage, subject: Subject) -> bool:
    meeting = ", (?:whole|rest of the) meeting"
    after = rf" {subject.off}\b" if subject.off else meeting if subject.event == MEETING_OFF else f"(?!{meeting}), "
    begins = rf"(?:^|\. )(?:{BEGINNINGS[subject.event]}): (?:Racecard: )?"
    return re.search(f"{begins}{re.escape(subject.course)}{after}", message.text) is not None


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
