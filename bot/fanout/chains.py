"""What channels were told, as stored and as a transaction has decided since."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlmodel import Session

from bot.desk.decide import Telling
from bot.outbox import telling_store
from bot.outbox.telling_store import Told

Chain = Mapping[str, list[Telling]]
"""Because channel, the oldest telling first."""

FIRST_NEW = 2**62
"""Tellings that are not stored yet have numbers from here on."""


class SentMessage(NamedTuple):
    channel_id: str
    message_ts: str


class Chains:
    """Each event and race is read once.

    `links`: messages of other events that show an event, with the event's key. `asked`: messages to be acknowledged.
    `sent`: by message.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_key = defaultdict[str, dict[int, Told]](dict)
        self._of_race = defaultdict[str | None, set[str]](set)
        self._read_keys = set[str]()
        self._read_races = set[str]()
        self.links = set[tuple[int, str]]()
        self.asked = set[int]()
        self.sent = dict[int, SentMessage]()

    def read(self, event_keys: Collection[str], race_ids: Collection[str | None] = ()) -> None:
        keys, races = set(event_keys) - self._read_keys, {one for one in race_ids if one} - self._read_races
        if not keys and not races:
            return
        self._read_keys |= keys
        self._read_races |= races
        for one in telling_store.told(self._session, keys, races):
            number = one.telling.id
            if one.is_link:
                self.links.add((number, one.event_key))
            elif number not in self._by_key[one.event_key]:
                self.add(one)
            if one.is_asked:
                self.asked.add(number)
            if one.sent_ts:
                self.sent[number] = SentMessage(one.channel_id, one.sent_ts)

    def begin(self, event_key: str) -> None:
        """No channel was told of the event."""
        self._read_keys.add(event_key)

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

    def is_newest(self, number: int) -> bool:
        """True for the newest telling of an event in the channel."""
        here = next((found for found in self._by_key.values() if number in found), {})
        return all(one.telling.id <= number for one in here.values() if one.channel_id == here[number].channel_id)

    def waiting(self, event_keys: Iterable[str], race_id: str | None) -> list[Telling]:
        """Of these events, and of all events of the race."""
        keys = {*event_keys, *(self._of_race[race_id] if race_id else ())}
        told = [one.telling for key in keys for one in self._by_key.get(key, {}).values()]
        return [one for one in told if one.waits]


def _renumbered(told: Told, numbers: Mapping[int, int]) -> Told:
    one = told.telling
    number = numbers.get(one.id, one.id)
    return told._replace(telling=replace(one, id=number, by=number if one.by == one.id else one.by))
