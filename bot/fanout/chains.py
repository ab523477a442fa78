"""The chains of channels, as stored and as a transaction has decided since."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sqlmodel import Session

from bot.desk.decide import Because, Telling
from bot.outbox import telling_store

Chain = Mapping[str, list[Telling]]
"""By channel, the oldest telling first."""

FIRST_NEW = 2**62
"""Tellings that are not stored yet have numbers from here on."""


class Chains:
    """Each event and race is read once.

    `links`: messages of other events that show an event, with the event's key. `asked`: messages to be acknowledged.
    `sent`: message to channel. `numbers`: a new telling's number → the stored message's number.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_key = defaultdict[str, dict[int, Telling]](dict)
        self._of_race = defaultdict[str | None, set[str]](set)
        self._read_keys = set[str]()
        self._read_races = set[str]()
        self.links = set[tuple[int, str]]()
        self.asked = set[int]()
        self.sent = dict[int, str]()
        self.numbers: Mapping[int, int] = {}

    def read(self, event_keys: Collection[str], race_ids: Collection[str | None] = ()) -> None:
        keys, races = set(event_keys) - self._read_keys, {one for one in race_ids if one} - self._read_races
        if not keys and not races:
            return
        self._read_keys |= keys
        self._read_races |= races
        for one in telling_store.told(self._session, keys, races):
            number = one.id
            if one.is_link:
                self.links.add((number, one.event_key))
            elif number not in self._by_key[one.event_key]:
                self.add(one)
            if one.is_asked:
                self.asked.add(number)
            if one.message_ts and one.withheld is not Because.SUMMARY:
                self.sent[number] = one.channel_id

    def begin(self, event_key: str) -> None:
        """No channel was told of the event."""
        self._read_keys.add(event_key)

    def add(self, one: Telling) -> None:
        self._by_key[one.event_key][one.id] = one
        self._of_race[one.race_id].add(one.event_key)

    def fold(self, one: Telling) -> None:
        """The message of a meeting says the event too."""
        number = one.id
        main = next(found[number] for found in self._by_key.values() if number in found)
        self.add(one._replace(message_ts=main.message_ts, is_unsent=main.is_unsent))

    def wait_no_longer(self, number: int) -> set[str]:
        """Returns the telling's channel, if the telling is known."""
        channels = set[str]()
        for found in self._by_key.values():
            if (one := found.get(number)) is not None:
                found[number] = one._replace(waits=None)
                channels.add(one.channel_id)
        return channels

    def of(self, event_keys: Iterable[str]) -> Chain:
        found = defaultdict[str, list[Telling]](list)
        for one in self.all_of(event_keys):
            found[one.channel_id].append(one)
        return found

    def all_of(self, event_keys: Iterable[str], race_ids: Iterable[str | None] = ()) -> list[Telling]:
        """The tellings of the events, and of all events of the races, the oldest first."""
        keys = {*event_keys, *(key for race_id in race_ids if race_id for key in self._of_race[race_id])}
        return sorted((one for key in keys for one in self._by_key.get(key, {}).values()), key=lambda one: one.id)

    def told(self, event_keys: Collection[str], race_ids: Collection[str], channels: Collection[str]) -> list[Telling]:
        """As `telling_store.told`, without links."""
        self.read(event_keys, race_ids)
        told = (self._as_stored(one) for one in self.all_of(event_keys, race_ids) if one.channel_id in channels)
        return sorted(told, key=lambda one: one.id)

    def stored(self, number: int) -> int:
        """The number of the telling's message, once new messages are stored."""
        return self.numbers.get(number, number)

    def _as_stored(self, one: Telling) -> Telling:
        number = self.stored(one.id)
        return one._replace(id=number, by=number if one.by == one.id else one.by) if number != one.id else one
