"""`racing-bot subscribe`: makes our subscription with the data service, and stores the secret."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.cli.parts import for_operators, opened, opened_client
from bot.clock import Clock, utc_now
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.errors import CommandError, SettingsError, ShellCommandFailed, StorageError
from bot.events.event import EventKind
from bot.logs import get_logger
from bot.racedata import webhook_subscriptions
from bot.racedata.client.service_client import RacingClient
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    ServerFault,
    ServiceFailure,
    ServiceUnreachable,
)
from bot.racedata.reference_book import ReferenceBook
from bot.settings import MAKE_KEY, WEBHOOK_SECRET_MIN, Settings
from bot.web.plain_answers import WEBHOOK_PATH

log = get_logger(__name__)

REGION_CHECK_S = 30.0


def come_twice(
    live: Iterable[WebhookSubscriptionRow], events: Sequence[EventKind], region: str | None
) -> list[WebhookSubscriptionRow]:
    """The live subscriptions that deliver some of these events of the region already."""
    rows = [row for row in live if None in {row.region, region} or row.region == region]
    return [row for row in rows if not set(events).isdisjoint(row.events.split(","))]


def _refusal(twice: Sequence[WebhookSubscriptionRow], events: Sequence[EventKind], region: str | None) -> str:
    """Why no second subscription is made, and how to get the other events."""
    delivered = {event for row in twice for event in row.events.split(",")}
    new = "".join(f" --event {event}" for event in events if event not in delivered)
    where = f" --region {region}" if region else ""
    first = "These live subscriptions deliver some of these events already. An event that comes twice is posted once:"
    return "\n".join(
        [
            first,
            described(twice),
            *([f"For the other events alone: racing-bot subscribe{where}{new}"] if new else []),
            "To subscribe all the same, give --again. To stop accepting an old subscription, give --retire NUMBER.",
        ]
    )


@dataclass(frozen=True)
class Subscribing:
    database: Database
    vault: Vault
    client: RacingClient
    clock: Clock

    async def subscribe(
        self, public_url: str, events: Sequence[EventKind], region: str | None, *, again: bool, show_secret: bool
    ) -> str:
        """Proves storage and encryption before asking: the service shows the secret once."""
        await self._prove_storage()
        twice = come_twice(await self.database.read(webhook_subscriptions.live), events, region)
        if twice and not again:
            raise ShellCommandFailed(_refusal(twice, events, region))
        row = WebhookSubscriptionRow(
            url=public_url + WEBHOOK_PATH, events=",".join(events), region=region, created_at=self.clock()
        )
        shown = await self._ask(row, events)
        is_recognised = row.secret is not None
        try:
            number = await self.database.write(partial(webhook_subscriptions.add, row=row))
        except StorageError as error:
            # The service shows the secret once: without storage the operator must see it.
            raise ShellCommandFailed(
                f"The subscription was made, but could not be stored ({error}). Put the signing secret into "
                f"RACING_WEBHOOK_SECRETS yourself. The service shows the secret once:\n{shown}"
            ) from error
        if not is_recognised:
            return (
                f"Subscription {number} is made, but no signing secret was recognised in the service's answer. "
                "The whole answer is stored, encrypted. Find the secret in the answer, put the secret into "
                "RACING_WEBHOOK_SECRETS and start the bot again: until then deliveries are refused. The service will "
                f"not show this answer again:\n{shown}"
            )
        return (
            f"Subscription {number} is made. The signing secret is stored, encrypted, and a running bot uses the "
            "secret at once.\n"
        ) + (
            f"The service will not show the secret again:\n{shown}"
            if show_secret
            else "The secret is not shown. The option --show-secret shows the secret of a new subscription."
        )

    async def retire(self, number: int) -> None:
        """Stop accepting a subscription's secret. The service can't end a subscription (Spec gap G15)."""
        if not await self.database.write(
            partial(webhook_subscriptions.retire, subscription_id=number, now=self.clock())
        ):
            live = await self.database.read(webhook_subscriptions.live)
            raise ShellCommandFailed(
                f"There is no live subscription {number}. The live subscriptions:\n{described(live) or '(none)'}"
            )

    async def _prove_storage(self) -> None:
        proof = self.vault.lock("proof")

        def prove(session: Session) -> None:
            named_values.put(session, Mark.VAULT_PROOF, proof.decode(), self.clock())

        await self.database.write(prove)
        kept = await self.database.read(partial(named_values.get, name=Mark.VAULT_PROOF))
        if kept is None or self.vault.open(kept[0].encode()) != "proof":
            raise ShellCommandFailed("A stored test value could not be read back, so the data service was not asked.")

    async def _ask(self, row: WebhookSubscriptionRow, events: Sequence[EventKind]) -> str:
        """The secret, or without a recognised secret the service's whole answer (Spec gap G3). The row gets either."""
        try:
            page = await self.client.subscribe_webhook(row.url, [str(event) for event in events], row.region)
        except ServiceFailure as error:
            raise ShellCommandFailed(f"{_told(error)}{_doubt(error)}") from error
        secret = page.data.secret
        if secret is not None and len(secret.get_secret_value()) >= WEBHOOK_SECRET_MIN:
            row.secret = self.vault.lock(secret.get_secret_value())
            return secret.get_secret_value()
        answer = page.model_dump_json()
        row.answer = self.vault.lock(answer)
        return answer


