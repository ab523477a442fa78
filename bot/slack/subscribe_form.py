"""The form of `/racing subscribe`: a field for each kind of condition, filled in, read back and checked.

The form is made of the database's lists, because Slack allows three seconds for opening a form.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.condition import ALL_REGIONS, Condition, FilterFields
from bot.channels.conditions.event_conditions import (
    HERE,
    REGIONS_FIELD,
    TOPICS_FIELD,
    CoursesCondition,
    is_direct_message,
    name_of,
    region_words,
)
from bot.channels.conditions.table import CONDITIONS, REGION, TOPICS
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Course, Value
from bot.outbox.message import Block
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.slack.messages.kit.blocks import OPTIONS_MAX, all_options, in_groups, options, plain_text, section
from bot.slack.messages.kit.text import SECTION_MAX, clip, safe

SUBSCRIBE_FORM = "subscribe_form"


Submitted = Mapping[str, Any]
"""The values by field. None where the form lacked the field."""

TYPED_REGIONS_MAX = 300

COURSES_MAX = OPTIONS_MAX


class FormOf(Value):
    """The subject of a form: a channel, and the region of the edited subscription (None: a new subscription).

    `was` is the fingerprint of the edited filter when the form was opened.
    """

    channel_id: str
    editing: str | None = None
    was: str | None = None
    from_home: bool = False


def subscribe_form(form: FormOf, start: ChannelFilter | None, known: Lexicon, regions: Sequence[str] = ()) -> Block:
    """`regions`: of a new subscription, where there are several."""
    start = start or ChannelFilter(region="", topics=DEFAULT_TOPICS)
    about = [section(_about(form, known)), section(_about_courses(start, known))]
    fields = [block for one in CONDITIONS for block in fields_of(one, start, known, regions)]
    return {
        "type": "modal",
        "callback_id": SUBSCRIBE_FORM,
        "private_metadata": form.model_dump_json(),
        "title": plain_text("Edit subscription" if form.editing else "Subscribe"),
        "submit": plain_text("Save"),
        "close": plain_text("Cancel"),
        "blocks": [*filter(None, about), *fields],
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
    had = {*values, *(block.get("block_id") for block in view.get("blocks") or ())}
    submitted = {one.field: read_field(one, values, had) for one in CONDITIONS}
    try:
        return FormOf.model_validate_json(str(view.get("private_metadata"))), submitted
    except ValueError:
        raise CommandError("I can't read this form any more. Close it, and open it again by /racing list.") from None


def channel_words(channel_id: str) -> str:
    return "this conversation" if is_direct_message(channel_id) else f"<#{safe(channel_id)}>"


def _about(form: FormOf, known: Lexicon) -> str:
    said = [f"What {channel_words(form.channel_id)} receives."]
    if not known.regions:
        said.append("The data service's regions have not been read yet: type their codes.")
    if not known.courses:
        said.append("Its courses have not been read yet: they can be chosen later.")
    return " ".join(said)


def _about_courses(start: ChannelFilter, known: Lexicon) -> str:
    some = not_shown if known.courses else tuple
    kept = [("Only", some(start.courses)), ("Without", some(start.not_courses))]
    said = [f"{word} {', '.join(safe(name_of(one)) or '?' for one in courses)}" for word, courses in kept if courses]
    return clip(f"The form can't show these courses, and leaves them: {'. '.join(said)}.", SECTION_MAX) if said else ""


def _of_field(values: Mapping[str, Any], name: str) -> tuple[str, list[str]]:
    """The typed text, and the chosen values of a menu of options, people or channels."""
    found = (values.get(name) or {}).get(name) or {}
    options = [one.get("value") for one in found.get("selected_options") or ()]
    chosen = options or found.get("selected_users") or found.get("selected_conversations") or ()
    return str(found.get("value") or ""), [str(one) for one in chosen]


def fields_of(one: Condition, chosen: FilterFields, known: Lexicon, regions: Sequence[str] = ()) -> list[Block]:
    """The blocks of a kind, filled in."""
    if one is REGION:
        regions = regions or tuple(filter(None, [chosen.region]))
        return [_listed_regions(known.regions, regions) if known.regions else _typed_regions(regions)]
    if isinstance(one, CoursesCondition):
        menu = _looked_up("Type a course's name", _course_options(one.of(chosen)), COURSES_MAX)
        return [_field(one.field, one.label, menu)] if known.courses else []
    if one.labels:
        every = options((label, value) for value, label in one.labels.items())
        ticked = [option for option in every if option["value"] in one.of(chosen)]
        ticks = _filled({"type": "checkboxes", "options": every}, "initial_options", ticked)
        return [_field(one.field, one.label, ticks, hint=one.hint, optional=not one.is_needed)]
    if one.menus:
        kinds = zip((_people, _groups, _channels), one.menus.items(), strict=False)
        return [made(field, label, most, one.of(chosen)) for made, (field, (label, most)) in kinds]
    shown = ", ".join(one.of(chosen))
    text = _filled({"type": "plain_text_input", "max_length": one.text_max}, "initial_value", shown)
    return [_field(one.field, one.label, text, hint=one.hint)] if len(shown) <= one.text_max else []


def read_field(one: Condition, values: Mapping[str, Any], had: Collection[str]) -> Any:
    """The values of a submitted form, wrong values as typed. `had`: the form's blocks."""
    text, chosen = _of_field(values, REGIONS_FIELD if one is REGION else one.field)
    if one is REGION:
        codes = [ALL_REGIONS if word.lower() == "all" else word for word in text.replace(",", " ").split()]
        return tuple(dict.fromkeys([*chosen, *codes]))
    if not any(field in had for field in one.menus or [one.field]):
        return None
    if isinstance(one, CoursesCondition):
        return tuple(chosen)
    if one.labels:
        return one.of_file([one.stored(value) for value in chosen if value in one.labels])
    if one.menus:
        return tuple(dict.fromkeys(value for field in one.menus for value in _of_field(values, field)[1]))
    found: list[str] = []
    for word in filter(None, map(str.strip, re.split("[,;\n]", text))):
        found += one.values_of(word, found[-1] if found else "") or [_as_stored(one, word)]
    return one.of_file(found)


