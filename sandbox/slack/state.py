"""The workspace's state and switches."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, count, repeat
from typing import Any

import httpx

from bot.clock import Clock, utc_now
from sandbox.slack.answers import PATIENCE_S, Changes, ResponseUrls, Triggers
from sandbox.slack.calls import Arguments
from sandbox.slack.failures import Failure
from sandbox.slack.limits import RateLimiter, SlackLimits
from sandbox.slack.sockets import Sockets
from sandbox.slack.timestamps import Timestamps
from sandbox.slack.values import DEFAULT_SCOPES, Call, Channel, Json, PostedMessage, User

ANY_METHOD = "*"
RESPONSE_URL = "response_url"
"""For failures of answers through a response_url. "*" leaves such answers out."""

# docs.slack.dev/interactivity
ACK_TIMEOUT_S = 3.0


_HARMLESS = ("sandbox", "demo", "test")


class WorkspaceState:
    """Switches (`scopes`, `limits`, `history_lag_s`, …) can be set at any time.

    With `socket_mode` every `bot_url` is ignored. `limits` None means no rate limits. A token without "sandbox", "demo"
    or "test" is refused.
    """

    team_id = "T0SANDBOX"
    team_domain = "sandbox"
    app_id = "A0SANDBOX"
    bot_id = "B0SANDBOX"
    bot_user_id = "U0BOT"
    verification_token = "sandbox-verification"

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
        self.bot_token = bot_token
        self.signing_secret = signing_secret
        self.clock = clock
        self.scopes = set(scopes)
        self.limits = limits
        self.refused_blocks: Collection[str] = ()
        self.history_lag_s = 0.0
        self.ack_timeout_s = ACK_TIMEOUT_S
        self.bot_transport: httpx.AsyncBaseTransport | None = None
        """The way to the bot; None for the network."""
        self.address: str | None = None
        self.users = {self.bot_user_id: User(self.bot_user_id, "racing-bot", is_bot=True)}
        self.user_groups: dict[str, str] = {}
        """Handles by group id."""
        self.channels: dict[str, Channel] = {}
        self.posted: dict[str, dict[str, PostedMessage]] = {}
        self.views: dict[str, Json] = {}
        self.calls: list[Call] = []
        self.limiter = RateLimiter()
        self.timestamps = Timestamps(clock)
        self.triggers = Triggers(clock)
        self.changes = Changes()
        self.response_urls = ResponseUrls(clock, self.changes)
        self.socket_mode = socket_mode
        self.sockets = Sockets(app_token, self.changes)
        self.listeners: list[Callable[[PostedMessage], None]] = []
        """For every message that is posted, edited or shown to one person."""
        self.numbers = count(1)
        self.failure_of: Callable[[str, Arguments], Failure | None] = lambda _method, _args: None
        """A failure of this call, ahead of scripted failures."""
        self._scripts: dict[str, Iterator[Failure]] = {}

    def script(self, method: str, failures: Iterable[Failure], *, then_always: Failure | None = None) -> None:
        """The method "*" is any method.

        After the failures `then_always` meets every call, until the next `script` for the method.
        """
        self._scripts[method] = chain(failures, repeat(then_always) if then_always else ())

    def next_failure(self, method: str) -> Failure | None:
        names = (method,) if method == RESPONSE_URL else (method, ANY_METHOD)
        return next((one for name in names for one in self._scripts.get(name, ())), None)

    def reachable(self) -> str:
        """The workspace's own address."""
        assert self.address is not None, "use `async with workspace.running()`, or set `address`"
        return self.address

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Raises TimeoutError."""
        await self.changes.wait_for(predicate, timeout_s)

    def messages(self, channel_id: str, user_id: str | None = None) -> list[PostedMessage]:
        """The messages of a channel, oldest first, edits applied, replies and the person's ephemeral ones included."""
        return [one for one in self.posted.get(channel_id, {}).values() if one.only in {None, user_id}]

    def message(self, channel_id: str, ts: str) -> PostedMessage | None:
        """An ephemeral message too."""
        return self.posted.get(channel_id, {}).get(ts)

    def say(self, channel_id: str, user_id: str, text: str, **more: Any) -> PostedMessage:
        """A new message now. `more` are further fields, such as the `thread_ts` of a reply."""
        ts, at = self.timestamps.issue(), self.clock()
        return self.put(PostedMessage(ts=ts, channel=channel_id, text=text, user=user_id, received_at=at, **more))

    def put(self, message: PostedMessage) -> PostedMessage:
        """Stores a new or an edited message."""
        self.posted.setdefault(message.channel, {})[message.ts] = message
        for listener in list(self.listeners):
            listener(message)
        self.changes.notify()
        return message

    def edit(self, message: PostedMessage) -> PostedMessage:
        """Stores a changed message, marked with the ts of the edit."""
        return self.put(replace(message, edited=self.timestamps.issue()))

    def log(self, call: Call) -> None:
        self.calls.append(call)
        self.changes.notify()

    def direct_message(self, user_id: str) -> Channel:
        """Opened if the person has no direct message with the bot yet."""
        for channel in self.channels.values():
            if channel.dm_user == user_id:
                return channel
        channel = Channel(
            id=f"D{user_id[1:]}",
            name="directmessage",
            created_at=self.clock(),
            is_private=True,
            dm_user=user_id,
            members={user_id, self.bot_user_id},
        )
        self.channels[channel.id] = channel
        return channel

    def bot_is_in(self, channel: Channel) -> bool:
        return self.bot_user_id in channel.members
