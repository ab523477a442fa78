"""Hours at which results, and the racecards of the next day, are told together, by the clock of the filter's zone."""

from datetime import date, datetime, time, timedelta

from bot.channels.conditions.choice_condition import ChoiceCondition, moment_of, time_of_day
from bot.channels.conditions.condition import FilterFields
from bot.channels.conditions.zone_condition import zone_of
from bot.events.event import RacingEvent, Topic

DIGEST_KEY = "digest"
DIGEST_EXAMPLE = "18:00"
EVE_KEY = "cards"
EVE_EXAMPLE = "19:00"


class DigestCondition(ChoiceCondition):
    field = file_key = DIGEST_KEY
    file_noun = "an hour of a digest"
    topic = Topic.RESULTS

    def stored(self, typed: str) -> str:
        return _hour(typed, DIGEST_EXAMPLE)


class EveCondition(ChoiceCondition):
    """The hour on the day before the racing."""

    field = file_key = EVE_KEY
    file_noun = "an hour for racecards"
    topic = Topic.RACECARDS

    def stored(self, typed: str) -> str:
        return _hour(typed, EVE_EXAMPLE)


def told_at(chosen: FilterFields, event: RacingEvent, now: datetime) -> datetime:
    """The hour that the filter asks for; now without an hour, without a readable zone, and where the hour is over."""
    zone = zone_of(chosen)
    if zone is None:
        return now
    if event.topic is Topic.RESULTS:
        today = now.astimezone(zone).date()
        hours, days = chosen.digest, [today, today + timedelta(days=1)]
    elif event.topic is Topic.RACECARDS:
        hours, days = chosen.cards, _eve(event.race.race_date)
    else:
        return now
    moments = [moment_of(day, at, zone) for day in days for at in map(time_of_day, hours) if at is not None]
    return min((moment for moment in moments if moment > now), default=now)


def _eve(race_date: str | None) -> list[date]:
    try:
        return [date.fromisoformat(race_date or "") - timedelta(days=1)]
    except (ValueError, OverflowError):
        return []


def _hour(typed: str, example: str) -> str:
    found: time | None = time_of_day(typed)
    if found is None:
        raise ValueError(f"{typed[:40]} is no time of day: write {example}, for example")
    return f"{found:%H:%M}"
