"""`/racing unsubscribe`, and `/racing list` with its buttons: what a channel receives, listed, changed and ended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlmodel import Session

from bot.channels import audit_log, mutes, pauses, subscriptions, watches
from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.conditions.event_conditions import (
    COURSE_FIELDS,
    COURSE_PREFIX,
    NOT_COURSES_FIELD,
    is_person,
    region_named,
    region_words,
    topics_in_order,
)
from bot.channels.conditions.race_conditions import RaceCodeCondition
from bot.channels.conditions.table import BY_FIELD, NARROWING
from bot.channels.filters import ALL_REGIONS, ChannelFilter, without, without_abandonments
from bot.db.tables import OutboxMessage
from bot.errors import CommandError, question
from bot.events.days import utc_today
from bot.events.event import Topic
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.outbox import backlog, held_queues
from bot.outbox.message import Message
from bot.racedata.lexicon import COURSES, REGIONS, Lexicon, kept
from bot.racedata.near_misses import likely, quoted, refusal, wrong_words
from bot.slack.commands.button_commands import form_is_the_answer, open_form
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change, no_words, says
from bot.slack.commands.subscription_changes import abandonments_here, as_shown, audited, overriding_in
from bot.slack.language.grammar import Phrase
from bot.slack.language.refusals import value_wanted
from bot.slack.language.request import LineRequest, Refusal, read, typed_values
from bot.slack.language.words import ALL, SUBSCRIBING, Kind, words_in
from bot.slack.messages.answers.filter_words import in_plain_words
from bot.slack.messages.answers.subscription_answers import (
    EDIT,
    PER_PAGE,
    REMOVE,
    Listed,
    ListPage,
    Unsubscribed,
    paused_since,
    subscription_list,
    unsubscribed,
)
from bot.slack.workspace import members

NAME = "unsubscribe"

_OWN = {**SUBSCRIBING, **words_in(NAME)}

REGIONS_S = 1.5
"""For reading the regions anew."""

ENDING_ALIKE = 0.75
"""The least likeness of a near miss, from 0 to 1. Other commands ask less: `unsubscribe` alone ends something."""


async def _plan(desk: Desk, invocation: Invocation) -> LineRequest:
    lexicon = await desk.database.read(partial(_lexicon, channel_id=invocation.channel_id))
    return read(invocation.text, lexicon, _OWN)


def _changes(session: Session, invocation: Invocation, planned: LineRequest) -> bool:
    return bool(ended(subscriptions.filters_of(session, invocation.channel_id), planned))


def end_subscriptions(session: Session, desk: Desk, invocation: Invocation, wanted: LineRequest) -> Unsubscribed:
    """The backlog ends with the last subscription."""
    channel_id = invocation.channel_id
    made_by = {subscriptions.read_filter(row): row.created_by for row in subscriptions.of_channel(session, channel_id)}
    each = ended(list(made_by), wanted)
    with audited(session, desk, invocation, NAME):
        for before, after in each.items():
            if after is None:
                subscriptions.remove(session, channel_id, [before.region])
            else:
                subscriptions.save(session, channel_id, after, user_id=made_by[before], now=desk.clock())
    gone = [before for before, after in each.items() if after is None]
    filters = subscriptions.filters_of(session, channel_id)
    if not filters:
        # The backlog of a paused channel can be long, and nobody wants messages of an ended subscription.
        backlog.drop(session, channel_id, desk.clock())
    had = [*filters, *(one for one in gone if Topic.ABANDONMENTS in one.topics)]
    lacking, watched = without_abandonments(had, filters), watches.count_in(session, channel_id)
    return Unsubscribed(len(gone), len(each) - len(gone), as_shown(session, filters), lacking, watched, list(each))


def _named(wanted: LineRequest) -> dict[str, Collection[str]]:
    """The typed words by field of a filter. Places alone give no field."""
    named = {field: wanted.of(field) for field in BY_FIELD} | {NOT_COURSES_FIELD: wanted.out(Kind.COURSE)}
    return {field: words for field, words in named.items() if words}


def ended(filters: Sequence[ChannelFilter], wanted: LineRequest) -> dict[ChannelFilter, ChannelFilter | None]:
    """Each filter that the line changes, with the changed filter; None for an ended filter.

    A refusal opens the form of the subscription, if the line can mean a single subscription.
    """
    try:
        return _ended(filters, wanted)
    except CommandError as error:
        if name := " ".join(wanted.of(Kind.UNKNOWN)):
            error.lines[f"Unwatch {name}"] = f"unwatch {name}"
        regions = [one.region for one in filters]
        meant = [region for region in regions if region in wanted.of(Kind.REGION)] or regions
        error.edits = meant[0] if len(meant) == 1 else None
        if parts := _parts(wanted):
            # A button that ends all jumps says "jumps", because the person typed "hurdles".
            whole = parts[0].value
            error.lines = {label: line for label, line in error.lines.items() if whole in label or whole not in line}
        raise


def _ended(filters: Sequence[ChannelFilter], wanted: LineRequest) -> dict[ChannelFilter, ChannelFilter | None]:
    if not filters:
        raise CommandError("This channel has no subscriptions. /racing subscribe GB would make one.", form="")
    regions = [one.region for one in filters]
    there = ", ".join(map(region_words, regions))
    if refused := _refused(wanted, filters, there):
        raise refused.error(NAME)
    words = (*wanted.of(Kind.REGION), *wanted.of(Kind.UNKNOWN), *wanted.not_chosen)
    unknown = [typed for typed in words if typed not in regions]
    if unknown:
        wrong = wrong_words(unknown, {word: word for word in (*map(region_words, regions), *Topic)}, ENDING_ALIKE)
        error = refusal(f"This channel has no subscription to {', '.join(unknown)}.", wrong, after=f"It has: {there}.")
        error.lines = wanted.offers(error, NAME)
        raise error
    chosen = [one for one in filters if not wanted.of(Kind.REGION) or one.region in wanted.of(Kind.REGION)]
    named = _named(wanted)
    if not named:
        return dict.fromkeys(chosen)
    # "GB results flat" is the whole subscription: without any of the three, nothing is left.
    whole = [one for one in chosen if all(without(one, {field: named[field]}) is None for field in named)]
    parts = _parts(wanted)
    if whole and len(named) > 1 and not parts:
        return dict.fromkeys(whole)
    # "results once a day" may mean the digest.
    digests = wanted.digests(wanted.of(Kind.TOPIC))
    if mixed := _of_one_kind(wanted.but(**{one.field: wanted.of(one.field) or (EVERY_VALUE,) for one in digests})):
        raise mixed.error(NAME)
    if absent := _absent(chosen, named):
        raise _not_there(chosen, absent)
    if parts:
        raise CommandError(
            f"I can end {parts[0].value} only as a whole, not {quoted(parts[0].typed)} alone, so nothing was changed.",
            lines={listed(wanted.of(parts[0].of_field)): wanted.mended(NAME, {})},
        )
    each = {one: without(one, named) for one in chosen}
    return {before: after for before, after in each.items() if after != before}


def _parts(wanted: LineRequest) -> list[Phrase]:
    """The typed parts of a value, such as "hurdles" of jumps."""
    return [one for one in wanted.phrases if one.of_field and BY_FIELD[one.of_field].is_part(one.typed)]


def _lexicon(session: Session, channel_id: str) -> Lexicon:
    """With the channel's own regions and courses: the service's lists may lack a region or a course."""
    filters = subscriptions.filters_of(session, channel_id)
    named = ((course.name, one.region) for one in filters for course in (*one.courses, *one.not_courses) if course.name)
    lists, taken = kept(session, named), [one.region for one in filters if one.region != ALL_REGIONS]
    return replace(lists, regions=tuple(dict.fromkeys([*lists.regions, *taken])))


def _refused(wanted: LineRequest, filters: Sequence[ChannelFilter], there: str) -> Refusal | None:
    if wanted.is_bare and not (wanted.not_chosen or wanted.refused):
        regions = [one.region for one in filters if one.region != ALL_REGIONS]
        each = {f"End {one}": LineRequest({Kind.REGION: (one,)}) for one in regions}
        told = f"Say what to end: this channel has subscriptions to {there}."
        return Refusal(told, each | {"End all": LineRequest({ALL: (ALL,)})})
    plain = [one.kind for one in wanted.phrases if one.kind is not Kind.FILLER]
    # "results, only abandonments" would end both.
    if wanted.is_negated or wanted.left_out.keys() - {Kind.COURSE} or Kind.ONLY in plain[1:-1]:
        return Refusal(
            f"I can't end all but something. This channel has subscriptions to {there}: name what is to end, or see "
            "Edit in /racing list.",
            _others(wanted, filters),
        )
    if wanted.refused and wanted.refused.is_of_meaning and (mixed := _of_one_kind(wanted)):
        return mixed
    if wanted.refused and not wanted.not_chosen:
        return _of_a_while(wanted, wanted.refused) if {Kind.DAY, Kind.TIME} & wanted.taken.keys() else wanted.refused
    nameless = next((one for one in NARROWING if EVERY_VALUE in wanted.of(one.field)), None)
    return Refusal(value_wanted(nameless)) if nameless else None


def _others(wanted: LineRequest, filters: Sequence[ChannelFilter]) -> dict[str, LineRequest]:
    """The offer to end the other regions or topics, for "everything except GB" and "all but abandonments"."""
    if not wanted.everything or len(wanted.left_out) != 1:
        return {}
    ((field, kept),) = wanted.left_out.items()
    topics = frozenset(topic for one in filters for topic in one.topics)
    had: dict[str, Sequence[str]] = {Kind.REGION: [one.region for one in filters], Kind.TOPIC: topics_in_order(topics)}
    ends = tuple(one for one in had.get(field, ()) if one not in kept)
    offer = replace(wanted.but(**{ALL: (), field: ends}), left_out={})
    return {f"End {offer.label}": offer} if ends and ALL_REGIONS not in ends else {}


def _of_a_while(wanted: LineRequest, refused: Refusal) -> Refusal:
    """The refusal of an end for a day. An end for good is not meant, and is not offered."""
    meeting = LineRequest({Kind.COURSE: wanted.of(Kind.COURSE), Kind.DAY: wanted.of(Kind.DAY)})
    told = (
        f"{refused.told} /racing mute holds back the results and racecards of one meeting. /racing pause holds back "
        "everything for a set time, abandonments too."
    )
    return Refusal(told, {"Mute the meeting": meeting} if all(meeting.taken.values()) else {}, command="mute")


def _of_one_kind(wanted: LineRequest) -> Refusal | None:
    """The refusal of words of several kinds, such as results of York: the end of both would be too much."""
    places = replace(wanted.but(**dict.fromkeys(wanted.taken.keys() - {Kind.REGION, ALL}, ())), left_out={})
    courses = [*wanted.of(Kind.COURSE), *(f"exclusion of {one}" for one in wanted.out(Kind.COURSE))]
    of_courses = replace(places.but(courses=wanted.of(Kind.COURSE)), left_out=wanted.left_out)
    each = {
        listed(topics_in_order(frozenset(wanted.of(Kind.TOPIC)))): places.but(topics=wanted.of(Kind.TOPIC)),
        listed(courses): of_courses,
        listed(typed_values(wanted.values)): places.but(**wanted.values),
    }
    offers = {f"End {what} entirely": alone for what, alone in each.items() if what}
    if len(offers) <= 1:
        return None
    told = "All events of a subscription have the same races, so only one part can end at a time. Nothing was changed."
    return Refusal(f"{told} What is to end?", offers)


def _absent(filters: Sequence[ChannelFilter], named: Mapping[str, Collection[str]]) -> tuple[str, Sequence[str]] | None:
    """The first field whose words no filter has. Of several topics a single topic is enough."""
    for field, words in named.items():
        for some in [words] if field == Kind.TOPIC else [[word] for word in words]:
            if all(without(one, {field: some}) == one for one in filters):
                return field, list(some)
    return None


def _not_there(filters: Sequence[ChannelFilter], absent: tuple[str, Sequence[str]]) -> CommandError:
    field, words = absent
    is_course = field in COURSE_FIELDS
    is_plain = is_course or field in {Kind.TOPIC, RaceCodeCondition.field}
    what = listed(sorted(words) if is_plain else typed_values({field: tuple(words)}))
    whole = [one.region for one in filters if field == Kind.COURSE and not (one.courses or one.not_courses)]
    told = (
        f"No subscription of this channel names {what}"
        if field != Kind.TOPIC
        else f"This channel receives no {what} there"
    )
    of = {region: f" of {region_named(region)}" if len(whole) > 1 else "" for region in whole}
    out = [f"-{COURSE_PREFIX}{one}" for one in words]
    lines = {f"Leave out {what}{of[one]}": typed_line(["subscribe", region_words(one), *out]) for one in whole}
    return CommandError(f"{told}, so nothing was changed. The channel receives {in_plain_words(filters)}.", lines=lines)


UNSUBSCRIBE_COMMAND = Command(
    NAME, says(unsubscribed), _plan, rights=may_change, changes=_changes, store=end_subscriptions
)


# The list, and the buttons that edit and remove


async def _answer(desk: Desk, invocation: Invocation, number: int) -> Message:
    # Filters stored unchecked while the service was away show as soon as the service is back.
    await desk.reference.regions(REGIONS_S)
    page = await desk.database.read(lambda session: _page(session, desk, invocation.channel_id, number))
    if not await desk.people.is_admin(invocation):
        page = replace(page, last_change=None)
    gone = await _gone(desk, invocation.channel_id, {one.row.created_by for one in page.listed})
    listed = [
        replace(one, orphaned=[*one.orphaned, *filter(None, [gone.get(one.row.created_by)])]) for one in page.listed
    ]
    return subscription_list(replace(page, listed=listed))


async def _plan_edit(desk: Desk, invocation: Invocation) -> ChannelFilter:
    """The subscription of the button's region. Raises CommandError for an ended subscription."""
    find = partial(subscriptions.find, channel_id=invocation.channel_id, region=invocation.text)
    if (row := await desk.database.read(find)) is None:
        raise CommandError("The subscription is not there any more. /racing list shows the subscriptions.")
    return subscriptions.read_filter(row)


