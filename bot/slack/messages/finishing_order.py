"""The label of a partial finishing order: which countries do not publish everybody's place (Interface, Country)."""

from collections.abc import Collection, Sequence

from bot.slack.messages.names import SHORT_MAX
from bot.slack.messages.text import joined, safe
from bot.storage.reference import KnownCountry


def order_note(countries: Sequence[KnownCountry], regions: Collection[str | None]) -> str | None:
    """A sentence on those of these regions that do not publish the full finishing order; None where there are none."""
    partly = [one for one in countries if one.full_result_order is False and one.country_code in regions]
    if not partly:
        return None
    if len(partly) > 1:
        named = ", ".join(joined([_name(one), f"({_share(one)})" if _share(one) else None], " ") for one in partly)
        return f"The full finishing order is not published by {named}."
    return f"{joined([f'{_name(partly[0])} does not publish the full finishing order', _share(partly[0])], ': ')}."


def _name(country: KnownCountry) -> str:
    return safe(country.name, SHORT_MAX) or safe(country.country_code, SHORT_MAX) or "This country"


def _share(country: KnownCountry) -> str | None:
    return f"{country.position_pct:.0%} of runners have a place" if country.position_pct is not None else None
