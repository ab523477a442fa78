"""From every answer to the class, the words for a person, and the repeats of the request."""

import gzip
import json
import logging
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import quieten_http
from bot.racedata.client import service_errors
from bot.racedata.client.calls import FOR_COMMANDS, Patience, read_refusal
from bot.racedata.client.cursor_walk import collect
from bot.racedata.client.records import META_TEXT_MAX, KnownCountry
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    InvalidParam,
    NotFound,
    OutsideWindow,
    QuotaExceeded,
    RateLimited,
    ServerFault,
    ServiceUnreachable,
    Unauthorized,
    UnknownRefusal,
    UpgradeRequired,
)
from bot.racedata.client.transport import Answer, read_body
from tests.logged import capture_logs
from tests.rows import over
from tests.unit.racedata.scripted_service import KEY, Memory, Scripted, SleepClock, answer
from tests.unit.racedata.scripted_service import refusal as scripted

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
SECRET_QUERY = "cursor_recognisable"

# Answers


def coded(status, code, retry_after=None, **fields):
    """A refusal with the key in every text."""
    headers = {"retry_after": retry_after} if retry_after else {}
    told = {"message": f"Said so, {KEY}.", "doc_url": f"https://x/?key={KEY}", **fields}
    return scripted(status, code, headers=headers, **told)


TRANSPORT_BASES = {httpx.TransportError, httpx.TimeoutException, httpx.NetworkError, httpx.ProtocolError}
TRANSPORT_ERRORS = [
    kind
    for _, kind in sorted(vars(httpx).items())
    if isinstance(kind, type) and issubclass(kind, httpx.TransportError) and kind not in TRANSPORT_BASES
]
"""In a fixed order: the workers of a run must find the same tests."""
SURELY_NOT_SENT = [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError]
SURELY_NOT_SENT += [httpx.UnsupportedProtocol]
MAY_HAVE_ARRIVED = [kind for kind in TRANSPORT_ERRORS if kind not in SURELY_NOT_SENT]
FAULT = [0.5, 1, 2]
PLANS = {"your_plan": "free", "reaches_on": ["archive", "complete"]}
DATES = {"window": "2023 → upcoming", "requested_date": "2019-01-01"}
OUTSIDE = "2019-01-01 is outside your plan's window: 2023 → upcoming."
UNREADABLE: list[Any] = [
    *(b"", KEY.encode(), [], {"data": []}, {"meta": {}}, {"meta": {}, "data": {KEY: KEY}}, b'{"meta":{},"data":[}')
]
WHOLE: dict[str, Any] = {"meta": {"has_more": False}, "data": []}
BEYOND_THE_PLAN = "This is not part of your plan (free). Plans that have it: archive, complete."
MANY_PLANS = coded(403, "upgrade_required", your_plan="free", reaches_on=["live"] * 1_000)
CUT_OFF = gzip.compress(json.dumps(WHOLE | {"data": [*range(500)]}).encode())[:99]
TWICE = gzip.compress(gzip.compress(b"{}"))


def refused(code):
    return {"error": {"code": code, "message": "Said so."}}


