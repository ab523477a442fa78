"""The form of `/racing subscribe`: the conditions of a channel's filter, filled in and read back.

The form is made of the database's lists, because Slack allows three seconds for opening a form.
"""

from collections.abc import Sequence
from typing import Any

from bot.channels.conditions.course_condition import name_of
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Value
from bot.outbox.message import Block
from bot.slack.channel_membership import DIRECT_MESSAGE
from bot.slack.forms.form_fields import FilledForm, PublishedChoices, Submitted, fields_of, not_shown, read_field
from bot.slack.messages.kit.blocks import plain_text, section
from bot.slack.messages.kit.text import SECTION_MAX, clip, safe

SUBSCRIBE_FORM = "subscribe_form"


class FormOf(Value):
    """The subject of a form: a channel, and the region of the edited subscription (None: a new subscription).

    `was` is the fingerprint of the edited filter when the form was opened.
    """

    channel_id: str
    editing: str | None = None
    was: str | None = None
    from_home: bool = False


def subscribe_form(form: FormOf, start: ChannelFilter | None, known: PublishedChoices) -> Block:
    start = start or ChannelFilter(region="", topics=DEFAULT_TOPICS)
    blocks = [section(_about(form, known)), section(_about_courses(start, known))]
    return {
        "type": "modal",
        "callback_id": SUBSCRIBE_FORM,
        "private_metadata": form.model_dump_json(),
        "title": plain_text("Edit subscription" if form.editing else "Subscribe"),
        "submit": plain_text("Save"),
        "close": plain_text("Cancel"),
        "blocks": [*filter(None, blocks), *(block for one in CONDITIONS for block in fields_of(one, start, known))],
    }


def saved(blocks: Sequence[Block]) -> Block:
    shown = [block for block in blocks if block["type"] != "actions"]
    elsewhere = section("`/racing list` has buttons to change that." if len(shown) < len(blocks) else None)
    shown += [elsewhere] if elsewhere else []
    return {"type": "modal", "title": plain_text("Saved"), "close": plain_text("Close"), "blocks": shown}


def outdated() -> Block:
    told = "This form is from another version of the bot, so nothing was saved. `/racing subscribe` opens a new form."
    title, blocks = plain_text("Not saved"), [section(told)]
    return {"type": "modal", "title": title, "close": plain_text("Close"), "blocks": blocks}


def read_form(view: dict[str, Any]) -> tuple[FormOf, Submitted]:
    """The subject and the choices of a submitted form. Raises CommandError for a form of an older version."""
    values = (view.get("state") or {}).get("values") or {}
    # Slack sends a block along where nothing was chosen.
    had = frozenset({*values, *(block.get("block_id") for block in view.get("blocks") or ())})
    filled = FilledForm(values, had)
    submitted = {one.field: read_field(one, filled) for one in CONDITIONS}
    try:
        return FormOf.model_validate_json(str(view.get("private_metadata"))), submitted
    except ValueError:
        raise CommandError("I can't read this form any more. Close it, and open it again by /racing list.") from None


def channel_words(channel_id: str) -> str:
    return "this conversation" if channel_id.startswith(DIRECT_MESSAGE) else f"<#{safe(channel_id)}>"


def _about(form: FormOf, known: PublishedChoices) -> str:
    said = [f"What {channel_words(form.channel_id)} receives."]
    if known.regions is None:
        said.append("The data service's regions have not been read yet: type their codes.")
    if not known.courses:
        said.append("Its courses have not been read yet: they can be chosen later.")
    return " ".join(said)


def _about_courses(start: ChannelFilter, known: PublishedChoices) -> str:
    some = not_shown if known.courses else tuple
    kept = [("Only", some(start.courses)), ("Without", some(start.not_courses))]
    said = [f"{word} {', '.join(safe(name_of(one)) or '?' for one in courses)}" for word, courses in kept if courses]
    return clip(f"The form can't show these courses, and leaves them: {'. '.join(said)}.", SECTION_MAX) if said else ""
