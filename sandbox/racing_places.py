"""Regions, countries and courses of the stand-in. Names are real, figures are made up."""

from functools import cache
from hashlib import sha256
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Region(NamedTuple):
    """`zone`: of most courses; ELSEWHERE has the others."""

    code: str
    zone: str
    first_off: str
    meetings_a_day: tuple[int, int]
    jumps: bool
    goings: tuple[str, ...]


class Country(NamedTuple):
    """A note is of any type (Interface, Country)."""

    country_code: str
    name: str
    full_result_order: bool
    position_pct: float
    official_rating: bool
    race_class: bool
    winning_times: bool
    note: object = None


class Course(NamedTuple):
    """`country` is a label, not the region's code (Interface, Course)."""

    course_id: str
    name: str
    shortcode: str | None
    country: str
    region: str


_TURF = ("Good", "Good to Firm", "Good to Soft", "Soft", "Heavy")
_DIRT = ("Fast", "fast", "Sloppy", "Good")  # letter case alone tells two of them apart, as the interface warns

REGIONS: tuple[Region, ...] = (
    Region("GB", "Europe/London", "12:40", (3, 4), jumps=True, goings=(*_TURF, "Standard", "Standard to Slow")),
    Region("IRE", "Europe/Dublin", "12:25", (1, 2), jumps=True, goings=(*_TURF, "Yielding", "Soft to Heavy")),
    Region(
        "FR",
        "Europe/Paris",
        "12:15",
        (1, 3),
        jumps=True,
        goings=("Bon", "Souple", "Très souple", "TRES SOUPLE", "Collant"),
    ),
    Region("AUS", "Australia/Sydney", "12:05", (2, 3), jumps=False, goings=("Good 4", "Soft 5", "Soft 7", "Heavy 8")),
    Region("HK", "Asia/Hong_Kong", "13:00", (0, 1), jumps=False, goings=("Good", "Good to Yielding", "Wet Slow")),
    Region("USA", "America/New_York", "12:50", (2, 3), jumps=False, goings=_DIRT),
    Region("JPN", "Asia/Tokyo", "10:05", (0, 2), jumps=True, goings=("Firm", "Good", "Yielding", "Soft")),
    Region("GER", "Europe/Berlin", "11:30", (0, 1), jumps=False, goings=_TURF),
    Region("UAE", "Asia/Dubai", "15:30", (0, 1), jumps=False, goings=("Good", "Fast", "Standard")),
    Region("SAF", "Africa/Johannesburg", "12:10", (1, 2), jumps=False, goings=("Good", "Good to Soft", "Soft")),
    Region("ITY", "Europe/Rome", "14:00", (0, 1), jumps=False, goings=("Buono", "Morbido", "Pesante")),
    Region("NZ", "Pacific/Auckland", "11:45", (0, 2), jumps=False, goings=("Good 3", "Soft 6", "Heavy 9")),
)
REGION_CODES: tuple[str, ...] = tuple(region.code for region in REGIONS)

COUNTRIES: tuple[Country, ...] = (
    Country("GB", "Great Britain", True, 0.998, True, True, True),
    Country("IRE", "Ireland", True, 0.997, True, True, True),
    Country("FR", "France", True, 0.941, False, True, True),
    Country("AUS", "Australia", True, 0.995, True, True, True),
    Country("HK", "Hong Kong", True, 1.0, True, True, True),
    Country("USA", "United States", True, 0.988, False, True, True),
    Country("JPN", "Japan", True, 0.999, False, True, True),
    Country("GER", "Germany", True, 0.962, True, True, False),
    Country("UAE", "United Arab Emirates", True, 0.991, True, False, True),
    Country("SAF", "South Africa", True, 0.987, True, True, True),
    Country("ITY", "Italy", False, 0.612, False, True, False, "Placed horses only before 2020"),
    Country("NZ", "New Zealand", True, 0.993, True, True, True),
    Country("SWE", "Sweden", False, 0.704, False, False, False, "Selected meetings"),
    Country("NOR", "Norway", False, 0.688, False, False, False, "Selected meetings"),
    Country("SIN", "Singapore", True, 0.996, True, True, True, "Racing ended in October 2024"),
    Country("KSA", "Saudi Arabia", True, 0.957, True, False, True, 2020),
    Country("QAT", "Qatar", False, 0.731, False, False, False, ["Doha only", "winter season"]),
    Country("BHR", "Bahrain", False, 0.742, True, False, False, {"since": 2019, "course": "Sakhir"}),
)

