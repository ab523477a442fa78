"""The client against a scripted service: what it sends, what it returns, what it does about refusals."""

import asyncio
import json

import pytest

from bot.errors import StorageUnavailable
from bot.racedata.client import service_errors
from bot.racedata.client.cursor_walk import collect
from bot.racedata.client.service_client import WalkPosition
from tests.integration.racedata.conftest import BOTH_WAYS

COURSE = {"course_id": "cr_1", "name": "Ascot", "region": "GB", "country": "England"}

CALLS = {
    "countries": (lambda client: client.countries(), "GET", "countries", {}),
    "courses": (lambda client: client.courses(), "GET", "courses", {}),
    "reference": (lambda client: client.reference(), "GET", "reference", {}),
    "races_page": (
        lambda client: client.races_page("GB", 100, "c=1&2"),
        "GET",
        "races/search",
        {"region": "GB", "limit": "100", "cursor": "c=1&2"},
    ),
    "deliveries": (
        lambda client: client.deliveries("failed"),
        "GET",
        "webhooks/deliveries",
        {"status": "failed"},
    ),
    "walk_deliveries": (lambda client: collect(client.walk_deliveries()), "GET", "webhooks/deliveries", {}),
    "usage": (lambda client: client.usage("endpoint"), "GET", "account/usage", {"by": "endpoint"}),
    "read_path": (lambda client: client.read_path("races/{race_id}", race_id="rc_1"), "GET", "races/rc_1", {}),
    "read_path with a query": (
        lambda client: client.read_path("races?date={date}&region={region}&all=", date="2026-11-20", region="A&B"),
        "GET",
        "races",
        {"date": "2026-11-20", "region": "A&B", "all": ""},
    ),
}


@BOTH_WAYS
@pytest.mark.parametrize("name", CALLS)
async def test_client_asks_each_endpoint_as_specified(service, client, name):
    call, method, path, query = CALLS[name]
    service.data([])
    page = await call(client)
    assert page.data == []
    assert page.meta.request_id == "req_1"
    (seen,) = service.seen
    assert (seen.method, seen.path, seen.query) == (method, path, query)
    assert seen.headers["x-api-key"] == "sk_recognisable_0123456789"


@BOTH_WAYS
async def test_client_subscribes_a_webhook_and_keeps_the_secret_out_of_sight(service, client):
    service.reply(201, {"meta": {}, "data": {"id": "wh_1", "signing_secret": "whsec_1"}})
    page = await client.subscribe_webhook("https://bot.example.com/webhooks/racing", ["result.received"], "GB")
    assert page.data.secret.get_secret_value() == "whsec_1"
    assert "whsec_1" not in repr(page)
    (seen,) = service.seen
    assert (seen.method, seen.path) == ("POST", "webhooks/subscribe")
    assert json.loads(seen.body) == {
        "url": "https://bot.example.com/webhooks/racing",
        "events": ["result.received"],
        "region": "GB",
    }


@pytest.mark.parametrize(
    "body",
    [
        {"secret": "whsec_1"},
        {"data": [{"secret": "whsec_1"}]},
        [{"secret": "whsec_1"}],
        {"meta": {}, "data": {"id": 1}, "signing_secret": "whsec_1"},
        {"meta": "none", "data": None, "secret": "whsec_1"},
    ],
)
async def test_client_loses_no_secret_to_an_unexpected_envelope(service, client, body):
    service.reply(200, body)
    page = await client.subscribe_webhook("https://bot.example.com/", ["race.abandoned"])
    assert page.data.secret.get_secret_value() == "whsec_1"


@pytest.mark.parametrize("body", [b"whsec_1 is your secret", b"", b"null", b"\xff\xfewhsec_1", b'"whsec_1"', b"[1, 2]"])
async def test_client_keeps_whatever_a_subscription_was_answered_with(service, client, body):
    service.reply(201, body)
    page = await client.subscribe_webhook("https://bot.example.com/", ["race.abandoned"])
    assert page.data.secret is None
    assert ("whsec_1" in page.model_dump_json()) is (b"whsec_1" in body)
    assert len(service.seen) == 1


