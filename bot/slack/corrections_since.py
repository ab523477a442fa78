"""The corrections of an event since an earlier version."""

from collections.abc import Sequence

from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.facts import changes_between
from bot.slack.messages.alerts.alert_context import Corrected


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
