"""`/healthz`, `/readyz` and `/metrics`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

READY_S = 2.0


@dataclass(frozen=True)
class Health:
    """Ready means: a delivery can be stored.

    Other faults are `degraded` in the body: a load balancer must not remove the receiver while Slack is down. With
    METRICS_PORT only the private address shows reasons and metrics.
    """

    store_probe: Callable[[], Awaitable[None]]
    degraded: Callable[[], Mapping[str, str]]
    registry: CollectorRegistry

    def routes(self, *, show_reasons: bool) -> list[Route]:
        return [
            Route("/healthz", self.healthz),
            Route("/readyz", partial(self.readyz, show_reasons=show_reasons)),
            *([Route("/metrics", self.metrics)] if show_reasons else []),
        ]

    async def healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request, *, show_reasons: bool) -> Response:
        if reason := await self.unready():
            shown = {"reason": reason} if show_reasons else {}
            return JSONResponse({"status": "unready", **shown}, 503, {"Retry-After": "5"})
        degraded = dict(self.degraded())
        shown_parts = {"degraded": degraded} if show_reasons else {}
        return JSONResponse({"status": "degraded" if degraded else "ready", **shown_parts})

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
