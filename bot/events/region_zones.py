"""Time zones of regions. A race's own zone is not published (Spec gap G16)."""

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
    "Australia/Perth Australia/Darwin Australia/Adelaide Australia/Brisbane Australia/Sydney": "AU AUS",
    "America/New_York America/Chicago America/Denver America/Phoenix America/Los_Angeles": "US USA",
    "America/Halifax America/Toronto America/Winnipeg America/Regina America/Edmonton America/Vancouver": "CA CAN",
}
_ZONES_OF = {code: zones.split() for zones, codes in _CODES.items() for code in codes.split()}


def zones_of_region(region: str | None) -> list[tzinfo]:
    return [*filter(None, map(known_zone, _ZONES_OF.get(region or "", ())))]
