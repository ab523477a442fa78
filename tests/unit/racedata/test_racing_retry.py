import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client import service_errors
from bot.racedata.client.retry import FOR_COMMANDS, GiveUp, Patience, Retry, decide

EVER = Patience(deadline_s=10_000)


def failure(kind, **details):
    if kind is service_errors.ServiceUnreachable:
        return kind("countries", message="ReadTimeout", may_have_arrived=True)
    return kind("countries", **details)


def decision(error, *, attempt=1, elapsed_s=0.0, patience=EVER, repeatable=True, chance=1.0):
    return decide(error, attempt, elapsed_s, patience=patience, repeatable=repeatable, chance=chance)


@pytest.mark.parametrize(
    "kind",
    [
        service_errors.Unauthorized,
        service_errors.UpgradeRequired,
        service_errors.OutsideWindow,
        service_errors.NotFound,
        service_errors.InvalidParam,
        service_errors.QuotaExceeded,
        service_errors.UnknownRefusal,
        service_errors.AnswerUnreadable,
        service_errors.CircuitOpen,
        service_errors.WalkBroken,
    ],
)
def test_retry_never_repeats_what_would_be_refused_again(kind):
    assert isinstance(decision(failure(kind, retry_after_s=1)), GiveUp)


@pytest.mark.parametrize(
    "kind", [service_errors.RateLimited, service_errors.ServerFault, service_errors.ServiceUnreachable]
)
def test_retry_never_repeats_what_must_not_be_done_twice(kind):
    assert isinstance(decision(failure(kind), repeatable=False), GiveUp)


def test_retry_waits_as_long_as_rate_limited_says():
    assert decision(failure(service_errors.RateLimited, retry_after_s=17)) == Retry(17)


def test_retry_waits_a_whole_window_where_rate_limited_says_nothing():
    assert decision(failure(service_errors.RateLimited)) == Retry(60)


def test_retry_waits_at_least_a_second_when_rate_limited():
    assert decision(failure(service_errors.RateLimited, retry_after_s=0)) == Retry(1)


def test_retry_backs_off_from_faults_and_stops():
    waits = [decision(failure(service_errors.ServerFault), attempt=attempt) for attempt in (1, 2, 3, 4)]
    assert waits == [Retry(0.5), Retry(1), Retry(2), GiveUp("tried 4 times")]


def test_retry_takes_the_wait_a_fault_asks_for():
    assert decision(failure(service_errors.ServerFault, retry_after_s=30)) == Retry(30)


def test_retry_gives_up_before_a_wait_that_passes_the_deadline():
    assert isinstance(
        decision(failure(service_errors.RateLimited, retry_after_s=60), elapsed_s=20, patience=FOR_COMMANDS), GiveUp
    )


@given(
    st.sampled_from([service_errors.RateLimited, service_errors.ServerFault, service_errors.ServiceUnreachable]),
    st.none() | st.floats(0, 300),
    st.floats(0, 1),
)
def test_retry_always_comes_to_an_end(kind, retry_after_s, chance):
    elapsed_s, attempt = 0.0, 1
    error = failure(kind, **({} if kind is service_errors.ServiceUnreachable else {"retry_after_s": retry_after_s}))
    while isinstance(decided := decision(error, attempt=attempt, elapsed_s=elapsed_s, chance=chance), Retry):
        assert 0 < decided.after_s <= 300
        elapsed_s, attempt = elapsed_s + decided.after_s, attempt + 1
    assert attempt <= 10
