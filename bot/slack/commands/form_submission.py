"""What was chosen in the form is checked and stored, before the form closes; what is wrong is said beside its field."""

from collections.abc import Sequence
from functools import partial

from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter, is_mention
from bot.errors import CommandError, FieldsWrong
from bot.events.event import Topic
from bot.events.races import Course
from bot.slack.commands.filter_choice import Check
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.subscribe import CHANGED, Subscribed, store
from bot.slack.forms.subscribe_form import (
    COURSES,
    GROUPS,
    NOT_COURSES,
    PEOPLE,
    REGIONS,
    TOPICS,
    FormOf,
    Submitted,
    course_value,
    not_shown,
)


async def submit(desk: Desk, invocation: Invocation, form: FormOf, submitted: Submitted) -> Subscribed:
    """Store what was chosen. Raises FieldsWrong, or what storing raises."""
    try:
        await desk.people.check_may_change(invocation.user_id, form.channel_id)
    except CommandError as error:
        raise FieldsWrong({REGIONS: str(error)}) from None
    before = await desk.database.read(partial(_opened_with, form=form))
    check = Check(desk)
    named = check.instead_of_all(submitted.regions)
    regions = named if ALL_REGIONS in named else await check.regions(named)
    courses = await _courses(check, COURSES, submitted.courses, before.courses if before else (), regions)
    not_courses = await _courses(
        check, NOT_COURSES, submitted.not_courses, before.not_courses if before else (), regions
    )
    await check.arriving(courses, not_courses, regions)
    errors = _contradictions(submitted) | {name: str(some[0]) for name, some in check.errors.items()}
    if errors:
        raise FieldsWrong(errors)
    chosen = ChannelFilter(
        region="", topics=submitted.topics, courses=courses, not_courses=not_courses, mentions=submitted.mentions
    )
    return await store(desk, invocation, check.filters(regions, chosen), check, instead_of=before)


def _opened_with(session: Session, form: FormOf) -> ChannelFilter | None:
    """The filter that the form shows; None in one for a new subscription. Raises FieldsWrong where it changed since."""
    if form.editing is None:
        return None
    for row in subscriptions.of_channel(session, form.channel_id):
        chosen = subscriptions.read_filter(row)
        if row.region == form.editing and chosen.fingerprint() == form.was:
            return chosen
    raise FieldsWrong({REGIONS: CHANGED})


async def _courses(
    check: Check, name: str, submitted: Sequence[str] | None, before: tuple[Course, ...], regions: Sequence[str]
) -> tuple[Course, ...]:
    """The courses of a field: as they were where the form does not have it, and those that it could not show."""
    if submitted is None:
        return before
    stored = {course_value(course): course for course in before}
    kept = tuple(stored[value] for value in submitted if value in stored)
    return (*not_shown(before), *kept, *await check.courses(name, [v for v in submitted if v not in stored], regions))


def _contradictions(submitted: Submitted) -> dict[str, str]:
    """What is wrong with the choice whatever the data service publishes."""
    errors: dict[str, str] = {}
    if not submitted.regions:
        errors[REGIONS] = "Choose at least one region, or all."
    if not submitted.topics:
        errors[TOPICS] = "Choose at least one of them."
    if wrong := [one for one in submitted.mentions if not is_mention(one)]:
        errors[GROUPS] = f"{wrong[0][:40]} is no user group."
    if submitted.mentions and Topic.ABANDONMENTS not in submitted.topics:
        errors[PEOPLE] = "Only abandonments mention anybody: let them be posted too, or mention nobody."
    return errors