def _told(error: ServiceFailure) -> str:
    """The command asks once, so its words mention no retries."""
    if not isinstance(error, ServerFault):
        return for_operators(error)
    request = f" Quote the request id when you report it. (request {error.request_id})" if error.request_id else ""
    return f"The data service failed.{request}"


def _doubt(error: ServiceFailure) -> str:
    """Says that the subscription may exist although no answer told its secret."""
    unseen = isinstance(error, ServerFault | AnswerUnreadable) or (
        isinstance(error, ServiceUnreachable) and error.may_have_arrived
    )
    if not unseen:
        return " No subscription was made."
    return (
        " The subscription may have been made all the same, with a secret that nobody has seen; it was asked for once "
        "and is not asked for again by itself. To ask again, type the same command again."
    )


def described(rows: Sequence[WebhookSubscriptionRow]) -> str:
    return "\n".join(
        f"  {row.id}: {row.url}, {row.events}, {row.region or 'all regions'}, since {row.created_at:%Y-%m-%d %H:%M} UTC"
        + ("" if row.secret else " (no signing secret was recognised in the service's answer)")
        for row in rows
    )


async def run_subscribe(
    settings: Settings,
    *,
    region: str | None,
    events: Sequence[str],
    again: bool,
    retire: int | None,
    show_secret: bool = False,
) -> str:
    """Raises SettingsError, ShellCommandFailed and StorageError."""
    chosen = _check(settings, events) if retire is None else []
    async with (
        opened(settings.database_url.get_secret_value()) as database,
        opened_client(settings, database) as client,
    ):
        vault = Vault([key.get_secret_value() for key in settings.encryption_keys])
        subscribing = Subscribing(database, vault, client, utc_now)
        if retire is not None:
            await subscribing.retire(retire)
            return f"Subscription {retire} is retired: deliveries signed with its secret are refused from now on."
        assert settings.public_url
        if region is not None:
            await _check_region(ReferenceBook(database, client, utc_now), region)
        return await subscribing.subscribe(settings.public_url, chosen, region, again=again, show_secret=show_secret)


async def _check_region(reference: ReferenceBook, region: str) -> None:
    """Raise ShellCommandFailed for an unknown region: nothing would arrive."""
    try:
        is_checked = await reference.check_regions([region], timeout_s=REGION_CHECK_S)
    except CommandError as error:
        raise ShellCommandFailed(f"{error} Nothing was asked.") from error
    if not is_checked:
        log.warning("region_not_checked", region=region, reason="the data service gave no list to check it against")


def _check(settings: Settings, events: Sequence[str]) -> list[EventKind]:
    """All events by default. Raises SettingsError with all missing settings."""
    problems = []
    if not settings.public_url:
        problems.append("PUBLIC_URL is missing: the https address at which the data service reaches this bot.")
    if not settings.encryption_keys:
        problems.append(f"ENCRYPTION_KEYS is missing: the secret is stored encrypted. Make one with: {MAKE_KEY}")
    if problems:
        raise SettingsError(problems)
    return list(dict.fromkeys(EventKind(one) for one in events)) or list(EventKind)
