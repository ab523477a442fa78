"""The shape of Slack's bodies, as far as Bolt and the listeners rely on the shape.

Bolt trusts each part, so a part of another kind would end in a 500. Sources: docs.slack.dev/interactivity and
docs.slack.dev/apis/events-api.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.errors import BodyUnreadable
from bot.slack.listeners import app_home, channel_life, ways_in

Id = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Named(_Part):
    id: str | None = None


class _Person(_Named):
    id: Id


class _Context(_Part):
    """The places where Bolt looks for the workspace, the person and the channel."""

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


class _Event(_Context):
    type: Id
    channel_type: str | None = None


class _ChannelEvent(_Event):
    channel: Id


class _HomeEvent(_Event):
    user: Id
    tab: str | None = None


class _MoveEvent(_Event):
    old_channel_id: Id
    new_channel_id: Id


EVENT_SHAPES: Mapping[str, type[_Event]] = {
    "member_joined_channel": _ChannelEvent,
    "member_left_channel": _ChannelEvent,
    app_home.HOME_EVENT: _HomeEvent,
    ways_in.DIRECT_MESSAGE_EVENT: _ChannelEvent,
    **dict.fromkeys((*channel_life.CLOSING_EVENTS, *channel_life.OPENING_EVENTS), _ChannelEvent),
    channel_life.MOVING_EVENT: _MoveEvent,
    **dict.fromkeys(channel_life.REVOKING_EVENTS, _Event),
}


class _Action(_Part):
    action_id: str
    value: str | None = None


class _Value(_Part):
    value: str | None = None
    selected_users: list[str] | None = None
    selected_options: list[dict[str, Any]] | None = None


class _State(_Part):
    values: dict[str, dict[str, _Value]] = {}


class _Block(_Part):
    block_id: str | None = None


class _View(_Part):
    type: str
    callback_id: str
    private_metadata: str = ""
    id: str | None = None
    state: _State | None = None
    blocks: list[_Block] | None = None


class _Container(_Part):
    channel_id: str | None = None


class _Body(_Context):
    type: str | None = None
    user: _Named | None = None
    channel: _Named | None = None
    text: str | None = None
    event: _Context = _Context()
    actions: Annotated[list[_Action], Field(min_length=1)] = []
    view: _View | None = None
    container: _Container | None = None
    value: str | None = None
    trigger_id: str | None = None
    response_url: str | None = None
    response_urls: list[dict[str, Any]] = []
    function_data: dict[str, Any] | None = None


class _Command(_Body):
    command: str
    user_id: Id
    channel_id: Id


class _Click(_Body):
    user: _Person
    actions: Annotated[list[_Action], Field(min_length=1)]

    @model_validator(mode="after")
    def _says_where(self) -> "_Click":
        channel_id = (self.channel and self.channel.id) or (self.container and self.container.channel_id)
        if not (channel_id or self.view):
            raise ValueError("neither a channel nor a view")
        return self


class _Lookup(_Body):
    action_id: Id


class _Submission(_Body):
    user: _Person
    view: _View


class _EventCallback(_Body):
    event: _Event


class _SslCheck(_Body):
    ssl_check: Id


_KINDS: Mapping[str, type[_Body]] = {
    "block_actions": _Click,
    "block_suggestion": _Lookup,
    "view_submission": _Submission,
    "event_callback": _EventCallback,
    "url_verification": _Body,
}
"""The kinds that have a listener, beside commands."""


def check_shape(body: dict[str, Any]) -> None:
    """Raise BodyUnreadable if a part is missing or of another kind."""
    kind = body.get("type")
    try:
        if body.get("command") is not None:
            _Command.model_validate(body)
        elif not kind:
            _SslCheck.model_validate(body)
        else:
            model = _KINDS.get(kind, _Body) if isinstance(kind, str) else _Body
            model.model_validate(body)
            if model is _EventCallback:
                EVENT_SHAPES.get(body["event"]["type"], _Event).model_validate(body["event"])
    except ValidationError as error:
        # The error names the place only: people's words can stand there.
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "who, where or what is missing"
        raise BodyUnreadable(f"not the shape of what Slack sends: {where[:100]}") from None


def is_ours(body: dict[str, Any]) -> bool:
    """True if a listener takes this kind of body. The body has passed `check_shape`."""
    kind = body.get("type")
    if "command" in body:
        return True
    return kind in _KINDS and (kind != "event_callback" or body["event"]["type"] in EVENT_SHAPES)
