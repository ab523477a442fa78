"""What the endpoints return: the envelope and its records, every field under its specified name.

Read tolerantly: fields that are not specified are kept, a field that is missing, null or of another type is None, and
an item of a list that is no object is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SecretStr,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

T = TypeVar("T")

SECRET_NAMES = frozenset({"secret", "signingsecret", "webhooksecret", "webhooksigningsecret"})
"""Names that can mean nothing but the signing secret (Spec gap G3), letters and digits alone."""


def _or_none(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


def _objects_only(value: Any) -> Any:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    """The list itself, or the only list of an object around it: the shape is not shown."""
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, Mapping) else []
    return _objects_only(lists[0] if len(lists) == 1 else value)


Text = Annotated[str | None, WrapValidator(_or_none)]
Whole = Annotated[int | None, WrapValidator(_or_none)]
Number = Annotated[float | None, WrapValidator(_or_none)]
Flag = Annotated[bool | None, WrapValidator(_or_none)]
Rows = Annotated[list[T], BeforeValidator(_objects_only)]
ListedRows = Annotated[list[T], BeforeValidator(_listed)]


class Record(BaseModel):
    """One object of the service."""

    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True, protected_namespaces=())

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that are not specified, as they came."""
        return dict(self.model_extra or {})


class Meta(Record):
    """What every answer says of itself. `has_more` and `next_cursor` only where a list is paginated by cursor."""

    request_id: Text = None
    data_as_of: Text = None
    plan: Text = None
    window: Text = None
    count: Whole = None
    has_more: Flag = None
    next_cursor: Text = None


class Page(BaseModel, Generic[T]):
    """A successful answer: the envelope `{ meta, data }`. A list that can be paginated is one page of it."""

    model_config = ConfigDict(frozen=True)

    meta: Meta
    data: T


class CountryRecord(Record):
    """A country (Interface, Country). `position_pct` is a fraction from 0 to 1."""

    country_code: Text = None
    name: Text = None
    races: Whole = None
    full_result_order: Flag = None
    position_pct: Number = None
    official_rating: Flag = None
    race_class: Flag = None
    winning_times: Flag = None
    note: Any = None


class CourseRecord(Record):
    """A course (Interface, Course). `country` is a label and can differ from `region`, the filter's code."""

    course_id: Text = None
    name: Text = None
    shortcode: Text = None
    country: Text = None
    region: Text = None
    races: Whole = None
    meetings: Whole = None
    first_meeting: Text = None
    last_meeting: Text = None


class RaceRecord(Record):
    """A race as it came, in `fields`: what it holds is not shown (Spec gap G2)."""


class DeliveryRecord(Record):
    """A webhook delivery as it came, in `fields`: their names are not shown (Spec gap G4)."""


class SubscriptionRecord(Record):
    """A webhook subscription just made. Its field names are not shown (Spec gap G3); its repr shows no value."""

    @property
    def secret(self) -> SecretStr | None:
        """The signing secret, shown this once: the text under a name that means it, or else speaks of it, at any depth.

        None where several texts may be it: a wrong one would be taken for it, and the right one lost.
        """
        named = list(_named_secrets(self.model_extra))
        meant = {text for name, text in named if name in SECRET_NAMES}
        found = meant or {text for _, text in named}
        return SecretStr(found.pop()) if len(found) == 1 else None

    def __repr__(self) -> str:
        return f"SubscriptionRecord(fields={sorted(self.fields)})"

    __str__ = __repr__


def _named_secrets(value: Any) -> Iterator[tuple[str, str]]:
    """Plain name and text of everything whose name speaks of a secret."""
    if isinstance(value, list):
        for item in value:
            yield from _named_secrets(item)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            plain = "".join(char for char in name.lower() if char.isalnum())
            if "secret" in plain and isinstance(item, str) and item:
                yield plain, item
            else:
                yield from _named_secrets(item)


CountryPage = Page[Rows[CountryRecord]]
CoursePage = Page[Rows[CourseRecord]]
RacePage = Page[Rows[RaceRecord]]
DeliveryPage = Page[ListedRows[DeliveryRecord]]
SubscriptionPage = Page[SubscriptionRecord]
AnyPage = Page[Any]
"""For answers whose shape is not shown: reference (Spec gap G6), usage (G5)."""
