"""The progress of a walk of `/races/search`, and what the progress proves. Days are "YYYY-MM-DD".

The list is in the order of dates, because a cursor comes from a race's date (Interface, Race). The pages' dates tell
which dates come first (Spec gap G11). Days before yesterday are settled, and are read once. Each pass reads later days
anew: declarations for a near day can appear after those for a farther day.

- Oldest first: the settled days grow from the list's beginning, and a pass continues from their end.
- Newest first: a pass starts at the front. The days below yesterday become the settled days, which grow downwards.
  Settled days below a gap are forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import NamedTuple

from pydantic import AwareDatetime

from bot.events.races import Value

ALL_REGIONS_WALK = "*"
"""In the names of stored walks."""


class Settled(Value):
    """Settled days that were read whole: after `after` and before `before`, both excluded (None: no bound).

    `cursor` continues towards later days (oldest first) or earlier days (newest first). `undated`: some races had
    unreadable days or broke the order, so no day is known to be empty.
    """

    after: str | None = None
    before: str | None = None
    cursor: str | None = None
    undated: bool = False

    def holds(self, day: str) -> bool:
        return (self.after is None or self.after < day) and (self.before is None or day < self.before)


class Pass(Value):
    """A pass over yesterday and later days, read up to `reached` (excluded). `undated`: see Settled."""

    started_at: AwareDatetime
    reached: str | None = None
    cursor: str | None = None
    ended: bool = False
    undated: bool = False


class Walk(Value):
    """The walk of a region's list (None: all regions). The cursors belong to `region` and `limit`.

    `newest_first` is None until two dates differ.
    """

    region: str | None = None
    limit: int
    newest_first: bool | None = None
    settled: Settled | None = None
    newest_pass: Pass | None = None
    window: str | None = None
    data_as_of: str | None = None

    def forgotten(self) -> "Walk":
        return Walk(region=self.region, limit=self.limit, window=self.window, data_as_of=self.data_as_of)

    def reached(self) -> str | None:
        if self.newest_pass and self.newest_pass.reached:
            return self.newest_pass.reached
        return self.settled.before if self.settled else None


class Start(NamedTuple):
    """Where to read on. None: at the front."""

    cursor: str | None


@dataclass(frozen=True)
class Errand:
    """The day of a region (None: all) to be read. Readings before `fresh_since` are stale."""

    region: str | None
    day: date
    today: date
    fresh_since: datetime

    def next_start(self, walk: Walk) -> Start | None:
        return next_start(walk, self.day.isoformat(), self.fresh_since)


class PageSeen(NamedTuple):
    asked_at: datetime
    cursor: str | None
    resume_at: str | None
    is_last: bool
    dates: Sequence[str | None]

    @property
    def days(self) -> list[str]:
        return [date for date in self.dates if date]


def is_proven(walk: Walk, day: str, fresh_since: datetime) -> bool:
    """Whether every race of the day was read, lately enough."""
    if walk.settled and walk.settled.holds(day):
        return not walk.settled.undated
    one = walk.newest_pass
    return one is not None and not one.undated and read_at(walk, day, fresh_since) is not None


def read_at(walk: Walk, day: str, fresh_since: datetime) -> datetime | None:
    one = walk.newest_pass
    is_read = one is not None and one.started_at >= fresh_since and _has_passed(walk, one, day)
    return one.started_at if one is not None and is_read else None


def next_start(walk: Walk, day: str, fresh_since: datetime) -> Start | None:
    """Where to continue towards the day; None if the day is read or the list has ended."""
    settled, one = walk.settled, walk.newest_pass
    if settled and settled.holds(day):
        return None
    if settled and settled.after is not None and day <= settled.after:
        return Start(settled.cursor)
    if one is not None and one.started_at >= fresh_since:
        return None if one.ended or _has_passed(walk, one, day) else Start(one.cursor)
    return Start(settled.cursor if settled and not walk.newest_first else None)


def after_page(walk: Walk, page: PageSeen, yesterday: str, fresh_since: datetime) -> Walk:
    """The walk after one more page. Dates against the known order take every proof back."""
    settled = walk.settled
    if walk.newest_first and settled and page.cursor and settled.cursor == page.cursor:
        before: Settled | Pass = settled
        reached = settled.after
    else:
        before = _pass_before(walk, page, fresh_since)
        reached = before.reached
    days = [day for day in (reached, *page.days) if day]
    orders = {one > other for one, other in pairwise(days) if one != other} | {walk.newest_first} - {None}
    if len(orders) > 1:
        walk, before, reached = walk.forgotten(), Pass(started_at=page.asked_at, undated=True), None
    else:
        walk = walk.model_copy(update={"newest_first": next(iter(orders), None)})
    reached = days[-1] if days else reached
    undated = before.undated or None in page.dates
    if isinstance(before, Settled):
        after = None if page.is_last else reached
        grown = Settled(after=after, before=before.before, cursor=page.resume_at, undated=undated)
        return walk.model_copy(update={"settled": grown})
    one = Pass(
        started_at=before.started_at, reached=reached, cursor=page.resume_at, ended=page.is_last, undated=undated
    )
    return _settle(walk.model_copy(update={"newest_pass": one}), one, page, yesterday)


def _has_passed(walk: Walk, one: Pass, day: str) -> bool:
    if one.ended or one.reached is None or walk.newest_first is None:
        return one.ended
    return day > one.reached if walk.newest_first else day < one.reached


def _pass_before(walk: Walk, page: PageSeen, fresh_since: datetime) -> Pass:
    one = walk.newest_pass
    goes_on = one is not None and page.cursor is not None and one.cursor == page.cursor
    return one if one is not None and goes_on and one.started_at >= fresh_since else Pass(started_at=page.asked_at)


def _settle(walk: Walk, one: Pass, page: PageSeen, yesterday: str) -> Walk:
    """The walk with the days that the pass has read below yesterday as settled days."""
    known = walk.settled
    if one.reached is None or one.reached >= yesterday or walk.newest_first is None:
        return walk
    if not walk.newest_first:
        if page.is_last or not page.days:
            return walk
        undated = one.undated or (known is not None and known.undated)
        settled = Settled(before=one.reached, cursor=page.resume_at, undated=undated)
        return walk.model_copy(update={"settled": settled, "newest_pass": None})
    after = None if page.is_last else one.reached
    settled = Settled(after=after, before=yesterday, cursor=page.resume_at, undated=one.undated)
    if known and after and known.holds(after):
        update = {"before": yesterday, "undated": one.undated or known.undated}
        settled = known.model_copy(update=update)
    return walk.model_copy(update={"settled": settled})
