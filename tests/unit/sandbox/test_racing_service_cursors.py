"""Cursors: what was issued is read back, everything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.racing_service.cursors import CursorMint, rest_after
from sandbox.racing_service.refusals import Refusal

MINT = CursorMint(b"secret")
QUERY = {"endpoint": "/races/search", "region": "GB", "limit": 100}
POSITION = ("2025-11-20", "rc_1")


@given(st.tuples(st.text(), st.text()) | st.none(), st.dictionaries(st.text(), st.text() | st.none()))
def test_cursor_is_read_back(position, query):
    assert MINT.read(MINT.issue(query, position), query) == position


@given(st.text())
def test_constructed_cursor_is_refused(cursor):
    with pytest.raises(Refusal) as refused:
        MINT.read(cursor, QUERY)
    assert refused.value.code == "invalid_param"


@given(st.data())
def test_altered_cursor_is_refused_wherever_it_was_altered(data):
    cursor = MINT.issue(QUERY, POSITION)
    at = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.characters(codec="ascii").filter(lambda drawn: drawn != cursor[at]))
    with pytest.raises(Refusal):
        MINT.read(cursor[:at] + letter + cursor[at + 1 :], QUERY)


@pytest.mark.parametrize("change", [{"region": "FR"}, {"region": None}, {"limit": 200}, {"endpoint": "/other"}])
def test_cursor_of_another_query_is_refused(change):
    with pytest.raises(Refusal):
        MINT.read(MINT.issue(QUERY, POSITION), QUERY | change)


def test_cursor_survives_a_restart_with_the_same_secret_only():
    cursor = MINT.issue(QUERY, POSITION)
    assert CursorMint(b"secret").read(cursor, QUERY) == POSITION
    with pytest.raises(Refusal):
        CursorMint(b"other").read(cursor, QUERY)


@given(st.sets(st.integers(100, 999)), st.integers(1, 7), st.booleans())
def test_pages_hold_everything_once_in_order(numbers, size, descending):
    items = [str(number) for number in numbers]
    walked, after = [], None
    while rest := rest_after(items, lambda item: (item, ""), after, descending=descending):
        walked += rest[:size]
        after = (walked[-1], "")
    assert walked == sorted(items, reverse=descending)