# "Name|shortcode|country label". Without a label, the label is the region's code.
_COURSES: dict[str, str] = {
    "GB": "Ascot|ASC; Ayr|AYR|Scotland; Bath|BAT; Carlisle|CAR; Cheltenham|CHE; Chepstow|CHP|Wales; Doncaster|DON; "
    "Epsom Downs|EPS; Ffos Las||Wales; Goodwood|GOO; Kempton (AW)|KEM; Lingfield (AW)|LIN; Les Landes||Jersey; "
    "Musselburgh|MUS|Scotland; Newcastle|NCS; Newmarket (July)|NMJ; Sandown|SAN; Wolverhampton (AW)|WOL; York|YOR",
    "IRE": "Ballinrobe; Curragh|CUR; Down Royal||Northern Ireland; Dundalk (AW)|DUN; Fairyhouse|FAI; Galway|GAL; "
    "Gowran Park; Leopardstown|LEO; Naas; Punchestown|PUN",
    "FR": "Auteuil; Cagnes-sur-Mer; Chantilly; Compiègne; Deauville; Fontainebleau; Lyon-Parilly; ParisLongchamp|PLC; "
    "Pau; Saint-Cloud",
    "AUS": "Ascot||Western Australia; Caulfield|CAU|VIC; Doomben||QLD; Eagle Farm||QLD; Flemington|FLE|VIC; "
    "Morphettville||SA; Newcastle||NSW; Randwick|RAN|NSW; Rosehill||NSW; Sandown-Hillside||VIC",
    "HK": "Happy Valley|HV; Sha Tin|ST",
    "USA": "Aqueduct|AQU; Belmont at the Big A; Churchill Downs|CD; Del Mar|DMR; Gulfstream Park|GP; Keeneland|KEE; "
    "Oaklawn Park; Santa Anita Park|SA; Saratoga|SAR; Woodbine||Canada",
    "JPN": "Chukyo; Hanshin; Kyoto; Nakayama; Tokyo",
    "GER": "Baden-Baden; Düsseldorf; Hamburg; Köln; München",
    "UAE": "Abu Dhabi; Jebel Ali; Meydan|MEY|United Arab Emirates",
    "SAF": "Durbanville; Fairview; Greyville; Kenilworth; Turffontein; Vaal",
    "ITY": "Milano; Napoli; Pisa; Roma Capannelle",
    "NZ": "Ellerslie; Matamata; Riccarton Park; Te Rapa; Trentham; Wanganui",
}

FLAT_ALONE = frozenset(
    {
        *("Bath", "Epsom Downs", "Goodwood", "Les Landes", "Newmarket (July)", "York", "Curragh"),
        *("Chantilly", "Deauville", "ParisLongchamp", "Saint-Cloud"),
    }
)
JUMPS_ALONE = frozenset({"Auteuil", "Cheltenham", "Punchestown"})
WITH_CLASSES = frozenset({"GB"})
"""Regions with race classes of the form "Class 4"."""

ELSEWHERE = {
    "Del Mar": "America/Los_Angeles",
    "Santa Anita Park": "America/Los_Angeles",
    "Oaklawn Park": "America/Chicago",
    "QLD": "Australia/Brisbane",
    "SA": "Australia/Adelaide",
    "Western Australia": "Australia/Perth",
}
"""Zones by a course's name, or by its country label."""


def zone_of(region: Region, course: Course) -> ZoneInfo:
    return ZoneInfo(ELSEWHERE.get(course.name) or ELSEWHERE.get(course.country) or region.zone)


def made_up_id(prefix: str, *parts: object) -> str:
    """Equal for equal parts: "cr_5f2a91c07e3b"."""
    return prefix + sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


def _course(region: str, entry: str) -> Course:
    name, shortcode, country = ([*entry.strip().split("|"), "", ""])[:3]
    return Course(made_up_id("cr_", region, name), name, shortcode or None, country or region, region)


@cache
def courses_of(region: str) -> tuple[Course, ...]:
    return tuple(_course(region, entry) for entry in _COURSES[region].split(";"))
