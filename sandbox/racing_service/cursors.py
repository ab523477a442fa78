"""Pages of a list by cursors: opaque, bound to their query, good for ever (Interface, Limits 6 to 8)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sandbox.racing_places import made_up_id
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.service_state import Position, State

Item = TypeVar("Item")
LARGEST_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Everything that binds a cursor: "The next request repeats every other parameter unchanged"."""

    endpoint: str
    filters: Mapping[str, str | None]
    limit: int
    cursor: str | None

    def bound(self) -> str:
        return f"{self.endpoint} {self.limit} {self.filters}"

    def after(self, state: State) -> Position | None:
        """Raises the same invalid_param for every bad cursor."""
        if self.cursor is None:
            return None
        bound, position = state.cursors.get(self.cursor, (None, None))
        if bound != self.bound():
            raise invalid_param("cursor", "was not issued by this service for this query")
        return position


def effective_limit(limit: int | None, state: State) -> int:
    """Raises invalid_param beyond the largest limit (Spec gap G12)."""
    if limit is None:
        return state.switches.default_limit
    if not 1 <= limit <= LARGEST_LIMIT:
        raise invalid_param("limit", f"must be from 1 to {LARGEST_LIMIT}")
    return limit


def take_page(
    items: Sequence[Item],
    position_of: Callable[[Item], Position],
    query: ListQuery,
    state: State,
    *,
    descending: bool,
) -> tuple[list[Item], dict[str, object]]:
    """The page's items, and the `meta` fields with the next cursor."""
    after = query.after(state)
    rest = sorted(items, key=position_of, reverse=descending)
    if after is not None:
        rest = [each for each in rest if (position_of(each) < after if descending else position_of(each) > after)]
    page = rest[: _size(query.limit, state)]
    has_more = len(rest) > len(page)
    position = position_of(page[-1]) if page else after
    return page, {"has_more": has_more} | _next_cursor(state, query, position, has_more=has_more)


def _size(limit: int, state: State) -> int:
    """A short page need not be the last."""
    every = state.switches.short_page_every
    return max(1, limit // 2) if every and state.numbered % every == 0 else limit


def _next_cursor(state: State, query: ListQuery, position: Position | None, *, has_more: bool) -> dict[str, object]:
    if has_more or state.switches.last_cursor == "string":
        cursor = made_up_id("pg_", query.bound(), position)
        state.cursors[cursor] = query.bound(), position
        return {"next_cursor": cursor}
    return {"next_cursor": None} if state.switches.last_cursor == "null" else {}
