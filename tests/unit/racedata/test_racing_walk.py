"""The walk from cursor to cursor: where it goes on, where it starts again, and where it breaks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.cursor_walk import MOST_EMPTY_PAGES, collect, joined, walk
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.service_errors import InvalidParam, OutsideWindow, ServiceFailure, WalkBroken


def page(data, **meta):
    return ServicePage[Any](meta=Meta(**meta), data=data)


def more(data, cursor):
    return page(data, has_more=True, next_cursor=cursor)


class Pages:
    """Answers by cursor, or refuses; remembers what was asked."""

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
# The pages by cursor, the stored cursor, the cursors asked with, the data of each page, and what breaks the walk.
WALKS: dict[str, tuple[Any, str | None, list[str | None], list[list[int]], type[ServiceFailure] | None]] = {
    "over an empty page": (THREE, None, [None, "a", "b"], [[1, 2], [], [3]], None),
    "from a stored cursor": (THREE, "b", ["b"], [[3]], None),
    "stored cursor refused": (THREE, "stale", ["stale", None, "a", "b"], [[1, 2], [], [3]], None),
    "stored cursor before the window": (
        THREE | {"old": OUTSIDE},
        "old",
        ["old", None, "a", "b"],
        [[1, 2], [], [3]],
        None,
    ),
    "beginning refused too": ({}, "stale", ["stale", None], [], InvalidParam),
    "fresh cursor refused": ({None: more([1], "a")}, None, [None, "a"], [[1]], InvalidParam),
    "more but no cursor": ({None: page([1], has_more=True)}, None, [None], [[1]], WalkBroken),
    "more but an empty cursor": ({None: more([1], "")}, None, [None], [[1]], WalkBroken),
    "cursor that came before": (THREE | {"b": more([3], "a")}, None, [None, "a", "b"], [[1, 2], [], [3]], WalkBroken),
    "end beside a cursor": ({None: page([1], has_more=False, next_cursor="a")}, None, [None], [[1]], None),
    "cursor alone": ({None: page([1], next_cursor="a"), "a": page([2])}, None, [None, "a"], [[1], [2]], None),
}


@pytest.mark.parametrize("name", WALKS)
async def test_limits_7_walk_goes_by_what_each_page_says(name):
    by_cursor, stored, asked, data, broken = WALKS[name]
    pages, steps, error = Pages(by_cursor), [], None
    try:
        async for step in walk("races/search", pages.fetch, stored):
            steps.append(step)  # noqa: PERF401  the steps before the walk breaks count
    except ServiceFailure as failure:
        error = failure
    assert (pages.asked, [step.page.data for step in steps]) == (asked, data)
    assert type(error) is (broken or type(None))
    assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [not broken] * bool(steps)
    assert {step.started_again for step in steps} <= {stored is not None and asked[0] != asked[-1]}


async def test_walk_gives_the_position_to_go_on_from_and_a_broken_walk_stays_at_its_page():
    steps = [step async for step in walk("races/search", Pages(THREE).fetch)]
    assert [(step.cursor, step.resume_at) for step in steps] == [(None, "a"), ("a", "b"), ("b", None)]
    circle = walk("races/search", Pages(THREE | {"b": more([3], "a")}).fetch)
    assert [(await anext(circle)).resume_at for _ in range(3)] == ["a", "b", "b"]


async def test_walk_through_nothing_but_empty_pages_comes_to_an_end():
    asked = []

    async def fetch(cursor):
        asked.append(cursor)
        return more([], f"c{len(asked)}")

    with pytest.raises(WalkBroken):
        await collect(walk("races/search", fetch))
    assert len(asked) == MOST_EMPTY_PAGES


@pytest.mark.parametrize(
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
