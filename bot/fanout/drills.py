"""Drills: the latest drill, one row for all replicas, and its fan-out.

The body names the drill; the database names the channels.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import AwareDatetime
from sqlalchemy import update
from sqlmodel import Session, col

from bot.channels.filters import ChannelFilter
from bot.db import named_values
from bot.db.engine import put_where
from bot.db.named_values import Mark
from bot.db.tables import StoredState
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Value
from bot.logs import get_logger
from bot.outbox.notices import Notices, Urgency

log = get_logger(__name__)

DRILLS_APART = timedelta(seconds=60)
"""Between two beginnings."""
DRILL_LASTS = timedelta(seconds=50)
"""Shorter than DRILLS_APART, so drills never overlap."""

DRILLS_REMEMBERED = 20
"""Remembered drills, to recognise late deliveries."""


class KeptDrill(Value):
    """`is_over`: no message waits. `earlier`: newest first."""

    drill: Drill
    begun_at: AwareDatetime
    is_over: bool = False
    earlier: tuple[Drill, ...] = ()

    def find(self, drill_id: str, now: datetime) -> Drill | None:
        """None for an unknown drill, or an old drill. Only the latest drill can be open."""
        if drill_id == self.drill.drill_id:
            return self.drill.model_copy(update={"is_open": self.is_open(now)})
        return next((one for one in self.earlier if one.drill_id == drill_id), None)

    def is_open(self, now: datetime) -> bool:
        return not self.is_over and now < self.begun_at + DRILL_LASTS

    @property
    def next_at(self) -> datetime:
        return self.begun_at + DRILLS_APART


def begin(session: Session, drill: Drill, now: datetime) -> KeptDrill | None:
    """None where the latest drill began less than DRILLS_APART ago, in any replica."""
    before = latest(session)
    earlier = (before.drill, *before.earlier)[:DRILLS_REMEMBERED] if before else ()
    kept = KeptDrill(drill=drill, begun_at=now, earlier=earlier)
    # `updated_at` is the beginning.
    may_begin = col(StoredState.updated_at) <= now - DRILLS_APART
    value = kept.model_dump_json()
    return kept if put_where(session, StoredState, may_begin, name=Mark.DRILL, value=value, updated_at=now) else None


def latest(session: Session) -> KeptDrill | None:
    return named_values.load(session, Mark.DRILL, KeptDrill)


def end(session: Session, kept: KeptDrill) -> None:
    """A later drill stays open."""
    over = kept.model_copy(update={"is_over": True})
    is_latest = (col(StoredState.name) == Mark.DRILL, col(StoredState.updated_at) == kept.begun_at)
    session.execute(update(StoredState).where(*is_latest).values(value=over.model_dump_json()))


_ABANDONMENT = RacingEvent(key="", kind=EventKind.RACE_ABANDONED)
"""An abandonment of unknown place, for every channel with abandonments."""


def recognised(session: Session, event: RacingEvent, now: datetime) -> RacingEvent:
    if event.drill is None:
        return event
    kept = latest(session)
    drill = kept.find(event.drill.drill_id, now) if kept else None
    return event.model_copy(update={"drill": drill}) if drill else event


def channels(event: RacingEvent, listening: Sequence[tuple[str, ChannelFilter]]) -> set[str]:
    """The drill's only channel, or all channels with abandonments. Empty once the drill is over."""
    drill = event.drill
    if drill is None or not drill.is_open:
        return set()
    if drill.only_channel is not None:
        return {drill.only_channel}
    return {channel_id for channel_id, chosen in listening if takes_drills(chosen)}


def takes_drills(chosen: ChannelFilter) -> bool:
    return chosen.matches(_ABANDONMENT)


def tell_unknown(session: Session, notices: Notices, event: RacingEvent, reference: str, now: datetime) -> None:
    """Once a day for strangers' drills. A late drill of ours is only logged."""
    drill = event.drill
    if drill is None or drill.is_open:
        return
    if drill.begun_by is not None:
        log.warning("drill_too_late", reference=reference, event_key=event.key)
        return
    log.warning("drill_not_begun_here", reference=reference, event_key=event.key)
    notices.tell(
        session,
        f"drill-not-begun:{now:%Y-%m-%d}",
        f"A signed drill came ({reference}) that I did not begin. No channel was told. If another bot of yours has the "
        "same signing secret, its PUBLIC_URL leads to me. Else somebody has a signing secret of mine: make a new one "
        "with `racing-bot subscribe --again`, and retire the old one.",
        urgency=Urgency.WARNING,
    )
