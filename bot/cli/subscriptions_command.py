"""`racing-bot subscriptions`: exports all channels' subscriptions, and applies a file, beside a running bot too."""

import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TypeVar

from sqlmodel import Session

from bot.channels import channel_lock, subscriptions, watches
from bot.channels.conditions.race_class_condition import folded_class
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.cli.watch_changes import WatchChange, change_watches, watch_difference, watch_lines
from bot.clock import Clock, utc_now
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.named_value_store import DatabaseStateStore
from bot.db.schema import Schema, check_is_there
from bot.errors import StorageUnavailable, SubscriptionFileWrong, SubscriptionsNotApplied
from bot.events.races import Course
from bot.fanout.unchecked_filters import course_of
from bot.logs import get_logger
from bot.operations import subscription_file
from bot.operations.subscription_file import Wanted, WatchesByChannel
from bot.outbox import backlog
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import likely
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCourse
from bot.settings import Settings
from bot.slack.channel_membership import is_member
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.subscription_changes import audited
from bot.slack.messages.answers.filter_words import in_words
from bot.slack.messages.conditions.course_view import name_of
from bot.slack.messages.conditions.region_view import region_named
from bot.slack.web_client import SlackClient, make_session, make_web_client

log = get_logger(__name__)

T = TypeVar("T")

LISTS_S = 5.0
"""For the data service's lists, if none are stored."""

LISTED_MAX = 30
"""Race classes that a refusal lists."""

ACTION = "apply"

CHANGED_MEANWHILE = (
    "Somebody has changed a subscription since the difference was shown, so nothing was changed. Type the command "
    "again."
)


@dataclass(frozen=True)
class SubscriptionChange:
    """A channel's subscription to a region; None: no subscription."""

    channel_id: str
    before: ChannelFilter | None
    after: ChannelFilter | None

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """Equal for equal changes, checks aside."""
        return (
            self.channel_id,
            self.before.fingerprint() if self.before else None,
            self.after.fingerprint() if self.after else None,
        )


@dataclass(frozen=True)
class Applying:
    """Compares a file with stored subscriptions, and makes the changes.

    `is_member`: None without Slack's answer. `who`: the operator, for the audit.
    """

    database: Database
    settings: Settings
    clock: Clock
    who: str
    is_member: Callable[[str], Awaitable[bool | None]]
    reference: str = field(default_factory=lambda: f"apply-{Ports().token(4)}")

    async def changes(self, wanted: Sequence[Wanted]) -> list[SubscriptionChange]:
        return difference(await self.database.read(subscriptions.every), wanted)

    async def watch_changes(self, wanted: WatchesByChannel | None) -> list[WatchChange]:
        return watch_difference(await self.database.read(watches.of_channels), wanted)

    async def carry_out(
        self,
        wanted: Sequence[Wanted],
        shown: Sequence[SubscriptionChange],
        wanted_watches: WatchesByChannel | None = None,
        shown_watches: Sequence[WatchChange] = (),
    ) -> None:
        """Make the shown changes, all or none.

        Raises SubscriptionsNotApplied after any change since the display.
        """
        uninvited = await self._uninvited(shown)

        def apply(session: Session) -> None:
            channels = {*(one.channel_id for one in shown), *(one.channel_id for one in shown_watches)}
            channel_lock.take(session, *sorted(channels))
            # Before the subscriptions: a channel without both keeps no waiting message.
            if watch_difference(watches.of_channels(session), wanted_watches) != list(shown_watches):
                raise SubscriptionsNotApplied(CHANGED_MEANWHILE)
            change_watches(session, self, self.who, self.reference, shown_watches)
            self._apply(session, wanted=wanted, shown=shown, uninvited=uninvited)

        await self.database.write(apply)
        count = len(shown) + len(shown_watches)
        log.info("subscriptions_applied", reference=self.reference, changes=count, who=self.who)

    async def _uninvited(self, shown: Sequence[SubscriptionChange]) -> frozenset[str]:
        """Channels with a new subscription and without the bot. After a silence Slack is not asked again."""
        found = set[str]()
        for channel_id in dict.fromkeys(one.channel_id for one in shown if one.before is None):
            member = await self.is_member(channel_id)
            if member is None:
                log.warning("slack_did_not_say", advice="new subscriptions are live; the first post finds out")
                break
            if not member:
                found.add(channel_id)
                log.warning("bot_not_in_channel", channel_id=channel_id, advice="invite the bot there")
        return frozenset(found)

    def _apply(
        self,
        session: Session,
        *,
        wanted: Sequence[Wanted],
        shown: Sequence[SubscriptionChange],
        uninvited: frozenset[str],
    ) -> None:
        found = difference(subscriptions.every(session), wanted)
        if {one.key for one in found} != {one.key for one in shown}:
            raise SubscriptionsNotApplied(CHANGED_MEANWHILE)
        for channel_id, changes in groupby(found, key=lambda one: one.channel_id):
            self._change_channel(session, channel_id, list(changes))
            if channel_id in uninvited:
                subscriptions.let_wait(session, channel_id, self.clock())

    def _change_channel(self, session: Session, channel_id: str, changes: Sequence[SubscriptionChange]) -> None:
        now = self.clock()
        with audited(session, self, Invocation("", channel_id, self.who, self.reference), ACTION):
            for one in changes:
                if one.after is not None:
                    subscriptions.save(session, channel_id, _with_check(one, one.after), user_id=self.who, now=now)
            ended = [one.before.region for one in changes if one.before is not None and one.after is None]
            subscriptions.remove(session, channel_id, ended)
        if not subscriptions.of_channel(session, channel_id):
            backlog.drop(session, channel_id, now)


