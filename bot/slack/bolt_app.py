"""The Bolt app: built from its parts, with its listeners registered by name."""

import logging
from collections.abc import Iterable
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.logs import get_logger
from bot.slack.bot_identity import Identity
from bot.slack.messages.kit.text import plain

log = get_logger(__name__)

OUTDATED_COMMAND = "I don't know {command}: it is of another version of me. /racing help shows what I understand."


class Listener(Protocol):
    """What Bolt calls for one kind of thing that Slack sends."""

    def register(self, bolt: AsyncApp) -> None: ...


def make_bolt(identity: Identity, listeners: Iterable[Listener]) -> AsyncApp:
    """The app. Requests reach it verified (bot.slack.request_guard), so it verifies nothing itself.

    It acks before it answers (`process_before_response`), which saves the ten milliseconds by which Bolt otherwise
    polls for the ack; and it does not ask Slack who it is, which would come out of the three seconds of a command.
    What no listener takes is acked, with a word where somebody typed it: Slack would show a bare error, or repeat it.
    """

    async def authorize(**_: Any) -> AuthorizeResult:
        return await identity.authorize()

    # Bolt looks into the environment for a token too, and warns of one that it does not use.
    logging.getLogger("slack_bolt.AsyncApp").addFilter(_is_news)
    bolt = AsyncApp(
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
        """What no listener explained. 500 makes Slack send an event again, and tells whoever typed a command."""
        if isinstance(error, BoltUnhandledRequestError):
            command = body.get("command")
            log.warning("slack_request_not_taken", kind=body.get("type") or str(command)[:100])
            return BoltResponse(
                status=200, body={"text": OUTDATED_COMMAND.format(command=plain(command) or "that")} if command else ""
            )
        log.error("listener_failed", kind=body.get("type") or body.get("command"), exc_info=error)
        return BoltResponse(status=500, body="")

    return bolt


def _is_news(record: logging.LogRecord) -> bool:
    return "will be unused" not in record.getMessage()
