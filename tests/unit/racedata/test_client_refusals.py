"""From every code of the interface to its class, to what a person is told, and to whether a call is repeated."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client import service_errors
from bot.racedata.client.envelope import read_refusal
from bot.racedata.client.retry import FOR_COMMANDS, GiveUp, Patience, Retry, decide
from bot.racedata.client.transport import Answer

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
KEY = "sk_recognisable_0123456789"


def mask(text):
    return text.replace(KEY, "********")


def refusal(status, body=b"", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_refusal(Answer(status, names, content), "races/search", NOW, mask)


def coded(status, code, **fields):
    body = {"meta": {"request_id": "req_1"}, "error": {"code": code, "message": "Said so.", **fields}}
    return refusal(status, body, retry_after="12")


TABLE = [
    (401, "unauthorized", {}, service_errors.Unauthorized, "does not accept the bot's key"),
    (
        403,
        "upgrade_required",
        {"your_plan": "free", "reaches_on": ["archive", "complete"], "doc_url": "https://example.com/doc"},
        service_errors.UpgradeRequired,
        "not part of your plan (free). Plans that have it: archive, complete.",
    ),
    (
        403,
        "outside_window",
        {"window": "2023 → upcoming", "requested_date": "2019-01-01"},
        service_errors.OutsideWindow,
        "2019-01-01 is outside your plan's window: 2023 → upcoming.",
    ),
    (404, "not_found", {}, service_errors.NotFound, "has nothing there"),
    (404, "whatever_else", {}, service_errors.NotFound, "has nothing there"),
    (422, "invalid_param", {}, service_errors.InvalidParam, "does not take that value: Said so."),
    (429, "rate_limited", {}, service_errors.RateLimited, "Try again in 12 s"),
    (429, "quota_exceeded", {}, service_errors.QuotaExceeded, "allowance of requests is used up"),
    (500, "server_error", {}, service_errors.ServerFault, "Quote the request id"),
    (503, "maintenance", {}, service_errors.ServerFault, "The data service failed"),
    (418, "teapot", {}, service_errors.UnknownRefusal, "refused (teapot). Said so."),
]


@pytest.mark.parametrize(("status", "code", "fields", "kind", "told"), TABLE)
def test_refusal_is_classed_by_its_code_and_told_in_words(status, code, fields, kind, told):
    error = coded(status, code, **fields)
    assert type(error) is kind
    assert told in error.told
    assert "(request req_1)" in error.told
    assert (error.code, error.status, error.path) == (code, status, "races/search")
    assert {name: error.extras[name] for name in fields} == fields


def test_refusal_table_has_every_code_that_a_class_knows():
    assert {code for _, code, *_ in TABLE} >= set(service_errors.BY_CODE)


@pytest.mark.parametrize("code", sorted(service_errors.BY_CODE))
def test_refusal_code_outweighs_the_status(code):
    assert type(coded(400, code)) is service_errors.BY_CODE[code]


@pytest.mark.parametrize("body", [b"", b"<html>Not here</html>", {"detail": []}, {"error": None}, [], {"error": {}}])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, service_errors.UnknownRefusal),
        (401, service_errors.Unauthorized),
        (403, service_errors.UnknownRefusal),
        (404, service_errors.NotFound),
        (422, service_errors.InvalidParam),
        (429, service_errors.RateLimited),
        (500, service_errors.ServerFault),
        (502, service_errors.ServerFault),
    ],
)
def test_refusal_without_a_code_is_classed_by_its_status(status, kind, body):
    error = refusal(status, body, x_request_id="req_9")
    assert type(error) is kind
    assert error.code is None
    assert error.request_id == "req_9"


@pytest.mark.parametrize(
    "fields",
    [
        {"window": "2023 → upcoming", "date": "2019-01-01"},
        {"plan_window": "2023 → upcoming", "requested": "2019-01-01"},
        {"your_window": "2023 → upcoming", "requested_date": "2019-01-01"},
    ],
)
def test_outside_window_finds_window_and_date_under_other_names(fields):
    error = coded(403, "outside_window", **fields)
    assert (error.window, error.requested_date) == ("2023 → upcoming", "2019-01-01")


def test_outside_window_without_fields_says_what_the_service_said():
    assert coded(403, "outside_window").told == "This is outside your plan's window. Said so. (request req_1)"


def test_rate_limited_without_retry_after_waits_for_the_reset():
    headers = {"x_ratelimit_reset": str(int(NOW.timestamp()) + 20), "date": "Thu, 20 Nov 2025 12:00:00 GMT"}
    assert refusal(429, {"error": {"code": "rate_limited"}}, **headers).retry_after_s == 20


def test_refusal_never_repeats_the_key_even_if_the_service_does():
    body = {
        "error": {"code": f"bad {KEY}", "message": f"key {KEY}", f"x{KEY}": [KEY, {"deep": KEY}], "request_id": KEY}
    }
    error = refusal(401, body, x_request_id=KEY)
    assert KEY not in f"{error} {error!r} {error.told} {vars(error)} {dict(error.extras)}"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
bodies = st.binary() | json_values.map(lambda value: json.dumps(value).encode())
error_bodies = st.dictionaries(
    st.sampled_from(["code", "message", "your_plan", "reaches_on", "window", "date", "request_id"]), json_values
).map(lambda error: json.dumps({"error": error}).encode())


@given(st.integers(300, 599), bodies | error_bodies)
def test_refusal_from_a_stranger_is_told_without_a_crash(status, body):
    error = refusal(status, body)
    assert error.told
    assert str(error)
    assert "\n" not in error.told


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
