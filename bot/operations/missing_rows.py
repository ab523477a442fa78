"""Races told as missing: all replicas together warn once and withdraw a warning once."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlmodel import Session

from bot.events.races import Race
from bot.outbox import told_once

KEEP_ROWS = timedelta(days=30)

_BEGINNING = "missing-race:"


class MissingRace(NamedTuple):
    """`race_date`: as published when the race was told."""

    race_date: str
    race_id: str

    @property
    def key(self) -> str:
        return f"{_BEGINNING}{self.race_date}:{self.race_id}"


def open_races(session: Session) -> list[MissingRace]:
    return [_read(key) for key in told_once.standing(session, _BEGINNING)]


def told(session: Session) -> tuple[set[str], datetime | None]:
    """The races told within KEEP_ROWS, and when a race was told last."""
    found = told_once.noted(session, _BEGINNING)
    return {_read(key).race_id for key in found}, max(found.values(), default=None)


def tell(session: Session, races: Iterable[Race], now: datetime) -> list[Race]:
    """The races to be told now. A single caller gets a race, once."""
    by_key = {MissingRace(race.race_date or "", race.race_id or "").key: race for race in races}
    return [by_key[key] for key in told_once.note(session, by_key, now)]


def came(session: Session, races: Iterable[MissingRace], now: datetime) -> list[MissingRace]:
    """The races to be withdrawn now. A single caller gets a race, once."""
    return [_read(key) for key in told_once.withdraw(session, (race.key for race in races), now)]


def forget(session: Session, now: datetime) -> None:
    told_once.forget(session, _BEGINNING, now - KEEP_ROWS)


def _read(key: str) -> MissingRace:
    race_date, _, race_id = key.removeprefix(_BEGINNING).partition(":")
    return MissingRace(race_date, race_id)
