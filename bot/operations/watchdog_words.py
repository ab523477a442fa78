"""Words for admins on missing and on late outcomes."""

from collections.abc import Mapping, Sequence

from bot.operations.overdue import LONG_PAST

RACES_NAMED = 10
HOURS = int(LONG_PAST.total_seconds()) // 3600


def races_missing(
    silent: Mapping[str, int], open_races: Sequence[str], undelivered: Sequence[str], *, is_asked: bool
) -> str:
    """`silent`: days without any delivery, with the number of races."""
    said = [
        f"No result and no abandonment was delivered of the racing day {day}, although {races} races should have been "
        f"over for {HOURS} hours or more. The data service keeps a record of failed deliveries for 30 days. Check that "
        "strangers reach /webhooks/racing at PUBLIC_URL, and that the log refuses no signature. If nothing comes on "
        "the next racing day either, the data service may have ended the subscription: racing-bot subscribe --again."
        for day, races in silent.items()
    ]
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


def come_after_all(delivered: Sequence[str], moved: Sequence[str]) -> str:
    """Withdraws warnings."""
    said = []
    if delivered:
        said.append(f"The outcome of {_races(delivered)} has come after all: {_named(delivered)}.")
    if moved:
        said.append(f"The data service now lists another day of {_races(moved)}: {_named(moved)}.")
    return " ".join(said)


def _races(names: Sequence[str]) -> str:
    return "1 race" if len(names) == 1 else f"{len(names)} races"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - RACES_NAMED} more" if len(names) > RACES_NAMED else ""
    return "; ".join(names[:RACES_NAMED]) + more
