from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.cursor_walk import MOST_EMPTY_PAGES, collect, collect_any, joined, walk
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.service_errors import InvalidParam, OutsideWindow, WalkBroken


def page(data, **meta):
    return ServicePage[list[int]](meta=Meta(**meta), data=data)


class Pages:
    """Answers by cursor; remembers what was asked."""

    def __init__(self, by_cursor):
        self.by_cursor = by_cursor
        self.asked = []

    async def fetch(self, cursor):
        self.asked.append(cursor)
        if cursor not in self.by_cursor:
            raise InvalidParam("races/search", code="invalid_param", status=422)
        return self.by_cursor[cursor]


THREE = {
    None: page([1, 2], has_more=True, next_cursor="a"),
    "a": page([], has_more=True, next_cursor="b"),
    "b": page([3], has_more=False),
}


async def test_walk_goes_on_after_a_short_or_empty_page():
    pages = Pages(THREE)
    found = await collect(walk("races/search", pages.fetch))
    assert found.data == [1, 2, 3]
    assert found.meta.count == 3
    assert pages.asked == [None, "a", "b"]


async def test_walk_gives_the_position_to_go_on_from():
    steps = [step async for step in walk("races/search", Pages(THREE).fetch)]
    assert [(step.cursor, step.resume_at, step.is_last) for step in steps] == [
        (None, "a", False),
        ("a", "b", False),
        ("b", None, True),
    ]


async def test_walk_goes_on_from_a_stored_cursor():
    pages = Pages(THREE)
    assert (await collect(walk("races/search", pages.fetch, "b"))).data == [3]
    assert pages.asked == ["b"]


async def test_walk_starts_again_once_when_the_stored_cursor_is_refused():
    pages = Pages(THREE)
    steps = [step async for step in walk("races/search", pages.fetch, "stale")]
    assert pages.asked == ["stale", None, "a", "b"]
    assert all(step.started_again for step in steps)


async def test_walk_starts_again_where_the_window_no_longer_reaches_the_stored_cursor():
    pages, refusals = Pages(THREE), iter([OutsideWindow("races/search", code="outside_window", status=403)])

    async def fetch(cursor):
        for refusal in refusals:
            raise refusal
        return await pages.fetch(cursor)

    steps = [step async for step in walk("races/search", fetch, "before the window")]
    assert pages.asked == [None, "a", "b"]
    assert all(step.started_again for step in steps)


async def test_walk_raises_when_the_beginning_is_refused_too():
    pages = Pages({})
    with pytest.raises(InvalidParam):
        await collect(walk("races/search", pages.fetch, "stale"))
    assert pages.asked == ["stale", None]


async def test_walk_does_not_start_again_when_a_fresh_cursor_is_refused():
    pages = Pages({None: page([1], has_more=True, next_cursor="a")})
    with pytest.raises(InvalidParam):
        await collect(walk("races/search", pages.fetch))
    assert pages.asked == [None, "a"]


async def until_broken(steps):
    """The steps before the walk broke, as it must."""
    before = []
    while True:
        try:
            before.append(await anext(steps))
        except WalkBroken:
            return before


@pytest.mark.parametrize("meta", [{"has_more": True}, {"has_more": True, "next_cursor": ""}])
async def test_walk_breaks_where_there_is_more_but_no_cursor(meta):
    steps = await until_broken(walk("races/search", Pages({None: page([1], **meta)}).fetch))
    assert [(step.page.data, step.is_last) for step in steps] == [([1], False)]


async def test_walk_breaks_on_a_cursor_that_came_before_and_stays_at_its_page():
    pages = Pages({**THREE, "b": page([3], has_more=True, next_cursor="a")})
    steps = await until_broken(walk("races/search", pages.fetch))
    assert (steps[-1].resume_at, steps[-1].is_last) == ("b", False)


async def test_walk_ends_where_has_more_is_false_though_a_cursor_came():
    pages = Pages({None: page([1], has_more=False, next_cursor="a")})
    assert (await collect(walk("races/search", pages.fetch))).data == [1]
    assert pages.asked == [None]


async def test_walk_goes_on_where_has_more_is_missing_beside_a_cursor():
    pages = Pages({None: page([1], next_cursor="a"), "a": page([2])})
    assert (await collect(walk("races/search", pages.fetch))).data == [1, 2]


async def test_walk_through_nothing_but_empty_pages_comes_to_an_end():
    asked = []

    async def fetch(cursor):
        asked.append(cursor)
        return page([], has_more=True, next_cursor=f"c{len(asked)}")

    with pytest.raises(WalkBroken):
        await collect(walk("races/search", fetch))
    assert len(asked) == MOST_EMPTY_PAGES


@pytest.mark.parametrize(
    ("one", "other", "whole"),
    [
        ([1], [2], [1, 2]),
        ({"regions": ["GB"]}, {"regions": ["IRE"], "goings": ["Good"]}, {"regions": ["GB", "IRE"], "goings": ["Good"]}),
        (
            {"by_day": {"rows": [1]}, "total": 1},
            {"by_day": {"rows": [2]}, "total": 2},
            {"by_day": {"rows": [1, 2]}, "total": 2},
        ),
        ([1], {"a": 1}, {"a": 1}),
        (1, None, None),
    ],
)
def test_pages_of_any_shape_are_joined(one, other, whole):
    assert joined(one, other) == whole


async def test_answer_of_any_shape_is_followed_where_has_more_comes():
    pages = {
        None: ServicePage[Any](meta=Meta(has_more=True, next_cursor="a", plan="free"), data={"regions": ["GB"]}),
        "a": ServicePage[Any](meta=Meta(has_more=False, plan="live"), data={"regions": ["IRE"]}),
    }

    async def fetch(cursor):
        return pages[cursor]

    page = await collect_any(walk("reference", fetch))
    assert (page.data, page.meta.plan) == ({"regions": ["GB", "IRE"]}, "live")


cursors = st.none() | st.sampled_from(["", "a", "b", "c", "d"])
metas = st.fixed_dictionaries({"has_more": st.none() | st.booleans(), "next_cursor": cursors})
pages_by_cursor = st.dictionaries(cursors, st.tuples(st.lists(st.integers(), max_size=3), metas))


@given(pages_by_cursor, st.none() | st.sampled_from(["a", "b", "z"]))
async def test_walk_of_any_pages_ends_and_asks_for_no_cursor_twice(by_cursor, start):
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
