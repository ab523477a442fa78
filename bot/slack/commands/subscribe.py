"""`/racing subscribe`, typed or by the form: the words are checked, and the change is committed before the ack."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlmodel import Session

from bot.channels import pauses, subscriptions
from bot.channels.conditions.choices import minutes_of
from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.conditions.event_conditions import (
    COURSE_FIELDS,
    COURSE_PREFIX,
    NOT_COURSES_FIELD,
    region_named,
    region_words,
    topics_in_order,
)
from bot.channels.conditions.table import BY_FIELD, CONDITIONS, OF_RACES
from bot.channels.conditions.zones import zone_called
from bot.channels.filters import ALL_REGIONS, ChannelFilter, without_abandonments
from bot.db.tables import SubscriptionState
from bot.deliveries import inbox
from bot.errors import WITHOUT_THAT, CommandError, FieldsWrong
from bot.events.days import UTC_NAME
from bot.events.event import EventKind, Topic
from bot.events.kinds import DECLARATIONS
from bot.events.races import Course
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.outbox import message_store
from bot.outbox.message import Message
from bot.racedata import webhook_subscriptions
from bot.racedata.day_views import recent
from bot.racedata.lexicon import CLASSES, Lexicon
from bot.slack.commands.button_commands import open_form
from bot.slack.commands.day_commands import USUAL_REGIONS
from bot.slack.commands.filter_choice import FILTER_CHECK_S, FilterChoice, added_to
from bot.slack.commands.invocation import MEMBERSHIP_S, Command, Desk, Invocation, may_change
from bot.slack.commands.subscription_changes import as_shown, audited, check_escalation, overriding_in
from bot.slack.language.grammar import HOUR_OF_TOPIC, NO_LISTS
from bot.slack.language.refusals import value_wanted
from bot.slack.language.request import HOUR_FIELDS, LineRequest, Refusal, read, typed_values
from bot.slack.language.words import ALL, NOT_GIVEN, SUBSCRIBING, Kind, words_in
from bot.slack.messages.answers.subscription_answers import Said, Subscribed, subscribed
from bot.slack.messages.kit.blocks import ENDING
from bot.slack.messages.kit.text import capital
from bot.slack.subscribe_form import FormOf, Submitted, course_value, not_shown, problem
from bot.slack.workspace import is_member

CHANGED = (
    "Somebody has changed or ended this subscription since you opened the form, so nothing was saved. Close the form, "
    "and open it again by /racing list."
)

NAME = "subscribe"

ASKED_MAX = 5

NOT_WITH_ME = (
    "I can't post in direct messages between other people, nor be invited there, so nothing was saved. Type it in a "
    "channel, or in the direct messages with me: Slack lists me under Apps."
)


@dataclass(frozen=True)
class SubscribePlan:
    """Filters to be stored beside the channel's filters, or in place of `instead_of`. Without filters a form opens.

    `wanted`: the typed line, None for a form. `is_member`: whether the bot is in the channel; None if unknown.
    """

    wanted: LineRequest | None
    filters: Sequence[ChannelFilter]
    checked: FilterChoice
    instead_of: ChannelFilter | None = None
    is_member: bool | None = None


async def _plan(desk: Desk, invocation: Invocation) -> SubscribePlan:
    checked = await _choice(desk, invocation)
    # A search for near names takes as long as many deliveries.
    return SubscribePlan(*await asyncio.to_thread(_asked, checked, invocation), checked)


async def _choice(desk: Desk, invocation: Invocation) -> FilterChoice:
    """Reads the lists anew, unless the line has no words: then a form opens."""
    has_words = invocation.text.strip() or invocation.form
    lexicon = await desk.reference.lexicon(FILTER_CHECK_S) if has_words else NO_LISTS
    there = partial(subscriptions.filters_of, channel_id=invocation.channel_id)
    return FilterChoice(lexicon, *await desk.database.read(lambda s: (CLASSES.items(s), there(s))), desk.clock())


def _changes(session: Session, invocation: Invocation, planned: SubscribePlan) -> bool:
    there = subscriptions.filters_of(session, invocation.channel_id)
    return not planned.filters or any(one.is_news for one in added_to(there, planned.filters, planned.wanted))


async def ask_slack(desk: Desk, invocation: Invocation, planned: SubscribePlan) -> SubscribePlan | None:
    """Raises CommandError where the bot can never post, and for an escalation that would never arrive."""
    if not planned.filters:
        await open_form(desk, invocation, None)
        return None
    member = await is_member(desk.slack, invocation.channel_id, invocation.left_s(MEMBERSHIP_S))
    if member is False and invocation.is_direct:
        raise CommandError(NOT_WITH_ME)
    await check_escalation(desk, invocation, planned.filters, planned.checked.there)
    filters = await _by_the_clock_of(desk, planned.checked, invocation, planned.filters)
    return replace(planned, filters=filters, is_member=member)


def store(session: Session, desk: Desk, invocation: Invocation, planned: SubscribePlan) -> Subscribed:
    """Raises FieldsWrong where `instead_of` has changed."""
    channel_id, now, before, check = invocation.channel_id, desk.clock(), planned.instead_of, planned.checked
    if planned.is_member:
        desk.reopening.reopen(session, channel_id, now)
    there = subscriptions.filters_of(session, channel_id)
    if before is not None:
        if before not in there:
            raise FieldsWrong({Kind.REGION: CHANGED})
        there.remove(before)
    edited = before.region if before else None
    additions = added_to(there, [_unchecked_as(before, one) for one in planned.filters], planned.wanted)
    saved = [one.after for one in additions]
    with audited(session, desk, invocation, "edit" if edited else "subscribe"):
        for one in saved:
            subscriptions.save(session, channel_id, one, user_id=invocation.user_id, now=now, instead_of=edited)
        if edited and edited not in {one.region for one in saved}:
            subscriptions.remove(session, channel_id, [edited])
    if planned.is_member is False:
        subscriptions.let_wait(session, channel_id, now)
    notes = [*check.notes, *(note for one in additions for note in one.notes)]
    is_news = any(one.is_news for one in additions)
    return Subscribed(as_shown(session, saved), check.unchecked, saved, notes, planned.is_member, is_news)


async def said_of(desk: Desk, invocation: Invocation, committed: Subscribed | None) -> Message | None:
    if committed is None:
        return None
    channel_id = invocation.channel_id
    if not committed.is_member and (member := await is_member(desk.slack, channel_id)) is not None:
        if member and committed.is_member is False:
            # Slack told of the invitation before the subscription waited. The job `check_channels` would notice too.
            await desk.database.write(partial(desk.reopening.reopen, channel_id=channel_id, now=desk.clock()))
            desk.wake.set()
        committed = replace(committed, is_member=member)
    said = partial(_said, desk=desk, invocation=invocation, committed=committed)
    return subscribed(await desk.database.read(said))


async def _by_the_clock_of(
    desk: Desk, check: FilterChoice, invocation: Invocation, filters: Sequence[ChannelFilter]
) -> Sequence[ChannelFilter]:
    """The filters, whose hours go by the person's clock where no zone was named and the channel has no hours there."""
    kept = {one.region for one in check.there if one.has_hours or one.zone}
    mine = [one for one in filters if one.has_hours and not one.zone and one.region not in kept]
    person = await desk.people.person(invocation.user_id) if mine else None
    zone = zone_called(person.zone) if person and person.zone else None
    if zone is None or zone == UTC_NAME:
        return filters
    check.notes.append(f"The hours go by your clock, {zone}. For another clock add zone: and a city.")
    return [one.model_copy(update={"zone": (zone,)}) if one in mine else one for one in filters]


