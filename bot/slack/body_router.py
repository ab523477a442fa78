"""The way of every body to Bolt, by HTTP and by Socket Mode.

Bolt reads parts of bodies that have no listener. Such bodies are answered here. Typed text is cleaned here, and
nowhere else.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.events.typed_text import tidy
from bot.logs import get_logger
from bot.slack.body_shapes import check_shape, is_ours

log = get_logger(__name__)


async def receive(
    bolt: AsyncApp, body: dict[str, Any], headers: Mapping[str, str | Sequence[str]] | None = None
) -> BoltResponse:
    """Bolt's answer; 200 without a listener; 500 if Bolt fails.

    Raises BodyUnreadable for a body of another shape than Slack's.
    """
    check_shape(body)
    if not is_ours(body):
        kind, event = body.get("type") or "", body.get("event", {}).get("type") or ""
        log.warning("slack_request_not_ours", kind=str(kind)[:100], slack_event=str(event)[:100])
        return BoltResponse(status=200, body="")
    _tidy(body)
    try:
        return await bolt.async_dispatch(AsyncBoltRequest(body=body, headers=dict(headers or {}), mode="socket_mode"))
    except Exception:
        reference = f"slack-{zlib.crc32(repr(body).encode()):08x}"
        log.exception("slack_request_failed", reference=reference)
        return BoltResponse(status=500, body={"error": f"a fault of ours; the log has it under {reference}"})


def _tidy(body: dict[str, Any]) -> None:
    """Clean the words of a command, a direct message, a form's text fields and a menu's search.

    Buttons keep their values.
    """
    fields = ((body.get("view") or {}).get("state") or {}).get("values") or {}
    typed = [
        (body, "text"),
        (body.get("event") or {}, "text"),
        *([(body, "value")] if body.get("type") == "block_suggestion" else []),
    ]
    typed += [(element, "value") for block in fields.values() for element in block.values()]
    for part, name in typed:
        if isinstance(part.get(name), str):
            part[name] = tidy(part[name])
