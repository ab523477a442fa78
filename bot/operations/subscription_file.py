"""All channels' subscriptions as a file: written as YAML or JSON, read with every problem and its place.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    ValidationError,
    create_model,
)
from yaml.nodes import MappingNode

from bot.channels.conditions.condition import Condition
from bot.channels.conditions.event_conditions import CoursesCondition, has_course
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ChannelFilter, meaningful
from bot.channels.watches import WATCHES_MAX, WatchedName
from bot.db.tables import WatchKind
from bot.errors import SubscriptionFileWrong
from bot.events.watched import name_key

LONGEST_WORD = 200

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{1,30}", re.ASCII)
_WIDTH = 120
T = TypeVar("T")
_EMPTY = ("", "~", "null")


@dataclass(frozen=True)
class SubscriptionFile:
    """Each with its channel. `watches`: None in a file that says nothing of watches."""

    subscriptions: Sequence[tuple[str, ChannelFilter]]
    watches: Sequence[tuple[str, WatchedName]] | None


def as_data(
    subscriptions: Iterable[tuple[str, ChannelFilter]], watches: Iterable[tuple[str, WatchedName]] = ()
) -> dict[str, Any]:
    channels: dict[str, list[dict[str, Any]]] = {}
    for channel_id, chosen in sorted(subscriptions, key=lambda one: (one[0], one[1].region)):
        said = {condition.file_key: condition.to_file(chosen) for condition in CONDITIONS}
        channels.setdefault(channel_id, []).append({name: value for name, value in said.items() if value})
    watched: dict[str, dict[str, list[str]]] = {}
    for channel_id, name in watches:
        watched.setdefault(channel_id, {}).setdefault(str(name.kind), []).append(name.name)
    return {"version": 1, "watches": watched, "channels": channels}


def as_yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH)


def as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def read(text: str) -> SubscriptionFile:
    """A file in YAML or JSON. Raises SubscriptionFileWrong with every problem."""
    try:
        file: Any = _File.model_validate(yaml.load(text, Loader=_Words))  # noqa: S506  its values are texts
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SubscriptionFileWrong([f"line {mark.line + 1 if mark else 1}: no YAML: {error.problem}"]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise SubscriptionFileWrong([f"no YAML that can be read ({type(error).__name__})"]) from error
    except ValidationError as error:
        raise SubscriptionFileWrong([_told(one) for one in error.errors(include_url=False)]) from error
    return SubscriptionFile(_flat(file.channels), None if file.watches is None else _flat(file.watches))


def _flat(by_channel: Mapping[str, Sequence[T]]) -> list[tuple[str, T]]:
    return [(channel_id, one) for channel_id, some in by_channel.items() for one in some]


def _told(details: Any) -> str:
    """Pydantic's words for a program are replaced."""
    loc, expected = details["loc"], details.get("ctx", {}).get("expected", "").replace("'", "")
    place = ".".join(str(part) for part in loc if part != "[key]") or "the file"
    known = ", ".join(_Subscription.model_fields if len(loc) > 1 else _File.model_fields)
    words = {"extra_forbidden": f"is unknown; known are {known}", "missing": "is missing"}
    words |= {"list_type": "must be a list", "dict_type": "must have names", "model_type": "must have names"}
    words |= dict.fromkeys(("literal_error", "enum"), f"must be {expected}")
    return f"{place}: {words.get(details['type'], details['msg'].removeprefix('Value error, '))}"


class _Words(yaml.BaseLoader):
    """Each value a text as written. A repeated name would hide the part before."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a name stands twice in one place", node.start_mark)
        return found


def _word(data: Any) -> str:
    if not isinstance(data, str) or not data.strip():
        raise ValueError("must be a word")
    if len(data) > LONGEST_WORD or not data.strip().isprintable():
        raise ValueError("is too long, or has characters that can't be shown")
    return data.strip()


def _value(condition: Condition, data: Any) -> Any:
    if not (isinstance(condition, CoursesCondition) and isinstance(data, dict)):
        return condition.stored(_word(data))
    if unknown := data.keys() - set(condition.file_parts):
        raise ValueError(f"{', '.join(unknown)} is unknown; known are {', '.join(condition.file_parts)}")
    return condition.of_parts({name: _word(value) for name, value in data.items()})


def _field(condition: Condition) -> tuple[Any, Any]:
    """The type of the condition's values, and `...` or the default."""
    value = Annotated[Any, PlainValidator(partial(_value, condition))]
    if condition.file_key == condition.file_noun:
        # The region: a single value.
        return value, ...
    return _list_of(value), ... if condition.is_needed else ()


def _list_of(each: Any) -> Any:
    return Annotated[list[each], BeforeValidator(lambda found: [] if found in _EMPTY else found)]


def _named(each: Any) -> Any:
    channels = dict[Annotated[str, AfterValidator(_channel_id)], each]
    return Annotated[channels, BeforeValidator(lambda found: {} if found in _EMPTY else found)]


def _channel_id(word: str) -> str:
    if not _CHANNEL.fullmatch(word):
        raise ValueError(f"{word or 'this'} is no channel id, such as C0123456789")
    return word


_Subscription = create_model(
    "_Subscription",
    __config__=ConfigDict(extra="forbid"),
    **{condition.file_key: _field(condition) for condition in CONDITIONS},  # type: ignore[call-overload]
)


def _chosen(said: BaseModel) -> ChannelFilter:
    values = {condition: getattr(said, condition.file_key) for condition in CONDITIONS}
    if lacking := next((one for one, value in values.items() if one.is_needed and not value), None):
        raise ValueError(f"{lacking.file_key} are missing")
    chosen = ChannelFilter.model_validate(
        {
            one.field: one.of_file(value if isinstance(value, list) else [value])
            for one, value in values.items()
            if value
        }
    )
    if twice := next((one for one in chosen.not_courses if has_course(chosen.courses, one)), None):
        raise ValueError(f"{twice.name or twice.course_id} is in `only` and in `except`")
    return meaningful(chosen)


def _once_a_region(found: Sequence[ChannelFilter]) -> Sequence[ChannelFilter]:
    regions = [str(CONDITIONS[0].to_file(one)) for one in found]
    if twice := next((one for one in regions if regions.count(one) > 1), None):
        raise ValueError(f"the region {twice} stands twice")
    return found


def _watched(kinds: Mapping[WatchKind, Sequence[str]]) -> Sequence[WatchedName]:
    names = [WatchedName(kind, word) for kind, words in kinds.items() for word in words]
    if len(names) > WATCHES_MAX:
        raise ValueError(f"more than {WATCHES_MAX} names")
    return names


def _name(data: Any) -> str:
    word = _word(data)
    if not name_key(word).bare:
        raise ValueError(f"{word} is no name")
    return word


_Subscriptions: Any = Annotated[
    _list_of(Annotated[_Subscription, AfterValidator(_chosen)]), AfterValidator(_once_a_region)
]
_EachName: Any = _list_of(Annotated[Any, PlainValidator(_name)])
_Names: Any = Annotated[dict[WatchKind, _EachName], AfterValidator(_watched)]
_VERSION: Any = Literal["1"]
_File = create_model(
    "_File",
    __config__=ConfigDict(extra="forbid"),
    version=(_VERSION, ...),
    channels=(_named(_Subscriptions), ...),
    watches=(_named(_Names) | None, None),
)