def _unchecked_as(before: ChannelFilter | None, chosen: ChannelFilter) -> ChannelFilter:
    if before is None or before.unchecked_since is None or before.region.casefold() != chosen.region.casefold():
        return chosen
    return chosen.model_copy(update={"unchecked_since": before.unchecked_since, "typed_region": before.typed_region})


def _said(session: Session, desk: Desk, invocation: Invocation, committed: Subscribed) -> Said:
    channel_id, now, saved = invocation.channel_id, desk.clock(), committed.saved
    rows = subscriptions.of_channel(session, channel_id)
    there = [subscriptions.read_filter(row) for row in rows]
    others = [one for one in there if one.region not in {chosen.region for chosen in saved}]
    pairs = [pair for one in saved for other in others for pair in ((one, other), (other, one))]
    return Said(
        **vars(committed),
        overriding=overriding_in(session, pairs),
        lacking=without_abandonments(saved, there),
        minutes_alone=_minutes_alone(there, saved),
        uncovered=_uncovered(session, saved),
        recent=recent(session, saved, now, inbox.first_received_at(session)),
        is_paused=pauses.until(session, channel_id, now) is not None,
        bot_name=desk.identity.name,
        is_direct=invocation.is_direct,
        has_others=len(there) > len(saved),
        suspended=next((row.state_reason for row in rows if row.state == SubscriptionState.SUSPENDED), None),
        waiting=message_store.waiting_in(session, channel_id) if any(one.has_hours for one in saved) else (),
    )


