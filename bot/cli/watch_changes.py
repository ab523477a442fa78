"""The channels' watches of a file of subscriptions: compared, shown and changed. Watches of persons stay."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlmodel import Session

from bot.channels import watches
from bot.channels.watches import WatchedName
from bot.events.watched import name_key
from bot.operations.subscription_file import WatchesByChannel
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.subscription_changes import Books, announce, note
from bot.slack.messages.answers.change_notice import unwatched_by


@dataclass(frozen=True)
class WatchChange:
    channel_id: str
    name: WatchedName
    is_new: bool


def watch_difference(there: Iterable[tuple[str, WatchedName]], wanted: WatchesByChannel | None) -> list[WatchChange]:
    """None: the file says nothing of watches."""
    if wanted is None:
        return []
    before = {_key(*one): one for one in there}
    after = {_key(channel_id, name): (channel_id, name) for channel_id, names in wanted.items() for name in names}
    ended = [WatchChange(*before[key], is_new=False) for key in sorted(before.keys() - after.keys())]
    made = [WatchChange(*after[key], is_new=True) for key in sorted(after.keys() - before.keys())]
    return sorted([*ended, *made], key=lambda one: one.channel_id)


def watch_lines(changes: Sequence[WatchChange]) -> str:
    lines: list[str] = []
    for channel_id, of_channel in groupby(changes, key=lambda one: one.channel_id):
        lines.append(channel_id)
        lines += [f"  {'+' if one.is_new else '-'} watches {one.name.words}" for one in of_channel]
    return "\n".join(lines)


def change_watches(session: Session, books: Books, who: str, reference: str, changes: Sequence[WatchChange]) -> None:
    for number, one in enumerate(changes):
        # Each line in the channel has a key of its own.
        invocation = Invocation("", one.channel_id, who, f"{reference}-{number}")
        words = one.name.words
        if one.is_new:
            watches.add(session, one.channel_id, [one.name], user_id=who, now=books.clock())
            note(session, books, invocation, "watch", before=None, after=words)
        else:
            watches.end_named(session, one.channel_id, one.name)
            note(session, books, invocation, "unwatch", before=words, after=None)
            announce(session, books, invocation, unwatched_by(who, one.name))


def _key(channel_id: str, name: WatchedName) -> tuple[str, str, str]:
    return channel_id, str(name.kind), str(name_key(name.name))
