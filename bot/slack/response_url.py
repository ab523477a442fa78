"""Answers through a `response_url`: five uses within half an hour, and only on Slack's own hosts."""

import asyncio
import re
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.addresses import proxy_of
from bot.logs import Mask, get_logger
from bot.outbox.message import Message, NativeBlocks
from bot.slack.web_client import NEVER_LEFT, WITHOUT_ANSWER

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