async def test_client_loses_no_secret_because_something_else_could_not_be_stored(service, open_racing):
    async def on_meta(*_):
        raise StorageUnavailable("database is locked")

    client = open_racing(on_meta=on_meta)
    service.data({"secret": "whsec_1"})
    page = await client.subscribe_webhook("https://bot.example.com/", ["race.abandoned"])
    assert page.data.secret.get_secret_value() == "whsec_1"
    with pytest.raises(StorageUnavailable):
        await open_racing(on_meta=on_meta).reference()


@pytest.mark.parametrize("name", ["countries", "reference", "usage", "read_path", "read_path with a query"])
async def test_client_follows_has_more_where_it_is_not_specified(service, client, name):
    service.data([{"name": "one"}], has_more=True, next_cursor="c1")
    service.data([{"name": "two"}])
    call, _, path, query = CALLS[name]
    page = await call(client)
    assert len(page.data) == 2
    assert [(seen.path, seen.query) for seen in service.seen] == [(path, query), (path, {**query, "cursor": "c1"})]


async def test_client_repeats_a_name_of_the_paths_own_query_on_each_page(service, client):
    service.data([{"name": "one"}], has_more=True, next_cursor="c1")
    service.data([{"name": "two"}])
    await client.read_path("races?day={date}&field=a&field=b", date="2026-11-20")
    own = "day=2026-11-20&field=a&field=b"
    assert [seen.raw_query for seen in service.seen] == [own, f"{own}&cursor=c1"]


async def test_client_names_no_query_in_a_failure(service, client):
    service.refuse(422, "invalid_param")
    with pytest.raises(service_errors.InvalidParam) as caught:
        await client.read_path("races?date={date}", date="2026-11-20")
    assert caught.value.path == "races"


async def test_client_follows_has_more_on_courses_and_deliveries(service, client):
    service.data([COURSE], has_more=True, next_cursor="c1")
    service.data([], has_more=True, next_cursor="c2")
    service.data([COURSE | {"course_id": "cr_2"}], has_more=False)
    page = await client.courses()
    assert [course.course_id for course in page.data] == ["cr_1", "cr_2"]
    assert [seen.query for seen in service.seen] == [{}, {"cursor": "c1"}, {"cursor": "c2"}]
    service.data([{"id": 1}], has_more=True, next_cursor="c1")
    service.data([{"id": 2}])
    service.replies.pop(0)
    assert len((await collect(client.walk_deliveries("failed"))).data) == 2
    assert [seen.query for seen in service.seen[3:]] == [{"status": "failed"}, {"status": "failed", "cursor": "c1"}]


async def test_client_walks_races_changing_nothing_but_the_cursor(service, client):
    service.data([{"race_id": "rc_1"}], has_more=True, next_cursor="c1")
    service.data([{"race_id": "rc_2"}], has_more=False)
    page = await collect(client.walk_races(WalkPosition(region="GB", limit=100)))
    assert [race.fields["race_id"] for race in page.data] == ["rc_1", "rc_2"]
    assert [seen.query for seen in service.seen] == [
        {"region": "GB", "limit": "100"},
        {"region": "GB", "limit": "100", "cursor": "c1"},
    ]


# (code, status, headers, class), (requests sent, seconds slept)
REFUSALS = [
    (("unauthorized", 401, {}, service_errors.Unauthorized), (1, [])),
    (("upgrade_required", 403, {}, service_errors.UpgradeRequired), (1, [])),
    (("outside_window", 403, {}, service_errors.OutsideWindow), (1, [])),
    (("not_found", 404, {}, service_errors.NotFound), (1, [])),
    (("invalid_param", 422, {}, service_errors.InvalidParam), (1, [])),
    (("quota_exceeded", 429, {"retry_after": "5"}, service_errors.QuotaExceeded), (1, [])),
    (("new_code", 400, {}, service_errors.UnknownRefusal), (1, [])),
    (("rate_limited", 429, {"retry_after": "40"}, service_errors.RateLimited), (2, [40])),
    (("rate_limited", 429, {"retry_after": "200"}, service_errors.RateLimited), (1, [])),
    (("server_error", 500, {}, service_errors.ServerFault), (4, [0.5, 1, 2])),
]


