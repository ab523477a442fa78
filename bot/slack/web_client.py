"""The Web API as the bot calls it: every way a call can end is one class of SlackError.

slack_sdk's own retries are off: they send a message again that Slack may have accepted.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import SlackDoubtful, SlackError, SlackUnreached
from bot.outbox.message import Message
from bot.outbox.poster import LookedAt
from bot.slack.api_errors import EDIT_METHOD, POST_METHOD, WAIT, classify

CALL_S = 10.0
"""A call that answers a person is over by then; posts pass their own deadline."""

METADATA_EVENT = "racing_bot_post"

EDITS_MAX = 100
"""So many edits, the newest, are named in a message's metadata."""

HISTORY_PAGE = 100
"""Slack may give fewer: 15 to an app that is sold outside its Marketplace (docs.slack.dev/changelog, 2025-05-29)."""

HISTORY_METHOD = "conversations.history"

_TS = re.compile(r"[0-9]{1,11}(\.[0-9]+)?")

CountCall = Callable[[str, SlackError | None], None]

_NO_ANSWER = (
    aiohttp.ClientError,
    SlackClientError,
    json.JSONDecodeError,
    UnicodeDecodeError,
    OSError,
    # slack_sdk takes whatever JSON or plain text it is given for an object, and asks it for its "ok".
    AttributeError,
)
_NEVER_LEFT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


def make_web_client(token: str, base_url: str, session: aiohttp.ClientSession) -> AsyncWebClient:
    """slack_sdk's client on a shared session, without its retries."""
    # Where its logger has no level of its own, slack_sdk spells out each call and each answer for a debug line that is
    # then dropped: a quarter of the work of a call. This logger has a level (bot.logs.QUIET_LOGGERS).
    logger = logging.getLogger("slack_sdk")
    return AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[], logger=logger)


def make_session() -> aiohttp.ClientSession:
    """The shared session. Its timeout is the longest any call may take; each call sets its own below it."""
    # To connect takes less than any call may: otherwise a call that never left would look like one that did.
    timeout = aiohttp.ClientTimeout(total=30, sock_connect=2.5)
    return aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=100))


class SlackClient:
    """The calls that the bot makes. Each raises the classes of SlackError, and nothing else of Slack's or aiohttp's.

    `count` is told of each call how it ended: the method, and the error where there was an error.
    """

    def __init__(self, web: AsyncWebClient, *, count: CountCall = lambda _method, _error: None) -> None:
        self.web = web
        self._count = count

    async def post(
        self, channel_id: str, message: Message, *, post_key: str, timeout_s: float, edits: Sequence[int] = ()
    ) -> str:
        """Post a message; returns its ts. The metadata has `post_key` and `edits`: `find` reads both again."""
        answer = await self.call(
            POST_METHOD,
            lambda: self.web.chat_postMessage(
                channel=channel_id,
                text=message.text,
                blocks=list(message.blocks) or None,
                metadata=_metadata(post_key, edits),
                unfurl_links=False,
                unfurl_media=False,
            ),
            timeout_s=timeout_s,
        )
        return _ts_in(answer.get("ts"), POST_METHOD)

    async def update(
        self,
        channel_id: str,
        message_ts: str,
        message: Message,
        *,
        post_key: str,
        timeout_s: float,
        edits: Sequence[int] = (),
    ) -> None:
        """Put another message in the place of ours at `message_ts`, under the key that it was posted with."""
        await self.call(
            EDIT_METHOD,
            lambda: self.web.chat_update(
                channel=channel_id,
                ts=message_ts,
                text=message.text,
                # An empty list takes the old blocks away; left out, they would stay.
                blocks=list(message.blocks),
                metadata=_metadata(post_key, edits),
            ),
            timeout_s=timeout_s,
        )

    async def find(
        self, channel_id: str, post_key: str, *, since: datetime, until: datetime, cursor: str | None
    ) -> LookedAt:
        """The ts of our message that carries this key, if one page of the channel's history of that time has it."""
        answer = await self.call(
            HISTORY_METHOD,
            lambda: self.web.conversations_history(
                channel=channel_id,
                oldest=f"{since.timestamp():.6f}",
                latest=f"{until.timestamp():.6f}",
                limit=HISTORY_PAGE,
                include_all_metadata=True,
                cursor=cursor,
            ),
        )
        for message in answer.get("messages") or []:
            if _key_of(message) == post_key:
                return LookedAt(_ts_in(message.get("ts"), HISTORY_METHOD), None, _edits_of(message))
        return LookedAt(None, (answer.get("response_metadata") or {}).get("next_cursor") or None)

    async def call(
        self, method: str, start: Callable[[], Awaitable[AsyncSlackResponse]], *, timeout_s: float = CALL_S
    ) -> AsyncSlackResponse:
        """One call, made once. `start` makes it; whatever goes wrong is raised as a class of SlackError."""
        try:
            answer = await self._call(method, start, timeout_s)
        except SlackError as error:
            self._count(method, error)
            raise
        self._count(method, None)
        return answer

    @staticmethod
    async def _call(
        method: str, start: Callable[[], Awaitable[AsyncSlackResponse]], timeout_s: float
    ) -> AsyncSlackResponse:
        try:
            async with asyncio.timeout(timeout_s):
                return await start()
        except _NEVER_LEFT as error:
            raise SlackUnreached(method, type(error).__name__) from None
        except TimeoutError:
            raise SlackDoubtful(method, f"no answer within {timeout_s:g} s") from None
        except SlackApiError as error:
            raise _read_refusal(method, error) from None
        except _NO_ANSWER as error:
            # The connection broke, or what came back was no answer of Slack's: it may have been carried out.
            raise SlackDoubtful(method, type(error).__name__) from None


