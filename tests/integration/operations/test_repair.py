"""An outage in which the service gives up deliveries: each is made good in its channels once. On both engines."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import func, select
from sqlmodel import col
from starlette.responses import JSONResponse

from bot.channels.conditions.show_condition import MEETINGS
from bot.cli.repair_command import Preview
from bot.db.named_value_store import DatabaseStateStore
from bot.db.tables import EventVersion, InboxDelivery, OutboxMessage, StoredState
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind, Topic
from bot.fanout.version_news import KnownEvents
from bot.operations.repair import repair_run as repairing
from bot.operations.repair.failed_record import read_record
from bot.operations.repair.repair_run import Repair
from bot.outbox.channel_closing import pause_channel
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import ServiceFailure, Spared, WalkBroken
from bot.racedata.day_path import Paths
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.slack.bot_identity import BotIdentity
from bot.slack.event_messages import PostRenderer
from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService, Switches
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.event_payloads import Happening
from sandbox.racing_service.race_shapes import race_record
from tests.notice_levels import URGENT, WARNING, level_of

ALL_TOPICS = frozenset(Topic)
TAKEN = {"CGB": "GB", "CIRE": "IRE", "CALL": "*"}
OUR_ANSWER = '{"error": "not stored; send it again"}'
SETTINGS: Any = SimpleNamespace(monthly_quota=None, command_quota_share=25)


ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For what no statement of the database depends on."""


class Killed(BaseException):
    """What ends a process in the middle of a run: nothing after it is carried out."""


@dataclass
class Outage:
    """The data service, whose deliveries reach nobody."""

    service: RacingService
    now: datetime
    base_url: str = ""
    answers: list[int | None] = field(default_factory=lambda: [503, None])

    @property
    def today(self):
        return self.now.date()

    def refuse(self, request: httpx.Request) -> httpx.Response:
        status = self.answers[0]
        self.answers.append(self.answers.pop(0))
        if status is None:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(status, text=OUR_ANSWER)

    async def lose(self, *happened) -> list[Delivery]:
        """These happen, are tried once, and are given up."""
        deliveries = [delivery for some in happened for delivery in some]
        await self.service.deliver_due(self.now)
        assert {one.status for one in deliveries} == {"failed"}
        return deliveries

    def at(self, moment: datetime) -> None:
        self.now = moment


def with_race_path(service: RacingService):
    """The service, with a path of one race beside those that are specified (Spec gap G9)."""

    async def app(scope, receive, send):
        _, found, race_id = scope["path"].partition("/v1/race/")
        if not found:
            await service.app(scope, receive, send)
            return
        race = service.racing.race(race_id)
        record = race_record(race, service.racing.state(race), "nested")
        await JSONResponse({"meta": {"plan": "free"}, "data": record})(scope, receive, send)

    return app


@pytest.fixture
async def outage(pipeline):
    made = Outage(None, pipeline.clock())  # type: ignore[arg-type]  # each knows the other
    client = httpx.AsyncClient(transport=httpx.MockTransport(made.refuse))
    switches = Switches(retry_gaps_s=(), payload="nested")
    async with (
        client,
        RacingService(
            made.today, clock=lambda: made.now, delivery_client=client, switches=switches, days_back=2, days_ahead=2
        ) as made.service,
        serve(with_race_path(made.service)) as address,
    ):
        made.base_url = f"{address}/v1"
        made.service.subscribe("https://bot.example.com/webhooks/racing", frozenset(EventKind))
        yield made


@pytest.fixture
async def make_repair(outage):
    opened: list[Any] = []

    def make(pipeline, **paths) -> Repair:
        store = DatabaseStateStore(pipeline.database, pipeline.clock)
        client = open_client(outage.base_url, SecretStr(outage.service.api_key), store, Ports().timing)
        quota = QuotaBook(pipeline.database, client, SETTINGS, pipeline.clock)
        races = RaceBook(pipeline.database, client, pipeline.clock, quota, Paths(**paths))
        opened.extend([races, client])
        return Repair(
            pipeline.database,
            client,
            quota_book=quota,
            races=races,
            fanout=pipeline.fanout,
            reopening=pipeline.reopening,
            notices=pipeline.notices,
            read_payload=read_payload,
            clock=pipeline.clock,
            wake=asyncio.Event(),
        )

    yield make
    for one in opened:
        await one.aclose()


