"""Our subscriptions with the data service. What is secret is stored encrypted, with the newest of ENCRYPTION_KEYS."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlmodel import Session, col

from bot.db.engine import affected
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.errors import SecretsUnreadable
from bot.logs import get_logger

log = get_logger(__name__)


def live(session: Session) -> Sequence[WebhookSubscriptionRow]:
    """The subscriptions that have not been retired."""
    statement = (
        select(WebhookSubscriptionRow)
        .where(col(WebhookSubscriptionRow.retired_at).is_(None))
        .order_by(col(WebhookSubscriptionRow.id))
    )
    return session.execute(statement).scalars().all()


def add(session: Session, row: WebhookSubscriptionRow) -> int:
    """Store a subscription; returns its number."""
    session.add(row)
    session.flush()
    return row.id or 0


def retire(session: Session, subscription_id: int, now: datetime) -> bool:
    """Whether there was such a live subscription; its secret is no longer accepted."""
    statement = (
        update(WebhookSubscriptionRow)
        .where(col(WebhookSubscriptionRow.id) == subscription_id, col(WebhookSubscriptionRow.retired_at).is_(None))
        .values(retired_at=now)
    )
    return affected(session, statement) > 0


def uncovered(session: Session, region: str | None, events: Iterable[str]) -> list[str]:
    """Of these events, those that no live subscription of ours delivers for the region (None: for all of them).

    Nothing where we know of no subscription: it may have been made elsewhere, its secret standing in the settings.
    """
    rows = live(session)
    here = [row for row in rows if row.region is None or row.region == region]
    delivered = {event for row in here for event in row.events.split(",")}
    return [event for event in events if event not in delivered] if rows else []


def delivers_since(rows: Iterable[WebhookSubscriptionRow], region: str | None, event: str) -> datetime | None:
    """Since when a subscription of these delivers the event for the region (None: for all); None where none does."""
    made = [row.created_at for row in rows if row.region in {None, region} and event in row.events.split(",")]
    return min(made, default=None)


def signing_secrets(session: Session, vault: Vault) -> list[str]:
    """The signing secrets of the live subscriptions.

    One that no key opens takes no other with it; raises SecretsUnreadable where not a single one can be opened.
    """
    opened, failure = [], None
    for row in live(session):
        try:
            opened += [vault.open(row.secret)] if row.secret is not None else []
        except SecretsUnreadable as error:
            log.warning("stored_secret_not_readable", subscription=row.id, reason=str(error))
            failure = error
    if failure is not None and not opened:
        raise failure
    return opened


def renew(session: Session, vault: Vault) -> int:
    """How many subscriptions' secrets were put under the newest key; the older keys can be dropped then."""
    renewed = 0
    for row in session.execute(select(WebhookSubscriptionRow)).scalars():
        secret, answer = vault.renew(row.secret), vault.renew(row.answer)
        if (secret, answer) != (row.secret, row.answer):
            row.secret, row.answer = secret, answer
            renewed += 1
    return renewed
