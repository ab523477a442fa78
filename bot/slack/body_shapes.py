"""Whether a signed body has the shape of what Slack sends, as far as Bolt and the listeners rely on it.

Bolt takes each part for what it should be, so that another shape would look like a fault of ours. What is not named
here may be anything. Source: docs.slack.dev/interactivity and docs.slack.dev/apis/events-api.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.errors import BodyUnreadable
from bot.slack.listeners import channel_life, direct_messages, installation

EVENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("member_joined_channel", "member_left_channel", direct_messages.EVENT),
            *(*channel_life.CLOSING_EVENTS, *channel_life.OPENING_EVENTS),
        ),
        ("channel",),
    ),
    channel_life.MOVING_EVENT: ("old_channel_id", "new_channel_id"),
    **dict.fromkeys(installation.REVOKING_EVENTS, ()),
}
"""The events that are listened to, each with the ids that it is of no use without."""

_EVENT = "event_callback"
_OURS = frozenset({"block_actions", "block_suggestion", "view_submission", "url_verification", _EVENT})
"""What the listeners take of what Slack sends, beside commands."""


class _Part(BaseModel):
    """A part of a body. It is only looked at: what is used is the body as it came."""

    model_config = ConfigDict(strict=True)


class _Named(_Part):
    """A person, channel, team or company, where it comes with more than its id."""

    id: str | None = None


class _Authorization(_Part):
    """For whom an event came; one within another is not known of."""

    enterprise: str | _Named | None = None
    team: str | _Named | None = None
    user_id: str | None = None
    authorizations: None = None


class _Context(_Part):
    """Where Bolt looks for the workspace, who and where: in the body, and in these parts of it."""

    enterprise: str | _Named | None = None
    team: str | _Named | None = None
    authorizations: list[_Authorization] | None = None
    item: "_Said | None" = None
    message: "_Said | None" = None
    previous_message: "_Said | None" = None
    assistant_thread: "_Said | None" = None


class _Said(_Context):
    """A part in which who and where are ids, most of the time."""

    user: str | _Named | None = None
    channel: str | _Named | None = None


class _Event(_Said):
    type: str | None = None
    channel_type: str | None = None
    old_channel_id: str | None = None
    new_channel_id: str | None = None

    def needed(self) -> tuple[object, ...]:
        """What must be there: its name, and its ids as text."""
        ids = (getattr(self, name) for name in EVENTS.get(self.type or "", ()))
        return self.type, *(one if isinstance(one, str) else None for one in ids)


class _Action(_Part):
    action_id: str
    value: str | None = None


class _Value(_Part):
    """What was chosen in an element of a form."""

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
    """Of what must be an object, null is none."""

    type: str | None = None
    user: _Named | None = None
    channel: _Named | None = None
    command: str | None = None
    text: str | None = None
    channel_id: str | None = None
    user_id: str | None = None
    ssl_check: str | None = None
    event: _Event = _Event()
    actions: Annotated[list[_Action], Field(min_length=1)] = []
    view: _View | None = None
    container: _Container | None = None
    action_id: str | None = None
    value: str | None = None
    trigger_id: str | None = None
    response_url: str | None = None
    response_urls: list[dict[str, Any]] = []
    function_data: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _has_what_it_is_about(self) -> "_Body":
        if not all(self._needed()):
            raise ValueError("what it is about is missing")
        return self

    def _needed(self) -> tuple[object, ...]:
        """Without which nobody knows who did what, or where."""
        if self.command is not None:
            return self.user_id, self.channel_id
        person = self.user and self.user.id
        where = (self.channel and self.channel.id) or (self.container and self.container.channel_id) or self.view
        needed: dict[str | None, tuple[object, ...]] = {
            "block_actions": (person, where, self.actions),
            "block_suggestion": (self.action_id,),
            "view_submission": (person, self.view),
            _EVENT: self.event.needed(),
            None: (self.ssl_check,),
        }
        return needed.get(self.type or None, ())


def check_shape(body: dict[str, Any]) -> None:
    """Raise BodyUnreadable where a part that is relied on is of another kind than Slack's."""
    try:
        _Body.model_validate(body)
    except ValidationError as error:
        # Where it is, and not what: the body can hold what people wrote.
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "who, where or what is missing"
        raise BodyUnreadable(f"not the shape of what Slack sends: {where[:100]}") from None


def is_ours(body: dict[str, Any]) -> bool:
    """Whether a body of Slack's shape is of a kind that is listened to."""
    kind = body.get("type")
    return "command" in body or (kind in _OURS and (kind != _EVENT or body["event"]["type"] in EVENTS))
