"""The answer of `/racing coverage`: archive and published fields by country."""

from collections.abc import Collection, Sequence

from bot.outbox.message import Message
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.alerts.finishing_order import share_recorded
from bot.slack.messages.kit.blocks import context
from bot.slack.messages.kit.names import SHORT_MAX
from bot.slack.messages.kit.pages import LISTED_TOGETHER, Answer, line_units, paged
from bot.slack.messages.kit.text import DATA_MAX, counted, given, joined, safe

NOT_PUBLISHED = "not published: "


def coverage(
    countries: Sequence[KnownCountry], region: str | None, page: int, regions: Collection[str] | None = None
) -> Message:
    """`regions`: those of subscriptions; None without the list."""
    title = f"Coverage: {safe(region, SHORT_MAX) or counted(len(countries), 'country', 'countries')}"
    lines = [_country(country, regions) for country in countries]
    only = f". {lines[0]}" if len(lines) == 1 else ""
    foot = context("as the data service publishes it, read once a day")
    command, units = joined(["coverage", region], " "), line_units(lines)
    return paged(Answer(title, lambda shown: f"{shown}{only}", units, command, foot=foot, most=LISTED_TOGETHER), page)


def _country(country: KnownCountry, regions: Collection[str] | None) -> str:
    code, name = safe(country.country_code, SHORT_MAX), safe(country.name, SHORT_MAX * 2)
    fields = {
        "official ratings": country.official_rating,
        "race class": country.race_class,
        "winning times": country.winning_times,
    }
    has = ", ".join(name for name, published in fields.items() if published)
    lacks = ", ".join(name for name, published in fields.items() if published is False)
    named = joined([given("*{}*", code), name], " ")
    return "• " + joined(
        [
            named or "country not named",
            "cannot be subscribed to" if regions is not None and country.country_code not in regions else None,
            counted(country.races, "race") if country.races else None,
            _order(country),
            has,
            given(f"{NOT_PUBLISHED}{{}}", lacks),
            safe(country.note, DATA_MAX),
        ]
    )


def _order(country: KnownCountry) -> str:
    said = {True: "full finishing order", False: "no full finishing order", None: None}[country.full_result_order]
    share = share_recorded(country, 1)
    return joined([said, given("({})", share) if said else share], " ")
