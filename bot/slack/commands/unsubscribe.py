"""`/racing unsubscribe`: regions, topics, courses, race classes, or all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlmodel import Session

from bot.channels import subscriptions, watches
from bot.channels.conditions.course_condition import is_called
from bot.channels.filters import ALL_REGIONS, ChannelFilter, without, without_abandonments
from bot.db.tables import ChannelSubscriptionRow
from bot.errors import WITHOUT_LABEL, CommandError
from bot.events.event import Topic
from bot.outbox import backlog
from bot.outbox.message import Message
from bot.racedata.lexicon import Lexicon, kept
from bot.racedata.near_misses import COURSE_PREFIX, refusal, wrong_words
from bot.slack.commands.filter_view import as_shown
from bot.slack.commands.filter_words_typed import (
    TypedFilter,
    Values,
    check_readings,
    day_or_time,
    read_typed_filter,
    typed_values,
)
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.subscription_changes import audited, change
from bot.slack.commands.tokens import NOT_COURSE, join
from bot.slack.messages.answers.filter_words import in_plain_words
from bot.slack.messages.answers.subscription_answers import unsubscribed
from bot.slack.messages.conditions.course_view import name_of
from bot.slack.messages.conditions.region_view import region_named, region_words
from bot.slack.messages.conditions.topic_view import topics_in_order
from bot.slack.messages.kit.text import listed

NAME = "unsubscribe"

ENDING_ALIKE = 0.75
"""The least likeness of a near miss, from 0 to 1: more than elsewhere, because the named subscription is ended."""


@dataclass(frozen=True)
class Unsubscribed:
    """The numbers of ended and of changed subscriptions, and the filters that are left.

    `lacking` are filters without abandonments in the channel. `watched` counts names that the channel watches.
    """

    ended: int
    changed: int
    left: tuple[ChannelFilter, ...]
    lacking: tuple[ChannelFilter, ...] = ()
    watched: int = 0


async def commit(desk: Desk, invocation: Invocation) -> Unsubscribed:
    await desk.people.check_may_change(invocation, invocation.channel_id)

    wanted = await desk.database.read(partial(_read, invocation=invocation))

    def remove(session: Session) -> Unsubscribed:
        with audited(session, desk, invocation, NAME):
            return _remove(session, desk, invocation.channel_id, wanted)

    return await change(desk, invocation, remove)


async def check(desk: Desk, invocation: Invocation) -> None:
    def choose(session: Session) -> None:
        wanted = _read(session, invocation)
        _chosen(subscriptions.of_channel(session, invocation.channel_id), wanted)

    await desk.database.read(choose)


async def answer(_desk: Desk, _invocation: Invocation, committed: Unsubscribed) -> Message:
    return unsubscribed(
        committed.ended,
        committed.left,
        changed=committed.changed,
        lacking=committed.lacking,
        watched=committed.watched,
    )


def _remove(session: Session, desk: Desk, channel_id: str, wanted: TypedFilter) -> Unsubscribed:
    rows = subscriptions.of_channel(session, channel_id)
    chosen = _chosen(rows, wanted)
    for row in chosen:
        after = without(subscriptions.read_filter(row), named) if (named := _named(wanted)) else None
        if after is None:
            subscriptions.remove(session, channel_id, [row.region])
        else:
            subscriptions.save(session, channel_id, after, user_id=row.created_by, now=desk.clock())
    left = subscriptions.of_channel(session, channel_id)
    if not left:
        # The backlog of a paused channel can be long, and nobody wants messages of an ended subscription.
        backlog.drop(session, channel_id, desk.clock())
    ended, filters = len(rows) - len(left), [subscriptions.read_filter(row) for row in left]
    return Unsubscribed(
        ended,
        len(chosen) - ended,
        as_shown(session, filters),
        without_abandonments(filters, filters),
        watches.count_in(session, channel_id),
    )


def _named(wanted: TypedFilter) -> dict[str, Collection[str]]:
    """The typed words by field of a filter; empty where regions alone, or all, were typed."""
    typed = {"topics": wanted.topics, "courses": wanted.courses, "not_courses": wanted.not_courses}
    return {field: words for field, words in (typed | dict(wanted.values)).items() if words}


def _read(session: Session, invocation: Invocation) -> TypedFilter:
    rows = subscriptions.of_channel(session, invocation.channel_id)
    return read_typed_filter(invocation.text, _lexicon(session, rows))


def _chosen(rows: Sequence[ChannelSubscriptionRow], wanted: TypedFilter) -> list[ChannelSubscriptionRow]:
    if not rows:
        raise CommandError("This channel has no subscriptions. /racing subscribe GB would make one.")
    regions = [row.region for row in rows]
    there = ", ".join(map(region_words, regions))
    if wanted.is_bare:
        # The word for all regions ends every subscription, not that to all regions alone.
        one = [f"/racing {join([NAME, region])}, or " for region in regions if region != ALL_REGIONS]
        alone = " Remove in /racing list ends that to all regions alone." if 0 < len(one) < len(rows) else ""
        raise CommandError(
            f"Say what to end: this channel has subscriptions to {there}. For example {''.join(one[:1])}/racing "
            f"{NAME} all for every one of them.{alone}"
        )
    _check_words(wanted, regions)
    unknown = [typed for typed in wanted.regions if typed not in regions]
    if unknown:
        wrong = wrong_words(unknown, {word: word for word in (*map(region_words, regions), *Topic)}, ENDING_ALIKE)
        raise refusal(f"This channel has no subscription to {', '.join(unknown)}.", wrong, after=f"It has: {there}.")
    chosen = [row for row in rows if not wanted.regions or row.region in wanted.regions]
    named = _named(wanted)
    if not named:
        return chosen
    _check_one_kind(chosen, wanted)
    if wanted.topics:
        return _with_these_topics(chosen, wanted.topics)
    if wanted.courses or wanted.not_courses:
        _check_courses(chosen, wanted)
    else:
        _check_values(chosen, wanted)
    filters = [subscriptions.read_filter(row) for row in chosen]
    return [row for row, one in zip(chosen, filters, strict=True) if without(one, named) != one]


def _lexicon(session: Session, rows: Sequence[ChannelSubscriptionRow]) -> Lexicon:
    lists = kept(session)
    taken = [row.region for row in rows if row.region != ALL_REGIONS]
    return replace(lists, regions=tuple(dict.fromkeys([*lists.regions, *taken])))


def _check_words(wanted: TypedFilter, regions: Sequence[str]) -> None:
    there = ", ".join(map(region_words, regions))
    if wanted.not_regions and wanted.everything:
        ends = [region for region in regions if region not in wanted.not_regions and region != ALL_REGIONS]
        raise CommandError(
            f"I can't end all but something. This channel has subscriptions to {there}: name those that are to end.",
            lines={f"End {listed(ends)}": join([NAME, *ends])} if ends and ALL_REGIONS not in regions else None,
        )
    if wanted.is_negated:
        raise CommandError(
            f"I can't end all but something. This channel has subscriptions to {there}: name what is to end, or see "
            "Edit in /racing list."
        )
    check_readings(NAME, wanted)
    if wanted.days:
        what = day_or_time(wanted.days[0])
        told = f"A subscription has no {what} such as {wanted.days[0]}. Nothing was changed."
        raise CommandError(told, lines={f"{WITHOUT_LABEL}{what}": wanted.line(NAME)} if wanted.line("") else None)
    if wanted.everything and wanted.regions:
        named = join(wanted.regions)
        raise CommandError(
            f'"all" is every subscription of this channel ({there}), and you named {named} too, so nothing was '
            f"changed. Type /racing unsubscribe all, or /racing unsubscribe {named}."
        )


def _check_one_kind(rows: Sequence[ChannelSubscriptionRow], wanted: TypedFilter) -> None:
    """Raise CommandError for words of two kinds: to end both would be more than was named."""
    if wanted.values:
        _check_values_alone(wanted)
    if not wanted.topics or not (wanted.courses or wanted.not_courses):
        return
    topics, courses = listed(topics_in_order(wanted.topics)), listed([*wanted.courses, *wanted.not_courses])
    of_courses = replace(wanted, topics=frozenset())
    filters = [subscriptions.read_filter(row) for row in rows]
    lines = {f"{topics} entirely": replace(wanted, courses=(), not_courses=()).line(NAME)}
    if any(without(one, _named(of_courses)) != one for one in filters):
        there = f"{courses} entirely" if wanted.courses else f"{courses} is no longer left out"
        lines = {there: of_courses.line(NAME)} | lines
    elif len(filters) == 1 and filters[0].region != ALL_REGIONS and wanted.courses:
        left_out = [f"{NOT_COURSE}{one}" for one in wanted.courses]
        lines[f"Leave out {courses}"] = join(["subscribe", filters[0].region, *left_out])
    raise CommandError(
        f"A subscription has the same courses for all that it brings, so {topics} of {courses} alone can't be ended. "
        "Nothing was changed. What is to end?",
        lines=lines,
    )


def _check_values_alone(wanted: TypedFilter) -> None:
    others = [*topics_in_order(wanted.topics), *wanted.courses, *wanted.not_courses]
    if not others:
        return
    alone = replace(wanted, topics=frozenset(), courses=(), not_courses=())
    rest = replace(wanted, values=())
    values = _values_named(wanted.values)
    raise CommandError(
        f"A subscription has the same races for all that it brings, so {listed(others)} of {values} alone can't be "
        "ended. Nothing was changed. What is to end?",
        lines={f"{values} entirely": alone.line(NAME), f"{listed(others)} entirely": rest.line(NAME)},
    )


def _check_values(rows: Sequence[ChannelSubscriptionRow], wanted: TypedFilter) -> None:
    filters = [subscriptions.read_filter(row) for row in rows]
    for field, words in wanted.values:
        for word in words:
            if all(without(one, {field: [word]}) == one for one in filters):
                raise CommandError(
                    f"No subscription of this channel names {_values_named(((field, (word,)),))}, so nothing was "
                    "changed. /racing list shows what there is."
                )


def _values_named(values: Values) -> str:
    return listed(typed_values(values))


def _with_these_topics(
    rows: Sequence[ChannelSubscriptionRow], topics: frozenset[Topic]
) -> list[ChannelSubscriptionRow]:
    found = [row for row in rows if subscriptions.read_filter(row).topics & topics]
    if not found:
        has = in_plain_words(subscriptions.read_filter(row) for row in rows)
        named = " and ".join(sorted(topics))
        raise CommandError(f"This channel receives no {named} there, so nothing was changed. It receives {has}.")
    return found


def _check_courses(rows: Sequence[ChannelSubscriptionRow], wanted: TypedFilter) -> None:
    filters = [subscriptions.read_filter(row) for row in rows]
    for field, typed in (
        *(("courses", typed) for typed in wanted.courses),
        *(("not_courses", typed) for typed in wanted.not_courses),
    ):
        if any(without(one, {field: [typed]}) != one for one in filters):
            continue
        if field == "courses" and (lines := _taken_back(filters, typed)):
            raise CommandError(f"{typed} is already left out.", lines=lines)
        whole = [one.region for one in filters if not one.courses] if field == "courses" else []
        left_out = {
            f"Leave out {typed}{f' of {region_named(region)}' if len(whole) > 1 else ''}": join(
                ["subscribe", region_words(region), f"{NOT_COURSE}{typed}"]
            )
            for region in whole
        }
        raise CommandError(
            f"No subscription of this channel names the course {typed}, so nothing was changed. /racing list shows "
            "what there is." + (" The course can be left out:" if left_out else ""),
            lines=left_out,
        )


def _taken_back(filters: Sequence[ChannelFilter], typed: str) -> dict[str, str]:
    found = [(one, course) for one in filters for course in one.not_courses if is_called(course, [typed])]
    return {
        f"Take {name_of(course)} back in{f' from {region_named(one.region)}' if len(found) > 1 else ''}": join(
            [
                "subscribe",
                region_words(one.region),
                *topics_in_order(one.topics),
                f"{COURSE_PREFIX}{course.course_id or name_of(course)}",
            ]
        )
        for one, course in found
    }
