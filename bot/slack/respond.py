"""Answers through a `response_url`: five uses within half an hour, and only on Slack's own hosts."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.domain.message import Message, NativeBlocks
from bot.logs import get_logger

log = get_logger(__name__)

SLACK_HOSTS = ("slack.com", "slack-gov.com")

USES = 5
"""docs.slack.dev/interactivity/handling-user-interaction"""

KEPT_FOR_ANSWER = 2
"""Of the five uses: the answer itself, and once more where its blocks are refused or no connection was found."""


@dataclass
class Reply:
    """Where the answers to one command or click go, and how often it was used.

    `in_place`: the first message replaces the one that was clicked, which only its reader sees. `is_click` without it:
    nothing may be replaced, for that would be the message that was clicked, and it may be a channel's.
    """

    response_url: str
    reference: str
    is_click: bool = False
    in_place: bool = False
    uses: int = 0

    @property
    def has_room_for_progress(self) -> bool:
        """Whether a word in between leaves enough uses for the answer, and will be replaced by it."""
        return self.replaces_later and self.uses < USES - KEPT_FOR_ANSWER

    @property
    def replaces_later(self) -> bool:
        """Whether a message takes the place of the one before it."""
        return self.in_place or not self.is_click

    @property
    def replaces_now(self) -> bool:
        """Whether the next message takes the place of what is shown."""
        return self.in_place or (self.replaces_later and self.uses > 0)


@dataclass(frozen=True)
class Responder:
    """Sends answers that only their reader sees."""

    session: aiohttp.ClientSession
    slack_api_url: str
    native: NativeBlocks = field(default_factory=NativeBlocks)

    async def respond(self, reply: Reply, message: Message, *, is_last: bool = True) -> bool:
        """Whether the message was taken. Nothing is raised: nobody is left to tell but the log."""
        if not is_slack_address(reply.response_url, self.slack_api_url):
            host = urlsplit(reply.response_url).hostname
            log.error("response_url_refused", reference=reply.reference, host=host)
            return False
        webhook = AsyncWebhookClient(reply.response_url, session=self.session, retry_handlers=[])
        form = self.native.form_of(message)
        refused_native = False
        uses = USES if is_last else USES - KEPT_FOR_ANSWER
        while reply.uses < uses:
            replaces = reply.replaces_now
            reply.uses += 1
            try:
                answer = await webhook.send(
                    text=form.text,
                    blocks=list(form.blocks) or None,
                    response_type="ephemeral",
                    replace_original=replaces,
                )
            except aiohttp.ClientConnectorError as error:
                log.warning("answer_not_delivered", reference=reply.reference, reason=type(error).__name__)
                continue
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                # It may have arrived: an answer twice is worse than one that has to be asked for again.
                log.warning("answer_doubtful", reference=reply.reference, reason=type(error).__name__)
                return False
            if answer.status_code < 300:
                if refused_native and form.blocks:
                    self.native.refused()
                return True
            said = str(answer.body)[:200]
            log.warning("answer_refused", reference=reply.reference, status=answer.status_code, said=said)
            if not form.blocks:
                return False
            refused_native = refused_native or bool(form.plain_blocks)
            # The text alone is what Slack takes in any case: the last use is for it.
            form = form.in_sections() if form.plain_blocks and uses - reply.uses > 1 else form.in_words()
        return False


def is_slack_address(url: str, slack_api_url: str) -> bool:
    """Whether it is https on a host at or below Slack's, or on the host that the Web API is called at."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if parts.username or parts.password:
        return False
    api = urlsplit(slack_api_url)
    if host and host == (api.hostname or "").lower() and parts.scheme == api.scheme:
        return True
    return parts.scheme == "https" and any(host == one or host.endswith(f".{one}") for one in SLACK_HOSTS)