# The answer, its class, the seconds waited before each further request, and the words for a person.
ANSWERS: dict[str, tuple[Any, type[service_errors.ServiceFailure], list[float], str]] = {
    "unauthorized": (coded(401, "unauthorized"), Unauthorized, [], "the bot's key. An admin must set the right one"),
    "upgrade_required": (coded(403, "upgrade_required", **PLANS), UpgradeRequired, [], BEYOND_THE_PLAN),
    "outside_window": (coded(403, "outside_window", **DATES), OutsideWindow, [], OUTSIDE),
    "not_found": (coded(404, "not_found"), NotFound, [], "has nothing there. Said so"),
    "another code of 404": (coded(404, "whatever_else"), NotFound, [], "has nothing there"),
    "invalid_param": (coded(422, "invalid_param"), InvalidParam, [], "does not take that value: Said so"),
    "quota_exceeded": (coded(429, "quota_exceeded", "5"), QuotaExceeded, [], "allowance of requests is used up"),
    "rate_limited": (coded(429, "rate_limited", "40"), RateLimited, [40], "Try again in 40 s."),
    "rate_limited by seconds": (coded(429, "rate_limited", "1"), RateLimited, [1] * 9, "Try again in 1 s."),
    "rate_limited for long": (coded(429, "rate_limited", "200"), RateLimited, [], "Try again in 4 minutes."),
    "server_error": (coded(500, "server_error"), ServerFault, FAULT, "Quote the request id"),
    "maintenance": (coded(503, "maintenance"), ServerFault, FAULT, "The data service failed"),
    "a new code": (coded(418, "teapot"), UnknownRefusal, [], "refused (teapot). Said so"),
    "the key as a code": (coded(400, KEY, **{KEY: [KEY, {"deep": KEY}]}), UnknownRefusal, [], "refused ("),
    "html of a proxy": (answer(502, b"<html>Bad Gateway</html>"), ServerFault, FAULT, "The data service failed"),
    "an error by status 200": (answer(200, refused("quota_exceeded")), QuotaExceeded, [], "allowance of requests"),
    "an error beside an empty list": (answer(200, WHOLE | refused("server_error")), ServerFault, FAULT, "failed"),
    "an error as a text, by status 200": (answer(200, {"error": "unauthorized"}), Unauthorized, [], "the bot's key"),
    "an error in words, by status 200": (answer(200, WHOLE | {"error": "We failed."}), UnknownRefusal, [], "failed"),
    "an error that is a list, by status 200": (answer(200, WHOLE | {"error": ["x"]}), UnknownRefusal, [], "refused"),
    "an error without a code, by status 200": (answer(200, WHOLE | refused(None)), UnknownRefusal, [], "Said so"),
    "plans by the thousand": (MANY_PLANS, UpgradeRequired, [], "This is not part of your plan."),
    "a redirect": (answer(302, b"", location=f"https://evil.example/?key={KEY}"), UnknownRefusal, [], "status 302"),
    **{f"unreadable: {body!r}": (answer(200, body), AnswerUnreadable, [], "can't read") for body in UNREADABLE},
    "cut off": (answer(200, b'{"meta": {}, "data": [{"name": "Asc'), ServiceUnreachable, FAULT, "did not answer"),
    "cut off within gzip": (answer(200, CUT_OFF, content_encoding="gzip"), ServiceUnreachable, FAULT, "did not answer"),
    "broken gzip": (answer(200, b"not gzip", content_encoding="gzip"), AnswerUnreadable, [], "can't read"),
    "gzip within gzip": (answer(200, TWICE, content_encoding="gzip, gzip"), AnswerUnreadable, [], "can't read"),
    **{kind.__name__: (kind, ServiceUnreachable, FAULT, "be reached") for kind in SURELY_NOT_SENT},
    **{kind.__name__: (kind, ServiceUnreachable, FAULT, "did not answer") for kind in MAY_HAVE_ARRIVED},
}


def test_table_has_every_code_of_the_interface():
    assert set(ANSWERS) >= set(service_errors.BY_CODE)


async def test_broken_letter_becomes_a_question_mark_and_infinity_or_nan_a_missing_value(service, racing):
    for name in (rb"Bold\ud83dGhost", b"Bold\xffGhost"):
        service.replies = [answer(200, b'\xef\xbb\xbf{"meta": {}, "data": [{"name": "%b"}]}' % name)]
        assert (await collect(racing.walk_races())).data == [{"name": "Bold?Ghost"}]
    service.replies = [answer(200, b'{"meta": {"plan": NaN}, "data": [{"name": -Infinity, "position_pct": 1e999}]}')]
    page = await racing.countries()
    assert (page.meta.plan, page.data) == (None, [KnownCountry()])


