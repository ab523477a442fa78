"""The data service in an outage: what it gives up, and how often each event is then told."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
from sqlalchemy import func, select
from sqlmodel import col
from starlette.requests import Request
from starlette.responses import JSONResponse

from bot.db.tables import EventVersion, OutboxMessage
from bot.events.event import EventKind, Topic
from sandbox.racing_service import RacingService
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.event_payloads import Happening
from sandbox.racing_service.race_shapes import race_record

ALL_TOPICS = frozenset(Topic)
TAKEN = {"CGB": "GB", "CIRE": "IRE", "CALL": "*"}
OUR_ANSWER = '{"error": "not stored; send it again"}'
SETTINGS: Any = SimpleNamespace(monthly_quota=None, command_quota_share=25)


class Killed(BaseException):
    """What ends a process in the middle of a run: nothing after it is carried out."""


@dataclass
class Outage:
    """The data service, whose deliveries reach nobody."""

    service: RacingService
    now: datetime
    base_url: str = ""
    answers: list[int | None] = field(default_factory=lambda: [503, None])
    client: Any = None
    quota: Any = None
    change_list: Callable[[Any, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    """Changes a page of records; given with the cursor that was asked for."""

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

    async def app(self, scope, receive, send) -> None:
        """The service, with a path of one race beside those that are specified (Spec gap G9)."""
        service, path = self.service, scope["path"]
        if path == "/v1/webhooks/deliveries" and self.change_list is not None:
            request = Request(scope)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app), base_url="http://service") as http:
                cursor = request.query_params.get("cursor", "")
                asked = {"status": "failed"} | ({} if cursor.startswith("c") else dict(request.query_params))
                answer = await http.get(path, params=asked, headers={"X-API-Key": service.api_key})
            page = await self.change_list(cursor, answer.json())
            await JSONResponse(page, headers={"X-Request-Id": "r"})(scope, receive, send)
        elif path.startswith("/v1/race/"):
            race = service.racing.race(path.removeprefix("/v1/race/"))
            record = race_record(race, service.racing.state(race), "nested")
            await JSONResponse({"meta": {"plan": "free"}, "data": record})(scope, receive, send)
        else:
            await service.app(scope, receive, send)


class Dying:
    """The database of a process that dies once so many versions of events are stored."""

    def __init__(self, database, versions: int) -> None:
        self.database, self.versions, self.read = database, versions, database.read

    async def write(self, work):
        result = await self.database.write(work)
        if await self.read(lambda session: len(session.execute(select(col(EventVersion.id))).all())) >= self.versions:
            raise Killed
        return result


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
