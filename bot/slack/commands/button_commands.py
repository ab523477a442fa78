"""Buttons that stand for no command line.

A refused line has a button for the form, with the understood words filled in. Messages have *I have it* for an
abandonment, *Full result*, and a button that posts a given-up alert anew.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.errors import CommandError, ServiceError, SlackDoubtful, SlackError, SlackScopeMissing
from bot.events import event_store
from bot.events.event import DEFAULT_TOPICS, RacingEvent
from bot.events.races import Course
from bot.events.typed_text import folded
from bot.logs import get_logger
from bot.outbox import acknowledgements, said_anew
from bot.outbox.acknowledgements import Press
from bot.outbox.message import Block, Message
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import TYPED_MAX, find_courses, has_words, likely_courses
from bot.slack.commands.invocation import Command, Desk, Invocation, admins_only, by_row, may_change, says
from bot.slack.commands.subscription_changes import note
from bot.slack.language.request import LineRequest, read
from bot.slack.language.words import Kind
from bot.slack.messages.alerts.alert_context import Corrected, corrected
from bot.slack.messages.alerts.alert_notes import ACKNOWLEDGE, GIVE_BACK, give_back_button
from bot.slack.messages.alerts.event_alerts import FULL_RESULT_WORD, full_result
from bot.slack.messages.answers.subscription_answers import FORM
from bot.slack.messages.kit.blocks import options
from bot.slack.messages.kit.layout import sentence, told
from bot.slack.messages.kit.names import doubtful_name
from bot.slack.messages.kit.text import given, joined, with_names
from bot.slack.messages.kit.times import utc_clock
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
    # Slack allows three seconds to open a form, so the data service is not asked.
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
    named = ((joined([one.name or one.course_id, given("({})", one.region)], " "), one) for one in found)
    return options((label, course_value(one)) for label, one in named)


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


NOT_KNOWN = (
    "I don't know that message any more, so nothing was stored. Say in the channel that you have it: "
    "/racing trace shows who was told."
)
NOT_YOURS = "You don't have that abandonment, so nothing was changed. Its message in the channel shows who has it."
ASKS_ELSEWHERE = "A newer message in the channel asks in place of this message. Press the button there."


async def _is_no_outsider(desk: Desk, invocation: Invocation) -> None:
    await desk.people.check_is_member(invocation)


def _take(session: Session, desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError for a message that does not ask any more."""
    taken = acknowledgements.take(session, invocation.text, invocation.user_id, desk.clock())
    if taken is None:
        raise CommandError(NOT_KNOWN)
    if taken.by is None:
        raise CommandError(ASKS_ELSEWHERE)
    if taken.is_news:
        log.info("acknowledged", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return taken


async def _answer_take(_desk: Desk, invocation: Invocation, committed: Press) -> Message:
    """Said after the first press too: in a closed channel the message is edited later."""
    by = committed.by or ""
    who = "You have" if by == invocation.user_id else f"{by} has"
    already = "" if committed.is_news else " already"
    since = f" since {utc_clock(committed.at)}" if committed.at else ""
    race = doubtful_name(committed.event, committed.partly_run)
    buttons = [give_back_button(invocation.text)] if by == invocation.user_id else []
    return told(with_names(f"{who} it{already}{since}: {race}.", [by]), *buttons)


def _give_back(session: Session, desk: Desk, invocation: Invocation, _planned: Any) -> Press:
    """Raises CommandError unless the person has the abandonment."""
    given = acknowledgements.give_back(session, invocation.text, invocation.user_id, desk.clock())
    if given is None:
        raise CommandError(NOT_KNOWN)
    if not given.is_news:
        raise CommandError(NOT_YOURS)
    log.info("given_back", reference=invocation.reference, post=invocation.text, user_id=invocation.user_id)
    return given


def _given_back(press: Press) -> Message:
    race = doubtful_name(press.event, press.partly_run)
    words = "The message has its button again, and the time to the next step begins anew."
    return told(f"You no longer have it: {race}. {words}")


ACKNOWLEDGE_BUTTON = Command(ACKNOWLEDGE, _answer_take, rights=_is_no_outsider, store=_take)
GIVE_BACK_BUTTON = Command(GIVE_BACK, says(_given_back), store=_give_back)


Delivered = tuple[RacingEvent, Corrected | None, datetime]


async def _plan_result(desk: Desk, invocation: Invocation) -> Delivered:
    found: Delivered | None = await desk.database.read(lambda session: _delivered(session, invocation.text))
    if found is None:
        raise CommandError("I have no result of that race any more.")
    return found


async def _answer_result(desk: Desk, invocation: Invocation, planned: Delivered) -> Message:
    """The race by the race book or the service, else as delivered."""
    event, changed, received_at = planned
    try:
        known = await desk.races.race(event.race.race_id) if event.race.race_id else None
    except ServiceError as error:
        log.info("full_result_as_delivered", reference=invocation.reference, reason=str(error))
        known = None
    return full_result(event, known, received_at, await desk.reference.known_countries(), changed)


def _delivered(session: Session, event_key: str) -> Delivered | None:
    rows = event_store.versions(session, [event_key]).get(event_key)
    return (event_store.known(rows[-1])[0], corrected(rows), rows[-1].received_at) if rows else None


FULL_RESULT_BUTTON = Command(FULL_RESULT_WORD, _answer_result, _plan_result)


POST_AGAIN = "post_again"
"""The word of the button that posts an alert after all, before the message's id."""

NOT_OFFERED = "Nothing was posted: the alert is posted already, was replaced by later news, or is over two days old."


def _post(session: Session, desk: Desk, invocation: Invocation, message_id: int) -> str:
    """The channel's id. Raises CommandError for an alert not offered any more."""
    channel_id = said_anew.post_again(session, message_id, desk.clock())
    if channel_id is None:
        raise CommandError(NOT_OFFERED)
    there, post = replace(invocation, channel_id=channel_id), f"message {message_id}"
    note(session, desk, there, "post after all", before=f"{post} given up", after=f"{post} posted after all")
    return channel_id


DEAD_LETTER_BUTTON = Command(
    POST_AGAIN,
    says(lambda channel_id: sentence(f"The message goes to {channel_id} now.", [channel_id])),
    by_row,
    store=_post,
    rights=admins_only("Only admins may post what was given up."),
)
