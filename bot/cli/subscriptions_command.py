"""`racing-bot subscriptions`: exports all channels' subscriptions, and applies a file, beside a running bot too."""

import getpass
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from sqlmodel import Session

from bot.channels import channel_lock, subscriptions, watches
from bot.channels.conditions.event_conditions import name_of
from bot.channels.conditions.table import OF_RACES
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.channels.watches import WatchedName
from bot.cli.parts import opened, opened_client
from bot.clock import Clock, utc_now
from bot.db.engine import Database
from bot.errors import ShellCommandFailed, SubscriptionFileWrong, question
from bot.events.watched import name_key
from bot.fanout.unchecked_filters import with_listed_courses
from bot.logs import get_logger
from bot.operations import subscription_file
from bot.operations.subscription_file import SubscriptionFile
from bot.outbox import backlog
from bot.ports import Ports
from bot.racedata.lexicon import CLASSES, Lexicon
from bot.racedata.near_misses import LISTED_MAX, likely
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.subscription_changes import announce, audited, note
from bot.slack.messages.answers.filter_words import in_words
from bot.slack.messages.answers.watch_answer import unwatched_by
from bot.slack.web_client import SlackClient, make_session, make_web_client
from bot.slack.workspace import is_member

log = get_logger(__name__)

LISTS_S = 5.0
"""For the data service's lists, if none are stored."""

ACTION = "apply"


Chosen = ChannelFilter | WatchedName


class FileChange(NamedTuple):
    """A channel's filter for a region, or a watched name."""

    channel_id: str
    before: Chosen | None
    after: Chosen | None

    @property
    def is_of_filter(self) -> bool:
        return not isinstance(self.before or self.after, WatchedName)


