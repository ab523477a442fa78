"""Slack and the data service in the bench's own process: an app that answers at once, and notes each post's arrival.

Both answer faster than in reality, because the bot is measured. The sandbox's stand-ins check each request, and the
checks would be measured too.
"""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

ANSWERS: dict[str, dict[str, Any]] = {
    "auth.test": {"user_id": "UBENCH", "bot_id": "BBENCH", "user": "bench", "url": "https://bench.slack.com/"},
    "conversations.info": {"channel": {"id": "C0", "is_member": True}},
}
META = {"request_id": "req_bench", "plan": "analyst", "window": "2017 → upcoming", "count": 0}


class Outside:
    """An ASGI app. `arrived`: the key of each whole post → the moment (time.perf_counter)."""

    def __init__(self) -> None:
        self.arrived: dict[str, float] = {}
        self._changed = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        method = scope["path"].rpartition("/")[2]
        if not scope["path"].startswith("/api/"):
            answer: dict[str, Any] = {"meta": META, "data": []}
        elif method == "chat.postMessage":
            answer = self._posted(body)
        else:
            answer = {"ok": True, **ANSWERS.get(method, {})}
        await JSONResponse(answer)(scope, receive, send)

    def _posted(self, body: bytes) -> dict[str, Any]:
        arrived_at = time.perf_counter()
        message = json.loads(body)
        self.arrived.setdefault(message["metadata"]["event_payload"]["post"], arrived_at)
        self._changed.set()
        return {"ok": True, "channel": message["channel"], "ts": f"1790000000.{len(self.arrived):06}"}

    async def wait_for(self, posts: int, *, timeout_s: float) -> bool:
        """Whether so many posts arrived in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while len(self.arrived) < posts:
                    self._changed.clear()
                    await self._changed.wait()
        return len(self.arrived) >= posts
