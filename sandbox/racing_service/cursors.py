"""Pages of a list by cursors: opaque, bound to their query, good for ever (Interface, Limits 6 to 8)."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from sandbox.racing_places import made_up_id
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.service_state import Position, State

Item = TypeVar("Item")


class NoQuery(BaseModel):
    """Parameters that an endpoint does not know are refused."""

    model_config = ConfigDict(extra="forbid")


class ListQuery(NoQuery):
    """Spec gap G12: the largest limit."""

    limit: Annotated[int, Field(ge=1, le=200)] | None = None
    cursor: str | None = None

    def bound(self) -> str:
        """What binds a cursor: "The next request repeats every other parameter unchanged"."""
        return f"{type(self).__name__} {self.model_dump(exclude={'cursor'})}"


def take_page(
    items: Sequence[Item], position_of: Callable[[Item], Position], query: ListQuery, state: State, *, descending: bool
) -> tuple[list[Item], dict[str, object]]:
    """The page's items, and the `meta` fields with the next cursor. Every bad cursor is the same invalid_param."""
    rest, after = sorted(items, key=position_of, reverse=descending), None
    if query.cursor is not None:
        bound, after = state.cursors.get(query.cursor, (None, None))
        if bound != query.bound():
            raise invalid_param("cursor", "was not issued by this service for this query")
    if after is not None:
        rest = [each for each in rest if (position_of(each) < after if descending else position_of(each) > after)]
    limit, short_every = query.limit or state.switches.default_limit, state.switches.short_page_every
    is_short = short_every and state.numbered % short_every == 0
    page = rest[: max(1, limit // 2) if is_short else limit]
    has_more = len(rest) > len(page)
    paging: dict[str, object] = {"has_more": has_more}
    if has_more or state.switches.last_cursor == "string":
        position = position_of(page[-1]) if page else after
        paging["next_cursor"] = cursor = made_up_id("pg_", query.bound(), position)
        state.cursors[cursor] = query.bound(), position
    elif state.switches.last_cursor == "null":
        paging["next_cursor"] = None
    return page, paging
