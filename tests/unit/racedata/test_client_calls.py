"""The client's requests, results and memory: plan, refusals, and the minute's limit."""

import asyncio
import itertools
import json
from contextlib import aclosing
from datetime import timedelta

import pytest

from bot.errors import StorageUnavailable
from bot.racedata.client.cursor_walk import Trail, collect
from bot.racedata.client.service_client import USAGE_PAGES, WHOLE_LIST_PAGES
from bot.racedata.client.service_errors import (
    CircuitOpen,
    InvalidParam,
    QuotaExceeded,
    RateLimited,
    ServerFault,
    ServiceFailure,
    ServiceUnreachable,
    Unauthorized,
    UpgradeRequired,
    WalkBroken,
)
from tests.unit.racedata.scripted_service import KEY, META, Scripted

FREE = META["window"]
GB, DELIVERIES, FAILED = {"region": "GB", "limit": "100"}, "webhooks/deliveries", {"status": "failed"}
PLACE = {"date": "2026-11-20", "region": "A&B", "all": ""}
PATH = "races?date={date}&region={region}&all="
# The call, the path and the query. Each call follows cursors.
READING = {
    "countries": (lambda client: client.countries(), "countries", {}),
    "courses": (lambda client: client.courses(), "courses", {}),
    "reference": (lambda client: client.reference(), "reference", {}),
    "races from a cursor": (
        lambda client: collect(client.walk_races(**GB, cursor="c=1&2")),
        "races/search",
        GB | {"cursor": "c=1&2"},
    ),
    "races, walked": (lambda client: collect(client.walk_races(**GB)), "races/search", GB),
    "deliveries": (lambda client: collect(client.walk_failed_deliveries()), DELIVERIES, FAILED),
    "usage": (lambda client: client.usage("endpoint"), "account/usage", {"by": "endpoint"}),
    "path": (lambda client: client.read_path("races/{race_id}", race_id="rc_1"), "races/rc_1", {}),
    "path with a query": (lambda client: client.read_path(PATH, date="2026-11-20", region="A&B"), "races", PLACE),
}


@pytest.mark.parametrize(
    ("name", "pages"),
    [*((name, WHOLE_LIST_PAGES) for name in ("countries", "courses", "reference", "path")), ("usage", USAGE_PAGES)],
)
async def test_limits_6_short_list_that_never_ends_is_given_up(service, racing, name, pages):
    for number in range(pages + 1):
        service.data([{"name": number}], has_more=True, next_cursor=f"c{number}")
    with pytest.raises(WalkBroken):
        await READING[name][0](racing)
    assert len(service.seen) == pages


@pytest.mark.parametrize("name", READING)
async def test_auth_2_and_limits_7_key_is_a_header_and_each_page_repeats_the_query(service, racing, name):
    call, path, query = READING[name]
    service.refuse(500, "server_error")
    service.data([{"name": "one"}], has_more=True, next_cursor="c1")
    service.data([{"name": "two"}])
    page = await call(racing)
    assert len(page.data) == 2
    assert page.meta.request_id == "req_1"
    asked = [query, query, query | {"cursor": "c1"}]
    assert [(seen.method, seen.path, seen.query) for seen in service.seen] == [("GET", path, each) for each in asked]
    assert {seen.headers["x-api-key"] for seen in service.seen} == {KEY}


async def test_limits_8_cursor_of_an_earlier_call_with_the_same_trail_breaks_the_walk(service, racing):
    for number, following in enumerate(("c1", "c0")):
        service.data([{"race_id": f"rc_{number}"}], has_more=True, next_cursor=following)
    service.data([{"race_id": "rc_2"}])
    trail = Trail()
    async with aclosing(racing.walk_races(cursor="c0", trail=trail)) as steps:
        first = await anext(steps)
    with pytest.raises(WalkBroken):
        await collect(racing.walk_races(cursor=first.resume_at, trail=trail))


async def test_limits_7_doubled_name_of_a_query_goes_to_each_page_and_into_no_failure(service, racing):
    service.data([{"name": "one"}], has_more=True, next_cursor="c1")
    service.refuse(422, "invalid_param")
    with pytest.raises(InvalidParam) as caught:
        await racing.read_path("races?day={date}&field=a&field=b", date="2026-11-20")
    own = "day=2026-11-20&field=a&field=b"
    assert [seen.raw_query for seen in service.seen] == [own, f"{own}&cursor=c1"]
    assert caught.value.path == "races"


