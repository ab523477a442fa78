"""A submitted form: the choices are checked and stored before the form closes. Each error stands beside its field."""

from collections.abc import Sequence
from functools import partial

from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.conditions.course_condition import COURSES_FIELD, NOT_COURSES_FIELD
from bot.channels.conditions.event_conditions import REGIONS_FIELD
from bot.channels.conditions.table import CONDITIONS
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.errors import CommandError, FieldsWrong
from bot.events.races import Course
from bot.slack.commands.channel_checks import NOT_THERE, has_left
from bot.slack.commands.filter_choice import FilterChoice
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change
from bot.slack.commands.subscribe import CHANGED, SubscribePlan, ask_slack, said_of, store
from bot.slack.forms.form_fields import course_value, not_shown, problem
from bot.slack.forms.subscribe_form import FormOf


async def _plan(desk: Desk, invocation: Invocation) -> SubscribePlan:
    if invocation.form is None:
        raise CommandError("There is no form to save: /racing subscribe opens the form.")
    form, submitted = invocation.form
    if form.from_home and await has_left(desk, form.channel_id, invocation):
        raise FieldsWrong({REGIONS_FIELD: NOT_THERE})
    before = await desk.database.read(partial(_opened_with, form=form))
    check = FilterChoice(desk)
    named = check.instead_of_all(submitted["region"])
    regions = named if ALL_REGIONS in named else await check.regions(named)
    kept = before or ChannelFilter(region="", topics=frozenset())
    values = {one.field: one.of(kept) if submitted[one.field] is None else submitted[one.field] for one in CONDITIONS}
    for name in (COURSES_FIELD, NOT_COURSES_FIELD):
        if submitted[name] is not None:
            values[name] = await _courses(check, name, submitted[name], before, regions)
    await check.arriving(values[COURSES_FIELD], values[NOT_COURSES_FIELD], regions)
    await check.listed(values, before)
    errors = {name: told for one in CONDITIONS for name, told in problem(one, submitted).items()}
    errors |= {name: str(some[0]) for name, some in check.errors.items()}
    if errors:
        raise FieldsWrong(errors)
    chosen = ChannelFilter.model_validate(values | {"region": ""})
    return SubscribePlan(None, check.filters(regions, chosen), check, before)


def _opened_with(session: Session, form: FormOf) -> ChannelFilter | None:
    if form.editing is None:
        return None
    for row in subscriptions.of_channel(session, form.channel_id):
        chosen = subscriptions.read_filter(row)
        if row.region == form.editing and chosen.fingerprint() == form.was:
            return chosen
    raise FieldsWrong({REGIONS_FIELD: CHANGED})


async def _courses(
    check: FilterChoice, name: str, submitted: Sequence[str], before: ChannelFilter | None, regions: Sequence[str]
) -> tuple[Course, ...]:
    there: tuple[Course, ...] = getattr(before, name) if before else ()
    stored = {course_value(course): course for course in there}
    kept = tuple(stored[value] for value in submitted if value in stored)
    return (*not_shown(there), *kept, *await check.courses(name, [v for v in submitted if v not in stored], regions))


FORM_SUBMITTED = Command(
    "submit", "", "A submitted form", said_of, _plan, apply=ask_slack, rights=may_change, store=store
)
