"""`racing-bot subscribe`: makes our subscription with the data service, and stores the secret."""

from collections.abc import Iterable, Sequence
from functools import partial

from bot.cli.parts import for_operators, opened, opened_client
from bot.clock import utc_now
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.errors import SettingsError, ShellCommandFailed, StorageError
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
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import wrong_regions
from bot.racedata.reference_book import ReferenceBook
from bot.settings import MAKE_KEY, WEBHOOK_SECRET_MIN, Settings
from bot.web.plain_answers import WEBHOOK_PATH

log = get_logger(__name__)

REGION_CHECK_S = 30.0


def come_twice(live: Iterable[WebhookSubscriptionRow], new: WebhookSubscriptionRow) -> list[WebhookSubscriptionRow]:
    """The live subscriptions that deliver some of the events of the new subscription's region already."""
    rows = [row for row in live if None in {row.region, new.region} or row.region == new.region]
    return [row for row in rows if not set(new.events.split(",")).isdisjoint(row.events.split(","))]


def _refusal(twice: Sequence[WebhookSubscriptionRow], row: WebhookSubscriptionRow) -> str:
    """Why no second subscription is made, and how to get the other events."""
    delivered = {event for one in twice for event in one.events.split(",")}
    new = "".join(f" --event {event}" for event in row.events.split(",") if event not in delivered)
    where = f" --region {row.region}" if row.region else ""
    first = "These live subscriptions deliver some of these events already. An event that comes twice is posted once:"
    return "\n".join(
        [
            first,
            described(twice),
            *([f"For the other events alone: racing-bot subscribe{where}{new}"] if new else []),
            "To subscribe all the same, give --again. To stop accepting an old subscription, give --retire NUMBER.",
        ]
    )


async def _prove_storage(database: Database, vault: Vault) -> None:
    proof = vault.lock("proof").decode()
    await database.write(partial(named_values.put, name=Mark.VAULT_PROOF, value=proof, now=utc_now()))
    kept = await database.read(partial(named_values.get, name=Mark.VAULT_PROOF))
    if kept is None or vault.open(kept[0].encode()) != "proof":
        raise ShellCommandFailed("A stored test value could not be read back, so the data service was not asked.")


async def _ask(client: RacingClient, vault: Vault, row: WebhookSubscriptionRow) -> str:
    """The secret, or without a recognised secret the service's whole answer (Spec gap G3). The row gets either."""
    try:
        page = await client.subscribe_webhook(row.url, row.events.split(","), row.region)
    except ServiceFailure as error:
        raise ShellCommandFailed(f"{for_operators(error)}{_doubt(error)}") from error
    secret = page.data.secret
    if secret is not None and len(secret.get_secret_value()) >= WEBHOOK_SECRET_MIN:
        row.secret = vault.lock(secret.get_secret_value())
        return secret.get_secret_value()
    answer = page.model_dump_json()
    row.answer = vault.lock(answer)
    return answer


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


async def run_retire(settings: Settings, number: int) -> str:
    """Stop accepting a subscription's secret. The service can't end a subscription (Spec gap G15).

    Raises ShellCommandFailed and StorageError.
    """
    async with opened(settings.database_url.get_secret_value()) as database:
        retire = partial(webhook_subscriptions.retire, subscription_id=number, now=utc_now())
        if not await database.write(retire):
            live = described(await database.read(webhook_subscriptions.live)) or "(none)"
            raise ShellCommandFailed(f"There is no live subscription {number}. The live subscriptions:\n{live}")
    return f"Subscription {number} is retired: deliveries signed with its secret are refused from now on."


async def run_subscribe(
    settings: Settings, events: Sequence[str], region: str | None = None, *, again: bool, show_secret: bool = False
) -> str:
    """Raises SettingsError, ShellCommandFailed and StorageError."""
    row = _row(settings, events, region)
    async with (
        opened(settings.database_url.get_secret_value()) as database,
        opened_client(settings, database) as client,
    ):
        if region is not None:
            await _check_region(ReferenceBook(database, client, utc_now), region)
        vault = Vault([key.get_secret_value() for key in settings.encryption_keys])
        return await subscribe(database, client, vault, row, again=again, show_secret=show_secret)


async def subscribe(
    database: Database,
    client: RacingClient,
    vault: Vault,
    row: WebhookSubscriptionRow,
    *,
    again: bool,
    show_secret: bool,
) -> str:
    """Proves storage and encryption before asking: the service shows the secret once."""
    await _prove_storage(database, vault)
    twice = come_twice(await database.read(webhook_subscriptions.live), row)
    if twice and not again:
        raise ShellCommandFailed(_refusal(twice, row))
    shown = await _ask(client, vault, row)
    is_recognised = row.secret is not None
    try:
        number = await database.write(partial(webhook_subscriptions.add, row=row))
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


async def _check_region(reference: ReferenceBook, region: str) -> None:
    """Raise ShellCommandFailed for an unknown region: nothing would arrive."""
    regions = await reference.regions(REGION_CHECK_S) or ()
    if regions and (error := wrong_regions(Lexicon(regions), [region])):
        raise ShellCommandFailed(f"{error} Nothing was asked.")
    if not regions:
        log.warning("region_not_checked", region=region, reason="the data service gave no list to check it against")


def _row(settings: Settings, events: Sequence[str], region: str | None) -> WebhookSubscriptionRow:
    """For all events by default. Raises SettingsError with all missing settings."""
    problems = []
    if not settings.public_url:
        problems.append("PUBLIC_URL is missing: the https address at which the data service reaches this bot.")
    if not settings.encryption_keys:
        problems.append(f"ENCRYPTION_KEYS is missing: the secret is stored encrypted. Make one with: {MAKE_KEY}")
    if problems:
        raise SettingsError(problems)
    chosen = ",".join(dict.fromkeys(EventKind(one) for one in events)) or ",".join(EventKind)
    return WebhookSubscriptionRow(
        url=f"{settings.public_url}{WEBHOOK_PATH}", events=chosen, region=region, created_at=utc_now()
    )
