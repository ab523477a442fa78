"""Names of races, runners, courses, regions and classes in messages; and which order is published in part."""

from collections.abc import Collection, Sequence

from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceState, letters
from bot.events.races import Course, Race, Runner
from bot.events.sentences import counted, listed
from bot.racedata.client.records import KnownCountry
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, VOIDED
from bot.slack.messages.kit.text import clip, given, joined, safe
from bot.slack.messages.kit.times import off_text, published_day

COURSE_MAX = 80
HORSE_MAX = 60
PERSON_MAX = 60
ID_MAX = 80
SHORT_MAX = 40
MOVED_MAX = 80
CARD_LINE_MAX = 300
RUNNERS_PLAUSIBLE = 1_000

PART = "part of the meeting"


def ordinal(place: int) -> str:
    teens = place % 100 in {11, 12, 13}
    return f"{place}" + ("th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th"))


def course_name(race: Race) -> str | None:
    return safe(race.course.name, COURSE_MAX) or safe(race.course.course_id, COURSE_MAX)


def day_line(command: str, region: str | None, day: str | None, course: Course | None, *others: str | None) -> str:
    """The words after /racing for a day's racing, with the course in quotes."""
    name = course and course.as_typed
    quoted = '"' + name.replace('"', "") + '"' if name else None
    return joined([command, region, day, quoted, *others], " ")


def race_name(race: Race) -> str:
    """For example "Kempton 14:30", or the next best name."""
    place = joined([course_name(race), off_text(race.off) or race_by_number(race)], " ")
    return place or safe(race.title) or _race_by_id(race) or "race not named"


def dated_name(race: Race) -> str:
    """For example "Kempton 14:30, Sat 28 Nov"."""
    return joined([race_name(race), race_day(race)], ", ")


def course_and_time(race: Race) -> str:
    """As `race_name`. Missing values are named, because readers overlook a gap."""
    course, off = course_name(race), off_text(race.off)
    if course and off:
        return f"{course} {off}"
    return f"{course or 'course not given'}, {off or race_by_number(race) or 'time not given'}"


def else_named(race: Race) -> str | None:
    """An identifier for a race without course or time."""
    if course_name(race) and off_text(race.off):
        return None
    named = safe(race.title) or _race_by_id(race)
    nothing_said = not (course_name(race) or off_text(race.off) or race_by_number(race))
    return named or ("the delivery did not say which race" if nothing_said else None)


def lost_details(race: Race) -> str:
    named = else_named(race)
    return joined([named, race_details(race.model_copy(update={"title": None}) if named else race)])


def lost_name(event: RacingEvent, *, partly_run: bool | None) -> str:
    """For example "Ascot, whole meeting, Sat 21 Nov (GB)". Missing values are named, because readers overlook a gap.

    `partly_run`: of an abandoned meeting; None if not looked up.
    """
    race, what = event.race, course_and_time(event.race)
    if event.kind is EventKind.MEETING_ABANDONED:
        part = None if partly_run is None else lost_part(event, partly_run=partly_run)
        what = joined([course_name(race) or "course not given", part], ", ")
    return f"{what}, {race_day(race) or 'date not given'}{region_mark(event)}"


def card_name(race: Race) -> str:
    """For example "Ascot, Sat 21 Nov"."""
    return joined([course_name(race), race_day(race)], ", ") or _race_by_id(race) or "card not named"


def present_state(event: RacingEvent, name: str, *, was_run: bool = False, run_since: bool = False) -> tuple[str, str]:
    """The mark and the first words of a loss: "ABANDONED: Kempton 14:30", unless later news denies the loss."""
    if run_since:
        return CONFLICTING, f"CONFLICT: {name} reported abandoned, and run since"
    if event.in_doubt:
        return CONFLICTING, f"CONFLICT: {name} reported abandoned and reinstated"
    if event.is_taken_back:
        return CORRECTED, f"{'RUN AFTER ALL' if was_run else 'GOING AHEAD'}: {name}"
    return loss_mark(event.race), f"{not_held(event.race).upper()}: {name}"


def abandonment_name(event: RacingEvent, partly_run: Collection[str]) -> str:
    """For example "Ascot 14:30", "York (whole meeting)" or "York (rest of the meeting)".

    `partly_run`: keys of abandoned meetings with a race that was run.
    """
    is_of_meeting = event.kind is EventKind.MEETING_ABANDONED
    part = lost_part(event, partly_run=event.key in partly_run) if is_of_meeting else None
    name = (course_name(event.race) or "course not given") if is_of_meeting else race_name(event.race)
    return f"{name}{given(' ({})', 'reinstated' if event.is_taken_back else part) or ''}"


def doubtful_name(event: RacingEvent, partly_run: Collection[str]) -> str:
    """`abandonment_name`, with the report against the loss. `partly_run`: also keys of races with a result."""
    is_run_too = event.kind is EventKind.RACE_ABANDONED and event.key in partly_run and not event.is_taken_back
    doubt = "reinstated" if event.in_doubt else "run" if is_run_too else None
    return f"{abandonment_name(event, partly_run)}{given(', reported {} too', doubt) or ''}"


def lost_part(event: RacingEvent, *, partly_run: bool) -> str:
    """The lost part of an abandoned meeting. `partly_run`: see bot.racedata.day_views."""
    if not partly_run:
        return "whole meeting"
    return "rest of the meeting" if event.loses_the_rest else PART


def race_day(race: Race) -> str | None:
    """For example "Sat 21 Nov"; another form of a date as published."""
    return published_day(race.race_date)


