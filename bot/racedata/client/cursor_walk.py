"""The cursor walk (Interface, Limits 6 to 8). Cursors are opaque: compared and passed back, never parsed."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.service_errors import InvalidParam, OutsideWindow, WalkBroken

T = TypeVar("T")

MOST_EMPTY_PAGES = 1000
"""More empty pages in a row mean a broken walk: each page costs quota."""


@dataclass(frozen=True)
class Step(Generic[T]):
    """One page, read by `cursor` (None: the first page).

    `resume_at` continues the walk, in another process too. `is_last` is True only if the service said so.
    `started_again`: the stored cursor was refused, and the walk starts from the beginning.
    """

    page: ServicePage[list[T]]
    cursor: str | None
    resume_at: str | None
    is_last: bool
    started_again: bool = False


async def walk(
    path: str,
    fetch: Callable[[str | None], Awaitable[ServicePage[list[T]]]],
    cursor: str | None = None,
    seen: set[str | None] | None = None,
) -> AsyncGenerator[Step[T]]:
    """The pages from `cursor` on, until the service says that no page follows: a short or empty page is not the end.

    `fetch` repeats the query with another cursor. A refused stored cursor restarts the walk, once. Raises WalkBroken
    after a page that was seen before, or whose next cursor is missing or was seen before. `seen`: the cursors of an
    earlier part of the same walk.
    """
    seen, empty, before = set() if seen is None else seen, 0, None
    seen.add(cursor)
    started_again = False
    while True:
        try:
            page = await fetch(cursor)
        except (InvalidParam, OutsideWindow):
            if len(seen) > 1 or cursor is None:
                raise
            cursor, started_again = None, True
            seen.clear()
            seen.add(None)
            continue
        empty = 0 if page.data else empty + 1
        problem = _problem(page.meta, seen, empty, is_repeated=bool(page.data) and page.data == before)
        before = page.data
        following = cursor if problem else page.meta.next_cursor
        yield Step(page, cursor, following if has_more(page.meta) else None, not has_more(page.meta), started_again)
        if problem:
            raise WalkBroken(path, message=problem, request_id=page.meta.request_id)
        if not has_more(page.meta):
            return
        cursor = following
        seen.add(cursor)


def has_more(meta: Meta) -> bool:
    """A cursor without `has_more` means yes."""
    return bool(meta.next_cursor) if meta.has_more is None else meta.has_more


def _problem(meta: Meta, seen: set[str | None], empty: int, *, is_repeated: bool) -> str | None:
    if not has_more(meta):
        return None
    if not meta.next_cursor:
        return "there is more, but no cursor to it"
    if meta.next_cursor in seen:
        return "its cursor came before"
    if is_repeated:
        return "a page came twice under two cursors"
    return f"{empty} empty pages in a row" if empty >= MOST_EMPTY_PAGES else None


async def collect(steps: AsyncGenerator[Step[Any]]) -> ServicePage[Any]:
    """All pages as one page, with the last page's meta. Data that is no list is joined too."""
    pages = [step.page async for step in steps]
    whole = reduce(joined, (page.data for page in pages))
    return ServicePage[Any].model_construct(meta=pages[-1].meta, data=whole)


def joined(one: Any, other: Any) -> Any:
    """Lists joined, objects merged by name; otherwise the later data."""
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{name: joined(one[name], item) if name in one else item for name, item in other.items()}}
    return other
