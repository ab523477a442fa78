"""All channels' subscriptions as a file: written as YAML or JSON, read with every problem and its line.

    version: 1
    channels:
      C0123456789:
      - region: GB                                  # all: every region
        topics: [results, abandonments]
        only: [{name: Ascot, id: cr_1}, York]       # these courses alone
        except: [Kempton]                           # all courses but these
        mentions: [here, U0123456789]               # rung by abandonments
        digest: ["18:00"]                           # results together
        cards: ["19:00"]                            # racecards together, on the day before
        quiet: ["22:00-07:00"]                      # results and racecards wait
        zone: [Europe/London]                       # the clock of these hours
    watches:
      C0123456789: {horse: [Golden Melody], trainer: [A. Smith]}

The file is the whole truth: a stored subscription ends where the file lacks the subscription. So does a channel's
watch, unless the file has no `watches`. Values are read as written: the region NO stays a word, and is no truth value
of YAML's.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bot.channels.conditions.condition import Condition, FileData
from bot.channels.conditions.course_condition import has_course
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ChannelFilter, meaningful
from bot.channels.watches import WATCHES_MAX, WatchedName
from bot.db.tables import WatchKind
from bot.errors import SubscriptionFileWrong
from bot.events.event import Topic
from bot.events.watched import name_key
from bot.racedata.near_misses import likely

VERSION = "1"

_KEYS = tuple(condition.file_key for condition in CONDITIONS)
_NEEDED = tuple(condition.file_key for condition in CONDITIONS if condition.is_needed)

LONGEST_WORD = 200

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{1,30}", re.ASCII)
_WIDTH = 120


@dataclass(frozen=True)
class Wanted:
    channel_id: str
    chosen: ChannelFilter
    line: int
    lines: tuple[int, ...] = ()


WatchesByChannel = Mapping[str, Sequence[WatchedName]]


@dataclass(frozen=True)
class SubscriptionFile:
    """`watches`: None in a file that says nothing of watches."""

    subscriptions: list[Wanted]
    watches: WatchesByChannel | None


def as_data(
    subscriptions: Iterable[tuple[str, ChannelFilter]], watches: Iterable[tuple[str, WatchedName]] = ()
) -> dict[str, Any]:
    channels: dict[str, list[dict[str, Any]]] = {}
    for channel_id, chosen in sorted(subscriptions, key=lambda one: (one[0], one[1].region)):
        channels.setdefault(channel_id, []).append(_as_data(chosen))
    watched: dict[str, dict[str, list[str]]] = {}
    for channel_id, name in watches:
        watched.setdefault(channel_id, {}).setdefault(str(name.kind), []).append(name.name)
    return {"version": int(VERSION), "watches": watched, "channels": channels}


def as_yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH)


def as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def read(text: str) -> SubscriptionFile:
    """A file in YAML or JSON. Raises SubscriptionFileWrong with every problem, by line."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SubscriptionFileWrong([(mark.line + 1 if mark else 1, f"no YAML: {error.problem}")]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise SubscriptionFileWrong([(1, f"no YAML that can be read ({type(error).__name__})")]) from error
    reader = _Reader()
    found = reader.file(root)
    if reader.problems:
        raise SubscriptionFileWrong(sorted(reader.problems))
    return found


def _as_data(chosen: ChannelFilter) -> dict[str, Any]:
    said = {condition.file_key: condition.to_file(chosen) for condition in CONDITIONS}
    return {name: value for name, value in said.items() if value}


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


