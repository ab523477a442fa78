"""The days near today with the whole card in the race book. A day stays whole while a later walk reads it again."""

from datetime import date, datetime, timedelta

from sqlmodel import Session

from bot.db import named_values
from bot.racedata import race_book_store


def note(session: Session, region: str | None, day: date, now: datetime) -> None:
    """The first time, a race of each meeting is news for fan-out: live messages say whether the card is whole."""
    if day < (now - race_book_store.NEWS_MAX_AGE).date() or named_values.text(session, _name(region, day)):
        return
    found = race_book_store.race_of_each_meeting(session, day.isoformat(), region)
    race_book_store.note_news(session, [race_id for race_id, of in found if not has(session, of, day)])
    named_values.put(session, _name(region, day), True, now)
    named_values.drop(session, _name(region, day - race_book_store.NEWS_MAX_AGE - timedelta(days=1)))


def has(session: Session, region: str | None, day: date) -> bool:
    """Whether all races of the day were read, after the day had begun in the last time zone east of UTC."""
    return any(named_values.text(session, _name(of, day)) for of in dict.fromkeys([region, None]))


def _name(region: str | None, day: date) -> str:
    return f"racebook.whole.{'*' if region is None else region}.{day}"