@pytest.mark.parametrize(("refusal", "cost"), REFUSALS)
async def test_client_meets_each_refusal_with_its_own_number_of_requests(service, client, fake_time, refusal, cost):
    code, status, headers, kind = refusal
    service.refuse(status, code, headers=headers)
    with pytest.raises(service_errors.ServiceFailure) as caught:
        await client.countries()
    assert type(caught.value) is kind
    assert caught.value.told
    assert (len(service.seen), fake_time.slept) == cost


def test_client_refusal_table_has_every_code():
    assert {refusal[0] for refusal, _ in REFUSALS} >= set(service_errors.BY_CODE)


@pytest.mark.parametrize(("code", "status"), [("rate_limited", 429), ("server_error", 500), ("unauthorized", 401)])
async def test_client_never_subscribes_twice(service, client, fake_time, code, status):
    service.refuse(status, code, headers={"retry_after": "1"})
    with pytest.raises(service_errors.ServiceFailure):
        await client.subscribe_webhook("https://bot.example.com/", ["result.received"])
    assert (len(service.seen), fake_time.slept) == (1, [])


async def test_client_goes_on_after_the_wait_that_rate_limited_asks_for(service, client, fake_time):
    service.refuse(429, "rate_limited", headers={"retry_after": "17"})
    service.data([])
    await client.countries()
    assert (len(service.seen), fake_time.slept) == (2, [17])


async def test_client_paces_itself_before_the_service_has_to(service, client, fake_time):
    reset = {"x_ratelimit_limit": "60", "x_ratelimit_remaining": "0", "x_ratelimit_reset": "30"}
    service.reply(200, {"meta": {}, "data": []}, **reset)
    await client.countries()
    assert fake_time.slept == []
    await client.countries()
    assert fake_time.slept == [30]


async def test_client_for_commands_gives_up_without_asking_when_the_wait_is_too_long(service, client):
    service.refuse(429, "rate_limited", headers={"retry_after": "300"})
    for _ in range(2):
        with pytest.raises(service_errors.RateLimited) as caught:
            await client.countries()
    assert len(service.seen) == 1
    assert "in 300 s" in caught.value.told


async def test_client_in_background_waits_where_a_command_would_give_up(service, client, fake_time):
    service.refuse(429, "rate_limited", headers={"retry_after": "200"})
    service.data([])
    await client.in_background().countries()
    assert fake_time.slept == [200]


@pytest.mark.parametrize(("code", "status"), [("rate_limited", 429), ("server_error", 500)])
async def test_client_of_one_try_repeats_nothing(service, client, fake_time, code, status):
    service.refuse(status, code)
    with pytest.raises(service_errors.ServiceFailure):
        await client.in_one_try().countries()
    assert (len(service.seen), fake_time.slept) == (1, [])


async def test_client_breaks_the_circuit_of_the_quota_for_all_but_usage_and_over_a_restart(service, open_racing):
    told = []

    async def on_circuit_open(error):
        told.append(type(error))

    service.refuse(429, "quota_exceeded")
    service.data([])
    client = open_racing(on_circuit_open=on_circuit_open)
    with pytest.raises(service_errors.QuotaExceeded):
        await client.countries()
    for again in (client, open_racing()):
        with pytest.raises(service_errors.CircuitOpen):
            await again.countries()
    await client.usage()
    assert [seen.path for seen in service.seen] == ["countries", "account/usage"]
    assert told == [service_errors.QuotaExceeded]


async def test_client_asks_again_with_another_key(service, open_racing):
    service.refuse(401, "unauthorized")
    service.data([])
    with pytest.raises(service_errors.Unauthorized):
        await open_racing().countries()
    with pytest.raises(service_errors.CircuitOpen):
        await open_racing().usage()
    await open_racing(key="sk_rotated").countries()
    assert len(service.seen) == 2


PLANS = {"your_plan": "free", "reaches_on": ["live", "archive"]}


