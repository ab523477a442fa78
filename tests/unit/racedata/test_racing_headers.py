from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.headers import LONGEST_RETRY_AFTER_S, WINDOW_S, read_rate, read_retry_after

NOW = datetime(2025, 11, 20, 12, 0, 0, tzinfo=UTC)
DATE = "Thu, 20 Nov 2025 12:00:00 GMT"
AT = int(NOW.timestamp())


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("0", 0),
        ("99999999999", LONGEST_RETRY_AFTER_S),
        ("Thu, 20 Nov 2025 12:00:30 GMT", 30),
        ("Thu, 20 Nov 2025 11:00:00 GMT", 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", LONGEST_RETRY_AFTER_S),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("1e9", None),
        ("nan", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_and_kept_in_range(value, wait_s):
    assert read_retry_after({"retry-after": value}, NOW) == wait_s


def test_retry_after_date_is_measured_by_the_services_own_clock():
    headers = {"retry-after": "Thu, 20 Nov 2025 13:00:10 GMT", "date": "Thu, 20 Nov 2025 13:00:00 GMT"}
    assert read_retry_after(headers, NOW) == 10


@pytest.mark.parametrize(
    ("reset", "date", "resets_in_s"),
    [
        (str(AT + 30), DATE, 30),
        (str(AT), DATE, 1),
        (str(AT + 3600), DATE, WINDOW_S),
        (str(AT * 1000), DATE, None),
        (str(AT - 3600), DATE, None),
        (str(AT + 30), None, None),
        (str(AT + 30), "yesterday", None),
        ("45", None, 45),
        ("0", DATE, 1),
        ("-1", DATE, None),
        ("soon", DATE, None),
        (None, DATE, None),
    ],
)
def test_rate_reset_is_taken_relative_to_the_answers_date(reset, date, resets_in_s):
    headers = {name: value for name, value in {"x-ratelimit-reset": reset, "date": date}.items() if value is not None}
    assert read_rate(headers).resets_in_s == resets_in_s


@pytest.mark.parametrize("garbage", ["", "abc", "-1", "1.5", "60, 60", "9" * 40, "٦٠"])
def test_rate_garbage_counts_as_missing(garbage):
    headers = {"x-ratelimit-limit": garbage, "x-ratelimit-remaining": garbage, "x-ratelimit-reset": garbage}
    assert not any(read_rate(headers))


names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "date", "retry-after"]
texts = st.text() | st.integers().map(str) | st.floats().map(str) | st.datetimes().map(lambda at: at.strftime("%c GMT"))


@given(st.dictionaries(st.sampled_from(names), texts))
def test_headers_from_a_stranger_are_read_without_a_crash_and_in_range(headers):
    reading = read_rate(headers)
    assert reading.resets_in_s is None or 1 <= reading.resets_in_s <= WINDOW_S
    assert reading.limit is None or reading.limit > 0
    wait_s = read_retry_after(headers, NOW)
    assert wait_s is None or 0 <= wait_s <= LONGEST_RETRY_AFTER_S
