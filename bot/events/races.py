"""Races as published. A field that did not come is None or empty."""

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict

from bot.events.days import zones_of_region
from bot.events.number_words import CARDINALS, ORDINALS
from bot.events.race_state import LOST_OR_VOID, RaceOutcome, RaceState, is_amended, is_reinstated, letters, state_in
from bot.events.typed_text import folded

PROVISIONAL = RaceState.PROVISIONAL.capitalize()
"""The status of places that are all provisional."""

OUT, RESERVED = "NR", "Reserve"
"""Positions of a horse on the card that does not run. A reserve runs only if another horse is withdrawn."""

_OUT = re.compile(
    "^nr$|nonrun|withdr|scratch|^scr$|^wd$|^wdn$|^removed|^reserve|^emergency|^standby|^wv|^wx|^tnp$|^取消|^除外|^ballot|^eliminated|nonpartant|^np$|^absent|^struk"
)

_UNFINISHED = re.compile(
    "^(?:pu?|f|ur?|bd?|ro|su?|ref|rr?|rtr|co|lft|dnf|dns)$"
    "|中止|^(?:落馬|pulledup|fell|fallen|unseated|broughtdown|ranout|slippedup|refused|carriedout|left|didnot|failedto|stopped|lame|hampered|rider)"
)
_DISQUALIFIED = re.compile("disq|dsq|^dq|dq$|^dis$|^distanced|失格")

_WORDS = "|".join((*ORDINALS, *CARDINALS, "runner[ -]?up|won|winner|walk(?:ed)? ?over|w[./]?o[.]?"))
_SHARED = r"=|tied|ties?|t(?![a-z])|joint|dead[ -]?heat(?:ed)?|d\.?h\.?t?|同着"
_PART_OF_LENGTH = "(?:short |sh )?(?:neck|nk|head|hd|nose|nse|distance|dist)"
_MARGIN = (
    rf" ?\(?(?:by|btn|beaten)(?: by)?(?: a)? (?:[0-9.,/ ½¼¾]+ ?(?:l|len|lengths?)?|{_PART_OF_LENGTH})\)?"
    rf"| ?\((?:[0-9.,/ ½¼¾]+ ?(?:l|len|lengths?)|{_PART_OF_LENGTH})\)"
)
_PLACE = re.compile(
    rf"(?:(?:place|pos|position|p)[ _-]?(?=[0-9]))?(?P<before>(?:{_SHARED})[ .:-]*(?:for )?)?"
    rf"(?:(?P<place>[0-9]{{1,6}})(?:\.0+|\.|st|nd|rd|th|er|[eè]re|i?[eè]me|e|着|º|°)?|(?P<word>{_WORDS}))"
    r"(?: place| past the post)?(?: of [0-9]{1,3}|/[0-9]{1,3})?"
    rf"(?P<after>[ -]?\(?(?:{_SHARED})\)?)?(?:{_MARGIN})?"
    r"(?: ?\((?:promoted|placed|demoted|disq(?:ualified)?[.]? (?:and|&) placed|降)[^)]*\))?",
    re.IGNORECASE,
)
"""A place, shared or not: "2", "=2", "T2", "dh 2", "2nd", "P2", "2 of 9", "1st (by 3L)".

Any further word is no place.
"""

_PLACE_WORDS = {
    **ORDINALS,
    **CARDINALS,
    "runnerup": 2,
    **dict.fromkeys(("won", "winner", "walkover", "walkedover", "wo"), 1),
}

_COUNTRY = re.compile(r" *\([A-Za-z]{2,3}\)$")

APOSTROPHES = str.maketrans("", "", "'\u2019\u2018\u201b\u02bc\u02bb\u2032\uff07`\u00b4")
"""As feeds and phones write an apostrophe, with modifier letters and the prime."""

FEW_MINUTES = 5
"""Larger moves of a race of today are a new message."""

HALF_DAY_MIN = 12 * 60
LAST_EVENING_HOUR = 8
"""On a clock of twelve hours, "8:30" is an evening's race, and "9:30" a morning's."""

