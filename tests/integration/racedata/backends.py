"""The data service in two ways behind one face: answers written down here, through respx, and the stand-in."""

import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import respx

from bot.racedata.client.timing import Timing
from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService, Switches

KEY = "sk_recognisable_0123456789"
OTHER_PLANS = ["live", "archive", "complete", "analyst"]


class FakeTime:
    """Time that passes only when somebody sleeps."""

    def __init__(self):
        self.start = datetime(2025, 11, 20, 12, tzinfo=UTC)
        self.now_s = 0.0
        self.slept: list[float] = []

    def clock(self):
        return self.start + timedelta(seconds=self.now_s)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)

    def timing(self):
        return Timing(self.clock, lambda: self.now_s, self.sleep, lambda: 1.0)


class Memory:
    """A StateStore in memory."""

    def __init__(self):
        self.values: dict[str, dict[str, Any]] = {}

    async def get(self, name: str) -> dict[str, Any] | None:
        return self.values.get(name)

    async def set(self, name: str, value: dict[str, Any]) -> None:
        self.values[name] = value


@dataclass(frozen=True)
class Asked:
    """One request as the service counted it."""

    method: str
    path: str
    query: dict[str, str]


@dataclass
class StandIn:
    """The stand-in, listening on a socket, on the test's clock."""

    service: RacingService
    base_url: str

    def fail(self, path: str, failure: str, times: int = 100) -> None:
        self.service.fail_next(f"/{path}", failure, times)

    def rotate_key(self) -> None:
        self.service.rotate_key()

    def use_up(self) -> None:
        self.service.set_used(1_000_000)

    @property
    def asked(self) -> list[Asked]:
        return [Asked(one.method, one.path.removeprefix("/v1/"), one.query) for one in self.service.requests]

    @property
    def last_request_id(self) -> str:
        return self.service.requests[-1].request_id

    def race_ids(self, region: str) -> list[str]:
        races = sorted(self.service.racing.races(region=region), key=lambda race: (race.race_date, race.race_id))
        return [race.race_id for race in races if race.race_date.year == self.service.racing.today.year]


@asynccontextmanager
async def over_the_stand_in(time: FakeTime):
    service = RacingService(
        time.clock().date(), api_key=KEY, plan="analyst", clock=time.clock, switches=Switches(slow_s=0.5)
    )
    async with service, serve(service.app) as address:
        yield StandIn(service, f"{address}/v1")


META = {"data_as_of": "2025-11-20T12:00:00+00:00", "plan": "analyst", "window": "2017 → upcoming"}
COUNTRY = {
    "country_code": "GB",
    "name": "Great Britain",
    "races": 12,
    "full_result_order": True,
    "position_pct": 0.99,
    "official_rating": True,
    "race_class": True,
    "winning_times": False,
    "note": None,
}
COURSE = {
    "course_id": "cr_1a",
    "name": "Ascot",
    "shortcode": None,
    "country": "England",
    "region": "GB",
    "races": 12,
    "meetings": 2,
    "first_meeting": "2017-01-01",
    "last_meeting": "2025-11-20",
}
CANNED: dict[str, Any] = {
    "countries": [COUNTRY],
    "courses": [COURSE],
    "reference": {"regions": [{"value": "GB", "races": 12}], "goings": [{"value": "Good", "races": 1}]},
    "account/usage": [{"date": "2025-11-20", "requests": 1, "errors": 0, "refusals": 0}],
    "webhooks/deliveries": [],
}
RACE_PAGES = {None: (["rc_1", "rc_2"], "c/1=="), "c/1==": ([], "c+2"), "c+2": (["rc_3"], None)}
STATUS = {
    "unauthorized": 401,
    "upgrade_required": 403,
    "outside_window": 403,
    "not_found": 404,
    "invalid_param": 422,
    "rate_limited": 429,
    "quota_exceeded": 429,
    "server_error": 500,
}
FIELDS: dict[str, dict[str, Any]] = {
    "upgrade_required": {"your_plan": "free", "reaches_on": OTHER_PLANS, "doc_url": "https://docs.example.com"},
    "outside_window": {"window": "2017 → upcoming", "requested_date": "2016-12-31"},
}


@dataclass
class Canned:
    """Answers as the interface has them."""

    base_url: str = "https://api.example.com/v1"
    key: str = KEY
    used_up: bool = False
    asked: list[Asked] = field(default_factory=list)
    failures: dict[str, deque[str]] = field(default_factory=dict)

    def fail(self, path: str, failure: str, times: int = 100) -> None:
        self.failures.setdefault(path, deque()).extend([failure] * times)

    def rotate_key(self) -> None:
        self.key = "sk_rotated"

    def use_up(self) -> None:
        self.used_up = True

    @property
    def last_request_id(self) -> str:
        return f"req_{len(self.asked)}"

    def race_ids(self, _region: str) -> list[str]:
        return ["rc_1", "rc_2", "rc_3"]

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, query = request.url.path.removeprefix("/v1/"), dict(request.url.params)
        self.asked.append(Asked(request.method, path, query))
        if self.failures.get(path):
            return self._fail(self.failures[path].popleft(), request)
        if request.headers["x-api-key"] != self.key:
            return self._refuse("unauthorized")
        if self.used_up and path != "account/usage":
            return self._refuse("quota_exceeded")
        return self._serve(path, query, json.loads(request.content or b"{}"))

    def _serve(self, path: str, query: dict[str, str], body: dict[str, Any]) -> httpx.Response:
        if path == "races/search":
            cursor = query.get("cursor")
            if cursor not in RACE_PAGES or query.get("region") != "GB":
                return self._refuse("invalid_param")
            ids, following = RACE_PAGES[cursor]
            paging: dict[str, Any] = {"has_more": following is not None, "next_cursor": following}
            return self._succeed([{"race_id": race_id} for race_id in ids], **paging)
        if path == "webhooks/subscribe":
            return self._succeed({"subscription_id": "sub_1", "secret": "whsec_1", **body}, status=201)
        return self._succeed(CANNED[path]) if path in CANNED else self._refuse("not_found")

    def _succeed(self, data: Any, status: int = 200, **paging: Any) -> httpx.Response:
        meta = META | {"request_id": self.last_request_id, "count": len(data)} | paging
        return httpx.Response(status, json={"meta": meta, "data": data}, headers={"x-ratelimit-limit": "240"})

    def _refuse(self, code: str) -> httpx.Response:
        error = {"code": code, "message": "Said so.", **FIELDS.get(code, {})}
        headers = {"x-request-id": self.last_request_id, **({"retry-after": "1"} if code == "rate_limited" else {})}
        return httpx.Response(STATUS[code], json={"error": error}, headers=headers)

    def _fail(self, failure: str, request: httpx.Request) -> httpx.Response:
        if failure == "drop":
            raise httpx.RemoteProtocolError("gone", request=request)
        if failure == "slow":
            raise httpx.ReadTimeout("slow", request=request)
        return httpx.Response(502, html="<html>Bad Gateway</html>") if failure == "html" else self._refuse(failure)


@asynccontextmanager
async def over_respx(_time: FakeTime):
    canned = Canned()
    with respx.mock(assert_all_called=False) as router:
        router.route(host="api.example.com").mock(side_effect=canned.answer)
        yield canned
