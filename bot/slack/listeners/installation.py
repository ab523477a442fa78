"""The app was uninstalled, or its token revoked."""

from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.db.engine import Database
from bot.logs import get_logger
from bot.outbox.notices import Notices, Urgency

log = get_logger(__name__)

REVOKING_EVENTS = ("app_uninstalled", "tokens_revoked")
"""An uninstall brings both events, docs.slack.dev/reference/events."""


@dataclass(frozen=True)
class InstallationListener:
    """Admins get the notice after the next installation."""

    database: Database
    notices: Notices

    def register(self, bolt: AsyncApp) -> None:
        for event in REVOKING_EVENTS:
            bolt.event(event)(self.on_revoked)

    async def on_revoked(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        tokens = event.get("tokens")
        if isinstance(tokens, dict) and not tokens.get("bot"):
            return
        log.error("slack_token_revoked", slack_event=event.get("type"))
        words = (
            "Slack says that I was uninstalled from the workspace, or my token revoked. Nothing is posted until I am "
            "installed again and SLACK_BOT_TOKEN is the new token; what comes meanwhile is kept."
        )
        # Slack sends an event again under the same id.
        key = f"revoked:{body.get('event_id') or event.get('event_ts')}"
        await self.database.write(lambda session: self.notices.tell(session, key, words, urgency=Urgency.CRITICAL))