def region_mark(event: RacingEvent) -> str:
    """A loss told to every region, because its own is unreadable, gets "region unknown"."""
    said = safe(event.race.region, SHORT_MAX) or safe(event.race.said_region, SHORT_MAX)
    return given(" ({})", said or ("region unknown" if event.reports_loss else None)) or ""


def not_held(race: Race) -> str:
    """The word for a race without a result. A postponed race may be run on another day."""
    return "void" if race.is_void else "postponed" if race.is_postponed else "abandoned"


def reason(event: RacingEvent) -> str | None:
    """The new day of a postponed race, and why the race or meeting is lost; or the words that take the loss back."""
    if event.is_taken_back:
        return safe(event.race.status, SHORT_MAX)
    return race_reason(event.race, event.reason)


def race_reason(race: Race, reason: str | None = None) -> str | None:
    return joined([moved_to(race), safe(reason) or safe(race.reason)], ", ") or None


def loss_mark(race: Race) -> str:
    return VOIDED if race.is_void else ABANDONED


def marked_not_held(race: Race) -> str:
    """For example "🛑 *POSTPONED*", in lists."""
    return f"{loss_mark(race)} *{not_held(race).upper()}*"


def lost_reason(race: Race, reason: str | None = None) -> str | None:
    """For example "postponed, frost", in a list of abandonments."""
    word = None if moved_to(race) or not_held(race) == RaceState.ABANDONED else not_held(race)
    return joined([word, race_reason(race, reason)], ", ") or None


def moved_to(race: Race) -> str | None:
    """The status of a postponed race that says more than "Postponed": the new day."""
    return safe(race.status, MOVED_MAX) if race.is_postponed and letters(race.status) != RaceState.POSTPONED else None


def horse_name(runner: Runner) -> str:
    return safe(runner.horse, HORSE_MAX) or given("no. {}", safe(runner.number, SHORT_MAX)) or "horse not named"


def race_line(race: Race) -> str:
    """For example "14:30  Novices' Hurdle  ·  2m  ·  Class 4  ·  12 runners"."""
    name = joined([off_text(race.off), _title(race)], "  ")
    return joined([name or _race_by_id(race) or "race not named", _in_short(race)])


def race_line_after_off(race: Race) -> str:
    """`race_line` without the off time, for a line that begins with the off time; "" if nothing else is known."""
    return joined([_title(race), _in_short(race)])


def outcome_line(race: Race, said: str | None) -> str:
    """For example "14:30  won by *Desert Crown* · Novices' Hurdle · 2m". A small screen may cut the details off."""
    off = off_text(race.off)
    if not said:
        return clip(race_line(race), CARD_LINE_MAX)
    details = race_line_after_off(race) if off else race_line(race)
    return joined([joined([off, said], "  "), clip(details, CARD_LINE_MAX)])


def times_or_count(races: Sequence[Race], most: int) -> str:
    """For example "11:30 and 12:30"; "3 races" for more than `most`, and where a race has no time."""
    times = [time for race in races if (time := off_text(race.off))]
    return listed(times) if len(times) == len(races) <= most else counted(len(races), "race")


def class_name(race: Race) -> str | None:
    race_class = safe(race.race_class, SHORT_MAX)
    return f"Class {race_class}" if race_class and race_class.isdecimal() else race_class


def runners_count(race: Race) -> str | None:
    """The published field size, else the number of declared runners."""
    published = race.field_size or 0
    number = published if 0 < published < RUNNERS_PLAUSIBLE else len(race.went)
    return counted(number, "runner") if number else None


def race_details(race: Race) -> str:
    short = (race.distance, race.going, race.surface, race.race_type)
    return joined([safe(race.title), class_name(race), *(safe(value, SHORT_MAX) for value in short)])


def _title(race: Race) -> str | None:
    return safe(race.title) or race_by_number(race)


def race_by_number(race: Race) -> str | None:
    """For example "race 4", for a race without a time or a title."""
    return given("race {}", safe(race.number, SHORT_MAX))


def _in_short(race: Race) -> str:
    return joined([safe(race.distance, SHORT_MAX), class_name(race), runners_count(race)])


def connections(runner: Runner) -> str:
    """For example " (R Moore / A O'Brien)"; empty if unknown."""
    jockey, trainer = safe(runner.jockey, PERSON_MAX), safe(runner.trainer, PERSON_MAX)
    people = joined([jockey, trainer], " / ") if jockey else given("trainer {}", trainer)
    return given(" ({})", people) or ""


def _race_by_id(race: Race) -> str | None:
    return given("race {}", safe(race.race_id, ID_MAX))


def order_note(countries: Sequence[KnownCountry], regions: Collection[str | None]) -> str | None:
    """None if every region publishes the full order."""
    partly = [one for one in countries if one.full_result_order is False and one.country_code in regions]
    if not partly:
        return None
    if len(partly) > 1:
        named = ", ".join(joined([_name(one), given("({})", share_recorded(one))], " ") for one in partly)
        return f"The full finishing order is not published by {named}."
    (one,) = partly
    return f"{joined([f'{_name(one)} does not publish the full finishing order', share_recorded(one)], ': ')}."


def share_recorded(country: KnownCountry, decimals: int = 0) -> str | None:
    share = country.position_pct
    return None if share is None else f"{share:.{decimals}%} of runners have a recorded position"


def _name(country: KnownCountry) -> str:
    return safe(country.name, SHORT_MAX) or safe(country.country_code, SHORT_MAX) or "This country"