_CLOCK = re.compile(
    r"([0-9]{1,2})(?:[:.h]([0-9]{2})|(?= ?[ap]\.?m))(?::[0-9]{2})?"
    r"(?: ?(?P<half>[ap])\.?(?:m\.?)?)?(?: ?[^\d:]{1,12})?",
    re.IGNORECASE | re.ASCII,
)
"""Words behind the time are passed over: "14:30 GMT", "14:30 (local)"."""

_OWN_NAME = re.compile(
    r"\b(?:festival|carnival|meeting|fixture|race ?day|weekend|week|session|evening|afternoon)\b", re.IGNORECASE
)
"""A word of a meeting's own name, "Ebor Festival". The name is told where no course is."""

_AROUND_A_PLACE = re.compile(
    "^(?:(?:the|royal|(?:hippodrome|ippodromo|hipodromo)(?: (?:de|du|des|d|di|del))?) )+"
    "|(?: (?:race ?course|race ?track|raceway|races|racing|course|a ?w|all weather))+$"
)
_AFTER_A_PLACE = re.compile(" (?:park|pk|downs|city)$")

OF_COURSE = "course."

_CARD_NUMBER = re.compile("[0-9]{1,3}")


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Course(Value):
    """`country` is the course's label, which can differ from the region's code."""

    course_id: str | None = None
    name: str | None = None
    country: str | None = None

    @property
    def as_typed(self) -> str | None:
        """For a command line."""
        return self.course_id or self.name


class OffTime(Value):
    """`text`: as published. `off_at` (aware, UTC): only with an offset, because the zone is unknown (Spec gap G16)."""

    text: str | None = None
    off_at: AwareDatetime | None = None

    @property
    def minute_of_day(self) -> int | None:
        """The minute of the day. "2:30" (a clock of twelve hours) is in the afternoon, "02:30" in the night."""
        clock = _clock(self.text)
        return clock.minute if clock else None

    @property
    def local_minute(self) -> int | None:
        """The minute of the course's day. None for a time in UTC, because the zone is unknown (Spec gap G16)."""
        of_utc = self.off_at.hour * 60 + self.off_at.minute if self.off_at else None
        return None if self.minute_of_day == of_utc else self.minute_of_day

    @property
    def is_of_half_day(self) -> bool:
        """True for "2:30", which may be in the morning."""
        clock = _clock(self.text)
        return clock is not None and clock.is_of_half_day

    @property
    def name(self) -> int | str | None:
        """Equal for "14:30", "14.30" and "2:30": what a race is called by."""
        return self.text if self.minute_of_day is None else self.minute_of_day

    def minutes_from(self, other: "OffTime") -> float | None:
        """None if the two can't be compared. A clock of twelve hours is compared without the half of the day."""
        if self.off_at and other.off_at:
            return abs((self.off_at - other.off_at).total_seconds()) / 60
        return self._minutes_by_text(other)

    def _minutes_by_text(self, other: "OffTime") -> float | None:
        first, second = _clock(self.text), _clock(other.text)
        if first is None or second is None:
            return None
        apart = abs(first.minute - second.minute)
        return min(apart, abs(apart - HALF_DAY_MIN)) if first.is_of_half_day or second.is_of_half_day else apart

    def is_same_time(self, other: "OffTime") -> bool:
        """True for "14:30" and "2:30 pm", and for "2:30" and "14:30"."""
        return not self._minutes_by_text(other) and self.minutes_from(other) == 0

    def with_(self, earlier: "OffTime") -> "OffTime":
        """The later of two readings of a time, completed. A clock of 24 hours says more than a clock of twelve."""
        clock, before = _clock(self.text), _clock(earlier.text)
        says_less = clock is not None and before is not None and clock.is_of_half_day > before.is_of_half_day
        text = earlier.text if says_less or not self.text else self.text
        return OffTime(text=text, off_at=self.off_at or earlier.off_at)


