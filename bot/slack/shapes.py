"""Whether a signed body has the shape of what Slack sends, as far as Bolt and the listeners rely on it.

Bolt takes each part for what it should be, so that another shape would look like a fault of ours. What is not named
here may be anything. Source: docs.slack.dev/interactivity and docs.slack.dev/apis/events-api.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.errors import BodyUnreadable


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
    event: _Event = _Event()
    actions: Annotated[list[_Action], Field(min_length=1)] = []
    view: _View | None = None
    container: _Container | None = None
    action_id: str | None = None
    value: str | None = None
    trigger_id: str | None = None
    response_url: str | None = None
    response_urls: list[dict[str, Any]] | None = None
    function_data: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _has_what_its_type_is_about(self) -> "_Body":
        about = {"view_submission": self.view, "view_closed": self.view, "block_suggestion": self.action_id}
        if about.get(self.type or "", True) is None:
            raise ValueError("what it is about is missing")
        return self


def check_shape(body: dict[str, Any]) -> None:
    """Raise BodyUnreadable where a part that is relied on is of another kind than Slack's."""
    try:
        _Body.model_validate(body)
    except ValidationError as error:
        # Where it is, and not what: the body can hold what people wrote.
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "type"
        raise BodyUnreadable(f"not the shape of what Slack sends: {where[:100]}") from None
