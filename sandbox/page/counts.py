"""Counts of told, lost, doubled and misplaced messages, from deliveries and channels alone.

The bot is never asked. A message belongs to an event when the message names the event's kind, course and time. Whatever
a channel has chosen, its messages are counted. A missing message is due if the channel wanted the event when it
happened, and still does: the bot withdraws what waits and is no longer wanted.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from bot.clock import utc_now
from sandbox.demo_choices import Choices
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.event_payloads import CARD, MEETING_OFF, RACE_OFF, RESULT
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json, PostedMessage, texts_in

EVENTS_OF_WORD = {
    **{word: {RESULT} for word in ("Result", "CONFLICT", "VOID")},
    **{word: {RESULT, CARD} for word in ("CORRECTION", "Two versions disagree")},
    "Racecard": {CARD},
    "ABANDONED": {RACE_OFF, MEETING_OFF, CARD},
}
"""The words before the name in a message about each kind of event. An edit's mark and watched names stand before."""

NAMES = re.compile(
    rf"(?:^|\. )(?P<word>{'|'.join(EVENTS_OF_WORD)}): (?:Racecard: )?(?P<course>[^:]+?)"
    r"(?: (?P<off>\d\d:\d\d)\b|, (?P<whole>(?:whole|rest of the|part of the) meeting)?)"
)
SUMMARY = re.compile(r"\bdigest\b|came meanwhile|told late|^Told late|could not deliver", re.IGNORECASE)
"""Words of a summary of several events."""

SHORTENED = re.compile(r"\band \d+ more\b", re.IGNORECASE)
REMINDER = re.compile(r"Nobody has taken it|The alert is for|See the alert|A newer message in")
"""Words of an escalation, which repeats an abandonment on purpose."""

LOST_AFTER_S = 45.0
"""A missing message is on the way until the channel has been quiet for so long."""

PROBLEMS_NAMED = 20


class Subject(NamedTuple):
    """The subject of a message. `off` None is a whole meeting."""

    event: str
    course: str
    off: str | None
    date: str

    def __str__(self) -> str:
        return f"{self.event}, {self.course} {self.off or self.date}"


@dataclass
class Counts:
    """Lateness runs from the first delivery attempt to the message. `given_up` deliveries are sent no more.

    `held`: the messages on the way that wait for the end of a pause, or for an hour.
    """

    told: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    on_the_way: int = 0
    held: int = 0
    given_up: int = 0
    late_median_s: float | None = None
    late_longest_s: float | None = None
    problems: list[str] = field(default_factory=list)


class Reading:
    """A message as a person reads it."""

    def __init__(self, message: PostedMessage) -> None:
        self.message = message
        self.words = "\n".join((message.text, *texts_in(message.blocks)))
        self.is_summary = SUMMARY.search(self.words) is not None
        self._named = None if REMINDER.search(self.words) else NAMES.search(message.text)

    @property
    def course(self) -> str:
        """The course of the message's event, or nothing."""
        return self._named["course"] if self._named else ""

    def is_about(self, subject: Subject) -> bool:
        if self._named is None or subject.event not in EVENTS_OF_WORD[self._named["word"]]:
            return False
        if (self._named["course"], self._named["off"]) != (subject.course, subject.off):
            return False
        if subject.off:
            return True
        is_card = subject.event == CARD
        return (not self._named["whole"]) == is_card and (not is_card or _day(subject.date) in self.message.text)

    def tells_among_others(self, subject: Subject, arrived: datetime) -> bool:
        """A later summary, or the abandonment of the whole meeting."""
        is_named = subject.course in self.words and (subject.off or "") in self.words
        if self.is_summary:
            return self.message.received_at >= arrived and (is_named or SHORTENED.search(self.words) is not None)
        is_whole = self._named is not None and bool(self._named["whole"])
        return subject.event == RACE_OFF and is_whole and is_named


reading = lru_cache(maxsize=10_000)(Reading)
"""Each message is read once, and once more after an edit, which makes a new message."""


