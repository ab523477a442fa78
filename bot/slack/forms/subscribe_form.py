"""The form of `/racing subscribe`: which regions, events and courses a channel receives, and whom an abandonment rings.

Courses and user groups are looked up while people type, because there can be thousands; regions are few. It is made of
what the database has, since Slack lets a form be opened for three seconds only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course, Value
from bot.outbox.message import Block
from bot.racedata.reference_store import KnownCourse
from bot.slack.channel_membership import DIRECT_MESSAGE
from bot.slack.forms.options import OPTIONS_MAX, all_options, in_groups, options
from bot.slack.messages.answers.filter_words import name_of
from bot.slack.messages.kit.blocks import plain_text, section
from bot.slack.messages.kit.text import SECTION_MAX, clip, safe

SUBSCRIBE_FORM = "subscribe_form"

REGIONS = "regions"
TOPICS = "topics"
COURSES = "courses"
NOT_COURSES = "not_courses"
PEOPLE = "people"
GROUPS = "groups"
"""The fields: each is the block_id of its input, and the action_id of its element."""

PEOPLE_MAX = 20
GROUPS_MAX = 10
COURSES_MAX = OPTIONS_MAX
TYPED_MAX = 300

TOPIC_LABELS = {
    Topic.RESULTS: "Results",
    Topic.ABANDONMENTS: "Abandoned races and meetings",
    Topic.RACECARDS: "Racecards",
}


class FormOf(Value):
    """What a form is about: a channel, and the region whose subscription is edited (None: a new one).

    `was` is the fingerprint of that subscription's filter when the form was opened.
    """

    channel_id: str
    editing: str | None = None
    was: str | None = None


@dataclass(frozen=True)
class Known:
    """What the database has of the data service's lists; None where it has not been read yet."""

    regions: Sequence[str] | None
    courses: bool


@dataclass(frozen=True)
class Submitted:
    """What was chosen, not checked yet. Courses by their id, or by their name where they have none.

    They are None where the form had no field for them, because there was nothing to choose from.
    """

    regions: tuple[str, ...]
    topics: frozenset[Topic]
    courses: tuple[str, ...] | None
    not_courses: tuple[str, ...] | None
    mentions: tuple[str, ...]


def subscribe_form(form: FormOf, chosen: ChannelFilter | None, known: Known) -> Block:
    """The modal, filled in with `chosen` where there is one."""
    start = chosen or ChannelFilter(region="", topics=DEFAULT_TOPICS)
    blocks = [
        section(_about(form, known)),
        section(_about_courses(start, known)),
        _regions(known.regions, start.region),
        _field(TOPICS, "What to post", _topics(start), hint="Abandonments come as soon as they are reported."),
    ]
    if known.courses:
        # Without a list there is nothing to choose from.
        blocks += [
            _courses(COURSES, "Only these courses", start.courses),
            _courses(NOT_COURSES, "Without these courses", start.not_courses),
        ]
    blocks += [_people(start), _groups(start)]
    return {
        "type": "modal",
        "callback_id": SUBSCRIBE_FORM,
        "private_metadata": form.model_dump_json(),
        "title": plain_text("Edit subscription" if form.editing else "Subscribe"),
        "submit": plain_text("Save"),
        "close": plain_text("Cancel"),
        "blocks": [block for block in blocks if block],
    }


def saved(blocks: Sequence[Block]) -> Block:
    """The modal after it was saved: what the channel receives now, and in the place of buttons where there are some.

    A click in a modal brings no address for an answer.
    """
    shown = [block for block in blocks if block["type"] != "actions"]
    elsewhere = section("`/racing list` has buttons to change that.") if len(shown) < len(blocks) else None
    return {
        "type": "modal",
        "title": plain_text("Saved"),
        "close": plain_text("Close"),
        "blocks": [*shown, *([elsewhere] if elsewhere else [])],
    }


def outdated() -> Block:
    """The modal after a form was submitted that this version does not know."""
    told = (
        "This form is of another version of me, so nothing was saved. `/racing subscribe` opens the one there is now."
    )
    return {
        "type": "modal",
        "title": plain_text("Not saved"),
        "close": plain_text("Close"),
        "blocks": [section(told)],
    }


def read_form(view: dict[str, Any]) -> tuple[FormOf, Submitted]:
    """What a submitted form is about, and what was chosen in it. Raises CommandError where it does not tell."""
    values = (view.get("state") or {}).get("values") or {}
    fields = {name: (values.get(name) or {}).get(name) or {} for name in _FIELDS}
    # Slack sends the form's blocks along: one that has nothing chosen in it was there all the same.
    had = {*values, *(block.get("block_id") for block in view.get("blocks") or ())}
    people = [str(one) for one in fields[PEOPLE].get("selected_users") or ()]
    submitted = Submitted(
        regions=_read_regions(fields[REGIONS]),
        topics=frozenset(Topic(value) for value in _selected(fields[TOPICS]) if value in set(Topic)),
        courses=tuple(_selected(fields[COURSES])) if COURSES in had else None,
        not_courses=tuple(_selected(fields[NOT_COURSES])) if NOT_COURSES in had else None,
        mentions=tuple(dict.fromkeys([*people, *_selected(fields[GROUPS])])),
    )
    try:
        return FormOf.model_validate_json(str(view.get("private_metadata"))), submitted
    except ValueError:
        # An older version of ours may have opened it.
        raise CommandError("I can't read this form any more. Close it, and open it again by /racing list.") from None


