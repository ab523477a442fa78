"""`POST /slack/events`: the guard in front of Bolt checks size, timestamp and signature.

Bolt parses a body before verifying, so a stranger's broken body would be a 500; and any form with the word "payload" is
an interactive payload to Bolt. Record 0010.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from pydantic import SecretStr
from pydantic_core import from_json
from slack_bolt.async_app import AsyncApp
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from bot.clock import Clock, Token
from bot.errors import BodyRefused, BodyUnreadable
from bot.logs import get_logger
from bot.slack.bolt_app import receive
from bot.web.plain_answers import refusal, retry_after
from bot.web.request_body import BodyReader

log = get_logger(__name__)

SLACK_PATH = "/slack/events"
MAX_BODY_BYTES = 1024 * 1024
"""Four times a modal's state, Slack's largest body."""

BODY_BUDGET_BYTES = 32 * MAX_BODY_BYTES

MAX_AGE_S = 5 * 60
"""docs.slack.dev/authentication/verifying-requests-from-slack"""

_TIMESTAMP = re.compile(r"[0-9]{1,15}")
_SIGNATURE = re.compile(r"v0=[0-9a-fA-F]{64}")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_NUL_IN_TEXT = "the body has a NUL in it, which PostgreSQL does not take"


@dataclass(frozen=True)
class SlackEndpoint:
    bolt: AsyncApp
    signing_secret: SecretStr | None
    bodies: BodyReader
    clock: Clock
    count: Callable[[str], None]
    token: Token

    async def __call__(self, request: Request) -> Response:
        try:
            self.bodies.check_length(request.headers.get("content-length", ""))
            response = self._refuse_unread(request)
            if response is None:
                async with self.bodies.read(request.stream()) as body:
                    response = await self._verified(request, body)
        except ClientDisconnect:
            response = self._refuse(400, "the connection ended before the body did")
        except BodyRefused as error:
            response = self._refuse(error.status, str(error))
        self.count(str(response.status_code))
        return response

    def _refuse(self, status: int, error: str) -> Response:
        return refuse(self.token, status, error, path=SLACK_PATH)

    def _refuse_unread(self, request: Request) -> Response | None:
        """Refusals that need no body."""
        if self.signing_secret is None:
            return self._refuse(404, "Slack comes by Socket Mode here: SLACK_SIGNING_SECRET is not set")
        timestamps = request.headers.getlist("X-Slack-Request-Timestamp")
        signatures = request.headers.getlist("X-Slack-Signature")
        if len(timestamps) != 1 or len(signatures) != 1:
            return self._refuse(401, "exactly one X-Slack-Request-Timestamp and one X-Slack-Signature are needed")
        if not _TIMESTAMP.fullmatch(timestamps[0]) or not _SIGNATURE.fullmatch(signatures[0]):
            return self._refuse(401, "the timestamp or the signature has not the form of Slack's")
        if abs(self.clock().timestamp() - int(timestamps[0])) > MAX_AGE_S:
            return self._refuse(401, "the timestamp is more than five minutes off: a replay, or a clock that is wrong")
        return None

    async def _verified(self, request: Request, body: bytes) -> Response:
        timestamp = request.headers["X-Slack-Request-Timestamp"]
        signature = request.headers["X-Slack-Signature"].lower()
        secret = self.signing_secret
        if secret is None or not hmac.compare_digest(sign(secret, timestamp, body), signature):
            return self._refuse(401, "the signature does not match")
        headers = {name: value for name, value in request.headers.items() if name.startswith("x-slack-retry")}
        try:
            read = read_body(body.decode(), request.headers.get("content-type", ""))
            answer = await receive(self.bolt, read, headers)
        except UnicodeDecodeError:
            return self._refuse(400, "the body is not UTF-8")
        return Response(answer.body, answer.status, answer.first_headers_without_set_cookie())


def refuse(token: Token, status: int, error: str, **logged: object) -> Response:
    """A refusal, and its line in the log under the reference of the answer."""
    reference = f"req-{token(4)}"
    log.bounded("request_refused", error, status=status, reference=reference, reason=error, **logged)
    return JSONResponse(refusal(error, reference), status, retry_after(status))


def sign(secret: SecretStr, timestamp: str, body: bytes) -> str:
    """Slack's signature. slack_sdk's verifier decodes the body first, and fails at bytes that are no text."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.get_secret_value().encode(), base, hashlib.sha256).hexdigest()


def read_body(text: str, content_type: str) -> dict[str, Any]:
    """The fields of a form, or the JSON object of its `payload` or of the body. Raises BodyUnreadable."""
    if content_type.partition(";")[0].strip().lower() == "application/json":
        return _object(text)
    try:
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=1000))
    except ValueError:
        raise BodyUnreadable("too many form fields") from None
    if any("\0" in value for value in fields.values()):
        raise BodyUnreadable(_NUL_IN_TEXT)
    if "payload" in fields and "command" not in fields:
        return _object(fields["payload"])
    if not fields and text.lstrip().startswith("{"):
        return _object(text)
    return fields


def _object(text: str) -> dict[str, Any]:
    if _NUL.search(text):
        raise BodyUnreadable(_NUL_IN_TEXT)
    try:
        # Python's own parser takes half of a surrogate pair, and no database does.
        value = from_json(text)
    except ValueError:
        raise BodyUnreadable("the body is not JSON that can be read") from None
    if not isinstance(value, dict):
        raise BodyUnreadable("the body is not a JSON object")
    return value
