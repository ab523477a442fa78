"""How far a walk of `/races/search` has come, and what that proves: pure bookkeeping, days as "YYYY-MM-DD".

Days before yesterday are settled: once read, they are read for good. Yesterday and later are read anew by each pass,
because declarations for a near day can appear after those for a farther one. Which way the list runs is not shown
(Spec gap G11): the pages' dates tell.

- Oldest first: one stretch of settled days grows from the list's beginning; a pass goes on from its end.
- Newest first: a pass starts at the front, and below yesterday becomes a stretch; a stretch is made longer downwards,
  and joined to an older one as soon as it reaches into it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from pydantic import AwareDatetime

from bot.events.races import Value


class Order(StrEnum):
    """Which way the list's dates run."""

    OLDEST_FIRST = "oldest first"
    NEWEST_FIRST = "newest first"
    NONE = "none"


class Stretch(Value):
    """Settled days read whole: all after `after` and before `before`, both left out (None: no bound).

    `cursor` goes on from there, towards later days where the list is oldest first, else towards earlier ones.
    `undated`: races came whose day can't be read, so that no day of the stretch is known to be empty.
    """

    after: str | None = None
    before: str | None = None
    cursor: str | None = None
    undated: bool = False

    def holds(self, day: str) -> bool:
        """Whether the day is in it."""
        return (self.after is None or self.after < day) and (self.before is None or day < self.before)


class Pass(Value):
    """A pass over yesterday and later, begun at `started_at`: all days up to `reached` (left out) have been read.

    `cursor` goes on with it; `ended` says that the list has no more.
    """

    started_at: AwareDatetime
    reached: str | None = None
    cursor: str | None = None
    ended: bool = False
    undated: bool = False


class Walk(Value):
    """The walk of one region's list, or of all regions' (None). `limit` and `region` are what its cursors belong to."""

    region: str | None = None
    limit: int
    order: Order | None = None
    stretches: tuple[Stretch, ...] = ()
    newest_pass: Pass | None = None
    window: str | None = None
    data_as_of: str | None = None

    def forgotten(self) -> "Walk":
        """The walk before its first page."""
        return Walk(region=self.region, limit=self.limit, window=self.window, data_as_of=self.data_as_of)

    def reached(self) -> str | None:
        """The day up to which the newest pass, or else the stretch it goes on from, has come."""
        if self.newest_pass and self.newest_pass.reached:
            return self.newest_pass.reached
        return self.stretches[0].before if self.stretches else None


class Read(StrEnum):
    """What a run of pages is read for."""

    PASS = "pass"  # noqa: S105  no password
    STRETCH = "stretch"


class Start(NamedTuple):
    """Where the next page is to be read: a pass from its beginning or its cursor, or a stretch made longer."""

    read: Read
    cursor: str | None


class PageSeen(NamedTuple):
    """What the bookkeeping needs of a page: its dates as they came, and where it leads. `asked_at`: before it was."""

    asked_at: datetime
    cursor: str | None
    resume_at: str | None
    is_last: bool
    dates: Sequence[str | None]

    @property
    def days(self) -> list[str]:
        """The dates that could be read."""
        return [date for date in self.dates if date]


def is_proven(walk: Walk, day: str, fresh_since: datetime) -> bool:
    """Whether everything that the list has of the day was read, and of a day that isn't settled since `fresh_since`."""
    if any(stretch.holds(day) and not stretch.undated for stretch in walk.stretches):
        return True
    one = walk.newest_pass
    return one is not None and one.started_at >= fresh_since and not one.undated and _has_passed(walk, one, day)


def read_at(walk: Walk, day: str, fresh_since: datetime) -> datetime | None:
    """When a day that isn't settled was last read whole; None where it was not, or is settled."""
    one = walk.newest_pass
    is_read = one is not None and one.started_at >= fresh_since and _has_passed(walk, one, day)
    return one.started_at if one is not None and is_read else None


def next_start(walk: Walk, day: str, yesterday: str, fresh_since: datetime) -> Start | None:
    """Where to read on towards the day; None where it is proven, or there is nothing more to read."""
    if is_proven(walk, day, fresh_since):
        return None
    if any(stretch.holds(day) for stretch in walk.stretches):
        return None
    above = _nearest_above(walk, day) if walk.order is Order.NEWEST_FIRST and day < yesterday else None
    if above is not None:
        return Start(Read.STRETCH, above.cursor)
    one = walk.newest_pass
    if one is not None and _goes_on(walk, one, fresh_since):
        return None if one.ended or _has_passed(walk, one, day) else Start(Read.PASS, one.cursor)
    going_on = walk.order is Order.OLDEST_FIRST and walk.stretches
    return Start(Read.PASS, walk.stretches[0].cursor if going_on else None)


