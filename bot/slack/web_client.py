"""The Web API, and answers through a response_url. Every failure is a class of SlackError.

slack_sdk's own retries are off, because a retry can repeat a message that Slack accepted.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.addresses import proxy_of
from bot.errors import SlackDoubtful, SlackError, SlackRefused, SlackUnreached
from bot.logs import Mask, MaskSecrets, get_logger
from bot.outbox.message import Call, HistoryPage, Message, NativeBlocks, Search, Sending
from bot.racedata.client.headers import http_date
from bot.slack.api_errors import EDIT_METHOD, HISTORY_METHOD, POST_METHOD, REPLIES_METHOD, WAIT, classify

WEB_API_TIMEOUT_S = 10.0
"""Posts pass their own deadline."""

METADATA_EVENT = "racing_bot_post"

HISTORY_PAGE = 100
"""Slack may give fewer: 15 for an app sold outside the Marketplace (docs.slack.dev/changelog, 2025-05-29)."""

WORDS_MAX = 300
"""Characters of a refusal."""

NO_THREAD = "thread_not_found"

METHOD_OF: Mapping[str, str] = {Call.POST: POST_METHOD, Call.EDIT: EDIT_METHOD, Call.LOOK: HISTORY_METHOD}
"""Slack's method for each kind of call that the outbox makes."""

METHODS = (
    *("apps.connections.open", "auth.test", POST_METHOD, EDIT_METHOD, HISTORY_METHOD, REPLIES_METHOD),
    *("conversations.info", "conversations.members", "usergroups.list", "users.info"),
    *("views.open", "views.publish", "views.update"),
)
"""All methods that the bot calls."""

_TS = re.compile(r"[0-9]{1,11}(\.[0-9]+)?")

CountCall = Callable[[str, SlackError | None], None]

WITHOUT_ANSWER = (
    aiohttp.ClientError,
    SlackClientError,
    OSError,
    # An answer that is no text, or no JSON that can be read.
    ValueError,
    RecursionError,
    # slack_sdk asks any JSON for the key "ok".
    AttributeError,
)
NEVER_LEFT = (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError, aiohttp.ConnectionTimeoutError)
"""Failures before the request was sent, the proxy's refusal to connect included."""


def make_web_client(token: str, base_url: str, session: aiohttp.ClientSession | None = None) -> AsyncWebClient:
    """A session needs a running loop: callers may set the session later."""
    # Without a level slack_sdk's logger formats each call for a line that is dropped: a quarter of a call's work
    # (bot.logs.QUIET_LOGGERS).
    logger = logging.getLogger("slack_sdk")
    web = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[], logger=logger)
    # slack_sdk's own choice ignores NO_PROXY.
    web.proxy = proxy_of(base_url)
    return web


def make_session() -> aiohttp.ClientSession:
    """Each call sets a shorter timeout."""
    # Otherwise a call that never left would look like a call that left.
    timeout = aiohttp.ClientTimeout(total=30, sock_connect=2.5)
    return aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=100))