async def _plan_remove(desk: Desk, invocation: Invocation) -> LineRequest:
    return LineRequest({Kind.REGION: ((await _plan_edit(desk, invocation)).region,)})


def _page(session: Session, desk: Desk, channel_id: str, number: int) -> ListPage:
    rows = subscriptions.of_channel(session, channel_id)
    every = [subscriptions.read_filter(row) for row in rows]
    number = min(number, audit_log.pages_of(len(every), PER_PAGE))
    on_page = slice((number - 1) * PER_PAGE, number * PER_PAGE)
    filters = every[on_page]
    posts = subscriptions.last_posts(session, channel_id, filters)
    lacking, now = without_abandonments(filters, every), desk.clock()
    regions, courses = REGIONS.items(session), {one.course_id for one in COURSES.items(session)}
    muted = [(row, mutes.read(row)) for row in mutes.of_channel(session, channel_id, now)]
    return ListPage(
        listed=[
            replace(
                _with_post(Listed(row, shown), post, desk),
                overriding=overriding_in(session, [(chosen, other) for other in every]),
                has_abandonments=chosen not in lacking,
                orphaned=_unpublished(chosen, regions, courses),
            )
            for row, chosen, shown, post in zip(rows[on_page], filters, as_shown(session, filters), posts, strict=True)
        ],
        number=number,
        total=len(every),
        mutes=[(row, one, abandonments_here(session, channel_id, one, now)) for row, one in muted],
        last_change=audit_log.last_of_channel(session, channel_id),
        today=utc_today(now),
        pause=_pause(session, channel_id),
        watched=watches.count_in(session, channel_id),
    )