@dataclass
class _Reader:
    """Walks the nodes of a file and gathers problems. A wrong part is left out, and the rest is read."""

    problems: list[tuple[int, str]] = field(default_factory=list)

    def file(self, root: Node | None) -> SubscriptionFile:
        if root is None:
            self.problems.append((1, "the file is empty"))
            return SubscriptionFile([], None)
        parts = self._mapping(root, "the file", ("version", "channels", "watches"), needed=("version", "channels"))
        if (version := parts.get("version")) is not None and self._word(version, "version") not in {VERSION, None}:
            self._wrong(version, f"version must be {VERSION}")
        channels, watched = parts.get("channels"), parts.get("watches")
        pairs = self._pairs(channels, "channels") if channels is not None else ()
        subscriptions = [one for key, node in pairs for one in self._channel(key, node)]
        return SubscriptionFile(subscriptions, self._watches(watched) if watched is not None else None)

    def _watches(self, node: Node) -> WatchesByChannel:
        found: dict[str, Sequence[WatchedName]] = {}
        for key, of_channel in self._pairs(node, "watches"):
            channel_id = self._channel_id(key)
            kinds = self._mapping(of_channel, f"watches of {channel_id}", tuple(WatchKind))
            names = [
                WatchedName(WatchKind(kind), word)
                for kind, each in kinds.items()
                for one in self._sequence(each, kind)
                if (word := self._watched(one, kind))
            ]
            if len(names) > WATCHES_MAX:
                self._wrong(of_channel, f"{channel_id} watches more than {WATCHES_MAX} names")
            found[channel_id] = names
        return found

    def _watched(self, node: Node, kind: str) -> str | None:
        word = self._word(node, kind)
        if word is not None and not name_key(word).bare:
            self._wrong(node, f"{word} is no name")
        return word

    def _channel_id(self, key: Node) -> str:
        channel_id = self._word(key, "a channel") or ""
        if not _CHANNEL.fullmatch(channel_id):
            self._wrong(key, f"{channel_id or 'this'} is no channel id, such as C0123456789")
        return channel_id

    def _channel(self, key: Node, node: Node) -> list[Wanted]:
        channel_id = self._channel_id(key)
        found: dict[str, Wanted] = {}
        for one in self._sequence(node, f"channel {channel_id}"):
            wanted = self._subscription(channel_id, one)
            if wanted is None:
                continue
            if wanted.chosen.region in found:
                first = found[wanted.chosen.region].line
                self._wrong(one, f"{channel_id} has the region {_region_word(wanted)} on line {first} already")
            found[wanted.chosen.region] = wanted
        return list(found.values())

    def _subscription(self, channel_id: str, node: Node) -> Wanted | None:
        parts = self._mapping(node, "a subscription", _KEYS, needed=_NEEDED)
        read = {one.field: self._values(parts[one.file_key], one) for one in CONDITIONS if one.file_key in parts}
        only, without = read.get("courses", []), read.get("not_courses", [])
        for place, course in without:
            if has_course([other for _, other in only], course):
                self._wrong(place, f"{course.name or course.course_id} is in `only` and in `except`")
        if not all(read.get(condition.field) for condition in CONDITIONS if condition.is_needed):
            return None
        values = {
            one.field: one.of_file([value for _, value in read[one.field]]) for one in CONDITIONS if read.get(one.field)
        }
        chosen = meaningful(ChannelFilter.model_validate(values))
        return Wanted(channel_id, chosen, _line(node), tuple(_line(place) for place, _ in (*only, *without)))

    def _values(self, node: Node, condition: Condition) -> list[tuple[Node, Any]]:
        if condition.file_key == condition.file_noun:
            # The region: a single value.
            return self._value(node, condition)
        found = [one for each in self._sequence(node, condition.file_key) for one in self._value(each, condition)]
        if condition.is_needed and not found:
            self._wrong(node, f"{condition.file_key} are missing: {', '.join(Topic)}")
        return found

    def _value(self, node: Node, condition: Condition) -> list[tuple[Node, Any]]:
        data = self._data(node, condition)
        if data is None:
            return []
        try:
            return [(node, condition.from_file(data))]
        except ValueError as error:
            self._wrong(node, str(error))
            return []

    def _data(self, node: Node, condition: Condition) -> FileData | None:
        if not (condition.file_parts and isinstance(node, MappingNode)):
            return self._word(node, condition.file_noun)
        parts = self._mapping(node, condition.file_noun, condition.file_parts)
        words = {name: self._word(value, name) for name, value in parts.items()}
        return {name: word for name, word in words.items() if word}

    def _mapping(self, node: Node, what: str, known: Sequence[str], needed: Sequence[str] = ()) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for key, value in self._pairs(node, what):
            name = self._word(key, f"a name in {what}")
            if name is not None and name not in known:
                meant = likely(name, known, 1)
                question = f"; did you mean {meant[0]}?" if meant else f"; known are {', '.join(known)}"
                self._wrong(key, f"{name} is unknown in {what}{question}")
            elif name is not None:
                found[name] = value
        if isinstance(node, MappingNode):
            for name in needed:
                if name not in found:
                    self._wrong(node, f"{name} is missing in {what}")
        return found

    def _pairs(self, node: Node, what: str) -> Iterator[tuple[Node, Node]]:
        if not isinstance(node, MappingNode):
            if not _is_empty(node):
                self._wrong(node, f"{what} must have names with values, such as `name: value`")
            return
        seen: dict[str, int] = {}
        for key, value in node.value:
            word = key.value if isinstance(key, ScalarNode) else ""
            if word in seen:
                self._wrong(key, f"{word} stands on line {seen[word]} already")
                continue
            seen[word] = _line(key)
            yield key, value

    def _sequence(self, node: Node, what: str) -> Sequence[Node]:
        if isinstance(node, SequenceNode):
            return list(node.value)
        if not _is_empty(node):
            self._wrong(node, f"{what} must be a list")
        return []

    def _word(self, node: Node, what: str) -> str | None:
        """A text exactly as written, without YAML's types; None, and a problem, for anything else."""
        if not isinstance(node, ScalarNode) or not node.value.strip():
            self._wrong(node, f"{what} must be a word")
            return None
        word = str(node.value).strip()
        if len(word) > LONGEST_WORD or not word.isprintable():
            self._wrong(node, f"{what} is too long, or has characters that can't be shown")
            return None
        return word

    def _wrong(self, node: Node, told: str) -> None:
        self.problems.append((_line(node), told))


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value in {"", "~", "null"}


def _region_word(wanted: Wanted) -> str:
    return str(CONDITIONS[0].to_file(wanted.chosen))