class Runner(Value):
    """`position` is text: "1", "2=", "PU". `position_reason`: "Weighed in light". `beaten`: a distance.

    `runs`: True if the source says expressly that the horse runs, which takes back a non-runner.
    """

    horse: str | None = None
    position: str | None = None
    runs: bool | None = None
    position_reason: str | None = None
    number: str | None = None
    draw: str | None = None
    jockey: str | None = None
    trainer: str | None = None
    starting_price: str | None = None
    official_rating: str | None = None
    beaten: str | None = None

    @property
    def is_out(self) -> bool:
        return is_non_runner(self.position)

    def is_back(self, before: "Runner") -> bool:
        """True for a non-runner of the earlier version that runs after all."""
        return before.is_out and not self.is_out and bool(self.position or self.runs)

    @property
    def finishing_position(self) -> int | None:
        """The place of "2=" and "=2" is 2, of "PU" None."""
        return finishing_position(self.position)


class Race(Value):
    """A race, or the fields in common to a meeting's races.

    `race_date` is the published date, "YYYY-MM-DD" (Spec gap G16). `said_region`: the delivery's words for the region;
    `region` is then their code, or None. `off_told`: the off time of the last new message, after moves of a few
    minutes. `unread_order`: an order of placings that could not be read. `disputed`: places that contradict each other
    in one delivery. `from_book`: fields from the race book or another delivery ("title", "course.name").
    `state_told`: of the race book: true after a delivery with a status or an abandonment.
    """

    race_id: str | None = None
    meeting_id: str | None = None
    region: str | None = None
    said_region: str | None = None
    course: Course = Course()
    race_date: str | None = None
    off: OffTime = OffTime()
    off_told: OffTime | None = None
    title: str | None = None
    number: str | None = None
    race_class: str | None = None
    race_type: str | None = None
    distance: str | None = None
    going: str | None = None
    surface: str | None = None
    status: str | None = None
    abandoned: bool | None = None
    state_told: bool | None = None
    reason: str | None = None
    field_size: int | None = None
    winning_time: str | None = None
    unread_order: str | None = None
    disputed: str | None = None
    runners: tuple[Runner, ...] = ()
    from_book: tuple[str, ...] = ()

    def as_delivered(self) -> "Race":
        if not self.from_book:
            return self
        names = {name.removeprefix(OF_COURSE) for name in self.from_book if name.startswith(OF_COURSE)}
        course = self.course.model_copy(update=dict.fromkeys(names))
        left_out = {name: Race.model_fields[name].default for name in self.from_book if not name.startswith(OF_COURSE)}
        return self.model_copy(update={**left_out, "course": course, "from_book": ()})

    def puts_back(self, earlier: "Race") -> bool:
        """True if a lost or void race is run after all: by a false flag, by a status after a status, or by placings."""
        if self.abandoned or self.is_void or not (earlier.abandoned or earlier.is_void):
            return False
        if self.abandoned is False:
            return bool(earlier.abandoned)
        return state_in(earlier.status) in LOST_OR_VOID if self.status else self.has_places

    def outdates_status(self, earlier: "Race") -> bool:
        """True without a status: for placings after a lost or void race or provisional places, and for a new loss."""
        is_outdated = earlier.status == PROVISIONAL or state_in(earlier.status) in LOST_OR_VOID
        is_lost_anew = self.abandoned and earlier.abandoned and is_reinstated(earlier.status or "", earlier.course.name)
        return self.status is None and bool((is_outdated and self.has_places) or is_lost_anew)

    def outranks(self, other: "Race") -> bool:
        """True for an official result beside a provisional result, and for an amended result beside either."""
        before = state_in(other.status)
        if is_amended(self.status):
            return before not in LOST_OR_VOID and not is_amended(other.status)
        is_official = state_in(self.status) is RaceState.RUN or self.outdates_status(other)
        return before is RaceState.PROVISIONAL and is_official

    @property
    def is_settled(self) -> bool:
        return is_settled_status(self.status) or state_in(self.status) is RaceState.PROVISIONAL or self.has_places

    @property
    def says_run(self) -> bool:
        """For a race named by an abandoned meeting: True if the meeting's delivery says that the race was run."""
        return self.abandoned is False or self.as_delivered().is_settled

    @property
    def local_minutes(self) -> list[int]:
        """The off by the course's clock. For a time in UTC, the off by the clock of each zone of the region."""
        if self.off.local_minute is not None:
            return [self.off.local_minute]
        at = (self.off.off_at.astimezone(zone) for zone in zones_of_region(self.region) if self.off.off_at)
        return [one.hour * 60 + one.minute for one in at]

    @property
    def is_void(self) -> bool:
        return state_in(self.status) is RaceState.VOID

    @property
    def is_postponed(self) -> bool:
        return state_in(self.status) is RaceState.POSTPONED

    def outcome(self, *, has_result: bool = False, is_lost: bool = False) -> RaceOutcome:
        """The outcome by the race's own fields, and by other deliveries: `has_result`, `is_lost`."""
        is_settled = has_result or self.is_settled
        if is_lost or self.abandoned:
            return RaceOutcome.BOTH if is_settled and not self.is_void else RaceOutcome.ABANDONED
        if self.is_void:
            return RaceOutcome.VOID
        if self.disputed:
            return RaceOutcome.UNCERTAIN
        return RaceOutcome.SETTLED if is_settled else RaceOutcome.OPEN

    @property
    def went(self) -> list[Runner]:
        return [runner for runner in self.runners if not runner.is_out]

    @property
    def has_places(self) -> bool:
        return any(runner.finishing_position for runner in self.runners)

    @property
    def card_number(self) -> int | None:
        """The number on the card; None for other words."""
        return int(self.number) if self.number and _CARD_NUMBER.fullmatch(self.number) else None

    def comes_after(self, other: "Race") -> bool:
        """Whether the number, else the time of day, is later. False where neither is known of both races."""
        places = (self.card_number, other.card_number), (self.off.minute_of_day, other.off.minute_of_day)
        return next((one > another for one, another in places if one is not None and another is not None), False)

    @property
    def soonest(self) -> tuple[datetime, int]:
        """The order of a day's races to come: by the moment; then races without a moment, by the time of day."""
        return self.off.off_at or datetime.max.replace(tzinfo=UTC), self.off.minute_of_day or 0

    @property
    def order(self) -> tuple[int, str, str, str]:
        """The place on a card: by the time of day. A race without a time comes first."""
        minute = self.off.minute_of_day
        return -1 if minute is None else minute, self.off.text or "", self.race_id or "", self.title or ""

    def placed(self) -> tuple[Runner, ...]:
        places = ((runner.finishing_position, runner) for runner in self.runners)
        finished = sorted(((place, runner) for place, runner in places if place is not None), key=itemgetter(0))
        return tuple(runner for _, runner in finished)