def problem(one: Condition, submitted: Submitted) -> dict[str, str]:
    """The wrong value, or the contradiction, of a submitted form, by block."""
    values, block = submitted[one.field] or (), next(iter(one.menus), REGIONS_FIELD if one is REGION else one.field)
    if one.is_needed and not values:
        return {block: "Choose at least one region, or all." if one is REGION else "Choose at least one."}
    for value in values:
        try:
            one.stored(value)
        except ValueError as error:
            return {block: f"{error}."}
    if values and one.topic and one.topic not in submitted[TOPICS_FIELD]:
        return {block: f"This is for {one.topic}: choose {TOPICS.labels[one.topic]} too, or empty the field."}
    return {}


def _as_stored(one: Condition, word: str) -> Any:
    try:
        return one.stored(word)
    except ValueError:
        return word


def course_value(course: Course | KnownCourse) -> str:
    return course.course_id or course.name or ""


def not_shown(courses: Sequence[Course]) -> tuple[Course, ...]:
    """The courses for which a menu has no room."""
    shown = {one["value"] for one in _course_options(courses)}
    return tuple(course for course in courses if course_value(course) not in shown)


def _typed_regions(chosen: Sequence[str]) -> Block:
    shown = " ".join(map(region_words, chosen))
    element = {"type": "plain_text_input", "max_length": max(TYPED_REGIONS_MAX, len(shown))}
    text = _filled(element, "initial_value", shown)
    return _field(REGIONS_FIELD, "Regions", text, hint="Codes such as GB IRE, or the word all", optional=False)


def _listed_regions(regions: Sequence[str], chosen: Sequence[str]) -> Block:
    # A region that is no longer published can still be seen and kept.
    codes = [*regions, *(one for one in chosen if one != ALL_REGIONS and one not in regions)]
    every = list(all_options([("All regions", ALL_REGIONS), *((code, code) for code in codes)]))
    initial = [one for one in every if one["value"] in chosen]
    element = {"type": "multi_static_select", "placeholder": plain_text("Choose regions"), **in_groups(every)}
    return _field(REGIONS_FIELD, "Regions", _filled(element, "initial_options", initial), optional=False)


def _course_options(courses: Sequence[Course]) -> list[Block]:
    return options((name_of(one), course_value(one)) for one in courses)


def _people(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    people = [one for one in told if one[0] in "UW"]
    return _field(
        field, label, _filled(_several("multi_users_select", "Choose people", people, most), "initial_users", people)
    )


def _groups(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    named = options((f"@{one}", one) for one in told if one == HERE or one[0] == "S")
    return _field(field, label, _looked_up("Type here, or a group's name", named, most))


def _channels(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    there = [one for one in told if is_channel(one)]
    kinds = {"include": ["public", "private"]}
    menu = _several("multi_conversations_select", "Choose channels that I am in", there, most, filter=kinds)
    hint = "After the same time again, or at once where nobody is mentioned."
    return _field(field, label, _filled(menu, "initial_conversations", there), hint=hint)


def _field(name: str, label: str, element: Block, *, hint: str | None = None, optional: bool = True) -> Block:
    block: Block = {
        "type": "input",
        "block_id": name,
        "label": plain_text(label),
        "element": element | {"action_id": name},
        "optional": optional,
    }
    return block | ({"hint": plain_text(hint)} if hint else {})


def _filled(element: Block, name: str, initial: str | Sequence[Any]) -> Block:
    """The element with the initial value, if any: Slack refuses an empty value."""
    return element | ({name: initial} if initial else {})


def _several(kind: str, placeholder: str, initial: Sequence[Any], most: int, **more: Any) -> Block:
    """A menu of several items, which never takes away what is chosen already."""
    most = max(most, len(initial))
    return {"type": kind, "max_selected_items": most, "placeholder": plain_text(placeholder), **more}


def _looked_up(placeholder: str, initial: Sequence[Block], most: int) -> Block:
    element = _several("multi_external_select", placeholder, initial, most, min_query_length=1)
    return _filled(element, "initial_options", initial)
