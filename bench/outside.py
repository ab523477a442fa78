"""Slack and the data service in the bench's own process: an app that answers at once, and notes each post's arrival.

Both answer faster than in reality, because the bot is measured. The sandbox's stand-ins check each request, and the
checks would be measured too.
"""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

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
        body = await _read(receive)
        method = scope["path"].rpartition("/")[2]
        if not scope["path"].startswith("/api/"):
            await _answer(send, {"meta": META, "data": []})
        elif method == "chat.postMessage":
            await _answer(send, self._posted(body))
        else:
            await _answer(send, {"ok": True, **ANSWERS.get(method, {})})

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


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body


async def _answer(send: Send, content: dict[str, Any]) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
