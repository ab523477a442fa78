"""Sends signed requests to the bot as Slack does, and takes the bot's answer.

The signature is by the stand-in's own code: docs.slack.dev/authentication/verifying-requests-from-slack
"""

import asyncio
import hashlib
import hmac
import json
from dataclasses import replace
from urllib.parse import urlencode

import httpx

from sandbox.loopback_server import make_client
from sandbox.slack.answers import Answer, ResponseUrl
from sandbox.slack.calls import Refused
from sandbox.slack.content import take_response
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

BOT_PATH = "/slack/events"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


async def send_form(state: WorkspaceState, bot_url: str, fields: dict[str, str], url: ResponseUrl | None) -> Answer:
    if not state.socket_mode:
        answer = await send_signed(state, bot_url, urlencode(fields).encode())
    elif "payload" in fields:
        answer = await state.sockets.deliver("interactive", json.loads(fields["payload"]), state.ack_timeout_s)
    else:
        answer = await state.sockets.deliver("slash_commands", fields, state.ack_timeout_s)
    return replace(answer, response_url=url)


async def send_event(
    state: WorkspaceState, bot_url: str, event: Json, *, event_id: str | None = None, retry_num: int | None = None
) -> Answer:
    """docs.slack.dev/apis/events-api. `retry_num` marks an event as sent again."""
    envelope: Json = {
        "token": state.verification_token,
        "team_id": state.team_id,
        "api_app_id": state.app_id,
        "event": {"event_ts": state.timestamps.issue(), **event},
        "type": "event_callback",
        "event_id": event_id or f"Ev{next(state.numbers):08d}",
        "event_time": int(state.clock().timestamp()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": state.team_id,
                "user_id": state.bot_user_id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }
    if state.socket_mode:
        again = {"retry_attempt": retry_num or 0, "retry_reason": "timeout" if retry_num else ""}
        return await state.sockets.deliver("events_api", envelope, state.ack_timeout_s, **again)
    headers = {"X-Slack-Retry-Num": str(retry_num), "X-Slack-Retry-Reason": "http_timeout"} if retry_num else {}
    return await send_signed(state, bot_url, json.dumps(envelope).encode(), JSON, headers)


async def send_signed(
    state: WorkspaceState,
    bot_url: str,
    body: bytes,
    content_type: str = FORM,
    headers: dict[str, str] | None = None,
) -> Answer:
    sent_at = int(state.clock().timestamp())
    signed = {
        "Content-Type": content_type,
        "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "X-Slack-Request-Timestamp": str(sent_at),
        "X-Slack-Signature": sign(state.signing_secret, sent_at, body),
    }
    timeout_s = state.ack_timeout_s
    async with make_client(timeout=timeout_s, transport=state.bot_transport) as client:
        try:
            async with asyncio.timeout(timeout_s):
                response = await client.post(bot_url + BOT_PATH, content=body, headers=signed | (headers or {}))
        except (TimeoutError, httpx.TimeoutException):
            return Answer(0, "", "operation_timeout")
        except httpx.HTTPError:
            return Answer(0, "", "dispatch_failed")
    error = None if response.status_code == httpx.codes.OK else "dispatch_failed"
    return Answer(response.status_code, response.text, error)


def with_body_taken(state: WorkspaceState, answer: Answer) -> Answer:
    """A body in the answer becomes the first response."""
    if answer.response_url is None or answer.error is not None or not answer.body:
        return answer
    values = json.loads(answer.body) if answer.body.startswith("{") else {"text": answer.body}
    try:
        take_response(state, answer.response_url, values)
    except Refused as refusal:
        return replace(answer, error=refusal.code)
    return answer


def sign(secret: str, timestamp: int | str, body: bytes) -> str:
    """HMAC-SHA256 of "v0:{timestamp}:{body}"."""
    base = b":".join((b"v0", str(timestamp).encode(), body))
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