@lru_cache(maxsize=1024)
def finishing_position(position: str | None) -> int | None:
    """None also for 0, and for a number beside words of another meaning: "1 (DSQ)" is no place."""
    found = _PLACE.fullmatch((position or "").strip())
    if found is None:
        return None
    return (int(found["place"]) or None) if found["place"] else _PLACE_WORDS[letters(found["word"])]


@lru_cache(maxsize=1024)
def is_shared(position: str | None) -> bool:
    """True for "1=" and "T2"."""
    found = _PLACE.fullmatch((position or "").strip())
    return bool(found and (found["before"] or found["after"]))


@lru_cache(maxsize=1024)
def is_non_runner(words: str | None) -> bool:
    """True for a position or a runner's status such as "NR", "Late scratched" or "Reserve"."""
    return _OUT.search(letters(words)) is not None


@lru_cache(maxsize=1024)
def did_not_finish(position: str | None) -> bool:
    """True for "PU", "fell" and "unseated rider"."""
    return not finishing_position(position) and _UNFINISHED.search(letters(position)) is not None


@lru_cache(maxsize=1024)
def is_disqualified(position: str | None) -> bool:
    return not finishing_position(position) and _DISQUALIFIED.search(letters(position)) is not None


def is_settled_status(status: str | None) -> bool:
    return state_in(status) in {RaceState.RUN, RaceState.WALKOVER}