async def test_list_of_no_items_may_be_null_where_the_envelope_counts_none(service, racing):
    service.replies = [answer(200, {"meta": {"count": count}, "data": None}) for count in (0, 1, None)]
    assert (await collect(racing.walk_failed_deliveries())).data == []
    for _ in range(2):
        assert isinstance(await failure(collect(racing.walk_failed_deliveries())), AnswerUnreadable)


@pytest.mark.parametrize("key", ["sk/recognisable/0123", r"sk\/recognisable\/0123", r"sk/recognis\u0061ble/0123"])
async def test_key_that_is_quoted_as_it_is_or_with_escapes_is_masked(service, store, sleep_clock, key):
    racing = service.client(store, sleep_clock, key="sk/recognisable/0123")
    service.reply(200, b'{"meta": {"plan": "%b"}, "data": {"%b": 1}}' % ((key.encode(),) * 2))
    page = await racing.usage()
    assert (page.meta.plan, page.data) == ("********", {"********": 1})
    service.reply(403, b'{"error": {"code": "upgrade_required", "message": "of %b"}}' % key.encode())
    service.replies.pop(0)
    assert (await failure(racing.countries())).message == "of ********"


async def failure(asking) -> service_errors.ServiceFailure:
    with pytest.raises(service_errors.ServiceFailure) as caught:
        await asking
    return caught.value


def shown(error):
    """Everything that a log, a debugger or an error tracker might print of an error, with chained errors and locals."""
    parts = [str(error), repr(error), error.told, str(vars(error)), str(dict(error.extras))]
    for chained in (error, error.__context__, error.__cause__):
        if chained is not None:
            report = traceback.TracebackException.from_exception(chained, capture_locals=True)
            own = [frame for frame in report.stack if "/tests/" not in frame.filename]
            report.stack = traceback.StackSummary.from_list(own)
            parts += report.format()
    return "\n".join(parts)


@over("name", ANSWERS)
async def test_errors_and_auth_5_answer_has_its_class_words_waits_and_request_id_and_shows_no_key(caplog, name):
    reply, kind, waits, told = ANSWERS[name]
    service, sleep_clock, store = Scripted([reply]), SleepClock(), Memory()
    racing = service.client(store, sleep_clock)
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    quieten_http()
    with capture_logs() as lines:
        error = await failure(collect(racing.walk_races(SECRET_QUERY)))
    assert type(error) is kind
    assert told in error.told
    assert (len(service.seen), sleep_clock.slept) == (1 + len(waits), waits)
    assert error.path == "races/search"
    if name in service_errors.BY_CODE:
        assert (error.code, error.status, error.request_id) == (name, reply[0], "req_1")
        assert "(request req_1)" in error.told
    everything = "\n".join([shown(error), caplog.text, str(lines), str(store.values)])
    assert KEY not in everything
    assert "api.example.com" not in everything
    assert SECRET_QUERY not in f"{error} {error!r} {error.told} {caplog.text} {lines}"
    assert lines


@over("name", ANSWERS)
async def test_subscribe_is_asked_once_whatever_is_answered(name):
    service, sleep_clock = Scripted([ANSWERS[name][0]]), SleepClock()
    racing = service.client(Memory(), sleep_clock)
    with suppress(service_errors.ServiceFailure):
        await racing.subscribe_webhook("https://bot.example.com/", ["result.received"])
    assert (service.paths, sleep_clock.slept) == (["webhooks/subscribe"], [])
    if (kind := ANSWERS[name][0]) in TRANSPORT_ERRORS:
        error = await failure(racing.subscribe_webhook("https://bot.example.com/", ["result.received"]))
        assert isinstance(error, ServiceUnreachable)
        assert error.may_have_arrived is (kind in MAY_HAVE_ARRIVED)


# Refusals, read


def refusal(status, body=b"", **headers):
    status, content, headers = answer(status, body, **headers)
    return read_refusal(Answer(status, headers, read_body(content), len(content)), "races/search", NOW)


def test_errors_code_outweighs_the_status():
    found = {code: type(refusal(400, {"error": {"code": code}})) for code in service_errors.BY_CODE}
    assert found == service_errors.BY_CODE


