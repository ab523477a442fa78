"""What was chosen in the form is checked and stored, before the form closes; what is wrong is said beside its field."""

import asyncio
from dataclasses import dataclass, field

from bot.domain.events import Topic
from bot.domain.filters import ALL_REGIONS, ChannelFilter, is_mention, is_same_course
from bot.domain.races import Course
from bot.errors import CommandError, FieldsWrong
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.subscribe import CHECK_S, Subscribed, check_courses_are_in, store, unchecked_courses
from bot.slack.views.subscribe_form import (
    COURSES,
    GROUPS,
    NOT_COURSES,
    PEOPLE,
    REGIONS,
    TOPICS,
    FormOf,
    Submitted,
)


@dataclass
class _Check:
    """Looks the chosen values up, within one deadline, and gathers what is wrong with them."""

    desk: Desk
    until_s: float
    errors: dict[str, str] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)

    def _left_s(self) -> float:
        return max(0.01, self.until_s - asyncio.get_running_loop().time())

    async def regions(self, submitted: Submitted) -> list[str]:
        if not submitted.regions:
            self.errors[REGIONS] = "Choose at least one region, or all."
        if ALL_REGIONS in submitted.regions:
            return [ALL_REGIONS]
        found = []
        for code in submitted.regions:
            try:
                checked = await self.desk.reference.check_region(code, timeout_s=self._left_s())
            except CommandError as error:
                self.errors[REGIONS] = str(error)
                continue
            found.append(checked.region)
            self.unchecked += [] if checked.known else [checked.region]
        return found

    async def courses(self, name: str, typed: tuple[str, ...]) -> tuple[Course, ...]:
        found = []
        for one in typed:
            try:
                found.append(await self.desk.reference.check_course(one, timeout_s=self._left_s()))
            except CommandError as error:
                self.errors[name] = str(error)
        self.unchecked += unchecked_courses(*found)
        return tuple(found)


async def submit(desk: Desk, invocation: Invocation, form: FormOf, submitted: Submitted) -> Subscribed:
    """Store what was chosen. Raises FieldsWrong, or what storing raises."""
    try:
        await desk.people.check_may_change(invocation.user_id, form.channel_id)
    except CommandError as error:
        raise FieldsWrong({REGIONS: str(error)}) from None
    check = _Check(desk, asyncio.get_running_loop().time() + CHECK_S)
    regions = await check.regions(submitted)
    courses = await check.courses(COURSES, submitted.courses)
    not_courses = await check.courses(NOT_COURSES, submitted.not_courses)
    try:
        await check_courses_are_in(desk, courses, regions)
    except CommandError as error:
        check.errors.setdefault(COURSES, str(error))
    errors = _contradictions(submitted, courses, not_courses) | check.errors
    if errors:
        raise FieldsWrong(errors)
    filters = [
        ChannelFilter(
            region=region,
            topics=submitted.topics,
            courses=courses,
            not_courses=not_courses,
            mentions=submitted.mentions,
        )
        for region in regions
    ]
    return await store(desk, invocation, filters, check.unchecked, instead_of=form.editing)


def _contradictions(
    submitted: Submitted, courses: tuple[Course, ...], not_courses: tuple[Course, ...]
) -> dict[str, str]:
    """What is wrong with the choice whatever the data service publishes."""
    errors: dict[str, str] = {}
    if not submitted.topics:
        errors[TOPICS] = "Choose at least one of them."
    both = [one.name or one.course_id for one in courses if any(is_same_course(one, other) for other in not_courses)]
    if both:
        errors[NOT_COURSES] = f"{both[0]} is among the only courses above: nothing of it would ever arrive."
    if wrong := [one for one in submitted.mentions if not is_mention(one)]:
        errors[GROUPS] = f"{wrong[0][:40]} is no user group."
    if submitted.mentions and Topic.ABANDONMENTS not in submitted.topics:
        errors[PEOPLE] = "Only abandonments mention anybody: let them be posted too, or mention nobody."
    return errors