def count(
    deliveries: Sequence[Delivery],
    slack: WorkspaceState,
    choices: Choices,
    is_quiet: Callable[[Delivery, str], bool] = lambda _delivery, _channel_id: True,
) -> Counts:
    """`is_quiet` tells of a delivery and a channel whether a missing message counts as lost."""
    counts, late, now = Counts(), list[float](), utc_now()
    about: dict[Subject, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        about[subject_of(delivery)].append(delivery)
    for channel_id in slack.channels:
        wanted_now = choices.of(channel_id, now)
        by_course: dict[str, list[Reading]] = defaultdict(list)
        said = [reading(message) for message in slack.messages(channel_id)] if about else []
        for one in said:
            by_course[one.course].append(one)
        for subject, all_of_them in about.items():
            there = [one.message for one in by_course[subject.course] if one.is_about(subject)]
            # Messages of a watch need not be due.
            expected = len(_distinct(all_of_them))
            counts.told += min(len(there), expected)
            counts.out_of_order += _inversions(there)
            if len(there) > expected:
                counts.doubled += len(there) - expected
                counts.problems.append(f"doubled: {subject}")
            due = _distinct(one for one in all_of_them if choices.of(channel_id, one.created_at).takes(one.happening))
            told_by = _told_by(due, there)
            late += [(message.received_at - _first(one)).total_seconds() for one, message in told_by if message]
            missing = [one for one, message in told_by if not message and wanted_now.takes(one.happening)]
            if len(due) > len(there) and missing:
                is_held = wanted_now.waits(missing[0].happening, now)
                before, can_come = counts.on_the_way, is_held or not is_quiet(due[-1], channel_id)
                _miss(counts, subject, missing, said, can_come=can_come)
                counts.held += counts.on_the_way - before if is_held else 0
    counts.late_median_s = round(max(0.0, median(late)), 3) if late else None
    counts.late_longest_s = round(max(late), 3) if late else None
    del counts.problems[PROBLEMS_NAMED:]
    return counts


def _miss(
    counts: Counts, subject: Subject, missing: list[Delivery], said: Sequence[Reading], *, can_come: bool
) -> None:
    """Deliveries without a message, newest first. Pending deliveries are sent again."""
    if missing[0].status == "failed":
        counts.given_up += len(missing)
        return
    left = [one for one in missing if not any(each.tells_among_others(subject, _first(one)) for each in said)]
    counts.told += len(missing) - len(left)
    lost = [one for one in left if not can_come and one.status != "pending"]
    counts.on_the_way += len(left) - len(lost)
    counts.lost += len(lost)
    if lost:
        counts.problems.append(f"lost: {subject}")


def subject_of(delivery: Delivery) -> Subject:
    subject = delivery.happening.subject
    return Subject(delivery.happening.event, subject["course"]["name"], subject.get("off_time"), subject["date"])


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


def _told_by(due: Sequence[Delivery], there: Sequence[PostedMessage]) -> list[tuple[Delivery, PostedMessage | None]]:
    """Newest first, with the newest message that no newer delivery has. A summary may have told an older delivery."""
    left = list(there)
    return [(one, left.pop() if left and left[-1].received_at >= _first(one) else None) for one in reversed(due)]


def _first(delivery: Delivery) -> datetime:
    """The first attempt: a message may come of an attempt whose answer was lost."""
    return next((one.at for one in delivery.attempts), delivery.created_at)


def _body(delivery: Delivery) -> Json:
    return {name: value for name, value in delivery.happening.payload.items() if name != "occurred_at"}


def _arrived(delivery: Delivery) -> datetime:
    return next((one.at for one in delivery.attempts if one.accepted), delivery.created_at)


def _day(written: str) -> str:
    """For example "Sat 21 Nov"."""
    day = date.fromisoformat(written)
    return f"{day:%a} {day.day} {day:%b}"


def _inversions(there: Sequence[PostedMessage]) -> int:
    """Corrections above the first message."""
    firsts = [place for place, one in enumerate(there) if not one.text.startswith("CORRECTION")]
    return sum(one.text.startswith("CORRECTION") and place < min(firsts, default=0) for place, one in enumerate(there))
