"""The live message of a meeting: each race with its winner, its abandonment, or when it is off."""

from datetime import date, datetime

from bot.events.races import OffTime, Race
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Message
from bot.racedata.day_card import RaceOutcome
from bot.slack.messages.answers.racecard_answer import CARD_LINE_MAX, NO_RESULT_YET, TO_COME, became, lines_section
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, VOIDED
from bot.slack.messages.kit.names import SHORT_MAX, course_name, race_line
from bot.slack.messages.kit.text import clip, counted, joined, safe
from bot.slack.messages.kit.times import off_text, weekday_and_day

OFF_NEXT = "*off next*"
NOT_WHOLE = "I have not read the whole card yet, so races may be missing here: `{}` reads the card."

MARKS = {RaceOutcome.ABANDONED: ABANDONED, RaceOutcome.BOTH: CONFLICTING, RaceOutcome.VOID: VOIDED}


def live_meeting(live: LiveMeeting, now: datetime) -> Message:
    outcomes, meeting = live.outcomes, live.meeting
    races = [one for place in range(len(outcomes.meetings)) for one in outcomes.of_meeting(place)]
    named = course_name(Race(course=meeting.course, region=meeting.region)) or safe(meeting.course.course_id)
    # Courses of two regions share names.
    place = joined([named, f"({region})" if (region := safe(meeting.region, SHORT_MAX)) else None], " ")
    day = weekday_and_day(date.fromisoformat(meeting.race_date or ""), now.date())
    lost, disputed = outcomes.count(RaceOutcome.ABANDONED), outcomes.count(RaceOutcome.BOTH)
    run = outcomes.count(RaceOutcome.SETTLED, RaceOutcome.VOID)
    figures = joined(
        [
            "*MEETING ABANDONED*" if outcomes.lost else None,
            _run_so_far(run, len(races), is_whole=live.is_whole) if races else None,
            f"*{lost} ABANDONED*" if lost else None,
            f"*{disputed} CONFLICT*" if disputed else None,
        ],
        ", ",
    )
    first = joined([f"*{place}*, {day}", figures], ": ")
    following = _next(races, now)
    lines = [_line(race, outcome, became(race, outcome) or _open(race, following, now)) for race, outcome in races]
    text = joined([f"{place}, {day}", figures.replace("*", "")], ": ")
    more = None if live.is_whole else NOT_WHOLE.format(joined(["/racecard", region], " "))
    note = section(joined(["Results are in the thread.", more], " "))
    return Message(text, tuple(block for block in (lines_section(first, lines, len(lines)), note) if block))


def _run_so_far(run: int, races: int, *, is_whole: bool) -> str:
    return f"{run} of {counted(races, 'race')} run" if is_whole else f"{run} run so far"


def _line(race: Race, outcome: RaceOutcome, said: str) -> str:
    """The time and the outcome first: the rest of a line may be off a small screen."""
    off, mark = off_text(race.off), MARKS.get(outcome)
    details = clip(race_line(race.model_copy(update={"off": OffTime()})) if off else race_line(race), CARD_LINE_MAX)
    return joined([f"{off}  {mark} {said}" if off and mark else f"{off}  {said}" if off else said, details])


def _next(races: list[tuple[Race, RaceOutcome]], now: datetime) -> Race | None:
    coming = [race for race, outcome in races if outcome is RaceOutcome.OPEN and race.off.off_at]
    return min(
        (race for race in coming if race.off.off_at and race.off.off_at > now),
        key=lambda race: race.off.off_at or now,
        default=None,
    )


def _open(race: Race, following: Race | None, now: datetime) -> str:
    if race is following:
        return OFF_NEXT
    return NO_RESULT_YET if race.off.off_at and race.off.off_at <= now else TO_COME
