"""Words for admins on missing and on late outcomes and deliveries."""

from collections.abc import Iterable, Sequence

from bot.db.tables import MissingKind, MissingRow
from bot.operations.overdue import LONG_PAST

RACES_NAMED = 10
HOURS = int(LONG_PAST.total_seconds()) // 3600


def races_missing(open_races: Sequence[str], undelivered: Sequence[str], *, is_asked: bool) -> str:
    said = []
    if open_races:
        said.append(
            f"{_races(open_races)} should have been over for {HOURS} hours or more, and I know neither a result nor an "
            f"abandonment: {_named(open_races)}."
        )
        said.append(
            "The data service's list has no outcome either."
            if is_asked
            else "I could not ask the data service about all of them: the month's quota is low, or the service fails."
        )
    if undelivered:
        said.append(
            f"The data service lists the outcome of {_races(undelivered)} and did not deliver it, so no channel was "
            f"told: {_named(undelivered)}. /results shows what is listed."
        )
    return " ".join(said)


def day_missing(name: str) -> str:
    return (
        f"No result and no abandonment was delivered of the racing day {name}, although all of these races should have "
        f"been over for {HOURS} hours or more. The data service keeps a record of failed deliveries for 30 days. Check "
        "that strangers reach /webhooks/racing at PUBLIC_URL, and that the log refuses no signature."
    )


def subscription_missing(name: str) -> str:
    return (
        f"Nothing is delivered any more by {name}. I believe that it is live, but the data service seems to have ended "
        "it, or can't reach us. Check that strangers reach /webhooks/racing at PUBLIC_URL, then subscribe anew: "
        "racing-bot subscribe --again"
    )


def come_after_all(rows: Iterable[MissingRow], undelivered: Iterable[str]) -> str:
    """Withdraws warnings. `undelivered`: keys of races only listed, or moved to another day."""
    rows, elsewhere = list(rows), set(undelivered)
    said = [f"Deliveries have come after all of the racing day {row.name}." for row in _of(rows, MissingKind.DAY)]
    said += [f"Deliveries come again by {row.name}." for row in _of(rows, MissingKind.SUBSCRIPTION)]
    races = _of(rows, MissingKind.RACE, MissingKind.DELIVERY)
    delivered = [row.name for row in races if row.key not in elsewhere]
    listed = [row.name for row in races if row.key in elsewhere]
    if delivered:
        said.append(f"The outcome of {_races(delivered)} has come after all: {_named(delivered)}.")
    if listed:
        said.append(
            f"The data service now lists an outcome, or another day, of {_races(listed)}: {_named(listed)}. No "
            "delivery came, so no channel was told. /results shows what is listed."
        )
    return " ".join(said)


def _of(rows: Iterable[MissingRow], *kinds: MissingKind) -> list[MissingRow]:
    return [row for row in rows if row.kind in kinds]


def _races(names: Sequence[str]) -> str:
    return "1 race" if len(names) == 1 else f"{len(names)} races"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - RACES_NAMED} more" if len(names) > RACES_NAMED else ""
    return "; ".join(names[:RACES_NAMED]) + more
