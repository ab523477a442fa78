"""Compares a delivery with the event's versions: a difference is news, and becomes the next version. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks, brings_placings, changes_between
from bot.events.merge import completed
from bot.events.race_state import NO_LONGER_ABANDONED, NOT_ABANDONED, NOT_HELD, RaceState, is_denied_too, state_in

FillIn = Callable[[RacingEvent, RacingEvent], RacingEvent]
"""The event with the race book's values; second, the event as stored."""


class Report(NamedTuple):
    """A stored version."""

    version: int
    event: RacingEvent
    remarks: VersionRemarks


@dataclass(frozen=True)
class News:
    """`rings`: needs a new message, because Slack notifies nobody of an edit.

    Unless `is_first`, channels with the event's message are told, whatever their filters take now. `is_late`: values
    without a delivery; `is_seen`: messages show them.
    """

    event: RacingEvent
    remarks: VersionRemarks
    rings: bool
    is_first: bool
    is_late: bool = False
    is_seen: bool = False

    @property
    def shows(self) -> bool:
        """True if messages show a difference."""
        return self.is_seen or bool(self.remarks.changes)

    @property
    def only_adds(self) -> bool:
        """True if told channels need no message."""
        return not self.rings and all(change.is_addition for change in self.remarks.changes)

    @property
    def is_small(self) -> bool:
        """A change that only edits a result's message. Where a summary told the result, nothing is told."""
        is_statement = self.remarks.contradicts is not None or self.remarks.again is not None
        return not (self.is_first or self.rings or is_statement) and self.event.kind is EventKind.RESULT_RECEIVED

    @property
    def may_repeat_loss(self) -> bool:
        """True if a result or a card reports a loss, and nothing else that rings. The first version of a card does.

        An abandonment's own event always rings: a ring too many costs less than a missed abandonment.
        """
        if self.event.kind is EventKind.RACECARD_PUBLISHED:
            is_all = not self.is_first and all(one.marks_lost for one in self.remarks.changes if one.rings)
        else:
            is_all = self.event.kind is EventKind.RESULT_RECEIVED and (self.is_first or not self.rings)
        is_lost = self.event.reports_loss and not self.event.race.is_void
        return is_all and is_lost and self.remarks.contradicts is None

    @property
    def is_urgent(self) -> bool:
        return self.event.reports_loss or self.remarks.contradicts is not None


class SilentRepeat(NamedTuple):
    """A delivery without news. `event`: the stored event, with the values that the delivery adds silently.

    `again`: a superseded version, which was told again before.
    """

    event: RacingEvent
    again: bool = False


class Known(NamedTuple):
    """The bot's earlier knowledge. `reports`: of the event, the oldest first. `silent`: the event after a repeat.

    `other`: the newest version of the event that contradicts this kind. `against`: of an abandoned meeting the races
    that were reinstated by themselves; of a reinstated race the abandoned meetings, and later cards that mark the race;
    of a card the races that it marks and that were reinstated since. `lost_by`: the kind of an event of a meeting or a
    card that names the race as lost.
    """

    reports: Sequence[Report] = ()
    silent: RacingEvent | None = None
    other: Report | None = None
    against: Sequence[RacingEvent] = ()
    lost_by: EventKind | None = None


def absorb(event: RacingEvent, known: Known, fill_in: FillIn, *, received_at: datetime) -> News | SilentRepeat | None:
    """None for an older version without new placings."""
    is_lost_since = any(event.is_reinstated and one.is_later_than(event) for one in known.against)
    if not known.reports:
        event = event.model_copy(update={"in_doubt": True}) if is_lost_since else event
        contradicts = contradicted(event, known) or _lost_otherwise(event, known)
        run_since = _is_run_since(event, known, contradicts)
        remarks = VersionRemarks(contradicts=contradicts, run_since=run_since, had_at=_had_at(event))
        return News(event, remarks, rings=True, is_first=True)
    last = known.reports[-1]
    stored = known.silent or last.event
    event = _flag_as_news(event.as_delivered(), stored)
    newer = ordered = event.is_newer_than(stored)
    if ordered is None and event.race.outranks(stored.race):
        newer = None if any(report.event.race.outranks(event.race) for report in known.reports) else True
    # None where the payloads give no order: the newer of two crossing attempts may come first.
    before = stored.as_delivered()
    placings_come = brings_placings(before, event)
    if newer is False:
        if not placings_come:
            return None
        # An older version adds only placings.
        event = completed(before, event)
    is_turned = event.is_abandonment and event.is_reinstated != stored.is_reinstated
    in_doubt = is_lost_since or (not newer and (stored.in_doubt or is_turned))
    ours = {"in_doubt": in_doubt, "received_at": event.received_at if newer else stored.received_at}
    delivered, event = event, fill_in(completed(event, before).model_copy(update=ours), stored)
    # Commands go by the latest moment, so a repeat too may decide whether a race is lost.
    decides = in_doubt != stored.in_doubt or any(
        event.is_later_than(one) is not False and not stored.is_later_than(one) for one in known.against
    )
    told = _as_told(stored) if placings_come else before
    changes = changes_between(told, delivered, received_at=received_at)
    moves = event.place != stored.place
    if not (changes or placings_come or moves or decides):
        return SilentRepeat(event)
    # The race book is no version.
    disputed = changes_between(before, delivered, received_at=received_at)
    contradicts = contradicted(event, known)
    # A repeat with one more value does not renew a statement that was contradicted since.
    is_stated_anew = newer or placings_come or not all(change.is_addition for change in changes)
    if last.remarks.contradicts is None and not is_stated_anew:
        contradicts = None
    remarks = VersionRemarks(
        changes=changes,
        order_unknown=newer is None and any(not change.is_addition for change in disputed),
        contradicts=contradicts,
        run_since=_is_run_since(event, known, contradicts),
        had_at=_had_at(delivered, before),
    )
    contradicts_now = contradicts is not None and last.remarks.contradicts is None
    rings = decides or contradicts_now or any(change.rings for change in changes) or brings_placings(told, delivered)
    if rings and ordered is None and (repeated := _repeated(delivered, known.reports, received_at)):
        # A provisional result again is a late retry. An official result again may take an amended result back.
        is_late = state_in(delivered.race.status) is RaceState.PROVISIONAL and stored.race.outranks(delivered.race)
        if is_late or repeated in _told_again(known.reports):
            return SilentRepeat(event, again=True)
        # The return of a superseded version is told once. The event stays unchanged.
        disagrees = {"again": repeated, "order_unknown": True, "contradicts": last.remarks.contradicts}
        again = remarks.model_copy(update=disagrees)
        return News(as_stored(event, stored), again, rings=in_doubt and not stored.in_doubt, is_first=False)
    return News(event, remarks, rings=rings, is_first=False)