# Subscribing


def subscribed(client):
    return client.subscribe_webhook("https://bot.example.com/", ["race.abandoned"], "GB")


async def test_subscribe_is_asked_as_specified_and_keeps_the_secret_out_of_sight(service, racing):
    service.reply(201, {"meta": {}, "data": {"id": "wh_1", "signing_secret": "whsec_1"}})
    page = await subscribed(racing)
    assert page.data.secret.get_secret_value() == "whsec_1"
    assert "whsec_1" not in repr(page)
    (seen,) = service.seen
    assert (seen.method, seen.path) == ("POST", "webhooks/subscribe")
    assert json.loads(seen.body) == {"url": "https://bot.example.com/", "events": ["race.abandoned"], "region": "GB"}


@pytest.mark.parametrize(
    ("body", "is_known"),
    [
        *(({"secret": "whsec_1"}, True), ({"data": [{"secret": "whsec_1"}]}, True), ([{"secret": "whsec_1"}], True)),
        ({"meta": {}, "data": {"id": 1}, "signing_secret": "whsec_1"}, True),
        ({"meta": "none", "data": None, "secret": "whsec_1"}, True),
        *((b"whsec_1 is your secret", False), (b"", False), (b"null", False), (b"\xff\xfewhsec_1", False)),
        *((b'"whsec_1"', False), (b"[1, 2]", False)),
    ],
)
async def test_no_answer_to_a_subscription_is_lost(service, racing, body, is_known):
    service.reply(201, body)
    page = await subscribed(racing)
    assert (page.data.secret and page.data.secret.get_secret_value()) == ("whsec_1" if is_known else None)
    assert ("whsec_1" in page.model_dump_json()) is ("whsec_1" in str(body))


async def test_secret_is_not_lost_because_something_else_could_not_be_stored(service, open_racing):
    async def on_meta(*_):
        raise StorageUnavailable("database is locked")

    service.data({"secret": "whsec_1"})
    page = await subscribed(open_racing(on_meta=on_meta))
    assert page.data.secret.get_secret_value() == "whsec_1"
    with pytest.raises(StorageUnavailable):
        await open_racing(on_meta=on_meta).reference()


# Waiting


async def test_limits_1_pace_is_the_clients_before_the_service_has_to_refuse(service, racing, sleep_clock):
    reset = {"x_ratelimit_limit": "60", "x_ratelimit_remaining": "0", "x_ratelimit_reset": "30"}
    service.reply(200, {"meta": {}, "data": []}, **reset)
    await racing.countries()
    assert sleep_clock.slept == []
    await racing.countries()
    assert sleep_clock.slept == [30]


@pytest.mark.parametrize("remaining", ["59", "999"], ids=["right", "more than the limit"])
async def test_limits_1_replicas_count_the_minute_together(*, service, open_racing, sleep_clock, remaining):
    rate = {"x_ratelimit_limit": "60", "x_ratelimit_remaining": remaining, "x_ratelimit_reset": "30"}
    service.reply(200, {"meta": {}, "data": []}, **rate)
    replicas = itertools.cycle([open_racing(), open_racing()])
    for _ in range(60):
        await next(replicas).countries()
    assert sleep_clock.slept == []
    await next(replicas).countries()
    assert sleep_clock.slept == [30]


async def test_limits_1_limit_is_the_plans_where_no_header_tells_it_and_is_kept(service, racing, sleep_clock):
    service.data([], plan="live")
    await racing.countries()
    sleep_clock.now_s = 60
    for _ in range(180):
        await racing.countries()
    assert sleep_clock.slept == []
    # The first request of the minute counts too.
    await racing.countries()
    assert sleep_clock.slept == [60]


async def test_command_gives_up_unasked_where_the_wait_is_too_long_and_background_waits(service, racing, sleep_clock):
    service.refuse(429, "rate_limited", headers={"retry_after": "200"})
    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            await racing.countries()
    assert (len(service.seen), caught.value.retry_after_s) == (1, 200)
    service.replies = []
    service.data([])
    await racing.in_background().countries()
    assert sleep_clock.slept == [200]


