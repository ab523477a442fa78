"""The channels that watch a runner of an event's races."""

from datetime import datetime

from bot.channels.watches import Watches
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.events.watched import WatchedIn, renewed
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
        found = watches.in_races(_races(elsewhere, event), received_at, name_off=bool(event.races))
    except Exception:
        log.exception("watches_not_asked", event_key=event.key)
        return {}
    return {channel_id: tuple(runners) for channel_id, runners in found.items()}


def noted_with(elsewhere: KnownElsewhere, event: RacingEvent, noted: WatchedIn, found: WatchedIn) -> WatchedIn:
    """The found runners by channel, with the runners `noted` for earlier versions of the event. Never raises."""
    if not noted:
        return found
    try:
        races = _races(elsewhere, event)
        return {one: renewed(noted.get(one, ()), found.get(one, ()), races) for one in noted.keys() | found.keys()}
    except Exception:
        log.exception("watched_not_renewed", event_key=event.key)
        return found


def _races(elsewhere: KnownElsewhere, event: RacingEvent) -> list[Race]:
    races = elsewhere.with_runners(event)
    return [race for race in races if not race.placed()] if event.kind is EventKind.MEETING_ABANDONED else races