def difference(session: Session, file: SubscriptionFile) -> list[FileChange]:
    """The changes by channel, watches first."""
    names = watches.of_channels(session)
    before = _by_key(names, subscriptions.every(session))
    after = _by_key(names if file.watches is None else file.watches, file.subscriptions)
    changes = [FileChange(key[0], before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]
    return [one for one in changes if not _is_same(one.before, one.after)]


def _by_key(
    names: Iterable[tuple[str, WatchedName]], filters: Iterable[tuple[str, ChannelFilter]]
) -> dict[tuple[str, bool, str, str], Chosen]:
    by_name = {(at, False, str(name.kind), str(name_key(name.name))): name for at, name in names}
    return by_name | {(at, True, chosen.region, ""): chosen for at, chosen in filters}


def _is_same(before: Chosen | None, after: Chosen | None) -> bool:
    """Ignores checks of a filter, and the spelling of a name."""
    if isinstance(before, ChannelFilter) and isinstance(after, ChannelFilter):
        return before.fingerprint() == after.fingerprint()
    return None not in {before, after}


def told(changes: Sequence[FileChange]) -> str:
    """The difference by channel: lines with - or + and a filter or a name, and counts. Empty without a change."""
    lines: list[str] = []
    for channel_id, some in groupby(changes, key=lambda one: one.channel_id):
        lines.append(channel_id)
        for one in some:
            lines += [f"  {sign} {_words(chosen)}" for sign, chosen in zip("-+", one[1:], strict=True) if chosen]
    filters = [one for one in changes if one.is_of_filter]
    counts = {
        "new": sum(one.before is None for one in filters),
        "changed": sum(None not in one for one in filters),
        "ended": sum(one.after is None for one in filters),
    }
    return "\n".join([*lines, ", ".join(f"{count} {what}" for what, count in counts.items() if count)]).strip()


def _words(chosen: Chosen) -> str:
    return f"watches {chosen.words}" if isinstance(chosen, WatchedName) else in_words(chosen)


@dataclass(frozen=True)
class Applying:
    """`is_member`: None without Slack's answer. `who`: the operator, for the audit."""

    database: Database
    settings: Settings
    clock: Clock
    who: str
    is_member: Callable[[str], Awaitable[bool | None]]
    reference: str = field(default_factory=lambda: f"apply-{Ports().token(4)}")

    async def carry_out(self, file: SubscriptionFile, shown: Sequence[FileChange]) -> None:
        """Make the shown changes, all or none. Raises ShellCommandFailed after any change since the display."""
        uninvited = await self._uninvited(shown)

        def apply(session: Session) -> None:
            channel_lock.take(session, *sorted({one.channel_id for one in shown}))
            found = difference(session, file)
            if told(found) != told(shown):
                raise ShellCommandFailed(
                    "Somebody has changed a subscription since the difference was shown, so nothing was changed. "
                    "Type the command again."
                )
            # Before the subscriptions: a channel without both keeps no waiting message.
            for number, one in enumerate(found):
                if not one.is_of_filter:
                    self._change_watch(session, f"{self.reference}-{number}", one)
            for channel_id, some in groupby(filter(attrgetter("is_of_filter"), found), key=lambda one: one.channel_id):
                self._change_channel(session, channel_id, [*some])
                if channel_id in uninvited:
                    subscriptions.let_wait(session, channel_id, self.clock())

        await self.database.write(apply)
        log.info("subscriptions_applied", reference=self.reference, changes=len(shown), who=self.who)

    async def _uninvited(self, shown: Sequence[FileChange]) -> frozenset[str]:
        """Channels with a new subscription and without the bot. After a silence Slack is not asked again."""
        found = set[str]()
        new = [one.channel_id for one in shown if one.is_of_filter and one.before is None]
        for channel_id in dict.fromkeys(new):
            member = await self.is_member(channel_id)
            if member is None:
                log.warning("slack_did_not_say", advice="new subscriptions are live; the first post finds out")
                break
            if not member:
                found.add(channel_id)
                log.warning("bot_not_in_channel", channel_id=channel_id, advice="invite the bot there")
        return frozenset(found)

    def _change_channel(self, session: Session, channel_id: str, changes: Sequence[FileChange]) -> None:
        now = self.clock()
        with audited(session, self, Invocation("", channel_id, self.who, self.reference), ACTION):
            for _, before, after in changes:
                if isinstance(after, ChannelFilter):
                    subscriptions.save(session, channel_id, _with_check(before, after), user_id=self.who, now=now)
            subscriptions.remove(
                session,
                channel_id,
                [one.region for _, one, after in changes if isinstance(one, ChannelFilter) and not after],
            )
        if not subscriptions.of_channel(session, channel_id):
            backlog.drop(session, channel_id, now)

    def _change_watch(self, session: Session, reference: str, change: FileChange) -> None:
        """`reference`: each line in the channel has a key of its own."""
        channel_id, before, after = change
        invocation = Invocation("", channel_id, self.who, reference)
        if isinstance(after, WatchedName):
            watches.add(session, channel_id, [after], user_id=self.who, now=self.clock())
            note(session, self, invocation, "watch", before=None, after=after.words)
        elif isinstance(before, WatchedName):
            watches.end_named(session, channel_id, before)
            note(session, self, invocation, "unwatch", before=before.words, after=None)
            announce(session, self, invocation, unwatched_by(self.who, before))


def _with_check(before: Chosen | None, after: ChannelFilter) -> ChannelFilter:
    """An unchecked filter keeps its beginning: missed events are still due."""
    if not isinstance(before, ChannelFilter) or before.unchecked_since is None:
        return after
    return after.model_copy(update={"unchecked_since": before.unchecked_since, "typed_region": before.typed_region})


def checked(
    file: SubscriptionFile, there: Iterable[tuple[str, ChannelFilter]], lists: Lexicon, now: datetime
) -> tuple[SubscriptionFile, list[str]]:
    """The file with published names, and warnings for unlisted names, which the bot checks later.

    Stored subscriptions stay as stored. Raises SubscriptionFileWrong for two subscriptions of a channel to a region,
    and for an unlisted race class: the bot's later check mends regions and courses alone.
    """
    stored = {(channel_id, chosen.fingerprint()) for channel_id, chosen in there}
    found: dict[tuple[str, str], ChannelFilter] = {}
    warnings, problems = list[str](), list[str]()
    for channel_id, typed in file.subscriptions:
        chosen, place = typed, f"{channel_id}, {typed.region}"
        if (channel_id, typed.fingerprint()) not in stored:
            chosen, unlisted = _published(typed, lists, now)
            warnings += [f"{place}: {told} The bot checks the name later." for told in unlisted]
            # While no list is known, every class is accepted, as in Slack.
            wrong = [(one.noun, each) for one in OF_RACES for each in one.unlisted(one.of(typed), lists.classes)]
            problems += [f"{place}: {_unlisted(noun, each, lists.classes)}" for noun, each in wrong]
        if (channel_id, chosen.region) in found:
            problems.append(f"{channel_id}: the region {chosen.region} stands twice")
        found[channel_id, chosen.region] = chosen
    if problems:
        raise SubscriptionFileWrong(problems)
    return replace(file, subscriptions=[(channel_id, chosen) for (channel_id, _), chosen in found.items()]), warnings


def _published(typed: ChannelFilter, lists: Lexicon, now: datetime) -> tuple[ChannelFilter, list[str]]:
    """The filter with published names, and a sentence for each region or course that is not listed."""
    region = typed.region if typed.region == ALL_REGIONS else lists.region_called(typed.region) or typed.region
    wrong = [] if region in {ALL_REGIONS, *lists.regions} else [region]
    unlisted = [_unlisted("region", one, lists.regions, is_known=bool(lists.regions)) for one in wrong]
    names = [one.name for one in lists.courses if one.name and region in {ALL_REGIONS, one.region}]
    chosen, misnamed = with_listed_courses(
        typed.model_copy(update={"region": region}), (*typed.courses, *typed.not_courses), lists.courses
    )
    unlisted += [_unlisted("course", name_of(one), names, is_known=bool(lists.courses)) for one in misnamed]
    return chosen.model_copy(update={"unchecked_since": now} if unlisted else {}), unlisted


def _unlisted(kind: str, word: str, listed: Sequence[str], *, is_known: bool = True) -> str:
    """`listed`: the names that may be meant. `is_known`: whether any list of this kind has come."""
    if not is_known:
        return f"The {kind} {word} could not be checked: no list of {kind}s is known."
    shown = f" Listed are {', '.join(listed)}." if 0 < len(listed) <= LISTED_MAX else ""
    return f"The {kind} {word} is not listed.{question(likely(word, listed)) or shown}"


def operator() -> str:
    try:
        return f"operator {getpass.getuser()}"
    except (KeyError, OSError):
        return f"operator {os.getuid()}"


async def run_export(settings: Settings, *, as_json: bool) -> str:
    """Raises StorageError."""
    async with opened(settings.database_url.get_secret_value(), reads_only=True) as database:
        data = await database.read(
            lambda session: subscription_file.as_data(subscriptions.every(session), watches.of_channels(session))
        )
    return subscription_file.as_json(data) if as_json else subscription_file.as_yaml(data)


Say = Callable[[str], None]


async def run_apply(settings: Settings, text: str, *, show: Say, warn: Say, agree: Callable[[], bool]) -> str:
    """Show the difference, ask, make the changes.

    Raises SubscriptionFileWrong, ShellCommandFailed and StorageError, each without any change.
    """
    read = subscription_file.read(text)
    async with opened(settings.database_url.get_secret_value()) as database, make_session() as session:
        slack = SlackClient(
            make_web_client(settings.slack_bot_token.get_secret_value(), settings.slack_api_url, session)
        )
        applying = Applying(database, settings, utc_now, operator(), partial(is_member, slack))
        there = await database.read(subscriptions.every)
        file, warnings = checked(read, there, await _lists(settings, database), utc_now())
        for one in warnings:
            warn(one)
        shown = await database.read(partial(difference, file=file))
        if not shown:
            return "Nothing to change: the subscriptions are as the file has them."
        show(told(shown))
        if not agree():
            raise ShellCommandFailed("Nothing was changed.")
        await applying.carry_out(file, shown)
        return f"Done ({applying.reference}). /racing audit all shows the changes; a running bot has taken them."


async def _lists(settings: Settings, database: Database) -> Lexicon:
    async with opened_client(settings, database) as client:
        lists = await ReferenceBook(database, client, utc_now).lexicon(LISTS_S)
    return replace(lists, classes=await database.read(CLASSES.items))