def channel_words(channel_id: str) -> str:
    """The channel as Slack shows it; a direct message has no name that it could show."""
    return "this conversation" if channel_id.startswith(DIRECT_MESSAGE) else f"<#{safe(channel_id)}>"


def course_value(course: Course | KnownCourse) -> str:
    """By what a course is chosen."""
    return course.course_id or course.name or ""


def not_shown(courses: Sequence[Course]) -> tuple[Course, ...]:
    """The courses of a filter that its form can't show: more than a menu holds, or called by what is no option."""
    shown = {one["value"] for one in _chosen(courses)}
    return tuple(course for course in courses if course_value(course) not in shown)


_FIELDS = (REGIONS, TOPICS, COURSES, NOT_COURSES, PEOPLE, GROUPS)


def _about(form: FormOf, known: Known) -> str:
    said = [f"What {channel_words(form.channel_id)} receives."]
    if known.regions is None:
        said.append("The data service's regions have not been read yet: type their codes.")
    if not known.courses:
        said.append("Its courses have not been read yet: they can be chosen later.")
    return " ".join(said)


def _regions(regions: Sequence[str] | None, chosen: str) -> Block:
    if regions is None:
        typed = "all" if chosen == ALL_REGIONS else chosen
        element: Block = {"type": "plain_text_input", "max_length": TYPED_MAX}
        element |= {"initial_value": typed} if typed else {}
        return _field(REGIONS, "Regions", element, hint="Codes such as GB IRE, or the word all")
    # What is no longer published can still be seen, and kept.
    codes = [*regions, *([chosen] if chosen and chosen != ALL_REGIONS and chosen not in regions else [])]
    every = list(all_options([("All regions", ALL_REGIONS), *((code, code) for code in codes)]))
    initial = [one for one in every if one["value"] == chosen]
    element = {"type": "multi_static_select", "placeholder": plain_text("Choose regions"), **in_groups(every)}
    return _field(REGIONS, "Regions", element | ({"initial_options": initial} if initial else {}))


def _topics(start: ChannelFilter) -> Block:
    every = options((label, topic.value) for topic, label in TOPIC_LABELS.items())
    initial = [one for one in every if Topic(one["value"]) in start.topics]
    return {"type": "checkboxes", "options": every} | ({"initial_options": initial} if initial else {})


def _about_courses(start: ChannelFilter, known: Known) -> str:
    """What the form leaves as it is, because it can't show it."""
    some = not_shown if known.courses else tuple
    kept = [("Only", some(start.courses)), ("Without", some(start.not_courses))]
    said = [f"{word} {', '.join(safe(name_of(one)) or '?' for one in courses)}" for word, courses in kept if courses]
    return clip(f"The form can't show these courses, and leaves them: {'. '.join(said)}.", SECTION_MAX) if said else ""


def _courses(name: str, label: str, chosen: Sequence[Course]) -> Block:
    return _field(name, label, _looked_up("Type a course's name", _chosen(chosen), COURSES_MAX), optional=True)


def _chosen(courses: Sequence[Course]) -> list[Block]:
    return options((name_of(one), course_value(one)) for one in courses)


def _people(start: ChannelFilter) -> Block:
    people = [one for one in start.mentions if one[0] in "UW"]
    element: Block = {"type": "multi_users_select", "max_selected_items": max(PEOPLE_MAX, len(people))}
    element |= {"placeholder": plain_text("Choose people")} | ({"initial_users": people} if people else {})
    return _field(PEOPLE, "Mention when something is abandoned", element, optional=True)


def _groups(start: ChannelFilter) -> Block:
    named = ((f"@{one}", one) for one in start.mentions if one == HERE or one[0] == "S")
    element = _looked_up("Type here, or a group's name", options(named), GROUPS_MAX)
    return _field(GROUPS, "Mention @here or user groups too", element, optional=True)


def _looked_up(placeholder: str, initial: Sequence[Block], most: int) -> Block:
    element: Block = {"type": "multi_external_select", "min_query_length": 1}
    element |= {"max_selected_items": max(most, len(initial))}
    return element | {"placeholder": plain_text(placeholder)} | ({"initial_options": list(initial)} if initial else {})


def _field(name: str, label: str, element: Block, *, hint: str | None = None, optional: bool = False) -> Block:
    block: Block = {
        "type": "input",
        "block_id": name,
        "label": plain_text(label),
        "element": element | {"action_id": name},
        "optional": optional,
    }
    return block | ({"hint": plain_text(hint)} if hint else {})


def _read_regions(field: dict[str, Any]) -> tuple[str, ...]:
    """The codes that were chosen, or typed where there was no list."""
    typed = str(field.get("value") or "").replace(",", " ").split()
    codes = [ALL_REGIONS if word.lower() == "all" else word for word in typed]
    return tuple(dict.fromkeys([*_selected(field), *codes]))


def _selected(field: dict[str, Any]) -> list[str]:
    return [str(one.get("value")) for one in field.get("selected_options") or () if isinstance(one, dict)]
