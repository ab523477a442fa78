"""Subscriptions and deliveries: who is told, how it is signed, what is tried again, what is kept on record."""

import asyncio
import hashlib
import hmac
import json
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService, Switches

TODAY = date(2025, 11, 20)
ALL_EVENTS = ["result.received", "race.abandoned", "meeting.abandoned", "racecard.published"]


class Clock:
    """Time that moves when a test moves it."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


class Receiver:
    """A receiver on a real port: answers what it is told, and keeps what it got."""

    def __init__(self):
        self.got = []
        self.answers = []
        self.url = ""
        self.app = Starlette(routes=[Route("/hook", self._receive, methods=["POST"])])

    async def _receive(self, request):
        self.got.append((dict(request.headers), await request.body()))
        return self.answers.pop(0) if self.answers else Response("thanks")

    def bodies(self):
        return [json.loads(body) for _, body in self.got]


@pytest.fixture
def clock():
    return Clock(datetime(2025, 11, 20, 12, tzinfo=UTC))


@pytest.fixture
async def service(clock):
    switches = Switches(allow_http_loopback=True)
    async with RacingService(TODAY, clock=clock, switches=switches, days_back=1, days_ahead=3) as running:
        yield running


@pytest.fixture
async def client(service):
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


@pytest.fixture
async def receiver():
    listening = Receiver()
    async with serve(listening.app) as address:
        listening.url = f"{address}/hook"
        yield listening


@pytest.fixture
async def secret(client, receiver):
    response = await client.post("/webhooks/subscribe", json={"url": receiver.url, "events": ALL_EVENTS})
    return response.json()["data"]["secret"]


def first_race(service):
    return service.racing.races(TODAY, "GB")[0]


async def test_delivery_is_signed_over_its_exact_bytes(service, receiver, secret):
    race = first_race(service)
    service.settle(race.race_id)
    assert await service.deliver_due() == 1
    ((headers, body),) = receiver.got
    assert headers["x-svc-signature"] == hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["race"]["race_id"] == race.race_id


async def test_each_event_is_delivered_with_what_it_is_about(service, receiver, secret):
    race = first_race(service)
    meeting = service.racing.meetings(TODAY, "IRE")[0]
    service.settle(race.race_id)
    service.abandon_race(service.racing.races(TODAY, "GB")[1].race_id, "High winds")
    service.abandon_meeting(meeting.meeting_id, "Frozen track")
    published = service.publish_racecards(date(2025, 11, 22), "GB")
    await service.deliver_due()
    by_event = {body["event"]: body for body in receiver.bodies()}
    assert set(by_event) == set(ALL_EVENTS)
    assert by_event["race.abandoned"]["race"]["reason"] == "High winds"
    lost = by_event["meeting.abandoned"]["meeting"]
    assert (lost["meeting_id"], lost["reason"]) == (meeting.meeting_id, "Frozen track")
    assert {race["status"] for race in lost["races"]} == {"abandoned"}
    assert len(published) == len(service.racing.meetings(date(2025, 11, 22), "GB"))


async def test_subscription_is_told_of_its_region_and_its_events_only(service):
    race = first_race(service)
    events = frozenset({"result.received"})
    british = service.subscribe("https://one.test/", events, "GB")
    french = service.subscribe("https://two.test/", events, "FR")
    everywhere = service.subscribe("https://three.test/", events)
    abandonments = service.subscribe("https://four.test/", frozenset({"race.abandoned"}), "GB")
    told = {delivery.subscription for delivery in service.settle(race.race_id)}
    assert told == {british, everywhere}
    assert not told & {french, abandonments}


@pytest.mark.parametrize(
    ("shape", "read"),
    [
        ("flat", lambda body: (body["event_type"], body["race_id"])),
        ("renamed", lambda body: (body["type"], body["payload"]["uid"])),
    ],
)
async def test_payload_comes_in_other_shapes(service, receiver, secret, shape, read):
    race = first_race(service)
    service.switch(payload=shape)
    service.settle(race.race_id)
    await service.deliver_due()
    (body,) = receiver.bodies()
    assert read(body) == ("result.received", race.race_id)


async def test_corrected_result_goes_out_anew_with_first_and_second_changed(service, receiver, secret):
    race = first_race(service)
    service.settle(race.race_id)
    await service.deliver_due()
    service.correct(race.race_id)
    await service.deliver_due()
    before, after = (
        {runner["position"]: runner["horse"]["name"] for runner in body["race"]["runners"]}
        for body in receiver.bodies()
    )
    assert (before[1], before[2]) == (after[2], after[1])


async def test_abandoned_meeting_leaves_results_as_they_are(service):
    race = first_race(service)
    service.settle(race.race_id)
    service.abandon_meeting(race.meeting_id, "Waterlogged")
    states = [service.racing.state(each).status for each in service.racing.meeting(race.meeting_id).races]
    assert states[0] == "result"
    assert set(states[1:]) == {"abandoned"}


@pytest.mark.parametrize("answer", [Response(status_code=500), Response(status_code=401), RedirectResponse("/hook")])
async def test_answer_that_is_no_2xx_is_tried_again_with_a_widening_gap(service, receiver, secret, clock, answer):
    race = first_race(service)
    receiver.answers = [answer, answer]
    service.settle(race.race_id)
    await service.deliver_due()
    clock.now += timedelta(seconds=29)
    assert await service.deliver_due() == 0
    clock.now += timedelta(seconds=1)
    assert await service.deliver_due() == 1
    clock.now += timedelta(seconds=119)
    assert await service.deliver_due() == 0
    clock.now += timedelta(seconds=1)
    assert await service.deliver_due() == 1
    assert len(receiver.got) == 3
    assert service.counters["delivered"] == 1


async def test_slow_receiver_counts_as_a_failed_attempt(service, receiver, secret):
    race = first_race(service)
    service.switch(delivery_timeout_s=0.0)
    (delivery,) = service.settle(race.race_id)
    await service.deliver_due()
    assert (delivery.status, delivery.attempts[0].error) == ("pending", "timeout")


async def test_closed_port_counts_as_a_failed_attempt(service):
    race = first_race(service)
    service.subscribe("http://127.0.0.1:1/", frozenset({"result.received"}))
    (delivery,) = service.settle(race.race_id)
    await service.deliver_due()
    assert delivery.attempts[0].error == "ConnectError"


async def test_delivery_is_given_up_after_a_day(service, clock):
    race = first_race(service)
    service.subscribe("http://127.0.0.1:1/", frozenset({"result.received"}))
    (delivery,) = service.settle(race.race_id)
    await service.deliver_due()
    while delivery.next_at:
        clock.now = delivery.next_at
        await service.deliver_due()
    tried_at = [attempt.at for attempt in delivery.attempts]
    gaps = [after - before for before, after in pairwise(tried_at)]
    assert gaps == sorted(set(gaps))
    assert tried_at[-1] - tried_at[0] == timedelta(days=1)
    assert delivery.status == "failed"
    clock.now += timedelta(days=2)
    assert await service.deliver_due() == 0


async def test_accepted_delivery_is_repeated_now_and_then(service, receiver, secret):
    service.switch(repeat_every=2)
    for race in service.racing.races(TODAY, "GB")[:4]:
        service.settle(race.race_id)
    await service.deliver_due()
    bodies = [body for _, body in receiver.got]
    assert len(bodies) == 6
    assert len(set(bodies)) == 4


async def test_body_may_count_its_attempts(service, receiver, secret):
    race = first_race(service)
    service.switch(attempt_in_body=True, repeat_every=1)
    service.settle(race.race_id)
    await service.deliver_due()
    assert [body["delivery"]["attempt"] for body in receiver.bodies()] == [1, 2]
    for headers, body in receiver.got:
        assert headers["x-svc-signature"] == hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def test_deliveries_survive_key_rotation_and_cost_no_quota(service, receiver, secret):
    race = first_race(service)
    service.rotate_key()
    used = service.used
    service.settle(race.race_id)
    await service.deliver_due()
    assert len(receiver.got) == 1
    assert service.used == used


async def test_delivery_that_was_cancelled_is_due_again(clock):
    asked = asyncio.Event()

    async def hang(_):
        asked.set()
        await asyncio.Event().wait()

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(hang)) as deliveries,
        RacingService(TODAY, clock=clock, delivery_client=deliveries, days_back=0, days_ahead=1) as running,
    ):
        running.subscribe("https://bot.test/", frozenset(ALL_EVENTS))
        (delivery,) = running.settle(first_race(running).race_id)
        delivering = asyncio.create_task(running.deliver_due())
        await asked.wait()
        delivering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await delivering
    assert delivery.next_at == clock.now


class Enough(Exception):
    """Ends a runner that would go on for ever."""


async def test_runner_delivers_what_is_published_while_it_runs(clock, receiver):
    rounds = []

    async def sleep(seconds):
        rounds.append(seconds)
        if receiver.got:
            raise Enough
        running.settle(first_race(running).race_id)

    async with RacingService(TODAY, clock=clock, sleep=sleep, days_back=1, days_ahead=3) as running:
        running.subscribe(receiver.url, frozenset(ALL_EVENTS))
        with pytest.raises(Enough):
            await running.run_deliveries()
    assert rounds == [0.2, 0.2]
