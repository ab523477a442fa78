"""The keys of events.

Receivers deduplicate on the race's identifier (Interface, Events, Delivery rule 3), so the race's id makes the key:

    result.received:rc_1                                    the race's id
    meeting.abandoned:meeting=m_1                           a meeting's id, with the off time for the card of one race
    race.abandoned:region=gb|course=ascot|date=…|off=14:30  a race without an id; without an off time, |race=5
    race.abandoned:id=1                                     an id that may be the delivery's own
    race.abandoned:sha256:…                                 the body alone
    unreadable:…                                            no known event: the SHA-256 of the body
    drill:…                                                 a drill of the bot, byte for byte (bot.events.drill_mark)
"""

from hashlib import sha256

from bot.deliveries.found_event import FoundEvent
from bot.events.event import RacingEvent
from bot.events.event_bounds import EVENT_RACES_MAX
from bot.events.kinds import Subject
from bot.events.races import OffTime, Race
from bot.events.reading.fields import first_of
from bot.events.reading.json_values import identifier
from bot.events.reading.record_objects import About
from bot.events.reading.sources import read_number

LONGEST_ID = 200
"""Characters. A longer or unprintable id stands in a key by its SHA-256."""


def key_of(found: FoundEvent, number: int | None, body: bytes, race: Race) -> str:
    """`number`: the event's place among several events of the body."""
    kind = found.named.kind
    if not kind:
        return unreadable_key(body)
    if found.race_id:
        return f"{kind}:{bounded(found.race_id)}"
    loose = _loose(found) or f"sha256:{sha256(body).hexdigest()}"
    return f"{kind}:{_natural(found, race) or loose + ('' if number is None else f'|{number}')}"


def _natural(found: FoundEvent, race: Race) -> str | None:
    """None if a needed part is missing.

    The key of a single race's card has the off time: the cards of a meeting's races are several events.
    """
    subject = found.named.subject
    off = None if subject is Subject.MEETING or (subject is Subject.CARD and found.lists_races) else _off(race.off)
    # A mere `number` may be the winner's.
    said = first_of(found.fields, "race.number", read_number) if subject is Subject.RACE and not off else None
    number = race.number.lstrip("0") if said and race.number else None
    if subject is Subject.RACE and not (off or number):
        return None
    of_meeting = race.meeting_id and subject is not Subject.RACE
    place = {"meeting": race.meeting_id} if of_meeting else _place(race)
    # Two meetings at a course can have races of the same number.
    named = place and {**place, **({"meeting": race.meeting_id, "race": number} if number else {"off": off})}
    return bounded("|".join(f"{name}={value}" for name, value in named.items() if value)) if named else None


def _place(race: Race) -> dict[str, str | None] | None:
    name = race.course.course_id or (race.course.name and race.course.name.casefold())
    region = race.region and race.region.casefold()
    return {"region": region, "course": name, "date": race.race_date} if name and race.race_date else None


def _off(off: OffTime) -> str | None:
    minute = off.minute_of_day
    if minute is not None:
        return f"{minute // 60:02}:{minute % 60:02}"
    return off.text or (off.off_at.isoformat() if off.off_at else None)


def _loose(found: FoundEvent) -> str | None:
    """An id that may be the race's. The hash of the body would differ between attempts, if the body counts attempts."""
    data = [part for part in found.parts if part.about is About.DATA]
    inner = [part.fields for part in data if part.depth and part is not found.named.bearer]
    every = [part.fields for part in data]
    loose = first_of(inner, "ids.plain", identifier) or first_of(every, "ids.loose", identifier)
    return f"id={bounded(loose)}" if loose else None


def bounded(part: str) -> str:
    if len(part) <= LONGEST_ID and part.isprintable():
        return part
    return sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def further_keys(event: RacingEvent) -> list[str]:
    """For each race that an abandonment names, the key of the race's own event. Empty for more than EVENT_RACES_MAX."""
    is_told = event.is_abandonment and len(event.races) <= EVENT_RACES_MAX
    named = sorted(event.named_race_ids) if is_told else []
    return [f"{event.kind}:{bounded(race_id)}" for race_id in named]


def unreadable_key(body: bytes) -> str:
    return f"unreadable:{sha256(body).hexdigest()}"
