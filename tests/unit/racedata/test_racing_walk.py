"""The walk from cursor to cursor: going on, starting again, breaking."""

from contextlib import aclosing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.racedata.client.cursor_walk import MOST_EMPTY_PAGES, Trail, collect, joined, walk
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.service_errors import InvalidParam, OutsideWindow, ServiceFailure, WalkBroken
from bot.racedata.race_walk import PageSeen, Settled, Start, Walk, after_page, is_proven, next_start, read_at
from tests.rows import over


def page(data, **meta):
    return ServicePage[Any](meta=Meta(**meta), data=data)


def more(data, cursor):
    return page(data, has_more=True, next_cursor=cursor)


class Pages:
    """Answers by cursor, or refuses; remembers the requests."""

    def __init__(self, by_cursor):
        self.by_cursor = by_cursor
        self.asked = []

    async def fetch(self, cursor):
        self.asked.append(cursor)
        found = self.by_cursor.get(cursor, InvalidParam("races/search", code="invalid_param", status=422))
        if isinstance(found, Exception):
            raise found
        return found


LAST = page([3], has_more=False)
THREE = {None: more([1, 2], "a"), "a": more([], "b"), "b": LAST}
OUTSIDE = OutsideWindow("races/search", code="outside_window", status=403)
TO_A, ENDS = {"has_more": True, "next_cursor": "a"}, page([], count=1, has_more=False)
# The pages by cursor, the stored cursor, the cursors of requests, the data of each page, and the break of the walk.
WALKS: dict[str, tuple[Any, str | None, list[str | None], list[list[int]], type[ServiceFailure] | None]] = {
    "over an empty page": (THREE, None, [None, "a", "b"], [[1, 2], [], [3]], None),
    "from a stored cursor": (THREE, "b", ["b"], [[3]], None),
    "stored cursor refused": (THREE, "stale", ["stale", None, "a", "b"], [[1, 2], [], [3]], None),
    "stored cursor too old": (THREE | {"old": OUTSIDE}, "old", ["old", None, "a", "b"], [[1, 2], [], [3]], None),
    "beginning refused too": ({}, "stale", ["stale", None], [], InvalidParam),
    "fresh cursor refused": ({None: more([1], "a")}, None, [None, "a"], [[1]], InvalidParam),
    "more but no cursor": ({None: page([1], has_more=True)}, None, [None], [[1]], WalkBroken),
    "more but an empty cursor": ({None: more([1], "")}, None, [None], [[1]], WalkBroken),
    "more or not in unknown words": ({None: page([1], has_more="perhaps")}, None, [None], [[1]], WalkBroken),
    "cursor that came before": (THREE | {"b": more([3], "a")}, None, [None, "a", "b"], [[1, 2], [], [3]], WalkBroken),
    "page that came before": ({None: more([1], "a"), "a": more([1], "b")}, None, [None, "a"], [[1], [1]], WalkBroken),
    "end beside a cursor": ({None: page([1], has_more=False, next_cursor="a")}, None, [None], [[1]], None),
    "items counted and missing": ({None: page([], count=3, has_more=False)}, None, [None], [[]], WalkBroken),
    "all items counted before": ({None: page([1], count=1, **TO_A), "a": ENDS}, None, [None, "a"], [[1], []], None),
    "cursor alone": ({None: page([1], next_cursor="a"), "a": page([2])}, None, [None, "a"], [[1], [2]], None),
}


async def in_one_call(fetch, stored):
    async for step in walk("races/search", fetch, stored):
        yield step


async def page_by_page(fetch, stored):
    """The pages of a caller who stops after each page, and goes on later by the trail."""
    trail, cursor, is_last = Trail(), stored, False
    while not is_last:
        async with aclosing(walk("races/search", fetch, cursor, trail)) as steps:
            async for step in steps:
                yield step
                if step.resume_at != step.cursor:
                    break
        cursor, is_last = step.resume_at, step.is_last


both_ways = pytest.mark.parametrize("read", [in_one_call, page_by_page])


@both_ways
@over("name", WALKS)
async def test_limits_7_walk_goes_by_what_each_page_says(name, read):
    by_cursor, stored, asked, data, broken = WALKS[name]
    pages, steps, error = Pages(by_cursor), [], None
    try:
        async for step in read(pages.fetch, stored):
            steps.append(step)  # noqa: PERF401  the steps before the walk breaks count
    except ServiceFailure as failure:
        error = failure
    assert (pages.asked, [step.page.data for step in steps]) == (asked, data)
    assert type(error) is (broken or type(None))
    assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [not broken] * bool(steps)
    assert [step.started_again for step in steps] == [
        number == 0 and asked[0] != step.cursor for number, step in enumerate(steps)
    ]