def as_stored(event: RacingEvent, stored: RacingEvent) -> RacingEvent:
    """The stored event: a delivery without news may still state an order, and the ids of race and meeting."""
    race = stored.race.model_copy(update={name: getattr(event.race, name) for name in ("race_id", "meeting_id")})
    return stored.model_copy(update={"race": race, "in_doubt": event.in_doubt, **event.latest_order(stored)})


def _flag_as_news(event: RacingEvent, stored: RacingEvent) -> RacingEvent:
    """The event. A false flag that the earlier version lacks takes the loss back."""
    if not is_denied_too(event.race.status) or is_denied_too(stored.race.status):
        return event
    beside = (event.race.status or "").removesuffix(NOT_ABANDONED).removesuffix(", ")
    back = f"{NO_LONGER_ABANDONED}, {beside}" if beside else NO_LONGER_ABANDONED
    status = stored.race.status if stored.is_reinstated else back
    race = event.race.model_copy(update={"status": status})
    return event.model_copy(update={"race": race, "reason": None})


def _repeated(delivered: RacingEvent, reports: Sequence[Report], received_at: datetime) -> int | None:
    """The superseded version that had all delivered values."""
    for report in reports[:-1]:
        earlier = report.event.as_delivered()
        changes = changes_between(earlier, delivered, received_at=received_at)
        if not changes and not brings_placings(earlier, delivered):
            return report.version
    return None


def _told_again(reports: Sequence[Report]) -> set[int]:
    numbers = set[int]()
    for report in reversed(reports):
        again = report.remarks.again
        if again is None:
            break
        numbers.add(again)
    return numbers


def contradicted(event: RacingEvent, known: Known) -> EventKind | None:
    """The kind of the contradicted event of the same race.

    None for a void race, for a result without placings that is marked abandoned, for a postponed race with a result of
    another day, and for an abandonment that was taken back.
    """
    if known.other is None or event.is_taken_back or known.other.event.is_taken_back:
        return None
    races = event.race, known.other.event.race
    is_of_other_day = len({race.race_date for race in races} - {None}) > 1
    if is_of_other_day and any(race.is_postponed for race in races):
        return None
    result = event if event.kind is EventKind.RESULT_RECEIVED else known.other.event
    return None if result.race.outcome() in NOT_HELD else known.other.event.kind


def _is_run_since(event: RacingEvent, known: Known, contradicts: EventKind | None) -> bool:
    """Whether the result that the loss contradicts is later than the loss."""
    if contradicts is not EventKind.RESULT_RECEIVED or known.other is None:
        return False
    return known.other.event.is_later_than(event) is True


def _lost_otherwise(event: RacingEvent, known: Known) -> EventKind | None:
    """Only a result's first version contradicts a meeting or a card: later, the meeting's message omits the race."""
    is_run = event.kind is EventKind.RESULT_RECEIVED and event.race.outcome() not in NOT_HELD
    is_other = known.other is not None and not known.other.event.is_taken_back
    return known.lost_by if is_run and not is_other else None


def _as_told(stored: RacingEvent) -> RacingEvent:
    """The event as delivered, with runners of the race book: messages show the placings of these runners."""
    delivered = stored.as_delivered()
    runners = {"runners": stored.race.runners}
    return delivered.model_copy(update={"race": delivered.race.model_copy(update=runners)})


def _had_at(event: RacingEvent, stored: RacingEvent | None = None) -> datetime | None:
    """The event's time, else the first attempt's time. A repeated time is left out: corrections often repeat times."""
    for moment, earlier in (
        (event.occurred_at, stored and stored.occurred_at),
        (event.first_attempt_at, stored and stored.first_attempt_at),
    ):
        if moment is not None and moment != earlier:
            return moment
    return None