class SlackClient:
    """Each call raises a SlackError and no other error.

    `count` gets the method and the error of each call, or None after a success. `secrets`, and the token of `web`, are
    masked in the words of Slack's refusals, which are stored and told.
    """

    def __init__(
        self, web: AsyncWebClient, *, count: CountCall = lambda _method, _error: None, secrets: Iterable[str] = ()
    ) -> None:
        self.web = web
        self.mask: Mask = MaskSecrets({*secrets, web.token or ""}).masked
        self._count = count
        self._direct_messages: dict[str, str] = {}
        """Person → direct message. Slack posts by the id of either, and edits by the direct message's."""

    async def post(self, channel_id: str, message: Message, sending: Sending) -> str:
        """The ts of the new message."""
        said = {"text": message.text, "blocks": message.blocks or None, "thread_ts": sending.thread_ts}
        values = {"channel": channel_id, **said, "unfurl_links": False, "unfurl_media": False}
        answer = await self._send(POST_METHOD, values, sending)
        if (posted_in := answer.get("channel")) and posted_in != channel_id:
            self._direct_messages[channel_id] = posted_in
        return _ts_in(answer.get("ts"), POST_METHOD)

    def direct_message(self, person_id: str) -> str | None:
        return self._direct_messages.get(person_id)

    async def update(self, channel_id: str, message_ts: str, message: Message, sending: Sending) -> None:
        channel_id = self._direct_messages.get(channel_id, channel_id)
        # An empty list removes the old blocks; no argument keeps the old blocks.
        values = {"channel": channel_id, "ts": message_ts, "text": message.text, "blocks": message.blocks}
        await self._send(EDIT_METHOD, values, sending)

    async def _send(self, method: str, values: dict[str, Any], sending: Sending) -> AsyncSlackResponse:
        """None in `values` is no argument."""
        edited = {"rev": sending.rev} if sending.rev else {}
        metadata = {"event_type": METADATA_EVENT, "event_payload": {"post": sending.post_key, **edited}}
        said = {name: value for name, value in values.items() if value is not None} | {"metadata": metadata}
        # slack_sdk's function for a single method looks in every block for slack_sdk's own classes.
        return await self.call(method, partial(self.web.api_call, method, json=said), timeout_s=sending.timeout_s)

    async def find(self, channel_id: str, search: Search) -> HistoryPage:
        asked: dict[str, Any] = {
            "channel": self._direct_messages.get(channel_id, channel_id),
            "oldest": f"{search.since.timestamp():.6f}",
            "latest": f"{search.until.timestamp():.6f}",
            "limit": HISTORY_PAGE,
            "include_all_metadata": True,
            "cursor": search.cursor,
        }
        method, ask = HISTORY_METHOD, self.web.conversations_history
        if search.thread_ts is not None:
            method, ask = REPLIES_METHOD, partial(self.web.conversations_replies, ts=search.thread_ts)
        try:
            answer = await self.call(method, partial(ask, **asked))
        except SlackRefused as error:
            if error.code != NO_THREAD:
                raise
            return HistoryPage(None, None)
        for message in answer.get("messages") or []:
            payload = _payload_of(message)
            if payload.get("post") == search.post_key:
                rev = payload.get("rev")
                return HistoryPage(_ts_in(message.get("ts"), method), None, rev if isinstance(rev, int) else 0)
        next_cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
        return HistoryPage(None, next_cursor, slack_at=http_date((answer.headers or {}).get("Date")))

    async def call(
        self, method: str, start: Callable[[], Awaitable[AsyncSlackResponse]], *, timeout_s: float = WEB_API_TIMEOUT_S
    ) -> AsyncSlackResponse:
        try:
            answer = await self._call(method, start, timeout_s)
        except SlackError as error:
            self._count(method, error)
            raise
        self._count(method, None)
        return answer

    async def _call(
        self, method: str, start: Callable[[], Awaitable[AsyncSlackResponse]], timeout_s: float
    ) -> AsyncSlackResponse:
        try:
            async with asyncio.timeout(timeout_s):
                answer = await start()
        except NEVER_LEFT as error:
            raise SlackUnreached(method, type(error).__name__) from None
        except TimeoutError:
            raise SlackDoubtful(method, f"no answer within {timeout_s:g} s") from None
        except SlackApiError as error:
            raise _read_refusal(method, error, self.mask) from None
        except WITHOUT_ANSWER as error:
            # Slack may have carried out the call.
            raise SlackDoubtful(method, type(error).__name__) from None
        if not isinstance(answer.data, dict):
            raise SlackDoubtful(method, "answer that is no JSON object")
        return answer


def _read_refusal(method: str, error: SlackApiError, mask: Mask) -> SlackError:
    """An answer that is not Slack's JSON leaves the outcome in doubt."""
    response: Any = error.response
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    headers = {str(name).lower(): value for name, value in (getattr(response, "headers", None) or {}).items()}
    data = getattr(response, "data", None)
    # A proxy may answer in JSON with an "error" of its own, without "ok".
    code = data.get("error") if isinstance(data, dict) and data.get("ok") is False else None
    if status == 429:
        return classify(method, "ratelimited", retry_after=headers.get("retry-after"))
    if not isinstance(code, str) or not code:
        return SlackDoubtful(method, f"HTTP {status} that is no answer of Slack's")
    code, details = mask(code)[:WORDS_MAX], mask(_details(data) or "")[:WORDS_MAX] or None
    if status >= 500 and code not in WAIT:
        return SlackDoubtful(method, f"HTTP {status} {code}")
    return classify(method, code, retry_after=headers.get("retry-after"), details=details)


def _details(data: Any) -> str | None:
    """The missing scope, or the wrong block."""
    if needed := data.get("needed"):
        return f"needs {needed}"
    messages = (data.get("response_metadata") or {}).get("messages")
    return "; ".join(str(message) for message in messages[:3]) if isinstance(messages, list) and messages else None


def _ts_in(value: Any, method: str) -> str:
    """Raises SlackDoubtful for a value that is no ts."""
    if isinstance(value, str) and _TS.fullmatch(value):
        return value
    raise SlackDoubtful(method, "answer without a ts")


def _payload_of(message: Any) -> dict[str, Any]:
    metadata = message.get("metadata") if isinstance(message, dict) else None
    if not isinstance(metadata, dict) or metadata.get("event_type") != METADATA_EVENT:
        return {}
    payload = metadata.get("event_payload")
    return payload if isinstance(payload, dict) else {}


log = get_logger(__name__)

SLACK_HOSTS = ("slack.com", "slack-gov.com")

URL_USES = 5
"""docs.slack.dev/interactivity/handling-user-interaction"""

_SAYS_NO = re.compile(r'"ok"\s*:\s*false')
_A_PAGE = re.compile(r"\s*<")
"""Slack answers with a word or JSON. HTML comes from a proxy."""

USES_KEPT_FOR_ANSWER = 2
"""For the answer itself and one more try."""


FIRST_PAUSE_S = 0.5
"""Each further pause is twice as long."""