@pytest.mark.parametrize("wait_s", [40, 7_200])
async def test_errors_rate_limited_holds_all_replicas_in_full(*, service, open_racing, sleep_clock, wait_s):
    service.refuse(429, "rate_limited", headers={"retry_after": str(wait_s)})
    service.data([])
    with pytest.raises(RateLimited):
        await open_racing().in_one_try().countries()
    sleep_clock.now_s += wait_s - 25
    await open_racing().countries()
    assert (sleep_clock.slept, len(service.seen)) == ([25], 2)


async def test_hold_from_before_the_clock_was_set_back_holds_nobody(service, open_racing, sleep_clock):
    service.refuse(429, "rate_limited", headers={"retry_after": "40"})
    service.data([])
    await outcomes(open_racing().in_one_try().countries())
    sleep_clock.start -= timedelta(hours=1)
    await open_racing().countries()
    assert sleep_clock.slept == []


@pytest.mark.parametrize(("code", "status"), [("rate_limited", 429), ("server_error", 500)])
async def test_single_try_repeats_a_request_only_after_the_first_page(service, racing, sleep_clock, code, status):
    service.refuse(status, code)
    with pytest.raises(ServiceFailure):
        await racing.in_one_try().countries()
    assert (len(service.seen), sleep_clock.slept) == (1, [])
    service.replies, service.seen, sleep_clock.now_s = [], [], 60
    service.data([{"country_code": "GB"}], has_more=True, next_cursor="2")
    service.refuse(status, code)
    service.data([{"country_code": "IRE"}])
    page = await racing.in_one_try().countries()
    assert [one.country_code for one in page.data] == ["GB", "IRE"]
    assert [one.query.get("cursor") for one in service.seen] == [None, "2", "2"]


class ThenSilent(Scripted):
    """Gives the answer once."""

    def __init__(self):
        super().__init__()
        self.silent = asyncio.Event()

    async def handle(self, request):
        if self.seen or not self.replies:
            self.silent.set()
            await asyncio.Event().wait()
        return await super().handle(request)


@pytest.mark.parametrize("refusal", [(429, "rate_limited", RateLimited), (500, "server_error", ServerFault), ()])
async def test_call_without_an_answer_so_far_says_why(store, sleep_clock, refusal):
    silent = ThenSilent()
    client = silent.client(store, sleep_clock)
    for status, code, _ in [refusal] if refusal else []:
        silent.refuse(status, code, headers={"retry_after": "7"})
    asking = asyncio.create_task(client.countries())
    await silent.silent.wait()
    assert type(client.held_up()) is (refusal[-1] if refusal else ServiceUnreachable)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert type(client.held_up()) is ServiceUnreachable


async def test_call_without_a_turn_while_the_service_is_silent_tells_of_no_limit(store, sleep_clock):
    silent = ThenSilent()
    client = silent.client(store, sleep_clock)
    asking = [asyncio.create_task(client.countries()) for _ in range(3)]
    await silent.silent.wait()
    sleep_clock.now_s += 76
    asking[0].cancel()
    with pytest.raises(ServiceUnreachable) as caught:
        await asking[2]
    assert not caught.value.may_have_arrived
    asking[1].cancel()
    await asyncio.gather(*asking, return_exceptions=True)


# The client's memory


async def gathered(asked):
    """The outcomes of calls, one after another: a page or a failure."""
    return [(await asyncio.gather(one, return_exceptions=True))[0] for one in asked]


async def outcomes(*asked):
    """For each call the class of the failure; None for an answered call."""
    return [type(one) if isinstance(one, Exception) else None for one in await gathered(asked)]


@pytest.fixture
def heard():
    return []


@pytest.fixture
def open_heard(open_racing, heard):
    """Opens a client, and notes the refusals that are told."""

    async def on_circuit_open(error):
        heard.append(type(error))

    return lambda: open_racing(on_circuit_open=on_circuit_open)


