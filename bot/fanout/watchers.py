"""The channels that watch a runner of an event's races."""

from datetime import datetime

from bot.channels.watches import Watches
from bot.events.event import EventKind, RacingEvent
from bot.events.watched import WatchedIn
from bot.logs import get_logger
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)


def watched_in(watches: Watches, elsewhere: KnownElsewhere, event: RacingEvent, received_at: datetime) -> WatchedIn:
    """The watched runners by channel, also of the race book's declarations.

    Never raises: an error here would hold up every channel.
    """
    if not watches.channels or event.kind is None or event.drill is not None:
        return {}
    try:
        races = elsewhere.with_runners(event)
        if event.kind is EventKind.MEETING_ABANDONED:
            races = [race for race in races if not race.placed()]
        found = watches.in_races(races, received_at, name_off=bool(event.races))
    except Exception:
        log.exception("watches_not_asked", event_key=event.key)
        return {}
    return {channel_id: tuple(runners) for channel_id, runners in found.items()}