def _minutes_alone(there: Sequence[ChannelFilter], saved: Sequence[ChannelFilter]) -> int | None:
    """The time to acknowledge, of a subscription to abandonments for which nobody else is told."""
    telling = {one.region for one in there if one.escalate}
    alone = [one for one in saved if Topic.ABANDONMENTS in one.topics and telling.isdisjoint({ALL_REGIONS, one.region})]
    return next((minutes for one in alone if (minutes := minutes_of(one)) is not None), None)


def _uncovered(session: Session, filters: Sequence[ChannelFilter]) -> list[str]:
    missing = webhook_subscriptions.uncovered(session, filters)
    return [
        f"{DECLARATIONS[EventKind(event)].counted[1]} from {listed([*map(region_named, regions)])}"
        for event, regions in missing.items()
    ]


def _asked(check: FilterChoice, invocation: Invocation) -> tuple[LineRequest, list[ChannelFilter]]:
    """The request of the line, and its filters. A refusal has the form, filled with what was understood."""
    wanted = read(
        invocation.text, check.lexicon, {**SUBSCRIBING, **(words_in("direct") if invocation.is_direct else {})}
    )
    try:
        if refused := _refused(wanted):
            raise refused.error(NAME)
        return wanted, [] if wanted.is_bare else _filters(check, wanted)
    except CommandError as error:
        error.lines |= wanted.offers(error, NAME)
        error.form = wanted.without(Kind.DAY, Kind.TIME, Kind.UNKNOWN).line()
        places = (ALL_REGIONS,) if wanted.everything else wanted.of(Kind.REGION)
        meant = [one.region for one in check.there if one.region in (places or [one.region])]
        if meant and typed_values(wanted.left_out) and not wanted.of(Kind.COURSE):
            # "no flat" and "GB no flat" are for the subscriptions that are there: an addition leaves out nothing.
            error.lines, error.edits = {}, meant[0] if len(meant) == 1 else None
        raise


def _filters(check: FilterChoice, wanted: LineRequest) -> list[ChannelFilter]:
    places = (*wanted.of(Kind.REGION), *wanted.of(Kind.UNKNOWN))
    if wanted.out(Kind.REGION):
        raise _others(check, wanted)
    if any(one.removeprefix("<").startswith("#") for one in wanted.of(Kind.UNKNOWN)):
        told = "A subscription is for the channel where you type the line."
        raise CommandError(f"{told} Type the line in the other channel, without the channel's name.")
    is_placed = bool(places or wanted.of(Kind.COURSE) or wanted.everything)
    # "quiet 22-7" is for all that the channel receives.
    adds = wanted.of_choices
    taking = [one.region for one in check.there if adds is not None and adds <= one.topics and not is_placed]
    check.listed(wanted.values)
    if not (is_placed or taking):
        check.raise_for_all()
        raise _from_where(check, wanted)
    regions = taking or check.regions(places, _other_words(check.lexicon) if places else {})
    if wanted.everything:
        regions = [ALL_REGIONS]
    courses = check.courses(Kind.COURSE, wanted.of(Kind.COURSE), regions)
    if courses and not (wanted.everything or places):
        regions = check.regions_of(courses)
    not_courses = check.courses(NOT_COURSES_FIELD, wanted.out(Kind.COURSE), regions)
    check.arriving(courses, not_courses, regions)
    check.raise_for_all()
    return [check.in_region(one, wanted.filter("", courses, not_courses)) for one in regions]