@pytest.fixture
async def listening(pipeline):
    for channel_id, region in TAKEN.items():
        await pipeline.subscribe(channel_id, region, ALL_TOPICS)
    return pipeline


async def mend(pipeline, repair):
    repaired = await repair.run()
    await pipeline.post_all()
    return repaired


def shown(pipeline, channel_id) -> list[str]:
    return [f"{one.text}\n{json.dumps(one.blocks, ensure_ascii=False)}" for one in pipeline.slack.messages(channel_id)]


async def count(pipeline, table) -> int:
    statement = select(func.count()).select_from(table)
    found: int = await pipeline.database.read(lambda session: session.execute(statement).scalar_one())
    return found


async def forty(outage, day, began, hours=3.0):
    """Forty events of all four kinds within three hours, none delivered; with records of every shape."""
    service = outage.service
    meetings = [meeting for meeting in service.racing.meetings(day) if meeting.course.region in {"GB", "IRE"}]
    lost_meeting, lost_races, *others = meetings
    happened: list[tuple[Any, ...]] = []
    races = [race for meeting in others for race in meeting.races]
    happened += [(service.settle, race.race_id) for race in races[:25]]
    happened += [(service.abandon_race, race.race_id, "Frozen track") for race in lost_races.races[:4]]
    happened += [(service.abandon_meeting, lost_meeting.meeting_id, "Waterlogged")]
    deliveries = []
    gap = timedelta(hours=hours) / 40
    for number, (happens, *about) in enumerate(happened):
        outage.at(began + gap * number)
        deliveries += await outage.lose(happens(*about))
    cards = service.racing.meetings(day + timedelta(days=1))[: 40 - len(deliveries)]
    for number, card in enumerate(cards, start=len(deliveries)):
        outage.at(began + gap * number)
        deliveries += await outage.lose(service.publish("racecard.published", card))
    assert len(deliveries) == 40
    assert {one.happening.event for one in deliveries} == {*EventKind}
    return deliveries


async def several(outage):
    """Seven events of all four kinds, thirty hours ago, none delivered; with records of every shape."""
    service, now = outage.service, outage.now
    outage.at(now - timedelta(hours=30))
    of_region, irish = (service.racing.meetings(outage.today, region) for region in ("GB", "IRE"))
    first, second = of_region[:2]
    deliveries = await outage.lose(
        *(service.settle(race.race_id) for race in first.races[:2]),
        *(service.abandon_race(race.race_id, "Frozen track") for race in first.races[2:4]),
        service.abandon_meeting(second.meeting_id, "Waterlogged"),
        service.settle(irish[0].races[0].race_id),
        service.publish("racecard.published", irish[0]),
    )
    mix(deliveries)
    outage.at(now)
    return deliveries


def takes(channel_id, delivery):
    return TAKEN[channel_id] in {"*", delivery.happening.region}


def label(outage, delivery) -> str:
    """How messages call the race, or the abandoned meeting, of a delivery."""
    happening = delivery.happening
    if happening.event == "meeting.abandoned":
        racing = outage.service.racing
        meeting = racing.meeting(happening.meeting_id)
        is_partly_run = any(racing.state(race).status == "result" for race in meeting.races)
        part = "rest of the meeting" if is_partly_run else "whole meeting"
        return f"{meeting.course.name}, {part}"
    race = outage.service.racing.race(happening.race_id)
    return f"{race.course.name}{',' if happening.event == 'race.abandoned' else ''} {race.off_time}"


