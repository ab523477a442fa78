from datetime import UTC, date, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.racedata.race_walk import (
    Order,
    PageSeen,
    Read,
    Start,
    Stretch,
    Walk,
    after_page,
    is_proven,
    next_start,
    read_at,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = date(2026, 11, 20)
FRESH_FOR = timedelta(minutes=15)


def iso(offset):
    return (TODAY + timedelta(days=offset)).isoformat()


class List:
    """A service's list, and a reader that follows the bookkeeping as bot.racedata.race_walk does."""

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
        """Whether the day is proven after at most so many pages."""
        yesterday = (self.now.date() - timedelta(days=1)).isoformat()
        fresh_since = self.now - FRESH_FOR
        while pages and (start := next_start(self.walk, day, yesterday, fresh_since)):
            page, resume_at, is_last = self.page(start.cursor)
            self.known.update(page)
            seen = PageSeen(self.now, start.cursor, resume_at, is_last, [one[0] for one in page])
            self.walk = after_page(self.walk, start.read, seen, yesterday, fresh_since)
            pages -= 1
        return is_proven(self.walk, day, fresh_since)


offsets = st.integers(-5, 5)
ALL_RACES = [(iso(offset), race) for offset in range(-5, 6) for race in "abc"]
# Drawn as one number, a bit for each race: drawing the races one by one takes longer than the walks.
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
            # Races come for every day that isn't settled, also before days that were read already.
            yesterday = (served.now.date() - timedelta(days=1)).isoformat()
            served.races |= {one for one in declared if one[0] >= yesterday}
        day = iso(offset)
        if served.read(day, pages):
            assert {one for one in served.races if one[0] == day} <= served.known


@given(races=races, page_size=st.integers(1, 7), newest_first=st.booleans(), offset=offsets)
def test_walk_proves_any_day_when_it_may_read_enough(races, page_size, newest_first, offset):
    served = List(races, page_size, newest_first=newest_first)
    assert served.read(iso(offset), 100)


@given(days=st.lists(st.sampled_from([iso(n) for n in range(-9, 5)]), min_size=3, max_size=12), size=st.integers(1, 4))
def test_walk_of_a_list_without_order_proves_only_what_it_read_whole(days, size):
    walk, at, pages = Walk(limit=size), 0, 0
    while (start := next_start(walk, iso(0), iso(-1), NOW - FRESH_FOR)) and pages < 60:
        at = int(start.cursor or 0)
        end = at + size
        is_last = end >= len(days)
        seen = PageSeen(NOW, start.cursor, None if is_last else str(end), is_last, days[at:end])
        walk, pages = after_page(walk, start.read, seen, iso(-1), NOW - FRESH_FOR), pages + 1
    if walk.order is Order.NONE and is_proven(walk, iso(0), NOW - FRESH_FOR):
        assert walk.newest_pass is not None
        assert walk.newest_pass.ended
        assert at + size >= len(days)


def test_walk_oldest_first_goes_on_behind_what_is_settled():
    served = List([(iso(n), "a") for n in range(-100, 3)], 10, newest_first=False)
    assert served.read(iso(0), 100)
    assert served.walk.order is Order.OLDEST_FIRST
    served.now += timedelta(hours=1)
    served.races.add((iso(0), "b"))
    assert not served.read(iso(0), 0)
    assert served.read(iso(0), 3)
    assert (iso(0), "b") in served.known


def test_walk_newest_first_joins_the_ground_it_knows_already():
    served = List([(iso(n), "a") for n in range(-30, 3)], 4, newest_first=True)
    assert served.read(iso(-10), 100)
    served.now += timedelta(days=8)
    served.races |= {(iso(n), "a") for n in range(3, 10)}
    assert served.read(iso(7), 2)
    assert len(served.walk.stretches) == 2
    assert served.read(iso(0), 100)
    assert len(served.walk.stretches) == 1


def test_walk_says_when_a_day_that_is_not_settled_was_read():
    served = List([(iso(n), "a") for n in range(-3, 3)], 2, newest_first=False)
    served.read(iso(0), 100)
    assert read_at(served.walk, iso(0), NOW - FRESH_FOR) == NOW
    assert read_at(served.walk, iso(-30), NOW + FRESH_FOR) is None


def test_walk_with_a_race_of_unknown_day_claims_nothing_of_its_pass():
    page = PageSeen(NOW, None, None, is_last=True, dates=[iso(-1), None, iso(1)])
    walk = after_page(Walk(limit=9), Read.PASS, page, iso(-1), NOW - FRESH_FOR)
    assert not is_proven(walk, iso(0), NOW - FRESH_FOR)
    assert next_start(walk, iso(0), iso(-1), NOW - FRESH_FOR) is None


def test_stretch_of_unknown_days_is_not_read_again():
    stretch = Stretch(before=iso(-5), cursor="c", undated=True)
    walk = Walk(limit=9, order=Order.OLDEST_FIRST, stretches=(stretch,))
    assert not is_proven(walk, iso(-9), NOW)
    assert next_start(walk, iso(-9), iso(-1), NOW) is None
    assert next_start(walk, iso(-5), iso(-1), NOW) == Start(Read.PASS, "c")


def test_walk_goes_on_over_empty_pages():
    empty = PageSeen(NOW, None, "c1", is_last=False, dates=[])
    walk = after_page(Walk(limit=9), Read.PASS, empty, iso(-1), NOW - FRESH_FOR)
    assert next_start(walk, iso(0), iso(-1), NOW - FRESH_FOR) == Start(Read.PASS, "c1")


def test_stretches_are_not_joined_over_a_day_that_was_read_in_part():
    older = Stretch(after=iso(-9), before=iso(-4), cursor="older")
    newer = Stretch(after=iso(-3), before=iso(-1), cursor="newer")
    walk = Walk(limit=9, order=Order.NEWEST_FIRST, stretches=(newer, older))
    to_the_edge = PageSeen(NOW, "newer", "next", is_last=False, dates=[iso(-3), iso(-4)])
    walk = after_page(walk, Read.STRETCH, to_the_edge, iso(-1), NOW - FRESH_FOR)
    assert len(walk.stretches) == 2
    assert not is_proven(walk, iso(-4), NOW - FRESH_FOR)
    into_it = PageSeen(NOW, "next", "further", is_last=False, dates=[iso(-4), iso(-5)])
    walk = after_page(walk, Read.STRETCH, into_it, iso(-1), NOW - FRESH_FOR)
    assert walk.stretches == (Stretch(after=iso(-9), before=iso(-1), cursor="older"),)


def test_yesterday_is_not_settled_by_a_page_that_ends_in_it():
    served = List([(iso(-2), "b"), (iso(-1), "b"), (iso(0), "b"), (iso(1), "b")], 2, newest_first=False)
    assert served.read(iso(-1), 9)
    served.now += timedelta(hours=1)
    served.races.add((iso(-1), "a"))
    assert served.read(iso(-1), 9)
    assert (iso(-1), "a") in served.known