def difference(there: Iterable[tuple[str, ChannelFilter]], wanted: Iterable[Wanted]) -> list[SubscriptionChange]:
    before = {(channel_id, chosen.region): chosen for channel_id, chosen in there}
    after = {(one.channel_id, one.chosen.region): one.chosen for one in wanted}
    changes = [
        SubscriptionChange(key[0], before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())
    ]
    return [one for one in changes if one.key[1] != one.key[2]]


def _with_check(change: SubscriptionChange, after: ChannelFilter) -> ChannelFilter:
    """An unchecked filter keeps its beginning: missed events are still due."""
    before = change.before
    if before is None or before.unchecked_since is None:
        return after
    return after.model_copy(update={"unchecked_since": before.unchecked_since, "typed_region": before.typed_region})


def in_lines(changes: Sequence[SubscriptionChange]) -> str:
    """By channel, a line with - or + a filter, and the counts."""
    lines: list[str] = []
    for channel_id, of_channel in groupby(changes, key=lambda one: one.channel_id):
        lines.append(channel_id)
        for one in of_channel:
            lines += [f"  - {in_words(one.before)}"] if one.before else []
            lines += [f"  + {in_words(one.after)}"] if one.after else []
    counts = (
        (sum(one.before is None for one in changes), "new"),
        (sum(None not in {one.before, one.after} for one in changes), "changed"),
        (sum(one.after is None for one in changes), "ended"),
    )
    return "\n".join([*lines, ", ".join(f"{count} {what}" for count, what in counts if count)])


def checked(
    wanted: Iterable[Wanted], there: Iterable[tuple[str, ChannelFilter]], lists: Lexicon, now: datetime
) -> tuple[list[Wanted], list[str]]:
    """The file's subscriptions with published names, and warnings for unknown words.

    Stored subscriptions stay as stored. Raises SubscriptionFileWrong for two subscriptions of a channel to a region,
    and for a race class that is not listed.
    """
    stored = {(channel_id, chosen.fingerprint()) for channel_id, chosen in there}
    warnings: list[str] = []
    found: dict[tuple[str, str], Wanted] = {}
    problems: list[tuple[int, str]] = []
    for one in wanted:
        is_stored = (one.channel_id, one.chosen.fingerprint()) in stored
        mended = one if is_stored else _checked(one, lists, now, warnings)
        problems += [] if is_stored else _unlisted_classes(one, lists)
        key = (one.channel_id, mended.chosen.region)
        if key in found:
            told = f"{one.channel_id} has the region {mended.chosen.region} on line {found[key].line} already"
            problems.append((one.line, told))
        found[key] = mended
    if problems:
        raise SubscriptionFileWrong(problems)
    return list(found.values()), warnings


def _checked(one: Wanted, lists: Lexicon, now: datetime, warnings: list[str]) -> Wanted:
    words = _Words(lists, warnings)
    region = words.region(one.chosen.region, one.line)
    courses = (*one.chosen.courses, *one.chosen.not_courses)
    found = tuple(words.course(course, region, line) for course, line in zip(courses, one.lines, strict=True))
    only = len(one.chosen.courses)
    update = {"region": region, "courses": found[:only], "not_courses": found[only:]}
    chosen = one.chosen.model_copy(update=update | ({"unchecked_since": now} if words.is_unchecked else {}))
    return replace(one, chosen=chosen)


def _unlisted_classes(one: Wanted, lists: Lexicon) -> list[tuple[int, str]]:
    """Without a list every class is taken, as in Slack. No later check mends a class: an unknown class is refused."""
    published = {folded_class(each): each for each in lists.classes}
    unlisted = [each for each in one.chosen.classes if published and folded_class(each) not in published]
    listed = f"; listed are {', '.join(published.values())}" if len(published) <= LISTED_MAX else ""
    return [
        (one.line, f"there is no race class {each}{_question(likely(each, published.values())) or listed}")
        for each in unlisted
    ]