def summary_has_each_once(pipeline, outage, channel_id, deliveries):
    """One summary in the channel, which says each of these once, the abandonments first."""
    (summary,) = shown(pipeline, channel_id)
    text, _, blocks = summary.partition("\n")
    taken = [one for one in deliveries if takes(channel_id, one)]
    by_kind = Counter(one.happening.event for one in taken)
    for one in taken:
        if one.happening.event in {"race.abandoned", "meeting.abandoned"}:
            assert text.count(label(outage, one)) == blocks.count(label(outage, one)) == 1
        elif one.happening.event == "result.received":
            assert blocks.count(label(outage, one)) == 1
    lost = by_kind["race.abandoned"] + by_kind["meeting.abandoned"]
    assert blocks.count("ABANDONED: ") == lost
    assert text.startswith("ABANDONED: ") == bool(lost)
    assert f"{by_kind['result.received']} results" in text
    assert f"{by_kind['racecard.published']} racecard" in text
    assert blocks.count("known since <!date^") == lost + by_kind["result.received"]


def mix(deliveries):
    """Records without a payload, with another shape, and with the payload, among one another."""
    for number, one in enumerate(deliveries):
        one.shape = ("bare", "listed", "counted")[number % 3]


async def stranger(outage, event="race.abandoned", race_id="rc_nobody1", region="GB"):
    """The service gives up a delivery of a race that nobody knows, and its record has no payload."""
    happening = Happening(event, region, race_id, "mt_nobody", {"event": event, "race": {"race_id": race_id}})
    (delivery,) = await outage.lose(outage.service._state.delivery_queue.add(happening, outage.now))
    delivery.shape = "bare"
    return delivery


async def sent(pipeline) -> Counter[tuple[str, str]]:
    """How often each event was sent to each channel, by itself or in a summary."""
    statement = (
        select(col(OutboxMessage.channel_id), col(EventVersion.event_key), col(OutboxMessage.state))
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(col(OutboxMessage.kind) == "event")
    )
    rows = await pipeline.database.read(lambda session: session.execute(statement).all())
    assert {state for _, _, state in rows} <= {"sent", "folded"}
    return Counter((channel_id, key) for channel_id, key, _ in rows)


async def test_three_hours_of_forty_events_are_made_good_once_twice(listening, outage, make_repair):
    now = outage.now
    first = await forty(outage, outage.today - timedelta(days=1), now - timedelta(hours=30))
    mix(first)
    outage.at(now)
    repaired = await mend(listening, make_repair(listening))
    assert (len(repaired.made), len(repaired.events), repaired.known) == (40, 40, 0)
    for channel_id in TAKEN:
        summary_has_each_once(listening, outage, channel_id, first)
    (told,) = listening.texts("CADMIN")
    assert level_of(told) == URGENT
    for words in (
        "gave up 40 deliveries",
        "abandoned races: 4",
        "20 x 503 (not stored; send it again)",
        "ConnectError",
    ):
        assert words in told
    assert len(outage.service.requests) <= 3, "the records, and one walk for each region of a bare record"

    second = await forty(outage, outage.today, now - timedelta(minutes=178), hours=2.5)
    mix(second)
    outage.at(now)
    again = await mend(listening, make_repair(listening))
    assert (again.records, again.known, len(again.made)) == (80, 40, 40)
    taken = [(channel_id, one) for channel_id in TAKEN for one in first + second if takes(channel_id, one)]
    assert (await sent(listening)).total() == len(taken)
    assert set((await sent(listening)).values()) == {1}
    for channel_id in TAKEN:
        _, *singly = listening.texts(channel_id)
        assert len(singly) == sum(takes(channel_id, one) for one in second)
        assert all("min late)" in text for text in singly)
        lost = [text.startswith("ABANDONED: ") for text in singly]
        assert lost == sorted(lost, reverse=True)
    assert len(listening.texts("CADMIN")) == 2
    assert (await mend(listening, make_repair(listening))).made == ()
    assert (await sent(listening)).total() == len(taken)


