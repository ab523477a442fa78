"""Envelope and records, with every specified field.

Unspecified fields are kept where a shape is not shown. A field of another type is None, and list items that are no
objects are dropped, but for races.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    SecretStr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from bot.events.races import Course
from bot.events.reading.json_values import note_text

T = TypeVar("T")

UNREAD_SHOWN = 2_000
"""Characters in the log of an answer that can't be read."""

SECRET_NAMES = frozenset(
    {
        *("secret", "secretkey", "signingsecret", "signingkey", "signaturesecret", "webhooksecret"),
        *("webhooksigningsecret", "subscriptionsecret", "endpointsecret", "sharedsecret", "hmacsecret"),
    }
)
"""Names of the signing secret (Spec gap G3), as letters and digits."""


def _else(instead: object) -> WrapValidator:
    """Puts this value in the place of a value of another type."""

    def read_or(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(value)
        except ValidationError:
            return instead

    return WrapValidator(read_or)


def _objects_only(value: Any) -> Any:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else value


def _all_kept(value: Any) -> Any:
    return [item if isinstance(item, Mapping) else {} for item in value] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    """The list itself, or the only list of an object: the shape is not shown."""
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, Mapping) else []
    return _objects_only(lists[0] if len(lists) == 1 else value)


META_TEXT_MAX = 200
"""Characters of a plan's name, or of a window, which messages show. A longer text is no name."""

Text = Annotated[str | None, _else(None)]
ShortText = Annotated[Annotated[str, Field(max_length=META_TEXT_MAX)] | None, _else(None)]
Whole = Annotated[int | None, _else(None)]
Number = Annotated[FiniteFloat | None, _else(None)]
Flag = Annotated[bool | None, _else(None)]
Rows = Annotated[list[T], BeforeValidator(_objects_only)]
ListedRows = Annotated[list[T], BeforeValidator(_listed)]


class _Open(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True, protected_namespaces=())


class Meta(_Open):
    request_id: ShortText = None
    data_as_of: ShortText = None
    plan: ShortText = None
    window: ShortText = None
    count: Whole = None
    has_more: Annotated[bool | None, _else(True)] = None
    """True also if unreadable: a list taken for whole would prove that a day has no racing."""
    next_cursor: Text = None


class ServicePage(BaseModel, Generic[T]):
    model_config = ConfigDict(frozen=True)

    meta: Meta
    data: T

    @field_validator("data", mode="before")
    @classmethod
    def _null_for_no_items(cls, value: Any, info: ValidationInfo) -> Any:
        return [] if value is None and "meta" in info.data and info.data["meta"].count == 0 else value


class _Listed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class KnownCountry(_Listed):
    """Interface, Country. `position_pct` is a fraction from 0 to 1."""

    country_code: Text = None
    name: Text = None
    races: Whole = None
    full_result_order: Flag = None
    position_pct: Number = None
    official_rating: Flag = None
    race_class: Flag = None
    winning_times: Flag = None
    note: Annotated[str | None, BeforeValidator(note_text)] = None


class KnownCourse(_Listed):
    """Interface, Course. `country` is a label and can differ from `region`, the filter's code."""

    course_id: Text = None
    name: Text = None
    shortcode: Text = None
    country: Text = None
    region: Text = None
    races: Whole = None
    meetings: Whole = None
    first_meeting: Text = None
    last_meeting: Text = None

    @property
    def as_course(self) -> Course:
        return Course(course_id=self.course_id, name=self.name, country=self.country)


class SubscriptionRecord(_Open):
    """The field names are not shown (Spec gap G3). The repr shows no value."""

    @property
    def secret(self) -> SecretStr | None:
        """The only text under a name of SECRET_NAMES, at any depth.

        None for several: a wrong secret would replace the right one.
        """
        found = set(_signing_secrets(self.model_extra))
        return SecretStr(found.pop()) if len(found) == 1 else None

    def __repr__(self) -> str:
        return f"SubscriptionRecord(fields={sorted(self.model_extra or ())})"

    __str__ = __repr__


def _signing_secrets(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _signing_secrets(item)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if "".join(char for char in name.lower() if char.isalnum()) in SECRET_NAMES:
                yield from _texts(item)
            else:
                yield from _signing_secrets(item)


def _texts(item: Any) -> Iterator[str]:
    if isinstance(item, str) and item:
        yield item
    elif isinstance(item, Mapping):
        yield from (text for name, text in item.items() if name in {"value", "key"} and isinstance(text, str) and text)
        yield from _signing_secrets(item)


CountryPage = ServicePage[Rows[KnownCountry]]
CoursePage = ServicePage[Rows[KnownCourse]]
RacePage = ServicePage[Annotated[list[dict[str, Any]], BeforeValidator(_all_kept)]]
"""Races as they came: the fields are not shown (Spec gap G2).

An item that is no object is a race without fields: a dropped item would prove that a day has no racing.
"""
DeliveryPage = ServicePage[ListedRows[dict[str, Any]]]
"""Deliveries as they came: the names are not shown (Spec gap G4)."""
SubscriptionPage = ServicePage[SubscriptionRecord]
AnyPage = ServicePage[Any]
"""For answers of unspecified shape: reference (Spec gap G6), usage (G5)."""

# Valid filter values from `/reference`, whose shape beyond the categories is not shown (Spec gap G6)

VALUE_FIELDS = ("value", "code", "name")


def read_reference(data: Any, category: str) -> list[str]:
    """The values of a category, as published and in order, of a list of texts or of objects with a value.

    Another shape gives no value.
    """
    listed = data.get(category) if isinstance(data, Mapping) else None
    items = listed if isinstance(listed, list) else []
    return list(dict.fromkeys(value for item in items if (value := _value(item)) is not None))


def _value(item: Any) -> str | None:
    named = [item.get(name) for name in VALUE_FIELDS] if isinstance(item, Mapping) else [item]
    return next((value for value in named if isinstance(value, str)), None)
