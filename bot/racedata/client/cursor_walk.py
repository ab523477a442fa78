"""The cursor walk (Interface, Limits 6 to 8). Cursors are opaque: compared and passed back, never parsed."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import inf
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
    `started_again`: the stored cursor was refused, and this is the first page of the list instead.
    """

    page: ServicePage[list[T]]
    cursor: str | None
    resume_at: str | None
    is_last: bool
    started_again: bool = False


@dataclass
class Trail:
    """The memory of a walk. Several calls of `walk` may read the walk page by page.

    `resume_at`: the cursor with which the next call continues the walk. Any other cursor begins another walk.
    `most_pages`: more pages mean a broken walk.
    """

    most_pages: float = inf
    seen: set[str | None] = field(default_factory=set)
    resume_at: str | None = None
    last_page: object = None
    pages: int = 0
    empty_pages: int = 0

    def come_to(self, cursor: str | None) -> None:
        """Called before the page of the cursor is read."""
        if cursor is None or cursor != self.resume_at:
            self.seen, self.last_page, self.pages, self.empty_pages = set(), None, 0, 0
        self.seen.add(cursor)
        self.resume_at = None

    def problem_with(self, page: ServicePage[list[Any]]) -> str | None:
        """Why the walk can't go on after this page; None also at the end."""
        before, self.last_page = self.last_page, page.data
        self.pages += 1
        self.empty_pages = 0 if page.data else self.empty_pages + 1
        following = page.meta.next_cursor
        if not has_more(page.meta):
            is_missing = self.pages == 1 and not page.data and bool(page.meta.count)
            return f"it counts {page.meta.count} items and has none" if is_missing else None
        if not following:
            return "there is more, but no cursor to it"
        if following in self.seen:
            return "its cursor came before"
        if page.data and page.data == before:
            return "a page came twice under two cursors"
        if self.pages >= self.most_pages:
            return f"{self.pages} pages and no end"
        if self.empty_pages >= MOST_EMPTY_PAGES:
            return f"{self.empty_pages} empty pages in a row"
        self.resume_at = following
        return None


async def walk(
    path: str,
    fetch: Callable[[str | None], Awaitable[ServicePage[list[T]]]],
    cursor: str | None = None,
    trail: Trail | None = None,
) -> AsyncGenerator[Step[T]]:
    """The pages from `cursor` on, until the service says that no page follows: a short or empty page is not the end.

    `fetch` repeats the query with another cursor. A refused stored cursor restarts the walk, once. Raises WalkBroken
    after a page that was seen before, whose next cursor is missing or was seen before, or whose items are missing.
    `trail`: of an earlier part of the same walk.
    """
    trail, started_again = trail or Trail(), False
    while True:
        trail.come_to(cursor)
        try:
            page = await fetch(cursor)
        except (InvalidParam, OutsideWindow):
            if len(trail.seen) > 1 or cursor is None:
                raise
            cursor, started_again = None, True
            continue
        problem = trail.problem_with(page)
        is_last = not (problem or has_more(page.meta))
        yield Step(page, cursor, cursor if problem else trail.resume_at, is_last, started_again)
        started_again = False
        if problem:
            raise WalkBroken(path, message=problem, request_id=page.meta.request_id)
        if is_last:
            return
        cursor = trail.resume_at


def has_more(meta: Meta) -> bool:
    """A cursor without `has_more` means yes."""
    return bool(meta.next_cursor) if meta.has_more is None else meta.has_more


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