async def test_killed_between_two_transactions_it_goes_on_where_it_was(listening, outage, make_repair, monkeypatch):
    monkeypatch.setattr(repairing, "DELIVERIES_PER_SUMMARY", 3)
    await several(outage)
    killed = make_repair(listening)
    write = listening.database.write

    async def dies(work):
        result = await write(work)
        if "_make_good" in str(work):
            raise Killed
        return result

    monkeypatch.setattr(listening.database, "write", dies)
    with pytest.raises(Killed):
        await killed.run()
    monkeypatch.setattr(listening.database, "write", write)
    await listening.post_all()
    assert await count(listening, EventVersion) == 3
    assert listening.texts("CADMIN") == []
    assert listening.texts("CGB")[0].startswith("ABANDONED: ")
    repaired = await mend(listening, make_repair(listening))
    assert (len(repaired.made), repaired.known) == (4, 3)
    assert set((await sent(listening)).values()) == {1}
    assert await count(listening, EventVersion) == 7
    (told,) = listening.texts("CADMIN")
    assert "gave up 7 deliveries" in told


@ON_SQLITE
async def test_outage_is_told_where_the_kill_came_after_the_last_delivery(listening, outage, make_repair, monkeypatch):
    monkeypatch.setattr(repairing, "DELIVERIES_PER_SUMMARY", 1)
    deliveries = [await stranger(outage, race_id=f"rc_nobody{number}") for number in range(2)]
    repair = make_repair(listening)
    first = await repair._find()
    await repair._together(first.failed, None)
    monkeypatch.setattr(repairing, "DELIVERIES_PER_SUMMARY", 100)
    # The service lists the newest first; the other one it does not list any more.
    outage.service._state.delivery_queue._deliveries.remove(deliveries[0])
    await mend(listening, repair)
    (told,) = listening.texts("CADMIN")
    assert "gave up 1 delivery to me (abandoned races: 1)" in told


async def test_two_replicas_at_once_make_good_once(listening, outage, make_repair, make_pipeline):
    await several(outage)
    other = make_pipeline(clock=listening.clock)
    made = await asyncio.gather(make_repair(listening).run(), make_repair(other).run())
    await listening.post_all()
    assert sum(len(one.made) for one in made) == 7
    assert set((await sent(listening)).values()) == {1}
    assert [len(listening.texts(channel_id)) for channel_id in (*TAKEN, "CADMIN")] == [1, 1, 1, 1]


@ON_SQLITE
@pytest.mark.parametrize("hours", [1, 30])
async def test_abandonment_of_a_race_that_nobody_knows_is_told_as_the_record_says(
    *, listening, outage, make_repair, hours
):
    outage.at(outage.now - timedelta(hours=hours))
    await stranger(outage)
    outage.at(listening.clock())
    await mend(listening, make_repair(listening))
    for channel_id in ("CGB", "CALL"):
        (text,) = listening.texts(channel_id)
        assert text.startswith("ABANDONED: ")
        assert f"alert {hours * 60} min late" in text
        assert "rc_nobody1" in shown(listening, channel_id)[0]
    assert listening.texts("CIRE") == []


@ON_SQLITE
async def test_lost_abandonment_is_in_the_live_message_too(pipeline, outage, make_repair):
    await pipeline.subscribe("CGB", "GB", ALL_TOPICS, show=(MEETINGS,))
    meeting, *_ = outage.service.racing.meetings(outage.today, "GB")
    await outage.lose(outage.service.abandon_race(meeting.races[0].race_id, "Fog"))
    await mend(pipeline, make_repair(pipeline))
    lost, live = pipeline.texts("CGB")
    assert lost.startswith("ABANDONED")
    assert "1 ABANDONED" in live


