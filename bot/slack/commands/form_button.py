"""Opens the form: after `/racing subscribe` without a word, after Edit, and filled with the words of a refused line."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.errors import CommandError, SlackDoubtful, SlackError, SlackScopeMissing
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Course
from bot.events.typed_text import folded
from bot.logs import get_logger
from bot.outbox.message import Block
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import TYPED_MAX, find_courses, has_words, likely_courses
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change
from bot.slack.language.request import LineRequest, read
from bot.slack.language.words import Kind
from bot.slack.messages.answers.subscription_answers import FORM
from bot.slack.messages.kit.blocks import options
from bot.slack.subscribe_form import FormOf, course_value, subscribe_form

log = get_logger(__name__)

_SAY = (
    "say what this channel should receive, for example: /racing subscribe GB IRE results abandonments, or "
    "/racing subscribe all."
)

OPEN_S = 1.5
"""For opening the form, and for the names of user groups: Slack waits three seconds for both."""


async def _apply(desk: Desk, invocation: Invocation, _planned: Any) -> None:
    lexicon = await desk.database.read(desk.reference.known)
    wanted = read(invocation.text, lexicon)
    await open_form(desk, invocation, None, filled(wanted, lexicon), wanted.of(Kind.REGION))


def filled(wanted: LineRequest, lexicon: Lexicon) -> ChannelFilter:
    """The filter that fills in the form with the words of a line."""
    courses, not_courses = (
        tuple(_course(one, wanted.of(Kind.REGION), lexicon) for one in some)
        for some in (wanted.of(Kind.COURSE), wanted.out(Kind.COURSE))
    )
    there = [one.region for one in lexicon.courses if one.as_course in courses]
    regions = [ALL_REGIONS] if wanted.everything else [*wanted.of(Kind.REGION), *filter(None, there), ""]
    values = {name: tuple(one for one in some if one != EVERY_VALUE) for name, some in wanted.values.items()}
    chosen = wanted.but(**values).filter(regions[0], courses, not_courses)
    return chosen.model_copy(update={"topics": chosen.topics or DEFAULT_TOPICS})


def _course(typed: str, regions: Sequence[str], lexicon: Lexicon) -> Course:
    found = [one for one in find_courses(lexicon.courses, typed) if not regions or one.region in regions]
    return found[0].as_course if len(found) == 1 else Course(name=typed)


async def form_is_the_answer(_desk: Desk, _invocation: Invocation, _committed: Any) -> None:
    """Nothing is said."""


async def open_form(
    desk: Desk,
    invocation: Invocation,
    chosen: ChannelFilter | None,
    start: ChannelFilter | None = None,
    regions: Sequence[str] = (),
) -> None:
    """`chosen`: the edited subscription. `start` and `regions`: what a new subscription begins with."""
    if invocation.trigger_id is None:
        raise CommandError(f"The button opens the form. Or {_SAY}", form=invocation.text)
    # The service is not asked while a form waits.
    known = await desk.database.read(desk.reference.known)
    form = FormOf(
        channel_id=invocation.channel_id,
        editing=chosen.region if chosen else None,
        was=chosen.fingerprint() if chosen else None,
        from_home=invocation.from_home,
    )
    view = subscribe_form(form, chosen or start, known, regions)
    try:
        await desk.slack.call(
            "views.open",
            lambda: desk.slack.web.views_open(trigger_id=invocation.trigger_id, view=view),
            timeout_s=invocation.left_s(OPEN_S),
        )
    except SlackError as error:
        log.warning("form_not_opened", reference=invocation.reference, reason=str(error))
        raise CommandError(_why(error, is_new=chosen is None)) from None


def _why(error: SlackError, *, is_new: bool) -> str:
    """The reason with the alternative. Typed words would add to an edited subscription, and not edit."""
    if isinstance(error, SlackScopeMissing):
        told = f"I lack a scope for opening forms ({error.details or error.code}): an admin has to grant it."
        return f"{told} Meanwhile {_SAY}" if is_new else told
    told = "Slack did not let me open the form:"
    if isinstance(error, SlackDoubtful):
        told = "Slack did not say in time whether a form has opened. If there is none,"
    return f"{told} try again, or {_SAY}" if is_new else f"{told} click the button again."


FORM_BUTTON = Command(FORM, form_is_the_answer, apply=_apply, rights=may_change)


async def course_options(desk: Desk, typed: str) -> list[Block]:
    lists = await desk.database.read(desk.reference.known)
    # A search for similar names takes as long as many deliveries do.
    found = await asyncio.to_thread(_found, lists.courses, typed[:TYPED_MAX].strip())
    return options(_named(found))


async def group_options(desk: Desk, typed: str) -> list[Block]:
    """@here, and the user groups with the typed letters; only @here where Slack names no groups."""
    sought = typed.strip().removeprefix("@").casefold()
    named = [("@here: whoever is active in the channel", HERE), *await _groups(desk)]
    return options((label, value) for label, value in named if sought in label.casefold())


async def _groups(desk: Desk) -> list[tuple[str, str]]:
    try:
        answer = await desk.slack.call("usergroups.list", desk.slack.web.usergroups_list, timeout_s=OPEN_S)
    except SlackError as error:
        log.info("user_groups_not_known", reason=str(error))
        return []
    groups = (one for one in answer.get("usergroups") or () if isinstance(one, dict))
    return [(f"@{one.get('handle')}: {one.get('name')}", str(one.get("id"))) for one in groups]


def _found(courses: Sequence[KnownCourse], typed: str) -> list[KnownCourse]:
    found = [course for course in courses if has_words(course, typed)]
    if not found:
        near = likely_courses(typed, courses)
        found = [course for course in courses if course.name in near]
    sought = folded(typed)
    return sorted(found, key=lambda one: (not (one.name or "").casefold().startswith(sought), one.name or ""))


def _named(courses: Iterable[KnownCourse]) -> Iterable[tuple[str, str]]:
    for course in courses:
        region = f" ({course.region})" if course.region else ""
        yield f"{course.name or course.course_id}{region}", course_value(course)
