"""The state of the service: `/healthz`, `/readyz`, `/metrics`, and the outbound heartbeat.

A monitor elsewhere warns when the heartbeat's calls stop, because a dead bot can warn nobody. Healthchecks' protocol
(healthchecks.io/docs/http_api): a call means success; a call with `/fail` after the path means failure, with the reason
in the body.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import httpx
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import SecretStr
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.clock import Clock, Monotonic
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.db.schema import Schema
from bot.deliveries.journal import Journal
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import StorageError
from bot.fanout.standstill import Standstill
from bot.logs import get_logger
from bot.operations.jobs.scheduler import Jobs
from bot.operations.metrics import Metrics
from bot.operations.self_notices import SelfNotices
from bot.operations.status_figures import read_service_state
from bot.outbox import pace
from bot.outbox.notices import Notices
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.web.plain_answers import retry_after

log = get_logger(__name__)

HEARTBEAT_EVERY_S = 60.0
HEARTBEAT_CALL_S = 5.0
FAIL = "/fail"

BODY_MAX = 2_000

FindProblem = Callable[[], Awaitable[str | None]]

READY_S = 2.0


STATE_EVERY_S = 5.0
"""How often `/readyz` and `/metrics` are updated."""

STATE_AT_MOST_S = 10.0
"""Limit of a look; without an answer `/readyz` shows the state known without the database."""

PROOF_S = 10.0
"""Seconds for which a written row proves that a delivery can be stored."""

STATE_VALID_S = 60.0
"""An older look is no good sign for the heartbeat."""

OF_HEARTBEAT = ("storage", "webhooks", "deliveries", "posts", "slack", f"slack {pace.EVERY_CALL}")
"""Parts of `degraded` that keep deliveries out or posts in."""


@dataclass
class Health:
    """Ready means: a delivery can be stored.

    Other faults are `degraded` in the body: a load balancer must not remove the receiver while Slack is down. With
    METRICS_PORT only the private address shows reasons and metrics. Neither `/readyz` nor `/metrics` reads the database
    when asked.

    `problems`: of the parts, known without the database. `method_of`: Slack's method of a kind of call.
    """

    database: Database
    schema: Schema
    journal: Journal
    signing_secrets: SigningSecrets
    standstill: Standstill
    breakers: CircuitBreakers
    jobs: Jobs
    notices: Notices
    telling: SelfNotices
    metrics: Metrics
    problems: Callable[[], dict[str, str]]
    method_of: Mapping[str, str]
    clock: Clock
    monotonic: Monotonic
    degraded: Mapping[str, str] = field(default_factory=dict, init=False)
    _looked_at_s: float | None = field(default=None, init=False)
    _proof: tuple[int, float] | None = field(default=None, init=False)

    def routes(self, *, show_reasons: bool) -> list[Route]:
        return [
            Route("/healthz", self._healthz),
            Route("/readyz", partial(self._readyz, show_reasons=show_reasons)),
            *([Route("/metrics", self._show_metrics)] if show_reasons else []),
        ]

    async def _healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _readyz(self, _request: Request, *, show_reasons: bool) -> Response:
        if reason := await self.unready():
            shown = {"reason": reason} if show_reasons else {}
            return JSONResponse({"status": "unready", **shown}, 503, retry_after(503))
        shown_parts = {"degraded": self.degraded} if show_reasons else {}
        return JSONResponse({"status": "degraded" if self.degraded else "ready", **shown_parts})

    async def _show_metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def unready(self) -> str | None:
        """Why no delivery can be stored; None if ready."""
        try:
            async with asyncio.timeout(READY_S):
                await self._probe()
        except Exception as error:  # noqa: BLE001  after any error, no delivery can be stored
            return str(error) or f"the database did not answer within {READY_S:g} s"
        return None

    async def _probe(self) -> None:
        """Raise StorageError unless a delivery could be stored now.

        Each probe begins to write. A row is written only after PROOF_S, or after a failed write.
        """
        if self.schema.problem:
            raise StorageError(self.schema.problem)
        await self.database.read_beside(self.journal.prove)
        failed, now_s = self.database.failed_writes, self.monotonic()
        if self._proof is not None and self._proof[0] == failed and now_s - self._proof[1] < PROOF_S:
            await self.database.write(lambda session: session.execute(select(1)))
            return
        await self.database.write(partial(named_values.put, name=Mark.READY_PROBE, value=True, now=self.clock()))
        self._proof = failed, now_s

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(STATE_EVERY_S)

    async def look(self) -> None:
        if self.schema.problem is None:
            await self.standstill.look()
        try:
            async with asyncio.timeout(STATE_AT_MOST_S):
                # For drills and `/readyz`: the receiver reads the secrets of deliveries itself.
                await self.signing_secrets.read()
                self.degraded = await self._find_degraded()
        except (StorageError, TimeoutError) as error:
            reason = str(error) or f"the database did not answer within {STATE_AT_MOST_S:g} s"
            self.degraded = {"storage": reason} | self.problems()
        self._looked_at_s = self.monotonic()
        self.metrics.show_degraded(self.degraded)
        if self.signing_secrets.unreadable:
            await self.telling.tell_today("secrets-unreadable", reason=self.signing_secrets.unreadable)

    async def _find_degraded(self) -> dict[str, str]:
        now = self.clock()
        look = await self.database.read(partial(read_service_state, now=now))
        open_breakers = await self.breakers.open_now()
        self.metrics.show(look, [breaker.code for breaker in open_breakers])
        holds = await self.database.read(partial(pace.reasons_of_holds, now=now))
        found = {f"slack {self.method_of.get(call, call)}": reason for call, reason in holds.items()}
        found |= self.problems()
        if admins := await self.database.read(self.notices.problem):
            found["admins"] = admins
        if self.signing_secrets.unreadable:
            found["webhooks"] = f"deliveries by a stored secret are answered 503: {self.signing_secrets.unreadable}"
        elif not self.signing_secrets.active:
            found["webhooks"] = "no signing secret: every delivery is refused; set RACING_WEBHOOK_SECRETS or subscribe"
        # An endpoint beyond the plan is no fault.
        for breaker in (one for one in open_breakers if not one.endpoints):
            found[f"data service {breaker.code}"] = f"not asked since {breaker.since.isoformat()}"
        found.update({f"job {job}": reason for job, reason in self.jobs.look().items()})
        return found

    async def standing_still(self) -> str | None:
        """For the heartbeat: why deliveries can't be stored or posts don't go out."""
        if unready := await self.unready():
            return f"deliveries can't be stored: {unready}"
        if self._looked_at_s is None or self.monotonic() - self._looked_at_s > STATE_VALID_S:
            return f"the bot has not looked at its own state for {STATE_VALID_S:g} s"
        found = {name: self.degraded[name] for name in OF_HEARTBEAT if name in self.degraded}
        return "; ".join(f"{name}: {reason}" for name, reason in found.items()) or None


class Heartbeat:
    """HEARTBEAT_URL may hold a secret id, so the log names the host alone."""

    def __init__(self, url: SecretStr, http: httpx.AsyncClient, find_problem: FindProblem) -> None:
        self._url = url
        self._http = http
        self._find_problem = find_problem
        self._host = urlsplit(url.get_secret_value()).hostname
        self._is_taken: bool | None = None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_EVERY_S)
            await self.beat()

    async def beat(self) -> bool:
        """True if the monitor took the call."""
        refusal = await self._call(await self._find_problem())
        is_taken = refusal is None
        # A night without the monitor needs a single line.
        if is_taken != self._is_taken:
            say = log.info if is_taken else log.warning
            say("heartbeat_taken" if is_taken else "heartbeat_not_taken", host=self._host, reason=refusal)
        self._is_taken = is_taken
        return is_taken

    async def _call(self, problem: str | None) -> str | None:
        url = self._url.get_secret_value()
        try:
            async with asyncio.timeout(HEARTBEAT_CALL_S):
                # Headers suffice: an endless body must not block.
                async with self._http.stream(
                    "POST", url if problem is None else _failing(url), content=(problem or "")[:BODY_MAX].encode()
                ) as response:
                    return None if response.is_success else f"status {response.status_code}"
        except TimeoutError:
            return f"no answer within {HEARTBEAT_CALL_S:g} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # The class alone: the text may hold the address.
            return type(error).__name__


def _failing(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + FAIL))
