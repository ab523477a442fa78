"""The Bolt app."""

import logging
from collections.abc import Iterable
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.logs import get_logger
from bot.slack.bot_identity import BotIdentity
from bot.slack.messages.kit.text import plain

log = get_logger(__name__)

OUTDATED_COMMAND = "{command} belongs to another version of the bot. /racing help shows what I understand."


class Listener(Protocol):
    def register(self, bolt: AsyncApp) -> None: ...


def make_bolt(identity: BotIdentity, listeners: Iterable[Listener]) -> AsyncApp:
    """The app for requests that bot.slack.request_guard has verified.

    `process_before_response` saves the 10 ms by which Bolt polls for the ack. `authorize` asks Slack nothing, because a
    call would cost part of a command's three seconds. Slack would repeat an unanswered request, so a request without a
    listener is acked.
    """

    async def authorize(**_: Any) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=None,
            bot_token=identity.token,
            bot_id=identity.bot_id,
            bot_user_id=identity.bot_user_id,
        )

    # Bolt reads a token from the environment too, and warns that the token will be unused.
    logging.getLogger("slack_bolt.AsyncApp").addFilter(_is_news)
    bolt = AsyncApp(
        # Without a name Bolt reads the source files of all callers.
        name="racing-bot",
        process_before_response=True,
        request_verification_enabled=False,
        raise_error_for_unhandled_request=True,
        authorize=authorize,
        client=AsyncWebClient(retry_handlers=[]),
    )
    for listener in listeners:
        listener.register(bolt)

    @bolt.error
    async def on_error(error: Exception, body: dict[str, Any]) -> BoltResponse:
        """A 500 makes Slack repeat an event, and tells a person who typed a command."""
        if isinstance(error, BoltUnhandledRequestError):
            command = body.get("command")
            log.warning("slack_request_not_taken", kind=body.get("type") or str(command)[:100])
            told = {"text": OUTDATED_COMMAND.format(command=plain(command) or "that")}
            return BoltResponse(status=200, body=told if command else "")
        log.error("listener_failed", kind=body.get("type") or body.get("command"), exc_info=error)
        return BoltResponse(status=500, body="")

    return bolt


def _is_news(record: logging.LogRecord) -> bool:
    return "will be unused" not in record.getMessage()
