"""Every change of what a channel receives passes through here: into the audit, with what it was before and after."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from sqlmodel import Session

from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.filter_words import in_words
from bot.storage import audit, subscriptions
from bot.storage.tables import ChannelSubscriptionRow


@contextmanager
def audited(session: Session, desk: Desk, invocation: Invocation, action: str) -> Iterator[None]:
    """Write down what the block changes in the channel's subscriptions; nothing where it changes none."""
    before = _subscriptions(session, invocation.channel_id)
    yield
    session.flush()
    after = _subscriptions(session, invocation.channel_id)
    note(session, desk, invocation, action, before=_lines(before - after), after=_lines(after - before))


def note(
    session: Session, desk: Desk, invocation: Invocation, action: str, *, before: str | None, after: str | None
) -> None:
    """Write down a change of something else than a subscription."""
    audit.add(
        session,
        at=desk.clock(),
        user_id=invocation.user_id,
        channel_id=invocation.channel_id,
        action=action,
        before=before,
        after=after,
        reference=invocation.reference,
    )


def _subscriptions(session: Session, channel_id: str) -> Counter[str]:
    return Counter(_line(row) for row in subscriptions.of_channel(session, channel_id))


def _line(row: ChannelSubscriptionRow) -> str:
    words = in_words(subscriptions.read_filter(row))
    if row.paused_until is None:
        return words
    is_open = row.paused_until >= subscriptions.UNTIL_RESUMED
    return f"{words} (paused{'' if is_open else f' until {row.paused_until:%Y-%m-%d %H:%M} UTC'})"


def _lines(counts: Counter[str]) -> str | None:
    return "; ".join(counts) or None