async def test_walk_gives_the_position_to_go_on_from_and_a_broken_walk_stays_at_its_page():
    steps = [step async for step in walk("races/search", Pages(THREE).fetch)]
    assert [(step.cursor, step.resume_at) for step in steps] == [(None, "a"), ("a", "b"), ("b", None)]
    circle = walk("races/search", Pages(THREE | {"b": more([3], "a")}).fetch)
    assert [(await anext(circle)).resume_at for _ in range(3)] == ["a", "b", "b"]


@both_ways
async def test_walk_through_nothing_but_empty_pages_comes_to_an_end(read):
    asked = []

    async def fetch(cursor):
        asked.append(cursor)
        return more([], f"c{len(asked)}")

    with pytest.raises(WalkBroken):
        await collect(read(fetch, None))
    assert len(asked) == MOST_EMPTY_PAGES


@over(
    ("one", "other", "whole"),
    [
        ([1], [2], [1, 2]),
        ({"regions": ["GB"]}, {"regions": ["IRE"], "goings": ["Good"]}, {"regions": ["GB", "IRE"], "goings": ["Good"]}),
        ({"day": {"rows": [1]}, "total": 1}, {"day": {"rows": [2]}, "total": 2}, {"day": {"rows": [1, 2]}, "total": 2}),
        ([1], {"a": 1}, {"a": 1}),
        (1, None, None),
    ],
)
async def test_pages_of_any_shape_are_joined(one, other, whole):
    assert joined(one, other) == whole
    pages = Pages({None: more(one, "a"), "a": page(other, plan="live")})
    found = await collect(walk("reference", pages.fetch))
    assert (found.data, found.meta.plan) == (whole, "live")


cursors = st.none() | st.sampled_from(["", "a", "b", "c", "d"])
metas = st.fixed_dictionaries({"has_more": st.none() | st.booleans(), "next_cursor": cursors})
pages_by_cursor = st.dictionaries(cursors, st.tuples(st.lists(st.integers(), max_size=3), metas))


@given(pages_by_cursor, st.none() | st.sampled_from(["a", "b", "z"]))
async def test_limits_8_walk_of_any_pages_ends_and_asks_for_no_cursor_twice(by_cursor, start):
    pages = Pages({cursor: page(data, **meta) for cursor, (data, meta) in by_cursor.items()})
    last = None
    try:
        async for step in walk("races/search", pages.fetch, start):
            last = step
        assert last is not None
        assert last.is_last
    except (WalkBroken, InvalidParam):
        assert last is None or not last.is_last
    fresh = pages.asked if start in by_cursor else pages.asked[1:]
    assert len(fresh) == len(set(fresh))


# How far a walk of races tells of a day, and where the next walk begins


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = date(2026, 11, 20)
FRESH_FOR = timedelta(minutes=15)


def iso(offset):
    return (TODAY + timedelta(days=offset)).isoformat()


class List:
    """A service's list, and a reader with the bookkeeping of bot.racedata.race_walk."""

    def __init__(self, races, page_size, *, newest_first):
        self.races = set(races)
        self.page_size = page_size
        self.newest_first = newest_first
        self.walk = Walk(limit=page_size)
        self.known = set()
        self.now = NOW

    def page(self, cursor):
        ordered = sorted(self.races, reverse=self.newest_first)
        if cursor is not None:
            after = tuple(cursor.split("/"))
            ordered = [one for one in ordered if (one < after if self.newest_first else one > after)]
        page = ordered[: self.page_size]
        is_last = len(ordered) <= self.page_size
        return page, None if is_last else "/".join(page[-1]), is_last

    def read(self, day, pages):
        """Whether the day is proven after at most `pages` pages."""
        yesterday = (self.now.date() - timedelta(days=1)).isoformat()
        fresh_since = self.now - FRESH_FOR
        while pages and (start := next_start(self.walk, day, fresh_since)):
            page, resume_at, is_last = self.page(start.cursor)
            self.known.update(page)
            seen = PageSeen(self.now, start.cursor, resume_at, is_last, [one[0] for one in page])
            self.walk = after_page(self.walk, seen, yesterday, fresh_since)
            pages -= 1
        return is_proven(self.walk, day, fresh_since)


offsets = st.integers(-5, 5)
ALL_RACES = [(iso(offset), race) for offset in range(-5, 6) for race in "abc"]
# Drawn as a number, a bit for each race: separate draws of races take longer than the walks.
races = st.integers(0, 2 ** len(ALL_RACES) - 1).map(
    lambda bits: {race for number, race in enumerate(ALL_RACES) if bits >> number & 1}
)
waits_min = st.sampled_from([0, 5, 60, 26 * 60, 50 * 60])
visits = st.lists(st.tuples(offsets, st.integers(1, 6), waits_min, races), min_size=1, max_size=6)


