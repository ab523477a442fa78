"""The stand-in workspace: what tests and the demo hold in their hands.

`app` is Slack as the bot sees it; the other methods are Slack as people see it: channels, commands, buttons, and what
was posted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from bot.clock import Clock, utc_now
from bot.sandbox.loopback_server import serve
from bot.sandbox.slack import modals, payloads, sending
from bot.sandbox.slack.answers import Answer
from bot.sandbox.slack.changes import PATIENCE_S
from bot.sandbox.slack.limits import SlackLimits
from bot.sandbox.slack.membership import Membership
from bot.sandbox.slack.person import Person
from bot.sandbox.slack.signing import FORM
from bot.sandbox.slack.values import DEFAULT_SCOPES, EphemeralMessage, Json, PostedMessage, User
from bot.sandbox.slack.web_api import build_app

_HARMLESS = ("sandbox", "demo", "test")


class SlackWorkspace(Membership):
    """A workspace with one bot in it. Its switches (`scopes`, `limits`, `history_lag_s`, …) can be set at any time.

    With `socket_mode` it reaches the bot by the connections that the bot opens, whatever a `bot_url` says.
    `limits` None means no rate limits. A token that does not say "sandbox", "demo" or "test" is refused.
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
        refuse_new_blocks: bool = False,
        history_lag_s: float = 0.0,
    ) -> None:
        if not any(word in bot_token.lower() for word in _HARMLESS):
            raise ValueError(f"the stand-in takes made-up tokens only: one that says {', '.join(_HARMLESS)}")
        super().__init__(
            bot_token=bot_token, signing_secret=signing_secret, app_token=app_token, clock=clock, scopes=scopes
        )
        self.socket_mode = socket_mode
        self.limits = limits
        self.refuse_new_blocks = refuse_new_blocks
        self.history_lag_s = history_lag_s
        self.app: Starlette = build_app(self)
        self.users[self.bot_user_id] = User(id=self.bot_user_id, name="racing-bot", is_bot=True)

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        """The workspace's own address while the block runs; `api_url` is what the bot's SLACK_API_URL must be."""
        async with serve(self.app, port) as address, self.sockets.running():
            self.address = address
            yield address

    @property
    def api_url(self) -> str:
        """The value for SLACK_API_URL."""
        if self.address is None:
            raise RuntimeError("the workspace is not running")
        return f"{self.address}/api/"

    def messages(self, channel_id: str) -> list[PostedMessage]:
        """What stands in a channel now, oldest first, edits applied."""
        return self.channel_messages(channel_id)

    def on_message(self, callback: Callable[[PostedMessage | EphemeralMessage], None]) -> None:
        """Calls `callback` with every message that is posted, edited or shown to one person, as it happens."""
        self.listeners.append(callback)

    async def stream(self) -> AsyncIterator[PostedMessage | EphemeralMessage]:
        """The same, to iterate over; it begins with what comes after the first `anext` and does not end."""
        queue: asyncio.Queue[PostedMessage | EphemeralMessage] = asyncio.Queue()
        self.listeners.append(queue.put_nowait)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listeners.remove(queue.put_nowait)

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Returns when `predicate()` is true, looked at after every change; else raises TimeoutError."""
        await self.changes.wait_for(predicate, timeout_s)

    async def command(self, bot_url: str, name: str, text: str = "", *, channel: str, user: str) -> Answer:
        """The bot's answer to a slash command that `user` types in `channel`."""
        url = self.response_urls.issue(channel, user)
        fields = payloads.command_fields(
            self, name, text, channel=self.channels[channel], user=self.users[user], url=url
        )
        return sending.with_body_taken(self, await sending.send_form(self, bot_url, fields, url))

    async def event(
        self, bot_url: str, event: Json, *, event_id: str | None = None, retry_num: int | None = None
    ) -> Answer:
        """The bot's answer to an event; with `retry_num` it says that it is being sent again."""
        return await self._send_event(bot_url, event, event_id=event_id, retry_num=retry_num)

    async def url_verification(self, bot_url: str, challenge: str = "sandbox-challenge") -> Answer:
        """The bot's answer to Slack's check of the address; `error` is set where it fails."""
        body: Json = {"token": self.verification_token, "challenge": challenge, "type": "url_verification"}
        return sending.with_challenge_checked(await sending.send_json(self, bot_url, body), challenge)

    async def action(
        self, bot_url: str, action_id: str, value: str, *, message: PostedMessage | EphemeralMessage, user: str
    ) -> Answer:
        """The bot's answer to a button that `user` presses, or an option chosen, in a message of either kind."""
        url = self.response_urls.issue(message.channel, user, message.ts)
        fields = payloads.action_fields(self, action_id, value, message=message, user=self.users[user], url=url)
        return await sending.send_form(self, bot_url, fields, url)

    async def view_submission(self, bot_url: str, view_id: str, values: Json, *, user: str) -> Answer:
        """The bot's answer to a modal that `user` submits; `views` has the open ones by id."""
        fields = payloads.view_fields(self, self.views[view_id], values, self.users[user])
        return modals.settle(self, view_id, await sending.send_form(self, bot_url, fields, None))

    def person(self, user_id: str, bot_url: str) -> Person:
        """A person who is known already, to do things in Slack."""
        return Person(self, self.users[user_id].id, bot_url)

    async def post_signed(
        self,
        bot_url: str,
        body: bytes,
        content_type: str = FORM,
        *,
        secret: str | None = None,
        timestamp: int | str | None = None,
    ) -> Answer:
        """The bot's answer to any body. With another `secret` or an old `timestamp` the request is a forgery."""
        return await sending.send_signed(self, bot_url, body, content_type, secret=secret, timestamp=timestamp)
