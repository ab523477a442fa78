"""The label of a partial finishing order, by country (Interface, Country)."""

from collections.abc import Collection, Sequence

from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.kit.names import SHORT_MAX
from bot.slack.messages.kit.text import joined, safe


def order_note(countries: Sequence[KnownCountry], regions: Collection[str | None]) -> str | None:
    """None if every region publishes the full order."""
    partly = [one for one in countries if one.full_result_order is False and one.country_code in regions]
    if not partly:
        return None
    if len(partly) > 1:
        named = ", ".join(map(_with_share, partly))
        return f"The full finishing order is not published by {named}."
    (one,) = partly
    return f"{joined([f'{_name(one)} does not publish the full finishing order', share_recorded(one)], ': ')}."


def share_recorded(country: KnownCountry, decimals: int = 0) -> str | None:
    share = country.position_pct
    return None if share is None else f"{share:.{decimals}%} of runners have a recorded position"


def _name(country: KnownCountry) -> str:
    return safe(country.name, SHORT_MAX) or safe(country.country_code, SHORT_MAX) or "This country"


def _with_share(country: KnownCountry) -> str:
    share = share_recorded(country)
    return joined([_name(country), f"({share})" if share else None], " ")