BODIES = [b"", b"<html>Not here</html>", {"detail": []}, {"error": None}, [], {"error": {}}]


@over(
    ("status", "kind"),
    [
        *((301, UnknownRefusal), (401, Unauthorized), (403, UnknownRefusal), (404, NotFound)),
        *((422, InvalidParam), (429, RateLimited), (500, ServerFault), (502, ServerFault)),
    ],
)
def test_errors_404_and_others_without_a_code_are_classed_by_their_status(status, kind):
    for body in BODIES:
        error = refusal(status, body, x_request_id="req_9")
        assert (type(error), error.code, error.request_id) == (kind, None, "req_9")


@over(("window", "date"), [("window", "date"), ("plan_window", "requested"), ("your_window", "requested_date")])
def test_window_and_date_are_found_under_other_names_and_else_the_services_words_are_said(window, date):
    fields = {window: "2023 → upcoming", date: "2019-01-01"}
    assert refusal(403, {"error": {"code": "outside_window", **fields}}).told == OUTSIDE
    error = refusal(403, {"error": {"code": "outside_window", "message": "Said so."}})
    assert error.told == "This is outside your plan's window. Said so."


@over(
    ("code", "fields"),
    [
        ("upgrade_required", {"your_plan": "x" * 900, "reaches_on": ["y" * 900]}),
        ("outside_window", {"window": "x" * 900, "requested_date": "y" * 900}),
    ],
)
def test_names_in_a_refusal_are_cut(code, fields):
    assert len(refusal(403, {"error": {"code": code, **fields}}).told) < 2 * META_TEXT_MAX + 100


def test_errors_rate_limited_without_retry_after_waits_until_the_minute_is_reset():
    headers = {"x_ratelimit_reset": str(int(NOW.timestamp()) + 20), "date": "Thu, 20 Nov 2025 12:00:00 GMT"}
    assert refusal(429, {"error": {"code": "rate_limited"}}, **headers).retry_after_s == 20


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


# The decision to repeat

EVER = Patience(deadline_s=10_000)


def failed(kind, **details):
    if kind is ServiceUnreachable:
        return kind("countries", message="ReadTimeout", may_have_arrived=True)
    return kind("countries", **details)


def decision(error, *, attempt=1, elapsed_s=0.0, patience=EVER, chance=1.0):
    return patience.wait_before_next_s(error, attempt, elapsed_s, chance)


@over(
    ("kind", "retry_after_s", "waits"),
    [
        (RateLimited, 17, 17),
        (RateLimited, None, 60),
        (RateLimited, 0, 1),
        (ServerFault, 30, 30),
        (ServerFault, None, 0.5),
        *((kind, 1, None) for kind in (service_errors.CircuitOpen, service_errors.WalkBroken, AnswerUnreadable)),
    ],
)
def test_wait_is_what_the_failure_asks_for(kind, retry_after_s, waits):
    assert decision(failed(kind, retry_after_s=retry_after_s)) == waits


def test_half_of_a_wait_is_left_to_chance_and_a_wait_that_passes_the_deadline_is_not_begun():
    assert [decision(failed(ServerFault), attempt=2, chance=chance) for chance in (0, 0.5)] == [0.5, 0.75]
    limited = failed(RateLimited, retry_after_s=60)
    assert [decision(limited, elapsed_s=s, patience=FOR_COMMANDS) for s in (20, 15)] == [None, 60]


@given(st.sampled_from([RateLimited, ServerFault, ServiceUnreachable]), st.none() | st.floats(0, 300), st.floats(0, 1))
def test_retry_always_comes_to_an_end(kind, retry_after_s, chance):
    elapsed_s, attempt = 0.0, 1
    error = failed(kind, **({} if kind is ServiceUnreachable else {"retry_after_s": retry_after_s}))
    while (wait_s := decision(error, attempt=attempt, elapsed_s=elapsed_s, chance=chance)) is not None:
        assert 0 < wait_s <= 300
        elapsed_s, attempt = elapsed_s + wait_s, attempt + 1
    assert attempt <= 10
