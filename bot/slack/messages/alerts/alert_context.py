"""The circumstances of a message: receipt, lateness, corrections, mentions."""

from collections.abc import Sequence

from pydantic import AwareDatetime

from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import EventKind
from bot.events.facts import Changes, changes_between
from bot.events.races import Value
from bot.outbox.message_view import Beside
from bot.slack.messages.kit.times import how_long


class Corrected(Value):
    """The later version shown by an edit; `at` is its receipt.

    `order_unknown`: the payloads do not tell the newer version.
    """

    at: AwareDatetime
    changes: Changes = ()
    order_unknown: bool = False


class MessageContext(Beside):
    """The circumstances of a post.

    `received_at`: receipt of this version. `had_at`: when the data service had this version, if published. `due_at`:
    the hour for which the channel let the message wait. A message rendered (`now`) more than `late_after_s` seconds
    later says how late the alert is. `changes`: values that differ from the posted version (bot.events.facts).
    `previous_link`: https address of the posted version. `order_unknown`: nothing tells the newer version.
    `may_be_repeat`: Slack may have this post already. `contradicts`: the contradicted event's kind, `run_since`: a
    result later than the loss.

    For edits: `corrected` by a later version; `repeated`: an earlier version came again.
    """

    received_at: AwareDatetime
    now: AwareDatetime
    late_after_s: float
    had_at: AwareDatetime | None = None
    due_at: AwareDatetime | None = None
    changes: Changes = ()
    previous_link: str | None = None
    order_unknown: bool = False
    may_be_repeat: bool = False
    contradicts: EventKind | None = None
    run_since: bool = False
    corrected: Corrected | None = None
    repeated: Corrected | None = None
    later_link: str | None = None
    meeting_link: str | None = None


def late_in_words(context: MessageContext) -> str | None:
    """For example "alert 42 min late"; None below `late_after_s`.

    Measured from the hour for which the channel let the message wait, else from when the service had this version, else
    from receipt. The off time is no measure: a race settles minutes after the off, and corrections come hours later.
    """
    since = context.due_at or min(context.had_at or context.received_at, context.received_at)
    late_s = (context.now - since).total_seconds()
    return f"alert {how_long(int(late_s // 60))} late" if late_s > context.late_after_s and late_s >= 60 else None


def corrected(rows: Sequence[EventVersion]) -> Corrected | None:
    """The difference between the first and the last of these versions, in order.

    If every value is as before, the changes of the last version are told.
    """
    first, last, said = rows[0], rows[-1], [event_store.remarks_of(row) for row in rows[1:]]
    if not said:
        return None
    (before, _), (now, _) = event_store.known(first), event_store.known(last)
    is_read = not (before.unreadable_because or now.unreadable_because)
    between = before.as_delivered(), now.as_delivered()
    changes = changes_between(*between, received_at=last.received_at) if is_read else ()
    changes = changes or said[-1].changes
    disagree = any(remarks.order_unknown for remarks in said)
    return Corrected(at=last.received_at, changes=changes, order_unknown=disagree) if changes else None
