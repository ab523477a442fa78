"""Answers through a command's `response_url`: five uses within half an hour, and only on Slack's own hosts."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.domain.message import Message
from bot.logs import get_logger

log = get_logger(__name__)

SLACK_HOSTS = ("slack.com", "slack-gov.com")

TRIES = 3
"""Of the five uses: a first that finds no connection, and one in plain text where the blocks are refused."""


@dataclass(frozen=True)
class Responder:
    """Sends answers that only their reader sees."""

    session: aiohttp.ClientSession
    slack_api_url: str

    async def respond(self, response_url: str, message: Message, reference: str) -> bool:
        """Whether the answer was taken. Nothing is raised: nobody is left to tell but the log."""
        if not is_slack_address(response_url, self.slack_api_url):
            log.error("response_url_refused", reference=reference, host=urlsplit(response_url).hostname)
            return False
        webhook = AsyncWebhookClient(response_url, session=self.session, retry_handlers=[])
        blocks = list(message.blocks)
        for _ in range(TRIES):
            try:
                answer = await webhook.send(
                    text=message.text, blocks=blocks or None, response_type="ephemeral", replace_original=False
                )
            except aiohttp.ClientConnectorError as error:
                log.warning("answer_not_delivered", reference=reference, reason=type(error).__name__)
                continue
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                # It may have arrived: an answer twice is worse than one that has to be asked for again.
                log.warning("answer_doubtful", reference=reference, reason=type(error).__name__)
                return False
            if answer.status_code < 300:
                return True
            log.warning("answer_refused", reference=reference, status=answer.status_code, said=str(answer.body)[:200])
            if not blocks:
                return False
            blocks = []
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
