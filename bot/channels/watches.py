"""Watches: names whose races a channel, or a person in direct messages, hears of beside all subscriptions.

A watch takes events received after the watch was made. A watch never fails open: an unknown name takes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, union, update
from sqlmodel import Session, col

from bot.channels import channel_lock, pauses
from bot.channels.conditions.event_conditions import is_direct_message
from bot.db.engine import affected, insert_once, table_of
from bot.db.tables import ChannelSubscriptionRow, WatchKind, WatchRow
from bot.events.races import Race, Runner
from bot.events.watched import NameKey, WatchedRunner, name_key

WATCHES_MAX = 200
"""For a channel, or a person."""


@dataclass(frozen=True)
class WatchedName:
    kind: WatchKind
    name: str

    @property
    def words(self) -> str:
        return f"{self.kind} {self.name}"


class _Watch(NamedTuple):
    key: NameKey
    channel_id: str
    since: datetime


@dataclass(frozen=True)
class Watches:
    """Every watch. `by_name`: by kind and by the name without its country."""

    by_name: Mapping[tuple[str, str], Sequence[_Watch]] = field(default_factory=dict)
    channels: frozenset[str] = frozenset()

    def in_races(
        self, races: Sequence[Race], received_at: datetime, *, name_off: bool
    ) -> dict[str, list[WatchedRunner]]:
        """The watched runners by channel. `name_off`: with each race's off time."""
        found: dict[str, list[WatchedRunner]] = {}
        for race in races:
            off = race.off.text if name_off else None
            for runner in race.runners:
                for channel_id, by in self._watching(runner, received_at).items():
                    one = WatchedRunner(horse=runner.horse, by=tuple(by), off=off, position=runner.position)
                    found.setdefault(channel_id, []).append(one)
        return found

    def have(self, channel_id: str, one: WatchedRunner, received_at: datetime) -> bool:
        """True while the channel watches the horse, or one of the noted people."""
        people = dict(words.split(" ", 1) for words in one.by)
        return channel_id in self._watching(Runner(horse=one.horse, **people), received_at)

    def _watching(self, runner: Runner, received_at: datetime) -> dict[str, list[str]]:
        """Channel → the watched people of the runner; an empty list for a watched horse."""
        found: dict[str, list[str]] = {}
        for kind in WatchKind:
            name: str | None = getattr(runner, kind)
            key = name_key(name) if name else None
            for watch in self.by_name.get((kind, key.bare), ()) if key else ():
                if key and watch.key.may_be(key) and watch.since <= received_at:
                    by = found.setdefault(watch.channel_id, [])
                    by += [] if kind is WatchKind.HORSE else [f"{kind} {name}"]
        return found


def read(session: Session) -> Watches:
    row = table_of(WatchRow).c
    rows = session.connection().execute(select(row.kind, row.name, row.channel_id, row.created_at).order_by(row.id))
    by_name: dict[tuple[str, str], list[_Watch]] = {}
    channels: set[str] = set()
    for kind, name, channel_id, created_at in rows:
        key = name_key(name)
        by_name.setdefault((kind, key.bare), []).append(_Watch(key, channel_id, created_at))
        channels.add(channel_id)
    return Watches(by_name, frozenset(channels))


def of_channel(session: Session, channel_id: str) -> Sequence[WatchRow]:
    """The channel's watches, without the watches of persons."""
    return _rows(session, col(WatchRow.channel_id) == channel_id, col(WatchRow.person_id).is_(None))


def of_person(session: Session, person_id: str) -> Sequence[WatchRow]:
    return _rows(session, col(WatchRow.person_id) == person_id)


def of_channels(session: Session) -> list[tuple[str, WatchedName]]:
    """Every watch with its channel, without the watches of persons."""
    rows = sorted(_rows(session, col(WatchRow.person_id).is_(None)), key=lambda row: row.channel_id)
    return [(row.channel_id, WatchedName(WatchKind(row.kind), row.name)) for row in rows]


