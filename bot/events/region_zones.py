"""Time zones of regions that have a single zone. A race's own zone is not published (Spec gap G16)."""

from datetime import tzinfo

from bot.events.days import known_zone

_CODES = {
    "Europe/London": "GB GBR",
    "Europe/Dublin": "IE IRE IRL",
    "Europe/Paris": "FR FRA",
    "Europe/Berlin": "GER DE DEU",
    "Europe/Rome": "ITY ITA",
    "Europe/Stockholm": "SWE SE",
    "Europe/Oslo": "NOR",
    "Europe/Copenhagen": "DEN DK DNK",
    "Europe/Istanbul": "TUR TR",
    "Africa/Johannesburg": "SAF RSA ZA ZAF",
    "Asia/Dubai": "UAE AE ARE",
    "Asia/Riyadh": "KSA SAU",
    "Asia/Qatar": "QAT QA",
    "Asia/Bahrain": "BHR BRN",
    "Asia/Kolkata": "IND",
    "Asia/Singapore": "SIN SG SGP SNG",
    "Asia/Hong_Kong": "HK HKG",
    "Asia/Tokyo": "JPN JP JAP",
    "Asia/Seoul": "KOR KR",
    "Pacific/Auckland": "NZ NZL",
}
_ZONE_OF = {code: zone for zone, codes in _CODES.items() for code in codes.split()}


def zone_of_region(region: str | None) -> tzinfo | None:
    return known_zone(_ZONE_OF.get(region or ""))