def plain_name(horse: str) -> str:
    """The name without the country of birth and apostrophes, which some deliveries lack."""
    said = horse if horse.isascii() and "'" not in horse and "`" not in horse else horse.translate(APOSTROPHES)
    said = " ".join(said.split())
    return (_COUNTRY.sub("", said) if said.endswith(")") else said) or horse


def name_and_country(horse: str) -> tuple[str, str | None]:
    """The name and the country of birth: of "Golden Melody (IRE)" "Golden Melody" and "IRE"."""
    found = _COUNTRY.search(horse) if horse.endswith(")") else None
    return (horse[: found.start()], found[0].strip(" ()")) if found and found.start() else (horse, None)


class _Clock(NamedTuple):
    minute: int
    is_of_half_day: bool


@lru_cache(maxsize=1024)
def _clock(text: str | None) -> _Clock | None:
    found = _CLOCK.fullmatch((text or "").strip())
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), (found["half"] or "").casefold()
    is_of_half_day = not half and len(found[1]) == 1 and hour > 0
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    elif is_of_half_day and hour <= LAST_EVENING_HOUR:
        hour += 12
    return _Clock(hour * 60 + minute, is_of_half_day)


def is_same_course(one: Course, other: Course) -> bool:
    """True for equal ids if both courses have an id, else for equal names."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and one.name == other.name


def is_one_course(one: Course, other: Course) -> bool:
    """As `is_same_course`, in any letter case and punctuation: of two deliveries, not of a name that people typed."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and by_letters(one.name) == by_letters(other.name)


def may_be_same_course(one: Course, other: Course) -> bool:
    """True unless an id or a name of both differs."""
    comparable = (one.course_id and other.course_id) or (one.name and other.name)
    return is_same_course(one, other) or not comparable


def may_be_called(said: Course, listed: Course) -> bool:
    """Whether a listed course may be meant by other words for its place, or by its first words. Two ids decide."""
    if (said.course_id and listed.course_id) or not (said.name and listed.name):
        return False
    (place, core), (listed_place, listed_core) = place_named(said.name), place_named(listed.name)
    return core == listed_core or listed_place.startswith(f"{place} ")


def may_share_meeting(one: "Race", other: "Race") -> bool:
    """True unless an id of both differs."""
    return not (one.meeting_id and other.meeting_id) or one.meeting_id == other.meeting_id


def may_be_there(one: "Race", other: "Race") -> bool:
    """True unless the courses or the meetings differ. A delivery may spell a course in several ways."""
    return may_be_same_course(in_short(one.course), in_short(other.course)) and may_share_meeting(one, other)


@lru_cache(maxsize=1024)
def by_letters(name: str | None) -> str | None:
    """The letters and digits alone, which are equal for "Newton Abbot" and "NEWTON-ABBOT"."""
    return "".join(filter(str.isalnum, name or "")).casefold() or name


@lru_cache(maxsize=4096)
def place_named(course: str) -> tuple[str, str]:
    """The place in plain words, and without "Park": of "The Kempton Park Racecourse" "kempton park" and "kempton"."""
    letters = (one for one in unicodedata.normalize("NFKD", folded(course)) if not unicodedata.combining(one))
    words = "".join(one if one.isalnum() else " " for one in letters).split()
    place = _AROUND_A_PLACE.sub("", " ".join(words))
    return place, _AFTER_A_PLACE.sub("", place)


@lru_cache(maxsize=1024)
def in_short(course: Course) -> Course:
    """Equal for the spellings of a delivery: "York", "YORK (GB)". The own name of a meeting is no course's."""
    name = course.name if course.name and not _OWN_NAME.search(course.name) else None
    return Course(course_id=course.course_id, name=plain_name(name).casefold() if name else None)
