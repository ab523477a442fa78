"""The cursor walk: pages one after the other, with the position to go on from (Interface, Limits 6 to 8).

Cursors are opaque: they are passed back as they came, compared, and never parsed.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

from bot.racedata.client.records import Meta, Page
from bot.racedata.client.service_errors import InvalidParam, OutsideWindow, WalkBroken

T = TypeVar("T")

MOST_EMPTY_PAGES = 1000
"""After so many empty pages in a row the cursors are taken to lead nowhere: each page costs quota."""


@dataclass(frozen=True)
class Step(Generic[T]):
    """One page of a walk.

    `cursor` read this page (None: the first); `resume_at` is where to go on later, in another process too. `is_last`
    is True only where the service said that there is no more. `started_again` says that the stored cursor was refused,
    so that what was read from it before is read once more.
    """

    page: Page[list[T]]
    cursor: str | None
    resume_at: str | None
    is_last: bool
    started_again: bool = False


async def walk(
    path: str, fetch: Callable[[str | None], Awaitable[Page[list[T]]]], cursor: str | None = None
) -> AsyncGenerator[Step[T]]:
    """The pages from `cursor` on, while the service says that there are more: a short or empty page is not the end.

    `fetch` asks the same question each time and adds the cursor. Raises WalkBroken after the page whose next cursor is
    missing or was seen before. A stored cursor that is refused, as none or as outside the plan's window by now, starts
    the walk from the beginning, once.
    """
    seen, empty = {cursor}, 0
    started_again = False
    while True:
        try:
            page = await fetch(cursor)
        except (InvalidParam, OutsideWindow):
            if len(seen) > 1 or cursor is None:
                raise
            cursor, seen, started_again = None, {None}, True
            continue
        empty = 0 if page.data else empty + 1
        problem = _problem(page.meta, seen, empty)
        following = cursor if problem else page.meta.next_cursor
        yield Step(page, cursor, following if has_more(page.meta) else None, not has_more(page.meta), started_again)
        if problem:
            raise WalkBroken(path, message=problem, request_id=page.meta.request_id)
        if not has_more(page.meta):
            return
        cursor = following
        seen.add(cursor)


def has_more(meta: Meta) -> bool:
    """Whether another page follows. Where `has_more` is missing beside a cursor, the cursor says that one does."""
    return bool(meta.next_cursor) if meta.has_more is None else meta.has_more


def _problem(meta: Meta, seen: set[str | None], empty: int) -> str | None:
    if not has_more(meta):
        return None
    if not meta.next_cursor:
        return "there is more, but no cursor to it"
    if meta.next_cursor in seen:
        return "its cursor came before"
    return f"{empty} empty pages in a row" if empty >= MOST_EMPTY_PAGES else None


async def collect_any(steps: AsyncGenerator[Step[Any]]) -> Page[Any]:
    """All pages of an answer whose shape is not shown, as one: lists joined, objects merged by name."""
    pages = [step.page async for step in steps]
    whole = reduce(joined, (page.data for page in pages))
    return Page[Any].model_construct(meta=pages[-1].meta, data=whole)


def joined(one: Any, other: Any) -> Any:
    """Two pages' data as one; where they are of different kinds, or neither list nor object, the later."""
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{name: joined(one[name], item) if name in one else item for name, item in other.items()}}
    return other


async def collect(steps: AsyncGenerator[Step[T]]) -> Page[list[T]]:
    """All pages as one, with the last one's meta and the count of all."""
    items: list[T] = []
    meta = Meta()
    async for step in steps:
        items += step.page.data
        meta = step.page.meta
    return Page[list[T]].model_construct(meta=meta.model_copy(update={"count": len(items)}), data=items)