@settings(max_examples=6 * settings().max_examples)
@given(races=races, page_size=st.integers(1, 4), newest_first=st.booleans(), visits=visits)
def test_walk_never_claims_a_day_whose_races_it_does_not_know(races, page_size, newest_first, visits):
    served = List(races, page_size, newest_first=newest_first)
    for offset, pages, wait_min, declared in visits:
        served.now += timedelta(minutes=wait_min)
        if wait_min >= 15:
            # New races may be on any unsettled day, also before days read already.
            yesterday = (served.now.date() - timedelta(days=1)).isoformat()
            served.races |= {one for one in declared if one[0] >= yesterday}
        day = iso(offset)
        if served.read(day, pages):
            assert {one for one in served.races if one[0] == day} <= served.known


@given(races=races, page_size=st.integers(1, 7), newest_first=st.booleans(), offset=offsets)
def test_walk_proves_any_day_when_it_may_read_enough(races, page_size, newest_first, offset):
    served = List(races, page_size, newest_first=newest_first)
    assert served.read(iso(offset), 100)


def read(cursor, resume_at, *days, is_last=False):
    return PageSeen(NOW, cursor, resume_at, is_last, days)


def after(walk, *pages):
    for one in pages:
        walk = after_page(walk, one, iso(-1), NOW - FRESH_FOR)
    return walk


def proven(walk, first=-9, last=9):
    return [offset for offset in range(first, last + 1) if is_proven(walk, iso(offset), NOW - FRESH_FOR)]


NEW = Walk(limit=9)
OLDER = Settled(after=iso(-9), before=iso(-4), cursor="older")
NEWER = Settled(after=iso(-3), before=iso(-1), cursor="newer")
LATE = Settled(after=iso(-4), before=iso(-2), cursor="x")
UNDATED, DATED = read(None, "c", iso(-9), None, iso(-5)), read(None, "c", iso(-9), iso(-5))
SETTLED_UNDATED = [UNDATED, read("c", "d", iso(-4)), read("d", "e", iso(-4), iso(2))]
AGAINST_THE_ORDER = [DATED, read("c", "d", iso(2), iso(-4))]


def behind(settled):
    return Walk(limit=9, newest_first=True, settled=settled)


# The pages after a walk, the proven days from today, and the cursor of an errand of today.
PAGES: dict[str, tuple[Walk, list[PageSeen], list[int], Start | None]] = {
    "nothing yet": (NEW, [], [], Start(None)),
    "an empty page": (NEW, [read(None, "c")], [], Start("c")),
    "one day alone has no order": (NEW, [read(None, "c", iso(0), iso(0))], [], Start("c")),
    "oldest first": (NEW, [read(None, "c", iso(-9), iso(-5))], [*range(-9, -5)], Start("c")),
    "newest first": (NEW, [read(None, "c", iso(5), iso(2))], [*range(3, 10)], Start("c")),
    "read to the end": (NEW, [read(None, None, iso(0), is_last=True)], [*range(-9, 10)], None),
    "a race without a day": (NEW, [read(None, None, iso(-1), None, iso(1), is_last=True)], [], None),
    "a settled race without a day": (NEW, SETTLED_UNDATED, [*range(-4, 2)], None),
    "dates against the order": (NEW, AGAINST_THE_ORDER, [], Start("d")),
    "up to the edge of a gap": (behind(NEWER), [read("newer", "next", iso(-3), iso(-4))], [-3, -2], Start(None)),
    "a gap is forgotten": (behind(OLDER), [read(None, "c", iso(1), iso(-4))], [*range(-3, 10)], None),
    "settled days are joined": (behind(OLDER), [read(None, "c", iso(1), iso(-5))], [*range(-8, 10)], None),
    "settled days are read over": (behind(LATE), [read(None, "c", iso(1), iso(-7))], [*range(-6, 10)], None),
}


@over("name", PAGES)
def test_walk_proves_the_passed_days_and_goes_on_behind_the_pages(name):
    before, pages, days, start = PAGES[name]
    walk = after(before, *pages)
    assert (proven(walk), next_start(walk, iso(0), NOW - FRESH_FOR)) == (days, start)


def test_settled_days_of_unknown_dates_are_not_read_again():
    walk = Walk(limit=9, newest_first=False, settled=Settled(before=iso(-5), cursor="c", undated=True))
    assert not is_proven(walk, iso(-9), NOW)
    assert [next_start(walk, iso(offset), NOW) for offset in (-9, -5)] == [None, Start("c")]


def test_walk_says_when_a_day_that_is_not_settled_was_read():
    served = List([(iso(n), "a") for n in range(-3, 3)], 2, newest_first=False)
    served.read(iso(0), 100)
    assert read_at(served.walk, iso(0), NOW - FRESH_FOR) == NOW
    assert read_at(served.walk, iso(-30), NOW + FRESH_FOR) is None


def test_yesterday_is_not_settled_by_a_page_that_ends_in_it():
    served = List([(iso(-2), "b"), (iso(-1), "b"), (iso(0), "b"), (iso(1), "b")], 2, newest_first=False)
    assert served.read(iso(-1), 9)
    served.now += timedelta(hours=1)
    served.races.add((iso(-1), "a"))
    assert served.read(iso(-1), 9)
    assert (iso(-1), "a") in served.known
