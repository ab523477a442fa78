"""Fan-out of a drill. The body names the drill; the database names the channels."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.channels.filters import ChannelFilter
from bot.events.event import EventKind, RacingEvent
from bot.fanout import drill_records
from bot.logs import get_logger
from bot.outbox.notices import Notices, Urgency

log = get_logger(__name__)

_ABANDONMENT = RacingEvent(key="", kind=EventKind.RACE_ABANDONED)
"""An abandonment of unknown place, for every channel with abandonments."""


def recognised(session: Session, event: RacingEvent, now: datetime) -> RacingEvent:
    if event.drill is None:
        return event
    kept = drill_records.latest(session)
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