def _pause(session: Session, channel_id: str) -> str | None:
    until, held = pauses.last_end(session, channel_id), held_queues.held_of(session, channel_id)
    if until is None:
        return None
    if held is None or held.because != held_queues.PAUSED:
        # A pause within a closing.
        return paused_since(until)
    entry = audit_log.last_by(session, channel_id, "pause", held.since)
    return paused_since(until, held.since, entry.user_id if entry else None)


def _with_post(one: Listed, post: OutboxMessage | None, desk: Desk) -> Listed:
    """A post from before the subscription was of another subscription."""
    if post is None or (post.sent_at or post.received_at) < one.row.created_at:
        return one
    link = desk.identity.permalink(one.row.channel_id, post.message_ts) if post.message_ts else None
    return replace(one, last_post_at=post.sent_at, last_post_link=link)


def _unpublished(chosen: ChannelFilter, regions: Sequence[str], courses: Collection[str | None]) -> list[str]:
    """What the data service lacks, in words. Without a list nothing is missing."""
    missing = []
    if regions and chosen.region not in {ALL_REGIONS, *regions}:
        meant = question(likely(chosen.region, regions))
        missing.append(f"The data service publishes no region {chosen.region}, so nothing from it arrives.{meant}")
    return missing + [
        f"The data service no longer publishes the course {course.name or course.course_id}."
        for course in (*chosen.courses, *chosen.not_courses)
        if course.course_id and courses and course.course_id not in courses
    ]


async def _gone(desk: Desk, channel_id: str, creators: set[str]) -> dict[str, str]:
    there = await members(desk.slack, channel_id)
    gone: dict[str, str] = {}
    # An operator at the shell is in no channel.
    for user_id in sorted(filter(is_person, creators)):
        person = await desk.people.person(user_id)
        if person is not None and person.is_deactivated:
            gone[user_id] = "Whoever made it is deactivated in Slack."
        elif there is not None and user_id not in there:
            gone[user_id] = "Whoever made it is not in this channel any more."
    return gone


LIST_COMMAND = Command("list", _answer, no_words("list", "The list shows all that this channel receives."))
EDIT_BUTTON = Command(EDIT, form_is_the_answer, _plan_edit, open_form, may_change)
REMOVE_BUTTON = Command(REMOVE, says(unsubscribed), _plan_remove, rights=may_change, store=end_subscriptions)
