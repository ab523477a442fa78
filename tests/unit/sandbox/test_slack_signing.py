"""Signatures and timestamps, against slack_sdk's own verifier. No sockets here."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import Clock, SignatureVerifier

from sandbox.slack.signing import sign, signed_headers
from sandbox.slack.timestamps import Timestamps, format_ts, parse_ts

NOW = 1_763_640_000


class _FixedClock(Clock):
    def now(self) -> float:
        return float(NOW)


@given(st.text().map(str.encode))
def test_signature_is_the_one_slacks_sdk_expects(body):
    verifier = SignatureVerifier("sandbox-secret", _FixedClock())
    assert verifier.is_valid(body, str(NOW), sign("sandbox-secret", NOW, body))


def test_signature_of_a_stale_timestamp_is_refused_by_slacks_sdk():
    headers = signed_headers("sandbox-secret", NOW - 301, b"x=1")
    assert not SignatureVerifier("sandbox-secret", _FixedClock()).is_valid_request(b"x=1", headers)


def test_signature_of_another_secret_differs():
    assert sign("one", NOW, b"x") != sign("two", NOW, b"x")


def test_timestamps_increase_although_the_clock_stands_still_or_goes_back():
    moments = iter([datetime(2025, 11, 20, 12, tzinfo=UTC) - timedelta(seconds=n) for n in range(5)])
    timestamps = Timestamps(lambda: next(moments))
    issued = [timestamps.issue() for _ in range(5)]
    assert issued[0] == "1763640000.000000"
    assert issued == sorted(set(issued), key=parse_ts)


@given(st.integers(0, 10**15))
def test_timestamp_reads_back(microseconds):
    assert parse_ts(format_ts(microseconds)) == microseconds


@pytest.mark.parametrize("ts", ["", "abc", "1.2.3", "-1", "1e5", "١٢٣", "9" * 20, "1." + "1" * 7])
def test_timestamp_of_another_shape_is_refused(ts):
    with pytest.raises(ValueError, match="no timestamp"):
        parse_ts(ts)
