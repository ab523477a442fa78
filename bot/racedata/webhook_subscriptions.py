"""Our subscriptions with the data service. Secrets are encrypted with the newest of ENCRYPTION_KEYS."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlmodel import Session, col

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.engine import affected
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import OpenedSecrets, Vault
from bot.events.event import TOPIC_OF


def live(session: Session) -> Sequence[WebhookSubscriptionRow]:
    statement = (
        select(WebhookSubscriptionRow)
        .where(col(WebhookSubscriptionRow.retired_at).is_(None))
        .order_by(col(WebhookSubscriptionRow.id))
    )
    return session.execute(statement).scalars().all()


def add(session: Session, row: WebhookSubscriptionRow) -> int:
    session.add(row)
    session.flush()
    return row.id or 0


def retire(session: Session, subscription_id: int, now: datetime) -> bool:
    statement = (
        update(WebhookSubscriptionRow)
        .where(col(WebhookSubscriptionRow.id) == subscription_id, col(WebhookSubscriptionRow.retired_at).is_(None))
        .values(retired_at=now)
    )
    return affected(session, statement) > 0


def uncovered(session: Session, filters: Iterable[ChannelFilter]) -> dict[str, list[str]]:
    """The events that the filters want and no live subscription brings, each with the filters' regions.

    Empty without any known subscription: the subscription may exist elsewhere, with its secret in the settings.
    """
    rows, missing = live(session), dict[str, list[str]]()
    for chosen in filters if rows else ():
        region = None if chosen.region == ALL_REGIONS else chosen.region
        for event, topic in TOPIC_OF.items():
            if topic in chosen.topics and delivers_since(rows, region, event) is None:
                missing.setdefault(event, []).append(chosen.region)
    return missing


def delivers_since(rows: Iterable[WebhookSubscriptionRow], region: str | None, event: str) -> datetime | None:
    """Since when the event is delivered for the region, or for all regions where no region is given."""
    made = [row.created_at for row in rows if row.region in {None, region} and event in row.events.split(",")]
    return min(made, default=None)


def signing_secrets(session: Session, vault: Vault) -> OpenedSecrets:
    return vault.open_all({row.id or 0: row.secret for row in live(session) if row.secret is not None})


def renew(session: Session, vault: Vault) -> None:
    """Encrypt all secrets with the newest key."""
    for row in session.execute(select(WebhookSubscriptionRow)).scalars():
        row.secret, row.answer = vault.renew(row.secret), vault.renew(row.answer)
