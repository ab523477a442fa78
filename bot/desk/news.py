"""News: a version of an event that channels may be told of."""

from dataclasses import dataclass

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks


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
