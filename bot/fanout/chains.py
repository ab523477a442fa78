"""What channels were told, as stored and as a transaction has decided since."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from sqlmodel import Session

from bot.desk.decide import Telling
from bot.outbox import telling_store
from bot.outbox.telling_store import Told

Chain = Mapping[str, list[Telling]]
"""Because channel, the oldest telling first."""

FIRST_NEW = 2**62
"""Tellings that are not stored yet have numbers from here on."""


class Chains:
    """Each event and race is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_key = defaultdict[str, dict[int, Told]](dict)
        self._of_race = defaultdict[str | None, set[str]](set)
        self._read_keys = set[str]()
        self._read_races = set[str]()

    def read(self, event_keys: Collection[str], race_ids: Collection[str | None] = (), *, locked: bool = False) -> None:
        """`locked`: no message of these events is given up in this transaction."""
        keys = set(event_keys) if locked else set(event_keys) - self._read_keys
        races = {one for one in race_ids if one} - self._read_races
        if keys or races:
            self._read_keys |= keys
            self._read_races |= races
            for one in telling_store.told(self._session, keys, races, locked=locked):
                if locked or one.telling.id not in self._by_key[one.event_key]:
                    self.add(one)

    def add(self, one: Told) -> None:
        self._by_key[one.event_key][one.telling.id] = one
        self._of_race[one.race_id].add(one.event_key)

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """New tellings have the numbers of their messages from now on."""
        for key, found in self._by_key.items():
            if not numbers.keys().isdisjoint(found):
                told = [_renumbered(one, numbers) for one in found.values()]
                self._by_key[key] = {one.telling.id: one for one in told}

    def wait_no_longer(self, number: int) -> None:
        for found in self._by_key.values():
            if (one := found.get(number)) is not None:
                found[number] = one._replace(telling=replace(one.telling, waits=None))

    def of(self, event_keys: Iterable[str], race: tuple[str, str] | None = None) -> Chain:
        """`race`: also events of this race and kind, under any key."""
        keys = {*event_keys, *(self._of_race[race[0]] if race else ())}
        own = set(event_keys)
        told = [one for key in keys for one in self._by_key.get(key, {}).values()]
        found = defaultdict[str, list[Telling]](list)
        for one in sorted(told, key=lambda one: one.telling.id):
            if one.event_key in own or (race and one.telling.kind == race[1]):
                found[one.channel_id].append(one.telling)
        return found

    def waiting(self, event_keys: Iterable[str], race_id: str | None) -> list[Telling]:
        """Of these events, and of all events of the race."""
        keys = {*event_keys, *(self._of_race[race_id] if race_id else ())}
        told = [one.telling for key in keys for one in self._by_key.get(key, {}).values()]
        return [one for one in told if one.waits]


def _renumbered(told: Told, numbers: Mapping[int, int]) -> Told:
    one = told.telling
    number = numbers.get(one.id, one.id)
    return told._replace(telling=replace(one, id=number, by=number if one.by == one.id else one.by))