def _refused(wanted: LineRequest) -> Refusal | None:
    """The refusal of a line with several meanings, and of a choice without a subscription."""
    rest = replace(
        wanted, left_out={name: some for name, some in wanted.left_out.items() if name in {Kind.TOPIC, Kind.COURSE}}
    )
    without = {WITHOUT_THAT: rest} if rest.line() else {}
    if wanted.refused:
        offers = wanted.refused.offers or (without if wanted.not_chosen else {})
        if wanted.not_chosen and (not offers or NOT_GIVEN.keys() & wanted.not_chosen):
            return Refusal(wanted.refused.told, {"Racecard": rest}, command="racecard")
        return replace(wanted.refused, offers=_quiet_outside(wanted) or {**_together(wanted), **offers})
    if wanted.out(ALL) or (wanted.out(Kind.REGION) and not wanted.everything):
        told = f"{listed([*wanted.out(ALL), *wanted.out(Kind.REGION)])} can't be left out there. "
        return Refusal(f"{told}Name the regions that this channel is to receive.", without)
    if values := typed_values(wanted.left_out):
        of_races = [(one, each) for one in OF_RACES for each in wanted.out(one.field) if each != EVERY_VALUE]
        said = capital(listed([one.in_words(each) for one, each in of_races])) or listed(values)
        told = f"{said} can't be left out. Name what is wanted; /racing unsubscribe ends what is there."
        others = [(one, one.opposites[each]) for one, each in of_races if each in one.opposites]
        only = {one.labels[other]: rest.but(**{one.field: (other,)}) for one, other in others}
        return Refusal(told, only or without)
    if nameless := next((one for one in CONDITIONS if EVERY_VALUE in wanted.of(one.field)), None):
        return Refusal(value_wanted(nameless), wanted.but(unknown=()).with_each([nameless]))
    if not wanted.all_topics:
        return Refusal("Nothing would be left. Name what this channel is to receive.")
    # A subscription by "results daily" would bring each result at once.
    if (kinds := wanted.digests(wanted.all_topics)) and HOUR_FIELDS.isdisjoint(wanted.taken):
        told = f'One message a day needs an hour: "{wanted.each_day}" has none.'
        return Refusal(told, wanted.with_each(kinds))
    return None


def _quiet_outside(wanted: LineRequest) -> dict[str, LineRequest]:
    """The quiet hours of "results between 9am and 10pm"."""
    quiet, times = BY_FIELD["quiet"], wanted.of(Kind.TIME)
    hours = quiet.values_of("-".join(times[::-1]))
    return {f"{quiet.typed_as}{one}": wanted.without(Kind.TIME).but(quiet=(one,)) for one in hours}


def _together(wanted: LineRequest) -> dict[str, LineRequest]:
    """The digests of "results 6pm"."""
    kinds = [kind for topic, kind in HOUR_OF_TOPIC.items() if topic in wanted.of(Kind.TOPIC)]
    times = wanted.of(Kind.TIME)
    return wanted.without(Kind.TIME).with_each(kinds, times[0]) if times else {}


def _others(check: FilterChoice, wanted: LineRequest) -> CommandError:
    others = [region for region in check.lexicon.regions if region not in wanted.out(Kind.REGION)]
    named = listed(wanted.out(Kind.REGION))
    line = wanted.without(ALL, Kind.REGION).but(regions=others).line(NAME)
    return CommandError(
        f"All regions but {named} can't be one subscription: that to all takes in regions that are yet to come. The "
        f"regions without {named} can be named one by one.",
        lines={f"All {len(others)} regions but {named}": line} if others else {},
    )