def after_page(walk: Walk, read: Read, page: PageSeen, yesterday: str, fresh_since: datetime) -> Walk:
    """The walk with one more page. Dates that contradict a known order make the walk start over without one."""
    if read is Read.STRETCH:
        return _longer(walk, page)
    before = _pass_before(walk, page, fresh_since)
    order = _order([day for day in (before.reached, *page.days) if day], walk.order)
    if order is Order.NONE and walk.order in {Order.OLDEST_FIRST, Order.NEWEST_FIRST}:
        return _without_order(walk)
    one = Pass(
        started_at=before.started_at,
        reached=page.days[-1] if page.days else before.reached,
        cursor=page.resume_at,
        ended=page.is_last,
        undated=before.undated or None in page.dates,
    )
    return _settle(walk.model_copy(update={"order": order, "newest_pass": one}), page, yesterday)


def _has_passed(walk: Walk, one: Pass, day: str) -> bool:
    if one.ended:
        return True
    if one.reached is None:
        return False
    return (walk.order is Order.OLDEST_FIRST and day < one.reached) or (
        walk.order is Order.NEWEST_FIRST and day > one.reached
    )


def _nearest_above(walk: Walk, day: str) -> Stretch | None:
    """The stretch that reaches the day soonest when it is made longer downwards."""
    above = [stretch for stretch in walk.stretches if stretch.after is not None and stretch.after >= day]
    return min(above, key=lambda stretch: stretch.after or "", default=None)


def _pass_before(walk: Walk, page: PageSeen, fresh_since: datetime) -> Pass:
    """The pass that the page goes on with, or a new one that starts with it."""
    one = walk.newest_pass
    goes_on = one is not None and page.cursor is not None and one.cursor == page.cursor
    return one if one is not None and goes_on and _goes_on(walk, one, fresh_since) else Pass(started_at=page.asked_at)


def _goes_on(walk: Walk, one: Pass, fresh_since: datetime) -> bool:
    """Whether a pass is worth going on with: a stale one only where the list has no order, for it is long."""
    return one.started_at >= fresh_since or (walk.order is Order.NONE and not one.ended)


def _order(days: Sequence[str], known: Order | None) -> Order | None:
    rises = any(one < other for one, other in pairwise(days))
    falls = any(one > other for one, other in pairwise(days))
    if known is Order.NONE or (rises and (falls or known is Order.NEWEST_FIRST)):
        return Order.NONE
    if falls and known is Order.OLDEST_FIRST:
        return Order.NONE
    return Order.OLDEST_FIRST if rises else Order.NEWEST_FIRST if falls else known


def _settle(walk: Walk, page: PageSeen, yesterday: str) -> Walk:
    """The walk with what the pass has read of settled days put among the stretches."""
    one = walk.newest_pass
    if one is None or one.reached is None or one.reached >= yesterday:
        return walk
    if walk.order is Order.OLDEST_FIRST and page.days and not page.is_last:
        undated = one.undated or any(stretch.undated for stretch in walk.stretches)
        stretch = Stretch(before=one.reached, cursor=page.resume_at, undated=undated)
        # What follows is a new pass.
        return walk.model_copy(update={"stretches": (stretch,), "newest_pass": None})
    if walk.order is Order.NEWEST_FIRST:
        after = None if page.is_last else one.reached
        stretch = Stretch(after=after, before=yesterday, cursor=page.resume_at, undated=one.undated)
        return walk.model_copy(update={"stretches": _joined(stretch, walk.stretches)})
    return walk


def _longer(walk: Walk, page: PageSeen) -> Walk:
    """The walk with the stretch whose cursor read the page made longer by it."""
    stretch = next((one for one in walk.stretches if one.cursor == page.cursor), None)
    if stretch is None:
        return walk
    if _order([day for day in (stretch.after, *page.days) if day], walk.order) is Order.NONE:
        return _without_order(walk)
    after = None if page.is_last else page.days[-1] if page.days else stretch.after
    grown = Stretch(
        after=after,
        before=stretch.before,
        cursor=page.resume_at,
        undated=stretch.undated or None in page.dates,
    )
    return walk.model_copy(update={"stretches": _joined(grown, [one for one in walk.stretches if one is not stretch])})


def _without_order(walk: Walk) -> Walk:
    """The walk of a list whose dates run both ways: only a pass over all of it proves anything."""
    return walk.forgotten().model_copy(update={"order": Order.NONE})


def _joined(new: Stretch, others: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """The stretches, newest first, the new one joined to those that it reaches into."""
    apart = []
    for other in others:
        if _is_below(new.after, other.before) and _is_below(other.after, new.before):
            lower = other if _is_below(other.after, new.after) else new
            new = Stretch(
                after=lower.after,
                before=max(new.before or "", other.before or "") or None,
                cursor=lower.cursor,
                undated=new.undated or other.undated,
            )
        else:
            apart.append(other)
    return tuple(sorted([new, *apart], key=lambda stretch: stretch.before or "", reverse=True))


def _is_below(after: str | None, bound: str | None) -> bool:
    """Whether a lower bound, None being the lowest, lies below another bound."""
    return bound is not None and (after is None or after < bound)
