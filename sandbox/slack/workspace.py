"""The stand-in workspace.

`app` is Slack as the bot sees Slack. The methods are Slack as people see Slack.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from bot.clock import Clock, utc_now
from sandbox.loopback_server import serve
from sandbox.slack.interactions import Interactions
from sandbox.slack.limits import SlackLimits
from sandbox.slack.person import Person
from sandbox.slack.values import DEFAULT_SCOPES, User
from sandbox.slack.web_api import build_app

_HARMLESS = ("sandbox", "demo", "test")


class SlackWorkspace(Interactions):
    """Switches (`scopes`, `limits`, `history_lag_s`, …) can be set at any time.

    With `socket_mode` every `bot_url` is ignored. `limits` None means no rate limits. A token without "sandbox", "demo"
    or "test" is refused.
    """

    def __init__(
        self,
        bot_token: str = "xoxb-sandbox-token",
        signing_secret: str = "sandbox-signing-secret",
        *,
        app_token: str = "xapp-sandbox-token",
        socket_mode: bool = False,
        clock: Clock = utc_now,
        scopes: Iterable[str] = DEFAULT_SCOPES,
        limits: SlackLimits | None = None,
    ) -> None:
        if not any(word in bot_token.lower() for word in _HARMLESS):
            raise ValueError(f"the stand-in takes made-up tokens only: one that says {', '.join(_HARMLESS)}")
        super().__init__(
            bot_token=bot_token, signing_secret=signing_secret, app_token=app_token, clock=clock, scopes=scopes
        )
        self.socket_mode = socket_mode
        self.limits = limits
        self.app: Starlette = build_app(self)
        self.users[self.bot_user_id] = User(id=self.bot_user_id, name="racing-bot", is_bot=True)

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        async with serve(self.app, port) as address, self.sockets.running():
            self.address = address
            yield address

    @property
    def api_url(self) -> str:
        if self.address is None:
            raise RuntimeError("the workspace is not running")
        return f"{self.address}/api/"

    def person(self, user_id: str, bot_url: str) -> Person:
        return Person(self, self.users[user_id].id, bot_url)