def _from_where(check: FilterChoice, wanted: LineRequest) -> CommandError:
    """The question for a place, with a button for each region of the channel, or for the usual regions, and for all."""
    published, there = check.lexicon.regions, check.there
    usual = [*(region for region in USUAL_REGIONS if region in published), *published]
    asks_less = bool(there) and (wanted.is_only or bool(wanted.left_out))
    # "only abandonments" in a channel with York alone is not for the whole region.
    regions = [one.region for one in there if one.region != ALL_REGIONS and not (asks_less and one.courses)]
    if not asks_less:
        regions = regions or usual
    each = {region: wanted.but(regions=(region,)) for region in list(dict.fromkeys(regions))[:ASKED_MAX]}
    if not asks_less:
        each["All regions"] = wanted.but(all=(ALL,))
    what = listed(topics_in_order(wanted.all_topics)).capitalize()
    # "only abandonments" in a channel with results: a button ends the results.
    more = {one.region: topics_in_order(one.topics - (wanted.no_more_than or one.topics)) for one in there}
    ends = {
        f"End {listed(some)} from {region_named(region)}": typed_line([ENDING, region_words(region), *some])
        for region, some in more.items()
        if some
    }
    return CommandError(
        f"{what} from where? Name a region or a course.",
        lines=ends | {label: one.line(NAME) for label, one in each.items()},
        edits=there[0].region if len(there) == 1 else None,
    )


def _other_words(lexicon: Lexicon) -> dict[str, str]:
    courses = {one.name: f"{COURSE_PREFIX}{one.name}" for one in lexicon.courses if one.name}
    return dict(lexicon.names) | {ALL: ALL} | {topic.value: topic.value for topic in Topic} | courses


SUBSCRIBE_COMMAND = Command(NAME, said_of, _plan, ask_slack, may_change, _changes, store, moves_person=True)


async def _plan_form(desk: Desk, invocation: Invocation) -> SubscribePlan:
    if invocation.form is None:
        raise CommandError("There is no form to save: /racing subscribe opens the form.")
    return await asyncio.to_thread(_of_form, await _choice(desk, invocation), *invocation.form)


def _of_form(check: FilterChoice, form: FormOf, submitted: Submitted) -> SubscribePlan:
    before = _opened_with(check.there, form)
    named = check.instead_of_all(submitted["region"])
    regions = named if ALL_REGIONS in named else check.regions(named)
    kept = before or ChannelFilter(region="", topics=frozenset())
    values = {one.field: one.of(kept) if submitted[one.field] is None else submitted[one.field] for one in CONDITIONS}
    for name in COURSE_FIELDS:
        if submitted[name] is not None:
            values[name] = _chosen_courses(check, name, submitted[name], before, regions)
    check.arriving(values[Kind.COURSE], values[NOT_COURSES_FIELD], regions)
    check.listed(values, before)
    errors = {name: told for one in CONDITIONS for name, told in problem(one, submitted).items()}
    errors |= {name: str(some[0]) for name, some in check.errors.items()}
    if errors:
        raise FieldsWrong(errors)
    chosen = ChannelFilter.model_validate(values | {"region": ""})
    return SubscribePlan(None, [check.in_region(one, chosen) for one in regions], check, before)


def _opened_with(there: Sequence[ChannelFilter], form: FormOf) -> ChannelFilter | None:
    if form.editing is None:
        return None
    chosen = next((one for one in there if one.region == form.editing), None)
    if chosen is None or chosen.fingerprint() != form.was:
        raise FieldsWrong({Kind.REGION: CHANGED})
    return chosen


def _chosen_courses(
    check: FilterChoice, name: str, submitted: Sequence[str], before: ChannelFilter | None, regions: Sequence[str]
) -> tuple[Course, ...]:
    there: tuple[Course, ...] = getattr(before, name) if before else ()
    stored = {course_value(course): course for course in there}
    kept = tuple(stored[value] for value in submitted if value in stored)
    return (*not_shown(there), *kept, *check.courses(name, [v for v in submitted if v not in stored], regions))


FORM_SUBMITTED = replace(SUBSCRIBE_COMMAND, name="submit", plan=_plan_form, changes=None)
