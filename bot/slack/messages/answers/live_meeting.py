"""The live message of a meeting: each race with its winner, its abandonment, or when it is off."""

from datetime import date, datetime

from bot.events.races import Race
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Message
from bot.racedata.day_card import RaceOutcome
from bot.slack.messages.answers.racecard_answer import CARD_LINE_MAX, became, lines_section
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.names import course_name, race_line
from bot.slack.messages.kit.text import clip, counted, joined, safe
from bot.slack.messages.kit.times import weekday_and_day

NO_RESULT_YET = "no result yet"
OFF_NEXT = "*off next*"
TO_COME = "to come"


def live_meeting(live: LiveMeeting, now: datetime) -> Message:
    outcomes, meeting = live.outcomes, live.meeting
    races = [one for place in range(len(outcomes.meetings)) for one in outcomes.of_meeting(place)]
    place = course_name(Race(course=meeting.course, region=meeting.region)) or safe(meeting.course.course_id)
    day = weekday_and_day(date.fromisoformat(meeting.race_date or ""), now.date())
    lost, disputed = outcomes.count(RaceOutcome.ABANDONED), outcomes.count(RaceOutcome.BOTH)
    run = outcomes.count(RaceOutcome.SETTLED, RaceOutcome.VOID)
    figures = joined(
        [
            "*MEETING ABANDONED*" if outcomes.lost else None,
            f"{run} of {counted(len(races), 'race')} run" if races else None,
            f"*{lost} ABANDONED*" if lost else None,
            f"*{disputed} CONFLICT*" if disputed else None,
        ],
        ", ",
    )
    first = joined([f"*{place}*, {day}", figures], ": ")
    following = _next(races, now)
    lines = [
        joined([clip(race_line(race), CARD_LINE_MAX), became(race, outcome) or _open(race, following, now)])
        for race, outcome in races
    ]
    text = joined([f"{place}, {day}", figures.replace("*", "")], ": ")
    note = section("Results are in the thread.")
    return Message(text, tuple(block for block in (lines_section(first, lines, len(lines)), note) if block))


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
