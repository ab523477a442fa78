"""The answer of `/racing coverage`: archive and published fields by country."""

from collections.abc import Collection, Sequence

from bot.outbox.message import Message
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.alerts.finishing_order import share_recorded
from bot.slack.messages.kit.blocks import context
from bot.slack.messages.kit.names import SHORT_MAX
from bot.slack.messages.kit.pages import LISTED_TOGETHER, Paper, Turning, line_units, paged
from bot.slack.messages.kit.text import DATA_MAX, counted, joined, safe

NOT_PUBLISHED = "not published: "


def coverage(
    countries: Sequence[KnownCountry], region: str | None, page: int, regions: Collection[str] | None = None
) -> Message:
    """`regions`: those of subscriptions; None without the list."""
    title = f"Coverage: {safe(region, SHORT_MAX)}" if region else f"Coverage: {_countries(len(countries))}"
    lines = [_country(country, regions) for country in countries]
    only = f". {lines[0]}" if len(lines) == 1 else ""
    foot = context("as the data service publishes it, read once a day")
    command = f"coverage {region}" if region else "coverage"
    paper = Paper(title, lambda shown: f"{shown}{only}", line_units(lines), foot=foot)
    return paged(paper, Turning(command, page), most=LISTED_TOGETHER)


def _countries(number: int) -> str:
    return f"{number} countries" if number != 1 else "1 country"


def _country(country: KnownCountry, regions: Collection[str] | None) -> str:
    code, name = safe(country.country_code, SHORT_MAX), safe(country.name, SHORT_MAX * 2)
    races = counted(country.races, "race").replace(str(country.races), f"{country.races:,}") if country.races else None
    fields = {
        "official ratings": country.official_rating,
        "race class": country.race_class,
        "winning times": country.winning_times,
    }
    has = ", ".join(name for name, published in fields.items() if published)
    lacks = ", ".join(name for name, published in fields.items() if published is False)
    named = joined([f"*{code}*" if code else None, name], " ")
    return "• " + joined(
        [
            named or "country not named",
            "cannot be subscribed to" if regions is not None and country.country_code not in regions else None,
            races,
            _order(country),
            has or None,
            f"{NOT_PUBLISHED}{lacks}" if lacks else None,
            safe(country.note, DATA_MAX),
        ]
    )


def _order(country: KnownCountry) -> str | None:
    said = {True: "full finishing order", False: "no full finishing order", None: None}[country.full_result_order]
    share = share_recorded(country, 1)
    return joined([said, f"({share})" if share and said else share], " ") or None