class ResponseOutcome(Enum):
    TAKEN = "taken"
    BLOCKS_REFUSED = "blocks refused"
    REFUSED = "refused"
    BUSY = "busy"
    """Nothing was taken: the message is sent again."""
    IN_DOUBT = "in doubt"
    """The message may have arrived: the message is sent again, once.

    A second copy harms nobody; a lost answer leaves a stored change unsaid.
    """
    OVER = "over"
    """The address is used up or too old."""


@dataclass
class Reply:
    """Where the answers to one command or click go.

    With `in_place` each message replaces the clicked message, which only its reader sees. Otherwise nothing is
    replaced: a clicked message may be a channel's, and after a command Slack posts anew in any case
    (https://github.com/slackapi/bolt-js/issues/2287).
    """

    response_url: str
    reference: str
    in_place: bool = False
    uses: int = 0

    @property
    def has_room_for_progress(self) -> bool:
        """Progress that stays visible is said once."""
        return self.uses < (URL_USES - USES_KEPT_FOR_ANSWER if self.in_place else 1)


@dataclass(frozen=True)
class Responder:
    web: AsyncWebClient
    """The source of the session."""
    slack_api_url: str
    native: NativeBlocks
    pause_s: float = FIRST_PAUSE_S
    mask: Mask = str

    async def respond(self, reply: Reply, message: Message, *, is_last: bool = True) -> bool:
        """True if Slack took the message. Failures go to the log."""
        if not is_slack_address(reply.response_url, self.slack_api_url):
            host = getattr(_parts(reply.response_url), "hostname", None)
            log.error("response_url_refused", reference=reply.reference, host=host)
            return False
        form, was_in_doubt, pause_s = self.native.form_of(message), False, self.pause_s
        refused: list[Message] = []
        # Progress gets no second try.
        uses = URL_USES if is_last else min(reply.uses + 1, URL_USES - USES_KEPT_FOR_ANSWER)
        while reply.uses < uses:
            outcome = await self._send(reply, form)
            if outcome is ResponseOutcome.TAKEN and form.blocks:
                self.native.refused(refused, taken=form)
            is_second_doubt = was_in_doubt and outcome is ResponseOutcome.IN_DOUBT
            if outcome in {ResponseOutcome.TAKEN, ResponseOutcome.OVER} or is_second_doubt:
                return outcome is ResponseOutcome.TAKEN
            if outcome in {ResponseOutcome.BUSY, ResponseOutcome.IN_DOUBT}:
                was_in_doubt = was_in_doubt or outcome is ResponseOutcome.IN_DOUBT
                await asyncio.sleep(pause_s if reply.uses < uses else 0.0)
                pause_s *= 2
            elif not form.blocks:
                return False
            else:
                if outcome is ResponseOutcome.BLOCKS_REFUSED:
                    refused.append(form)
                # Slack always takes plain text, so the last use is for text.
                form = form.plainer if form.plainer and uses - reply.uses > 1 else form.in_words()
        return False

    async def _send(self, reply: Reply, form: Message) -> ResponseOutcome:
        webhook = AsyncWebhookClient(reply.response_url, session=self.web.session, retry_handlers=[])
        webhook.proxy = proxy_of(reply.response_url)
        reply.uses += 1
        try:
            answer = await webhook.send(
                text=form.text,
                blocks=list(form.blocks) or None,
                response_type="ephemeral",
                replace_original=reply.in_place,
            )
        except NEVER_LEFT as error:
            log.warning("answer_not_delivered", reference=reply.reference, reason=type(error).__name__)
            return ResponseOutcome.BUSY
        except WITHOUT_ANSWER as error:
            log.warning("answer_in_doubt", reference=reply.reference, reason=type(error).__name__)
            return ResponseOutcome.IN_DOUBT
        outcome = read_answer(answer.status_code, str(answer.body))
        if outcome is not ResponseOutcome.TAKEN:
            # Cut after the mask, which finds no half of a secret.
            said = self.mask(str(answer.body))[:200]
            log.warning("answer_refused", reference=reply.reference, status=answer.status_code, said=said)
        return outcome


def read_answer(status: int, body: str) -> ResponseOutcome:
    """The blocks are blamed only if the answer names the blocks."""
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return ResponseOutcome.OVER
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ResponseOutcome.BUSY
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or _A_PAGE.match(body):
        return ResponseOutcome.IN_DOUBT
    if status < HTTPStatus.MULTIPLE_CHOICES and not _SAYS_NO.search(body):
        return ResponseOutcome.TAKEN
    return ResponseOutcome.BLOCKS_REFUSED if "block" in body else ResponseOutcome.REFUSED


def is_slack_address(url: str, slack_api_url: str) -> bool:
    """True for https at or below SLACK_HOSTS, and for the Web API's host."""
    parts = _parts(url)
    if parts is None or parts.username or parts.password:
        return False
    host, api = (parts.hostname or "").lower(), urlsplit(slack_api_url)
    if host and host == (api.hostname or "").lower() and parts.scheme == api.scheme:
        return True
    return parts.scheme == "https" and any(host == one or host.endswith(f".{one}") for one in SLACK_HOSTS)


def _parts(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None