async def test_client_asks_an_endpoint_beyond_the_plan_once_and_repeats_the_refusals_words(service, open_racing):
    service.refuse(403, "upgrade_required", headers={"x_request_id": "req_9"}, **PLANS)
    service.data([])
    client, told = open_racing(), []
    # The client of a restarted bot is the third.
    for asking in (client, client.in_background(), open_racing()):
        with pytest.raises(service_errors.UpgradeRequired) as caught:
            await asking.deliveries("failed")
        told.append((caught.value.told, caught.value.request_id, caught.value.status))
    assert (len(service.seen), len(set(told))) == (1, 1)
    assert "This is not part of your plan (free). Plans that have it: live, archive." in told[0][0]
    await client.countries()
    await open_racing(key="sk_rotated").deliveries("failed")
    assert [seen.path for seen in service.seen] == ["webhooks/deliveries", "countries", "webhooks/deliveries"]


async def test_client_asks_an_endpoint_beyond_the_plan_again_under_another_plan(service, client):
    service.refuse(403, "upgrade_required", **PLANS)
    for plan in ("free", "live"):
        service.data([], plan=plan)
    service.data([])
    with pytest.raises(service_errors.UpgradeRequired):
        await client.deliveries("failed")
    await client.usage()
    with pytest.raises(service_errors.UpgradeRequired):
        await client.deliveries("failed")
    await client.usage()
    await client.deliveries("failed")
    paths = [seen.path.rpartition("/")[2] for seen in service.seen]
    assert paths == ["deliveries", "usage", "usage", "deliveries"]


async def test_client_takes_each_day_of_a_path_beyond_the_plan_for_one_endpoint(service, client):
    service.refuse(403, "upgrade_required", **PLANS)
    for day in ("2026-11-20", "2026-11-21"):
        with pytest.raises(service_errors.UpgradeRequired):
            await client.read_path("days/{date}?all=1", date=day)
    assert len(service.seen) == 1


@pytest.mark.parametrize("code", ["outside_window", "forbidden", None])
async def test_client_asks_again_after_another_403(service, client, code):
    service.refuse(403, code)
    for _ in range(2):
        with pytest.raises(service_errors.ServiceFailure):
            await client.countries()
    assert len(service.seen) == 2


async def test_client_remembers_a_grouping_of_usage_that_was_refused(service, client):
    service.refuse(422, "invalid_param")
    service.data([])
    for asking in (client, client.in_background()):
        with pytest.raises(service_errors.InvalidParam, match="Said so"):
            await asking.usage("day")
    await client.usage()
    await client.usage("endpoint")
    assert [seen.query for seen in service.seen] == [{"by": "day"}, {}, {"by": "endpoint"}]


async def test_client_circuit_breaker_stops_those_who_were_waiting_for_their_turn(service, client):
    service.refuse(429, "quota_exceeded")
    outcomes = await asyncio.gather(*(client.countries() for _ in range(5)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["CircuitOpen"] * 4 + ["QuotaExceeded"]
    assert len(service.seen) == 1


async def test_client_tells_of_a_changed_plan_or_window(service, open_racing):
    changes = []

    async def on_meta(old, new):
        changes.append((old.plan, new.plan, new.window))

    client = open_racing(on_meta=on_meta)
    service.data([])
    service.data([])
    service.data([], plan="complete", window="2017 → upcoming")
    for _ in range(3):
        await client.countries()
    assert changes == [(None, "free", "2023 → upcoming"), ("free", "complete", "2017 → upcoming")]
    assert client.state.data_as_of == "2025-11-20T12:00:00+00:00"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", [], {"data": []}, {"meta": {}}, {"meta": {}, "data": {"a": 1}}, b'{"meta":{},"data":[}']
)
async def test_client_says_when_an_answer_is_not_the_envelope(service, client, body):
    service.reply(200, body, x_request_id="req_7")
    with pytest.raises(service_errors.AnswerUnreadable) as caught:
        await client.countries()
    assert len(service.seen) == 1
    assert caught.value.request_id == "req_7"


@BOTH_WAYS
async def test_client_follows_no_redirect(service, client):
    service.reply(302, {}, location="https://evil.example/v1/countries")
    with pytest.raises(service_errors.UnknownRefusal):
        await client.countries()
    assert len(service.seen) == 1


async def test_client_tells_of_a_change_until_it_could_be_told(service, open_racing):
    told, fail = [], [True]

    async def on_meta(_before, now):
        told.append(now.plan)
        return not (fail and fail.pop())

    client = open_racing(on_meta=on_meta)
    for _ in range(3):
        service.data([])
        await client.countries()
    assert len(told) == 2
