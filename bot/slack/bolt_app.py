"""The Bolt app, and the way of every body to the app, by HTTP and by Socket Mode.

Bolt trusts each part, so a part of another kind would end in a 500; and Bolt reads parts of bodies that have no
listener. The shape is checked here, as far as Bolt and the listeners rely on the shape. Typed text is cleaned here, and
nowhere else. Sources: docs.slack.dev/interactivity and docs.slack.dev/apis/events-api.
"""

import logging
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import BodyUnreadable
from bot.events.typed_text import tidy, with_flags_in_words
from bot.logs import get_logger
from bot.slack.listeners import app_home, channel_life, ways_in
from bot.slack.messages.kit.text import plain
from bot.slack.workspace import BotIdentity

log = get_logger(__name__)

OUTDATED_COMMAND = "{command} belongs to another version of the bot. /racing help shows what I understand."

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "block_actions": ("user.id", "actions", "channel.id container.channel_id view"),
    "block_suggestion": ("action_id",),
    "view_submission": ("user.id", "view"),
    "event_callback": ("event.type",),
    "url_verification": (),
}
"""The kinds that have a listener, beside commands. Of several places in one word, one is needed."""

EVENTS_HEARD: Mapping[str, tuple[str, ...]] = {
    "member_joined_channel": ("event.channel",),
    "member_left_channel": ("event.channel",),
    app_home.HOME_EVENT: ("event.user",),
    ways_in.DIRECT_MESSAGE_EVENT: ("event.channel",),
    **dict.fromkeys((*channel_life.CLOSING_EVENTS, *channel_life.OPENING_EVENTS), ("event.channel",)),
    channel_life.MOVING_EVENT: ("event.old_channel_id", "event.new_channel_id"),
    **dict.fromkeys(channel_life.REVOKING_EVENTS, ()),
}
"""The events that have a listener, with the ids that the listener needs."""


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


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, defer_build=True)


class _Named(_Part):
    id: str | None = None
    block_id: str | None = None
    channel_id: str | None = None


class _Context(_Part):
    """Where Bolt looks for the workspace, the person and the channel; and the listeners' parts of an event."""

    enterprise: str | _Named | None = None
    team: str | _Named | None = None
    user: str | _Named | None = None
    user_id: str | None = None
    channel: str | _Named | None = None
    authorizations: "list[_Context] | None" = None
    item: "_Context | None" = None
    message: "_Context | None" = None
    previous_message: "_Context | None" = None
    assistant_thread: "_Context | None" = None
    channel_type: str | None = None
    tab: str | None = None
    old_channel_id: str | None = None
    new_channel_id: str | None = None


class _Action(_Part):
    action_id: str
    value: str | None = None


class _Value(_Part):
    value: str | None = None
    selected_users: list[str] | None = None
    selected_options: list[dict[str, Any]] | None = None


class _State(_Part):
    values: dict[str, dict[str, _Value]] = {}


class _View(_Part):
    type: str
    callback_id: str
    private_metadata: str = ""
    id: str | None = None
    state: _State | None = None
    blocks: list[_Named] | None = None


class _Body(_Context):
    type: str | None = None
    user: _Named | None = None
    channel: _Named | None = None
    command: str | None = None
    channel_id: str | None = None
    text: str | None = None
    event: _Context = _Context()
    actions: Annotated[list[_Action], Field(min_length=1)] = []
    view: _View | None = None
    container: _Named | None = None
    action_id: str | None = None
    value: str | None = None
    trigger_id: str | None = None
    response_url: str | None = None
    response_urls: list[dict[str, Any]] = []
    function_data: dict[str, Any] | None = None


async def receive(
    bolt: AsyncApp, body: dict[str, Any], headers: Mapping[str, str | Sequence[str]] | None = None
) -> BoltResponse:
    """Bolt's answer; 200 without a listener; 500 if Bolt fails.

    Raises BodyUnreadable for a body of another shape than Slack's.
    """
    if not _is_heard(body):
        kind, event = body.get("type") or "", body.get("event", {}).get("type") or ""
        log.warning("slack_request_not_ours", kind=str(kind)[:100], slack_event=str(event)[:100])
        return BoltResponse(status=200, body="")
    _tidy(body)
    try:
        return await bolt.async_dispatch(AsyncBoltRequest(body=body, headers=dict(headers or {}), mode="socket_mode"))
    except Exception:
        reference = f"slack-{zlib.crc32(repr(body).encode()):08x}"
        log.exception("slack_request_failed", reference=reference)
        return BoltResponse(status=500, body={"error": f"a fault of ours; the log has it under {reference}"})


def _tidy(body: dict[str, Any]) -> None:
    """Clean the words of a command, a direct message, a form's text fields and a menu's search.

    Buttons keep their values.
    """
    fields = ((body.get("view") or {}).get("state") or {}).get("values") or {}
    typed = [
        (body, "text"),
        (body.get("event") or {}, "text"),
        *([(body, "value")] if body.get("type") == "block_suggestion" else []),
    ]
    typed += [(element, "value") for block in fields.values() for element in block.values()]
    for part, name in typed:
        if isinstance(part.get(name), str):
            part[name] = with_flags_in_words(tidy(part[name]))


def _is_heard(body: dict[str, Any]) -> bool:
    """True if a listener takes this kind of body. Raises BodyUnreadable if a part is missing or of another kind."""
    try:
        _Body.model_validate(body)
    except ValidationError as error:
        # The error names the place only: people's words can stand there.
        raise _unreadable(".".join(map(str, error.errors(include_input=False)[0]["loc"]))) from None
    kind, event = body.get("type"), body.get("event", {}).get("type")
    if body.get("command") is not None:
        needed: tuple[str, ...] | None = ("command", "user_id", "channel_id")
    elif kind == "event_callback" and event and isinstance(event, str):
        needed = EVENTS_HEARD.get(event)
    else:
        needed = _NEEDED.get(kind) if kind else ("ssl_check",)
    for places in needed or ():
        if not any(_is_there(body, place) for place in places.split()):
            raise _unreadable(places)
    return needed is not None


def _is_there(body: dict[str, Any], place: str) -> bool:
    """True for a text, and for a part of the body that `_Body` has read."""
    value: Any = body
    for name in place.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return bool(value) and (isinstance(value, str) or "." not in place)


def _unreadable(where: str) -> BodyUnreadable:
    return BodyUnreadable(f"not the shape of what Slack sends: {where[:100]}")
