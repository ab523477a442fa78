"""Rate limits with a clock that the test moves. No sockets here."""

from datetime import UTC, datetime, timedelta

import pytest

from sandbox.slack.limits import RateLimiter, SlackLimits
from sandbox.slack.refused_calls import Refused
from sandbox.slack.workspace import SlackWorkspace

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


def _wait_of(limiter, limits, method, channel, at_s):
    try:
        limiter.take(limits, method, channel, NOW + timedelta(seconds=at_s))
    except Refused as refusal:
        return int(refusal.headers["Retry-After"])
    return 0


def test_channel_takes_a_burst_then_one_a_second():
    limiter, limits = RateLimiter(), SlackLimits(burst=2)
    waits = [_wait_of(limiter, limits, "chat.postMessage", "C1", at_s) for at_s in (0, 0, 0, 1, 1.5, 2)]
    assert waits == [0, 0, 1, 0, 1, 0]


def test_channels_have_their_own_limits():
    limiter, limits = RateLimiter(), SlackLimits(burst=1)
    assert [_wait_of(limiter, limits, "chat.postMessage", f"C{n}", 0) for n in range(5)] == [0] * 5


def test_workspace_is_limited_over_all_channels():
    limiter, limits = RateLimiter(), SlackLimits(workspace_per_minute=3)
    waits = [_wait_of(limiter, limits, "chat.postMessage", f"C{n}", 0) for n in range(5)]
    assert waits == [0, 0, 0, 20, 20]


def test_methods_do_not_hold_each_other():
    limiter, limits = RateLimiter(), SlackLimits(update_per_minute=1, history_per_minute=1)
    assert _wait_of(limiter, limits, "chat.update", "C1", 0) == 0
    assert _wait_of(limiter, limits, "chat.update", "C2", 0) == 60
    assert _wait_of(limiter, limits, "conversations.history", "C1", 0) == 0
    assert _wait_of(limiter, limits, "chat.postMessage", "C1", 0) == 0
    assert _wait_of(limiter, limits, "auth.test", None, 0) == 0


@pytest.mark.parametrize("token", ["xoxb-123456789012-1234567890123-AbCdEf", "", "xoxp-1"])
def test_workspace_refuses_a_token_that_looks_real(token):
    with pytest.raises(ValueError, match="made-up tokens only"):
        SlackWorkspace(bot_token=token)


@pytest.mark.parametrize("token", ["xoxb-sandbox-1", "xoxb-demo", "XOXB-TEST"])
def test_workspace_takes_a_token_that_is_made_up(token):
    assert SlackWorkspace(bot_token=token).bot_token == token
