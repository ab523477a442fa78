"""Who the bot is in its workspace: asked at start, and again until Slack answers."""

from dataclasses import dataclass

from bot.errors import SlackError
from bot.logs import get_logger
from bot.slack.web_client import SlackClient

log = get_logger(__name__)


@dataclass
class BotIdentity:
    """The answer of auth.test. Commands and posts work without an answer."""

    token: str
    bot_id: str | None = None
    bot_user_id: str | None = None
    team_id: str | None = None
    enterprise_id: str | None = None
    """Of Enterprise Grid: an organisation of several workspaces."""
    name: str = "racing-bot"
    workspace_url: str | None = None
    problem: str | None = "Slack has not answered yet"

    def __repr__(self) -> str:
        return f"BotIdentity({self.name!r}, bot_user_id={self.bot_user_id!r})"

    async def ask(self, slack: SlackClient) -> bool:
        try:
            answer = await slack.call("auth.test", slack.web.auth_test)
        except SlackError as error:
            self.problem = str(error)
            return False
        self.bot_id = answer.get("bot_id")
        self.bot_user_id = answer.get("user_id")
        self.team_id = answer.get("team_id")
        self.enterprise_id = answer.get("enterprise_id")
        self.name = answer.get("user") or self.name
        self.workspace_url = answer.get("url")
        self.problem = None
        log.info("slack_knows_us", bot_user_id=self.bot_user_id, team=answer.get("team"))
        return True

    def permalink(self, channel_id: str, message_ts: str) -> str | None:
        """The https address of a message, once the workspace's address is known."""
        if self.workspace_url is None:
            return None
        return f"{self.workspace_url.rstrip('/')}/archives/{channel_id}/p{message_ts.replace('.', '')}"
