"""Answers through a `response_url`: five uses within half an hour, and only on Slack's own hosts."""

import asyncio
import re
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

import aiohttp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.logs import get_logger
from bot.outbox.message import Message, NativeBlocks

log = get_logger(__name__)

SLACK_HOSTS = ("slack.com", "slack-gov.com")

URL_USES = 5
"""docs.slack.dev/interactivity/handling-user-interaction"""

_SAYS_NO = re.compile(r'"ok"\s*:\s*false')
_A_PAGE = re.compile(r"\s*<")
"""Slack answers with a word or with JSON; a page comes from something between."""

USES_KEPT_FOR_ANSWER = 2
"""Of the five uses: the answer itself, and once more where its blocks are refused or it may not have arrived."""


FIRST_PAUSE_S = 0.5
"""Before the first repeat of what Slack stumbled over; each next pause is twice as long."""


class ResponseOutcome(Enum):
    """What an answer to an answer means."""

    TAKEN = "taken"
    BLOCKS_REFUSED = "blocks refused"
    REFUSED = "refused"
    BUSY = "busy"
    """Slack asks for a wait, or nothing was sent at all: the same once more."""
    IN_DOUBT = "in doubt"
    """Nobody knows whether the message arrived: the same once more, and no more than once.

    Shown twice to the one who asked, it harms nobody; never shown, it leaves a change that was made unsaid.
    """
    OVER = "over"
    """The address is used up or too old: no more is sent."""


@dataclass
class Reply:
    """Where the answers to one command or click go, and how often it was used.

    `in_place`: each message replaces the one that was clicked, which only its reader sees. Without it nothing is
    replaced: after a click that would be the message that was clicked, which may be a channel's, and after a command
    Slack posts anew whatever is asked (https://github.com/slackapi/bolt-js/issues/2287).
    """

    response_url: str
    reference: str
    in_place: bool = False
    uses: int = 0

    @property
    def has_room_for_progress(self) -> bool:
        """Whether a word in between leaves enough uses for the answer; one that will stay is said once."""
        return self.uses < (URL_USES - USES_KEPT_FOR_ANSWER if self.in_place else 1)


@dataclass(frozen=True)
class Responder:
    """Sends answers that only their reader sees."""

    session: aiohttp.ClientSession
    slack_api_url: str
    native: NativeBlocks = field(default_factory=NativeBlocks)
    pause_s: float = FIRST_PAUSE_S

    async def respond(self, reply: Reply, message: Message, *, is_last: bool = True) -> bool:
        """Whether the message was taken. Nothing is raised: nobody is left to tell but the log."""
        if not is_slack_address(reply.response_url, self.slack_api_url):
            host = getattr(_parts(reply.response_url), "hostname", None)
            log.error("response_url_refused", reference=reply.reference, host=host)
            return False
        form, refused_native, was_in_doubt, pause_s = self.native.form_of(message), False, False, self.pause_s
        # A word on how far it is, is not worth a second try.
        uses = URL_USES if is_last else min(reply.uses + 1, URL_USES - USES_KEPT_FOR_ANSWER)
        while reply.uses < uses:
            outcome = await self._send(reply, form)
            if outcome is ResponseOutcome.TAKEN and refused_native and form.blocks:
                self.native.refused()
            if outcome in {ResponseOutcome.TAKEN, ResponseOutcome.OVER} or (
                outcome is ResponseOutcome.IN_DOUBT and was_in_doubt
            ):
                return outcome is ResponseOutcome.TAKEN
            if outcome in {ResponseOutcome.BUSY, ResponseOutcome.IN_DOUBT}:
                was_in_doubt = was_in_doubt or outcome is ResponseOutcome.IN_DOUBT
                await asyncio.sleep(pause_s if reply.uses < uses else 0.0)
                pause_s *= 2
            elif not form.blocks:
                return False
            else:
                refused_native = refused_native or (
                    outcome is ResponseOutcome.BLOCKS_REFUSED and bool(form.plain_blocks)
                )
                # The text alone is what Slack takes in any case: the last use is for it.
                form = form.in_sections() if form.plain_blocks and uses - reply.uses > 1 else form.in_words()
        return False

    async def _send(self, reply: Reply, form: Message) -> ResponseOutcome:
        """Use the address once."""
        webhook = AsyncWebhookClient(reply.response_url, session=self.session, retry_handlers=[])
        reply.uses += 1
        try:
            answer = await webhook.send(
                text=form.text,
                blocks=list(form.blocks) or None,
                response_type="ephemeral",
                replace_original=reply.in_place,
            )
        except aiohttp.ClientConnectorError as error:
            log.warning("answer_not_delivered", reference=reply.reference, reason=type(error).__name__)
            return ResponseOutcome.BUSY
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("answer_in_doubt", reference=reply.reference, reason=type(error).__name__)
            return ResponseOutcome.IN_DOUBT
        outcome = read_answer(answer.status_code, str(answer.body))
        if outcome is not ResponseOutcome.TAKEN:
            said = str(answer.body)[:200]
            log.warning("answer_refused", reference=reply.reference, status=answer.status_code, said=said)
        return outcome


def read_answer(status: int, body: str) -> ResponseOutcome:
    """What Slack's answer to a message through a `response_url` means. Only one that names the blocks blames them."""
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
    """Whether it is https on a host at or below Slack's, or on the host that the Web API is called at."""
    parts = _parts(url)
    if parts is None or parts.username or parts.password:
        return False
    host, api = (parts.hostname or "").lower(), urlsplit(slack_api_url)
    if host and host == (api.hostname or "").lower() and parts.scheme == api.scheme:
        return True
    return parts.scheme == "https" and any(host == one or host.endswith(f".{one}") for one in SLACK_HOSTS)


def _parts(url: str) -> SplitResult | None:
    """The address in its parts; None for what is no address at all."""
    try:
        return urlsplit(url)
    except ValueError:
        return None