_PEOPLE = union(
    select(col(WatchRow.channel_id), col(WatchRow.person_id)).where(col(WatchRow.person_id).is_not(None)),
    select(col(ChannelSubscriptionRow.channel_id), col(ChannelSubscriptionRow.created_by)),
).subquery()
"""The people of direct messages, by their own watches and by subscriptions there."""


def direct_message_of(session: Session, person_id: str) -> str:
    """The person's direct message with the bot as far as known, else the person's id: Slack takes both."""
    is_direct = (_PEOPLE.c.person_id == person_id, _PEOPLE.c.channel_id.startswith("D", autoescape=True))
    found: str | None = session.execute(select(_PEOPLE.c.channel_id).where(*is_direct).limit(1)).scalar_one_or_none()
    return found or person_id


def people_of(session: Session, channel_ids: Iterable[str]) -> dict[str, str]:
    """The people of direct messages with the bot, by channel, as far as known."""
    direct = sorted(one for one in channel_ids if is_direct_message(one))
    found = session.execute(select(_PEOPLE).where(_PEOPLE.c.channel_id.in_(direct)))
    return {str(channel_id): str(person_id) for channel_id, person_id in found}


def move_person(session: Session, person_id: str, channel_id: str) -> None:
    """Tell the person's watches in this direct message from now on."""
    channel_lock.take(session, person_id, channel_id)
    statement = update(WatchRow).where(col(WatchRow.person_id) == person_id, col(WatchRow.channel_id) != channel_id)
    session.execute(statement.values(channel_id=channel_id))


def add(
    session: Session,
    channel_id: str,
    names: Iterable[WatchedName],
    *,
    user_id: str,
    now: datetime,
    person_id: str | None = None,
) -> list[WatchedName]:
    """Returns the new names."""
    channel_lock.take(session, channel_id)
    paused_until = pauses.until(session, channel_id, now)
    made = []
    for one in names:
        values = {
            "channel_id": channel_id,
            "person_id": person_id,
            "kind": one.kind,
            "name": one.name,
            "name_key": str(name_key(one.name)),
            "created_by": user_id,
            "created_at": now,
            "paused_until": paused_until,
        }
        if session.connection().execute(insert_once(session, WatchRow, "id"), values).first():
            made.append(one)
    return made


def end(session: Session, row: WatchRow) -> bool:
    channel_lock.take(session, row.channel_id)
    return affected(session, delete(WatchRow).where(col(WatchRow.id) == row.id)) > 0


def end_named(session: Session, channel_id: str, name: WatchedName) -> None:
    channel_lock.take(session, channel_id)
    session.execute(
        delete(WatchRow).where(
            col(WatchRow.channel_id) == channel_id,
            col(WatchRow.person_id).is_(None),
            col(WatchRow.kind) == name.kind,
            col(WatchRow.name_key) == str(name_key(name.name)),
        )
    )


def move_channel(session: Session, old_id: str, new_id: str) -> None:
    """A name under both ids stays once."""
    known = {(row.kind, row.name_key) for row in of_channel(session, new_id)}
    for row in of_channel(session, old_id):
        if (row.kind, row.name_key) in known:
            session.delete(row)
        else:
            row.channel_id = new_id
    session.flush()


def creators(session: Session, channel_id: str) -> list[str]:
    statement = select(col(WatchRow.created_by)).where(col(WatchRow.channel_id) == channel_id).distinct()
    return sorted(session.execute(statement).scalars())


def count_in(session: Session, channel_id: str) -> int:
    """The number of watches, in a direct message with the person's own."""
    statement = select(func.count()).select_from(WatchRow).where(col(WatchRow.channel_id) == channel_id)
    return session.scalars(statement).one()


def has_any(session: Session, channel_id: str) -> bool:
    return count_in(session, channel_id) > 0


def _rows(session: Session, *conditions: ColumnElement[bool]) -> Sequence[WatchRow]:
    statement = select(WatchRow).where(*conditions).order_by(col(WatchRow.kind), col(WatchRow.name_key))
    return session.execute(statement).scalars().all()
