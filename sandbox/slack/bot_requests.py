"""Sends signed requests to the bot as Slack does, and takes the bot's answer.

The signature is by the stand-in's own code: docs.slack.dev/authentication/verifying-requests-from-slack
"""

import asyncio
import hashlib
import hmac
import json
import ssl
import time
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

import httpx

from sandbox.slack.answers import Answer
from sandbox.slack.refused_calls import Refused
from sandbox.slack.response_intake import take_response
from sandbox.slack.short_lived import ResponseUrl
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

BOT_PATH = "/slack/events"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


async def send_form(state: WorkspaceState, bot_url: str, fields: dict[str, str], url: ResponseUrl | None) -> Answer:
    if state.socket_mode:
        kind = "interactive" if "payload" in fields else "slash_commands"
        payload = json.loads(fields["payload"]) if "payload" in fields else dict(fields)
        answer = await state.sockets.deliver(kind, payload, timeout_s=state.ack_timeout_s)
        return replace(answer, response_url=url)
    answer = await send_signed(state, bot_url, urlencode(fields).encode(), FORM)
    return replace(answer, response_url=url)


async def send_event(state: WorkspaceState, bot_url: str, envelope: Json, retry_num: int | None = None) -> Answer:
    """`retry_num` marks an event as sent again."""
    if state.socket_mode:
        timeout_s = state.ack_timeout_s
        return await state.sockets.deliver("events_api", envelope, timeout_s=timeout_s, retry_num=retry_num)
    again = {"X-Slack-Retry-Num": str(retry_num), "X-Slack-Retry-Reason": "http_timeout"}
    headers = None if retry_num is None else again
    return await send_signed(state, bot_url, json.dumps(envelope).encode(), JSON, headers=headers)


async def send_signed(
    state: WorkspaceState,
    bot_url: str,
    body: bytes,
    content_type: str = FORM,
    *,
    secret: str | None = None,
    timestamp: int | str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Another `secret` or an old `timestamp` makes a forgery."""
    sent_at = int(state.clock().timestamp()) if timestamp is None else timestamp
    signed = _signed_headers(secret or state.signing_secret, sent_at, body, content_type)
    request = httpx.Request("POST", request_url(bot_url), content=body, headers=signed | (headers or {}))
    # The bot is on loopback: no certificates are loaded, so https fails.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport, timeout_s = state.bot_transport, state.ack_timeout_s
    async with httpx.AsyncClient(verify=context, trust_env=False, timeout=timeout_s, transport=transport) as client:
        started = time.perf_counter()
        status, text, error = await _exchange(client, request, timeout_s)
        elapsed_ms = (time.perf_counter() - started) * 1000
    return Answer(status=status, body=text, elapsed_ms=elapsed_ms, error=error, changes=state.changes)


def request_url(bot_url: str) -> str:
    """Slack's own path is added to a base address."""
    return bot_url if urlsplit(bot_url).path.strip("/") else bot_url.rstrip("/") + BOT_PATH


def with_body_taken(state: WorkspaceState, answer: Answer) -> Answer:
    """A body in the answer becomes the first response."""
    if answer.response_url is None or answer.error is not None or not answer.body:
        return answer
    try:
        values = json.loads(answer.body)
    except ValueError:
        values = None
    try:
        take_response(
            state, answer.response_url, values if isinstance(values, dict) else {"text": answer.body}, via="ack"
        )
    except Refused as refusal:
        return replace(answer, error=refusal.code)
    return answer


async def _exchange(client: httpx.AsyncClient, request: httpx.Request, timeout_s: float) -> tuple[int, str, str | None]:
    try:
        async with asyncio.timeout(timeout_s):
            response = await client.send(request)
    except (TimeoutError, httpx.TimeoutException):
        return 0, "", "operation_timeout"
    except httpx.HTTPError:
        return 0, "", "dispatch_failed"
    error = None if response.status_code == httpx.codes.OK else "dispatch_failed"
    return response.status_code, response.text, error


def sign(secret: str, timestamp: int | str, body: bytes) -> str:
    """HMAC-SHA256 of "v0:{timestamp}:{body}"."""
    base = b":".join((b"v0", str(timestamp).encode(), body))
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


def _signed_headers(secret: str, timestamp: int | str, body: bytes, content_type: str = FORM) -> dict[str, str]:
    return {
        "Content-Type": content_type,
        "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "X-Slack-Request-Timestamp": str(timestamp),
        "X-Slack-Signature": sign(secret, timestamp, body),
    }