async def test_errors_quota_exceeded_stops_all_but_usage_over_a_restart(service, open_heard, heard):
    service.refuse(429, "quota_exceeded")
    service.data([])
    client = open_heard()
    asked = await outcomes(client.countries(), client.courses(), open_heard().countries(), client.usage())
    assert asked == [QuotaExceeded, CircuitOpen, CircuitOpen, None]
    assert service.paths == ["countries", "account/usage"]
    assert heard == [QuotaExceeded]


@pytest.mark.parametrize(("after_s", "told"), [("3599", []), ("3600", [RateLimited]), ("999999", [RateLimited])])
async def test_wait_of_an_hour_is_told_once_and_a_shorter_wait_never(*, service, open_heard, heard, after_s, told):
    for _ in range(3):
        service.refuse(429, "rate_limited", headers={"retry_after": after_s})
    client = open_heard()
    assert await outcomes(client.countries(), client.usage(), open_heard().countries()) == [RateLimited] * 3
    assert heard == told


async def test_auth_4_refused_key_is_not_used_again_and_another_key_works_at_once(service, open_racing):
    service.refuse(401, "unauthorized")
    service.data([])
    asked = await outcomes(open_racing().countries(), open_racing().usage(), open_racing(key="sk_rotated").countries())
    assert asked == [Unauthorized, CircuitOpen, None]
    assert service.paths == ["countries"] * 2


async def test_open_circuit_stops_those_who_were_waiting_for_their_turn(service, racing):
    service.refuse(429, "quota_exceeded")
    found = await asyncio.gather(*(racing.countries() for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in found] == [QuotaExceeded, *[CircuitOpen] * 4]
    assert len(service.seen) == 1


async def failed_deliveries(client):
    await collect(client.walk_failed_deliveries())


PLANS = {"your_plan": "free", "reaches_on": ["live", "archive"]}


async def test_auth_3_endpoint_beyond_the_plan_is_asked_once_and_its_refusal_repeated(service, open_racing):
    service.refuse(403, "upgrade_required", headers={"x_request_id": "req_9"}, **PLANS)
    service.data([])
    client = open_racing()
    refused = await gathered(failed_deliveries(asking) for asking in (client, client.in_background(), open_racing()))
    assert {type(error) for error in refused} == {UpgradeRequired}
    assert len({(error.told, error.request_id, error.status) for error in refused}) == 1
    assert (refused[-1].your_plan, refused[-1].reaches_on) == ("free", ("live", "archive"))
    await client.countries()
    await failed_deliveries(open_racing(key="sk_rotated"))
    assert service.paths == ["webhooks/deliveries", "countries", "webhooks/deliveries"]


async def test_each_day_of_a_path_beyond_the_plan_is_one_endpoint(service, racing):
    service.refuse(403, "upgrade_required", **PLANS)
    days = ("2026-11-20", "2026-11-21")
    assert await outcomes(*(racing.read_path("days/{date}?all=1", date=day) for day in days)) == [UpgradeRequired] * 2
    assert len(service.seen) == 1


@pytest.mark.parametrize("code", ["outside_window", "forbidden", None])
async def test_endpoint_is_asked_again_after_another_403(service, racing, code):
    service.refuse(403, code)
    await outcomes(racing.countries(), racing.countries())
    assert len(service.seen) == 2


async def test_usage_record_grouping_that_was_refused_is_not_asked_for_again(service, racing):
    service.refuse(422, "invalid_param")
    service.data([])
    for asking in (racing, racing.in_background()):
        assert (await asking.usage_by_day()).data == []
    await racing.usage("endpoint")
    assert [seen.query for seen in service.seen] == [{"by": "day"}, {}, {}, {"by": "endpoint"}]


async def test_changed_plan_or_window_is_told_until_it_could_be_told(service, open_racing):
    told, could_be_told = [], iter([True, False, True])

    async def on_meta(new):
        told.append((new.plan, new.window))
        return next(could_be_told)

    client = open_racing(on_meta=on_meta)
    service.data([])
    service.data([])
    service.data([], plan="complete", window="2017 → upcoming")
    for _ in range(4):
        await client.countries()
    later = "complete", "2017 → upcoming"
    assert told == [("free", FREE), later, later]
    assert (client.state.plan, client.state.window) == later
