"""`/healthz`, `/readyz` and `/metrics`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

READY_S = 2.0


@dataclass(frozen=True)
class Health:
    """Ready means: a delivery can be stored.

    Other faults are `degraded` in the body: a load balancer must not remove the receiver while Slack is down. With
    METRICS_PORT only the private address shows reasons.
    """

    store_probe: Callable[[], Awaitable[None]]
    degraded: Callable[[], Mapping[str, str]]
    registry: CollectorRegistry

    async def healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        return await self._ready(show_reasons=True)

    async def readyz_without_reasons(self, _request: Request) -> Response:
        return await self._ready(show_reasons=False)

    async def metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)

    async def unready(self) -> str | None:
        """Why no delivery can be stored; None if ready."""
        try:
            async with asyncio.timeout(READY_S):
                await self.store_probe()
        except Exception as error:  # noqa: BLE001  after any error, no delivery can be stored
            return str(error) or f"the database did not answer within {READY_S:g} s"
        return None

    async def _ready(self, *, show_reasons: bool) -> Response:
        reason = await self.unready()
        if reason is not None:
            content = {"status": "unready", "reason": reason} if show_reasons else {"status": "unready"}
            return JSONResponse(content, 503, {"Retry-After": "5"})
        degraded = dict(self.degraded())
        if not show_reasons:
            return JSONResponse({"status": "degraded" if degraded else "ready"})
        return JSONResponse({"status": "degraded" if degraded else "ready", "degraded": degraded})