@ON_SQLITE
async def test_result_before_its_meeting_was_called_off_contradicts_nothing(listening, outage, make_repair):
    now, (meeting, *_) = outage.now, outage.service.racing.meetings(outage.today, "GB")
    for hours, happens in (
        (30, lambda: outage.service.settle(meeting.races[0].race_id)),
        (29, lambda: outage.service.abandon_race(meeting.races[1].race_id, "Fog")),
        (28, lambda: outage.service.abandon_meeting(meeting.meeting_id, "Waterlogged")),
    ):
        outage.at(now - timedelta(hours=hours))
        await outage.lose(happens())
    outage.at(now)
    await mend(listening, make_repair(listening))
    (text,) = shown(listening, "CGB")
    assert "though" not in text
    assert text.count(f"{meeting.course.name}, rest of the meeting") == 2
    assert re.search(r"\(GB\): 1 \w", text)


@ON_SQLITE
async def test_race_is_read_by_its_path_where_that_is_known(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.settle(race.race_id))
    delivery.shape = "bare"
    await mend(listening, make_repair(listening, race="race/{race_id}"))
    (text,) = shown(listening, "CGB")
    assert race.course.name in text
    assert next(runner.horse for runner in race.runners if runner.position == "1") in text
    assert [one.endpoint for one in outage.service.requests] == ["/webhooks/deliveries"]


@ON_SQLITE
async def test_real_delivery_after_its_record_is_no_second_message(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.abandon_race(race.race_id, "Frozen track"))
    delivery.shape = "bare"
    await mend(listening, make_repair(listening))
    payload = delivery.happening.payload
    assert await listening.deliver(payload | {"attempt": 9})
    await listening.post_all()
    (text,) = shown(listening, "CGB")
    assert "Frozen track" in text
    delivery.shape = "counted"
    repaired = await mend(listening, make_repair(listening))
    assert repaired.events == ()
    assert len(listening.texts("CGB")) == 1
    assert (await mend(listening, make_repair(listening))).made == ()


@ON_SQLITE
async def test_delivery_that_came_by_a_retry_is_left_alone(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.settle(race.race_id))
    for body in (json.dumps(delivery.happening.payload), json.dumps(delivery.happening.payload, separators=(",", ":"))):
        await listening.deliver(body.encode())
        await listening.post_all()
        repaired = await mend(listening, make_repair(listening))
        assert (repaired.known, repaired.made) == (1, ())
    delivery.shape = "bare"
    assert (await mend(listening, make_repair(listening))).made == ()
    assert listening.texts("CADMIN") == []


@ON_SQLITE
async def test_outage_that_is_given_up_piece_by_piece_is_told_once_and_another_one_again(
    listening, outage, make_repair
):
    now = outage.now
    for number, (hours, told) in enumerate(((40, 1), (39.5, 1), (38.75, 1), (30, 2))):
        outage.at(now - timedelta(hours=hours))
        await stranger(outage, race_id=f"rc_piece{number}")
        outage.at(now)
        await mend(listening, make_repair(listening))
        assert len(listening.texts("CADMIN")) == told
    assert len(listening.texts("CGB")) == 4


@ON_SQLITE
async def test_paused_channel_keeps_its_messages_for_its_own_summary(listening, outage, make_repair):
    await listening.database.write(lambda session: pause_channel(session, "CGB", None, listening.clock()))
    deliveries = await several(outage)
    await mend(listening, make_repair(listening))
    assert len(listening.texts("CALL")) == 1
    assert (await listening.waiting())["queued"] == sum(takes("CGB", one) for one in deliveries)
    await listening.database.write(lambda session: listening.reopening.resume(session, "CGB", listening.clock()))
    await listening.post_all()
    assert len(listening.texts("CGB")) == sum(takes("CGB", one) for one in deliveries)