def _read_refusal(method: str, error: SlackApiError) -> SlackError:
    """The class of a refusal. An answer that is not Slack's JSON says nothing about what was done."""
    response: Any = error.response
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    headers = {str(name).lower(): value for name, value in (getattr(response, "headers", None) or {}).items()}
    data = getattr(response, "data", None)
    # A proxy may answer in JSON with an "error" of its own: a refusal of Slack's says "ok": false besides.
    code = data.get("error") if isinstance(data, dict) and data.get("ok") is False else None
    if status == 429:
        return classify(method, "ratelimited", retry_after=headers.get("retry-after"))
    if not isinstance(code, str) or not code:
        return SlackDoubtful(method, f"HTTP {status} that is no answer of Slack's")
    if status >= 500 and code not in WAIT:
        return SlackDoubtful(method, f"HTTP {status} {code}")
    return classify(method, code, retry_after=headers.get("retry-after"), details=_details(data))


def _details(data: Any) -> str | None:
    """What Slack says besides the code: which scope is needed, or which block is wrong."""
    if needed := data.get("needed"):
        return f"needs {needed}"
    messages = (data.get("response_metadata") or {}).get("messages")
    return "; ".join(str(message) for message in messages[:3]) if isinstance(messages, list) and messages else None


def _ts_in(value: Any, method: str) -> str:
    """A message's ts, which is a time. Raises SlackDoubtful for anything else."""
    if isinstance(value, str) and _TS.fullmatch(value):
        return value
    raise SlackDoubtful(method, "answer without a ts")


def _metadata(post_key: str, edits: Sequence[int]) -> dict[str, Any]:
    said = {"edits": " ".join(map(str, sorted(edits)[-EDITS_MAX:]))} if edits else {}
    return {"event_type": METADATA_EVENT, "event_payload": {"post": post_key, **said}}


def _key_of(message: Any) -> str | None:
    key = _payload_of(message).get("post")
    return key if isinstance(key, str) else None


def _edits_of(message: Any) -> frozenset[int]:
    numbers = str(_payload_of(message).get("edits") or "").split()
    return frozenset(int(number) for number in numbers if number.isdecimal())


def _payload_of(message: Any) -> dict[str, Any]:
    """The payload of our metadata; empty where the message has none of ours."""
    metadata = message.get("metadata") if isinstance(message, dict) else None
    if not isinstance(metadata, dict) or metadata.get("event_type") != METADATA_EVENT:
        return {}
    payload = metadata.get("event_payload")
    return payload if isinstance(payload, dict) else {}