@dataclass
class _Words:
    """`is_unchecked`: an unknown word was kept."""

    lists: Lexicon
    warnings: list[str]
    is_unchecked: bool = False

    def region(self, typed: str, line: int) -> str:
        if typed == ALL_REGIONS or self.lists.is_region(typed):
            return typed
        if not self.lists.regions:
            return self._kept(typed, line, f"{typed} could not be checked: no list of regions is known")
        called = self.lists.region_called(typed)
        if called is not None:
            self.warnings.append(f"line {line}: {typed} is {called} here")
            return called
        meant = self.lists.parts_of(typed) or likely(typed, self.lists.regions)
        return self._kept(typed, line, f"there is no region {typed}, so nothing from there arrives{_question(meant)}")

    def course(self, typed: Course, region: str, line: int) -> Course:
        if not self.lists.courses:
            told = f"{name_of(typed)} could not be checked: no list of courses is known"
            return typed if typed.course_id else self._kept(typed, line, told)
        within = [one for one in self.lists.courses if region in {ALL_REGIONS, one.region}]
        if typed.course_id is not None:
            return self._by_id(typed, within, line)
        found = course_of(typed, within)
        if found is not None:
            return found
        meant = likely(name_of(typed), [one.name for one in within if one.name])
        told = f"there is no course {name_of(typed)} in {region_named(region)}{_question(meant)}"
        return self._kept(typed, line, told)

    def _by_id(self, typed: Course, within: Sequence[KnownCourse], line: int) -> Course:
        known = next((one for one in within if one.course_id == typed.course_id), None)
        if known is None:
            self.warnings.append(f"line {line}: there is no course with the id {typed.course_id} there")
            return typed
        return typed if typed.name else Course(course_id=known.course_id, name=known.name, country=known.country)

    def _kept(self, typed: T, line: int, told: str) -> T:
        self.is_unchecked = True
        self.warnings.append(f"line {line}: {told}")
        return typed


def _question(meant: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def operator() -> str:
    try:
        return f"operator {getpass.getuser()}"
    except (KeyError, OSError):
        return f"operator {os.getuid()}"


async def run_export(settings: Settings, *, as_json: bool) -> str:
    """Raises StorageError."""
    async with _opened(settings, reads_only=True) as database:
        data = await database.read(
            lambda session: subscription_file.as_data(subscriptions.every(session), watches.of_channels(session))
        )
    return subscription_file.as_json(data) if as_json else subscription_file.as_yaml(data)


Say = Callable[[str], None]


async def run_apply(settings: Settings, text: str, *, show: Say, warn: Say, agree: Callable[[], bool]) -> str:
    """Show the difference, ask, make the changes.

    Raises SubscriptionFileWrong, SubscriptionsNotApplied and StorageError, each without any change.
    """
    file = subscription_file.read(text)
    async with _opened(settings) as database, make_session() as session:
        slack = SlackClient(
            make_web_client(settings.slack_bot_token.get_secret_value(), settings.slack_api_url, session)
        )
        applying = Applying(database, settings, utc_now, operator(), partial(is_member, slack))
        there = await database.read(subscriptions.every)
        wanted, warnings = checked(file.subscriptions, there, await _lists(settings, database), utc_now())
        for one in warnings:
            warn(one)
        changes, of_watches = await applying.changes(wanted), await applying.watch_changes(file.watches)
        if not (changes or of_watches):
            return "Nothing to change: the subscriptions are as the file has them."
        show("\n".join(filter(None, [watch_lines(of_watches), in_lines(changes) if changes else ""])))
        if not agree():
            raise SubscriptionsNotApplied("Nothing was changed.")
        await applying.carry_out(wanted, changes, file.watches, of_watches)
        return f"Done ({applying.reference}). /racing audit all shows the changes; a running bot has taken them."


async def _lists(settings: Settings, database: Database) -> Lexicon:
    store = DatabaseStateStore(database, utc_now)
    client = open_client(settings.racing_api_url, settings.racing_api_key, store, Ports().timing)
    try:
        return await ReferenceBook(database, client, utc_now).lexicon(LISTS_S)
    finally:
        await client.aclose()


@asynccontextmanager
async def _opened(settings: Settings, *, reads_only: bool = False) -> AsyncIterator[Database]:
    database = Database(settings.database_url.get_secret_value(), busy_s=TOOL_BUSY_S)
    try:
        if reads_only:
            check_is_there(database)
        if not await Schema(database).prepare():
            raise StorageUnavailable("the database is not ready; see `racing-bot migrate`.")
        yield database
    finally:
        await database.close()