@ON_SQLITE
async def test_record_that_names_no_event_is_told_to_admins_once(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    happening = Happening("", "GB", race.race_id, race.meeting_id, {})
    subscription = outage.service.subscriptions[0]
    outage.service._state.delivery_queue.subscriptions[0] = replace(subscription, events=frozenset({*EventKind, ""}))
    await outage.lose(outage.service._state.delivery_queue.add(happening, outage.now))
    for _ in range(2):
        repaired = await mend(listening, make_repair(listening))
        assert repaired.unread == ("dl_00000001",)
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{URGENT}The data service lists failed deliveries")
    assert "dl_00000001" in told


@ON_SQLITE
async def test_more_posts_than_fit_into_a_transaction_are_made_in_several(listening, outage, make_repair, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.MESSAGES_PER_COMMIT", 3)
    await several(outage)
    repaired = await mend(listening, make_repair(listening))
    assert len(repaired.events) == 7
    assert set((await sent(listening)).values()) == {1}


@ON_SQLITE
async def test_payload_that_our_code_fails_on_holds_up_no_other(listening, outage, make_repair, monkeypatch):
    races = outage.service.racing.races(outage.today, "GB")[:2]
    for race in races:
        await outage.lose(outage.service.abandon_race(race.race_id, "Frozen track"))
    news = KnownEvents.news

    def fails(self, event, *args):
        if event.race.race_id == races[0].race_id:
            raise RuntimeError
        return news(self, event, *args)

    monkeypatch.setattr(KnownEvents, "news", fails)
    await mend(listening, make_repair(listening))
    (text,) = listening.texts("CGB")
    assert races[1].off_time in text
    assert await count(listening, InboxDelivery) == 2
    assert len(listening.texts("CADMIN")) == 1


@ON_SQLITE
async def test_list_that_breaks_off_is_made_good_as_far_as_it_was_read(listening, outage, make_repair):
    await several(outage)
    outage.service.switch(default_limit=4)
    repair = make_repair(listening)
    asked = repair._client._calls.ask

    async def breaks(request, *args, **kwargs):
        if dict(request.params).get("cursor"):
            raise WalkBroken(request.path, message="its cursor came before")
        return await asked(request, *args, **kwargs)

    repair._client._calls.ask = breaks
    with pytest.raises(WalkBroken):
        await repair.run()
    assert await count(listening, EventVersion) == 4
    repair._client._calls.ask = asked
    assert len((await repair.run()).made) == 3


@ON_SQLITE
@pytest.mark.parametrize("records", ["the same page", "a page anew"])
async def test_list_without_an_end_is_made_good_as_far_as_it_was_read(
    listening, outage, make_repair, monkeypatch, records
):
    await several(outage)
    monkeypatch.setattr(repairing, "RECORD_PAGES_MAX", 10)
    repair, asked = make_repair(listening), 0
    ask = repair._client._calls.ask

    async def leads_on(request, *args, **kwargs):
        nonlocal asked
        if request.path != "webhooks/deliveries":
            return await ask(request, *args, **kwargs)
        asked += 1
        page = await ask(replace(request, params=()), *args, **kwargs)
        data = page.data if records == "the same page" or asked % 2 else page.data[::-1]
        meta = page.meta.model_copy(update={"has_more": True, "next_cursor": f"c{asked}"})
        return page.model_copy(update={"meta": meta, "data": data})

    repair._client._calls.ask = leads_on
    # The job does not fail: a failed job would be run again within minutes, at the cost of as many requests.
    await asyncio.wait_for(repair.as_job(), 30)
    assert asked == (2 if records == "the same page" else 10)
    assert await count(listening, EventVersion) == 7
    await listening.post_all()
    assert sum("can't look up all deliveries" in text for text in listening.texts("CADMIN")) == 1


@ON_SQLITE
async def test_service_that_falls_silent_in_the_list_holds_up_no_record(listening, outage, make_repair, monkeypatch):
    await several(outage)
    outage.service.switch(default_limit=4)
    repair = make_repair(listening)
    ask = repair._client._calls.ask

    async def falls_silent(request, *args, **kwargs):
        if dict(request.params).get("cursor"):
            await asyncio.Event().wait()
        return await ask(request, *args, **kwargs)

    repair._client._calls.ask = falls_silent
    monkeypatch.setattr(repairing, "WALK_S", 0.5)
    with pytest.raises(WalkBroken):
        await asyncio.wait_for(repair.run(), 30)
    assert await count(listening, EventVersion) == 4


@ON_SQLITE
async def test_record_that_our_code_fails_on_holds_up_no_other(listening, outage, make_repair, monkeypatch):
    await several(outage)
    await stranger(outage)

    def fails(record, *about):
        if "rc_nobody1" in json.dumps(record):
            raise RuntimeError("our own")
        return read_record(record, *about)

    monkeypatch.setattr(repairing, "read_record", fails)
    await mend(listening, make_repair(listening))
    assert await count(listening, EventVersion) == 7
    assert any("can't make good" in text for text in listening.texts("CADMIN"))


@ON_SQLITE
async def test_spent_month_is_said_and_asked_again_later(listening, outage, make_repair):
    await stranger(outage)
    outage.service.set_used(15_000)
    outage.service.fail_next("/webhooks/deliveries", "quota_exceeded")
    repair = make_repair(listening)
    for _ in range(2):
        with pytest.raises(ServiceFailure):
            await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{WARNING}I can't look up deliveries that the data service gave up")
    assert len([one for one in outage.service.requests if one.endpoint == "/webhooks/deliveries"]) == 1
    await repair._client.breakers.reset("quota_exceeded")
    outage.service.set_used(0)
    await repair.as_job()
    await listening.post_all()
    assert len(listening.texts("CGB")) == 1


@ON_SQLITE
async def test_last_requests_of_a_month_are_not_spent_on_the_look(listening, outage, make_repair):
    await stranger(outage)
    outage.service.set_used(14_999)
    repair = make_repair(listening)
    await repair._quota_book.read()
    with pytest.raises(Spared):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert "Almost all of this month's requests" in told
    assert {one.endpoint for one in outage.service.requests} == {"/account/usage"}


@ON_SQLITE
async def test_plan_that_does_not_reach_the_records_is_told_once_and_fails_no_job(listening, outage, make_repair):
    outage.service.switch(reach={"/webhooks/deliveries": ("complete",)})
    repair = make_repair(listening)
    for _ in range(2):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert "complete" in told


@ON_SQLITE
@pytest.mark.parametrize("failure", ["invalid_param", "outside_window", 404])
async def test_refusal_that_would_be_the_same_in_minutes_is_told_once_and_fails_no_job(
    listening, outage, make_repair, failure
):
    outage.service.fail_next("/webhooks/deliveries", failure, times=2)
    repair = make_repair(listening)
    for _ in range(2):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{WARNING}I can't look up deliveries that the data service gave up")


@ON_SQLITE
@pytest.mark.parametrize("failure", ["server_error", "rate_limited", "drop"])
async def test_failure_that_may_pass_is_tried_again_by_the_scheduler_and_told_to_nobody(
    listening, outage, make_repair, failure
):
    outage.service.fail_next("/webhooks/deliveries", failure, times=20)
    with pytest.raises(ServiceFailure):
        await make_repair(listening).as_job()
    await listening.post_all()
    assert listening.texts("CADMIN") == []


async def test_trying_out_shows_what_would_be_posted_and_changes_nothing(listening, outage, make_repair):
    for one in await several(outage):
        one.shape = "counted"
    kept = await count(listening, StoredState)
    preview = Preview(PostRenderer(BotIdentity("xoxb-test"), 600), listening.clock)
    tried = await make_repair(listening).try_out(preview)
    assert len(tried.events) == 7
    assert await count(listening, InboxDelivery) == await count(listening, OutboxMessage) == 0
    assert await count(listening, StoredState) == kept
    await mend(listening, make_repair(listening))
    for channel_id in TAKEN:
        assert [one.text for one in preview.planned if one.channel_id == channel_id] == listening.texts(channel_id)
