"""Every change of a channel's subscriptions goes into the audit here, and the channel reads of its losses.

Announced are pauses, mutes and their ends, and subscriptions narrowed or ended. A wider subscription announces itself
by its messages.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import Session

from bot.channels import audit_log, pauses, subscriptions, watches
from bot.channels.conditions.table import CHOICES
from bot.channels.filters import ChannelFilter
from bot.clock import Clock
from bot.db.tables import AuditEntry, SubscriptionState
from bot.outbox import backlog, message_store
from bot.outbox.message import Message
from bot.settings import Settings
from bot.slack.commands.filter_view import as_shown
from bot.slack.commands.invocation import Invocation
from bot.slack.messages.answers.filter_words import in_words
from bot.slack.messages.answers.pause_and_mute import paused_by, resumed_by
from bot.slack.messages.answers.subscription_answers import lost_by


class Books(Protocol):
    @property
    def settings(self) -> Settings: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True)
class _Held:
    chosen: ChannelFilter
    paused_until: datetime | None
    state: str


@contextmanager
def audited(session: Session, desk: Books, invocation: Invocation, action: str) -> Iterator[int]:
    """Write the block's changes of the channel's subscriptions into the audit, and announce the channel's losses.

    Of a channel with watches alone, the pause and its end. Gives the number of messages that wait in a paused channel.
    """
    channel_id = invocation.channel_id
    before, paused = _subscriptions(session, channel_id), pauses.last_end(session, channel_id)
    waited = backlog.count_waiting(session, channel_id) if paused else 0
    yield waited
    session.flush()
    after, now_paused = _subscriptions(session, channel_id), pauses.last_end(session, channel_id)
    filters, has_any = [one.chosen for one in after], bool(before or after)
    if filters != [one.chosen for one in before]:
        new_hours = _hours(before) != _hours(after)
        backlog.wait_anew(session, channel_id, filters, desk.clock(), new_hours=new_hours)
    was = _words(before, after) if has_any else _of_watches(paused)
    now = _words(after, before) if has_any else _of_watches(now_paused)
    if was or now:
        note(session, desk, invocation, action, before=was, after=now)
    # A channel that has not invited the bot yet has received nothing, and loses nothing.
    if has_any and all(one.state == SubscriptionState.WAITING for one in before):
        return
    told = _lost(session, invocation, before, after)
    if told is None and paused != now_paused:
        by = invocation.user_id
        told = paused_by(by, filters, now_paused) if now_paused else resumed_by(by, waited)
    if told is not None:
        announce(session, desk, invocation, told)


def note(
    session: Session, desk: Books, invocation: Invocation, action: str, *, before: str | None, after: str | None
) -> None:
    entry = AuditEntry(
        at=desk.clock(),
        user_id=invocation.user_id,
        channel_id=invocation.channel_id,
        action=action,
        before=before,
        after=after,
        reference=invocation.reference,
    )
    audit_log.add(session, entry)


def announce(session: Session, desk: Books, invocation: Invocation, told: Message) -> None:
    """Post the line in the channel, unless ANNOUNCE_CHANGES is off. Direct messages get no line.

    The post passes a pause. In a closed channel the post waits.
    """
    if not desk.settings.announce_changes or invocation.is_direct:
        return
    now = desk.clock()
    key = f"changed:{invocation.reference}:{invocation.channel_id}:{now.isoformat()}"
    message_store.add_notice(session, key, [invocation.channel_id], told, now)


def _subscriptions(session: Session, channel_id: str) -> list[_Held]:
    rows = subscriptions.of_channel(session, channel_id)
    return [_Held(subscriptions.read_filter(row), row.paused_until, row.state) for row in rows]


def _of_watches(until: datetime | None) -> str | None:
    return f"watches{_pause_words(until)}" if until else None


def _hours(held: Iterable[_Held]) -> list[tuple[str, list[Sequence[str]]]]:
    hours = [(one.chosen.region, [choice.of(one.chosen) for choice in CHOICES]) for one in held]
    return [(region, values) for region, values in hours if any(values)]


def _words(of: Sequence[_Held], others: Sequence[_Held]) -> str | None:
    known = {(held.chosen, held.paused_until) for held in others}
    by_pause: dict[datetime | None, list[ChannelFilter]] = {}
    for held in of:
        if (held.chosen, held.paused_until) not in known:
            by_pause.setdefault(held.paused_until, []).append(held.chosen)
    return "; ".join(f"{in_words(*filters)}{_pause_words(until)}" for until, filters in by_pause.items()) or None


def _pause_words(until: datetime | None) -> str:
    if until is None:
        return ""
    return f" (paused{'' if until >= pauses.UNTIL_RESUMED else f' until {until:%Y-%m-%d %H:%M} UTC'})"


def _lost(session: Session, invocation: Invocation, before: Sequence[_Held], after: Sequence[_Held]) -> Message | None:
    now = [one.chosen for one in after]
    lost = [one.chosen for one in before if not any(other.covers(one.chosen) for other in now)]
    if not lost:
        return None
    watched = watches.count_in(session, invocation.channel_id)
    return lost_by(invocation.user_id, as_shown(session, lost), as_shown(session, now), watched=watched)
