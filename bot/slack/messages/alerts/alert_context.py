"""What a message says beside the event itself: when it came, how late it is, what it corrects."""

from pydantic import AwareDatetime

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Changes
from bot.events.races import Value
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.kit.text import safe


class Corrected(Value):
    """What a message was edited for: when the later version was delivered, and the values that differ in that version.

    `order_unknown`: the payloads do not tell which version is the newer.
    """

    at: AwareDatetime
    changes: Changes = ()
    order_unknown: bool = False


class SupersededBy(Value):
    """The later message that replaces this one: when its version was delivered, and the message's https address.

    `contradicted_by` is the later message's event where that is another event than this message's. `disagrees`: the
    payloads do not tell which of the two versions is the newer. `is_posted`: the later message was not given up.
    """

    at: AwareDatetime
    link: str | None = None
    contradicted_by: EventKind | None = None
    disagrees: bool = False
    is_posted: bool = True


class MessageContext(Value):
    """The circumstances of one post.

    `received_at` is when this version was delivered to us. `now` is when the message is made: a message that is more
    than `late_after_s` seconds late says so. `had_at` is when the service had this version, where the payload says so.
    `changes` are the values in which this version differs from the posted one (bot.events.facts). `previous_link` is
    the https address of the posted one. `order_unknown`: nothing told which version is the newer. `may_be_repeat`: this
    may have been posted already. `contradicts` is the name of the event that this one contradicts ("race.abandoned"),
    or says so in words. `data_as_of` as published. `reference` is what admins find the delivery by. `mentions` are who
    an abandonment is to ring (bot.channels.filters).

    What edits say: `corrected` by a later version; `repeated`, that an earlier version was delivered again;
    `superseded` by a later message; `in_meeting`, that the race is a part of an abandoned meeting; `card_lost`, that
    the racecard's meeting was abandoned. The meeting's message is at `meeting_link`. Of an abandoned meeting: `lost`,
    the abandonments of its races that came by themselves, and `settled`, the ids of races that have a result.

    `country` is a result's, where that publishes no full finishing order.
    """

    received_at: AwareDatetime
    now: AwareDatetime
    late_after_s: float
    had_at: AwareDatetime | None = None
    changes: Changes = ()
    previous_link: str | None = None
    order_unknown: bool = False
    may_be_repeat: bool = False
    contradicts: str | None = None
    data_as_of: str | None = None
    reference: str | None = None
    mentions: tuple[str, ...] = ()
    corrected: Corrected | None = None
    repeated: Corrected | None = None
    superseded: SupersededBy | None = None
    in_meeting: bool = False
    card_lost: bool = False
    meeting_link: str | None = None
    lost: tuple[RacingEvent, ...] = ()
    settled: frozenset[str] = frozenset()
    country: KnownCountry | None = None


def region_unknown(event: RacingEvent) -> bool:
    """Whether this is an abandonment that goes to every region, because the delivery's own region could not be read."""
    return event.is_abandonment and safe(event.race.region) is None and safe(event.race.said_region) is None
