"""A channel with live messages: one message a meeting, results in its thread, abandonments in the channel too."""

from bot.channels import mutes
from bot.channels.conditions.choices import MEETINGS
from bot.channels.filters import Meeting
from bot.events.event import Topic
from bot.events.races import Course
from sandbox.slack.failures import http_error, rate_limited
from tests.clock import DAY
from tests.integration.pipeline.steps import abandonment, pause, result
from tests.integration.pipeline.stories import (
    Story,
    bare,
    listed,
    lists,
    passes,
    play,
    rows,
    slack_answers,
    so_far,
    subscribes,
    unsubscribes,
)

LIVE = subscribes("CGB", "GB", *Topic, show=(MEETINGS,))
ALL_LIVE = subscribes("CGB", "*", *Topic, show=(MEETINGS,))
AT_1505, AT_1540 = result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40")
REPLY_1430, REPLY_1505 = (f"~1 | ^Result: Ascot {off}" for off in ("14:30", "15:05"))
FLAT_1505 = "^Result: Ascot 15:05"
ASCOT = "^Ascot (GB), "
GONE, CONFLICT = "🛑 *ABANDONED*", "⚠️ *CONFLICT*"


def newer(number, **said):
    return result(**said) | {"sequence": number}


def numbered(number, horse):
    runners = [{"position": 1, "number": "4", "horse": horse}, {"position": 2, "number": "5", "horse": "Red Sky"}]
    return newer(number, placings=(), runners=runners)


def mutes_meeting(course):
    async def do(pipeline):
        muted = Meeting(course=Course(name=course), race_date=DAY)
        await pipeline.database.write(lambda session: mutes.mute(session, "CGB", muted, "UALICE", pipeline.clock()))

    return do


def of_course(number, off, **course):
    return result(f"rc_{number}", off_time=off, course=course)


def at_newcastle(race_id, region):
    return result(race_id, course="Newcastle", region=region)


SHOWN = {
    "results of two meetings": Story(
        *(LIVE, result(), result("rc_2", off_time="15:05", placings=("Green Field", "Red Sky"))),
        result("rc_3", course="York"),
        CGB=[
            f"{ASCOT} | 2 run so far | +1 Blue Moon | +1 Green Field",
            REPLY_1430,
            REPLY_1505,
            "^York (GB), | 1 run so far",
            "~4 | ^Result: York 14:30",
        ],
        CALL=["", "", ""],
    ),
    "abandonment, correction, contradiction": Story(
        *(LIVE, result(), abandonment("rc_2", off_time="15:05"), result(placings=("Red Sky", "Blue Moon"))),
        abandonment(),
        CGB=[
            f"{ASCOT} | 1 ABANDONED, 1 CONFLICT | +🛑 *1 ABANDONED*, ⚠️ *1 CONFLICT* | +{GONE}, frost | +{CONFLICT}",
            "~1",
            "ABANDONED: Ascot 15:05",
            "Red Sky",
            "ABANDONED",
        ],
    ),
    "edits that wait are one": Story(
        *(LIVE, result("rc_0", off_time="12:00")),
        tuple(result(f"rc_{number}", off_time=f"13:{number:02}") for number in range(1, 8)),
        edits=1,
        CGB=[f"{ASCOT} | 8 run so far", *["~1"] * 8],
    ),
    "muted meetings": Story(
        *(LIVE, result(), mutes_meeting("Ascot"), mutes_meeting("York"), AT_1505, result("rc_3", course="York")),
        CGB=[f"{ASCOT} | 2 run so far", REPLY_1430],
    ),
    "unsubscribed while it waits": Story(LIVE, pause, result(), unsubscribes, CGB=[]),
    "subscribed again": Story(
        LIVE, pause, result(), unsubscribes, LIVE, AT_1505, CGB=[f"{ASCOT} | 2 run so far", REPLY_1505]
    ),
    "late result of a past day": Story(LIVE, result(date="2026-01-02"), CGB=["^Result: Ascot"]),
    "placings later": Story(
        LIVE, result(placings=()), result(), CGB=["1 run so far", REPLY_1430, "~1 | 1 Blue Moon, 2 Red Sky"]
    ),
    "corrections": Story(
        LIVE,
        newer(1, placings=("Blue Moon", "Red Sky", "Grey Dawn")),
        newer(2, placings=("Blue Moon", "Red Sky", "Fog")),
        so_far(CGB=["", "~1", "~1 | ^CORRECTION: Ascot 14:30"]),
        newer(3, placings=("Red Sky", "Blue Moon", "Fog")),
        # The channel has the result by now.
        newer(4, placings=("Red Sky", "Blue Moon", "Grey Dawn")),
        CGB=["", "~1", "~1", "Red Sky promoted to 1st", "^CORRECTION"],
    ),
    "winner of another name": Story(
        LIVE, numbered(1, "Blue Moon"), numbered(2, "Blue Noon"), CGB=["", "~1", "Blue Noon"]
    ),
    "topic that the channel is not told": Story(
        *(subscribes("CGB", "GB", Topic.RESULTS, show=(MEETINGS,)), result(), abandonment("rc_2", off_time="15:05")),
        CGB=["1 ABANDONED", "~1"],
    ),
    "region that the race book tells later": Story(
        LIVE,
        *(
            bare("result.received", f"rc_{number}", runners=[{"position": 1, "horse": "Blue Moon"}])
            for number in (2, 3)
        ),
        *(so_far(CGB=[]), lists(*(listed(f"rc_{number}", off=f"15:0{number}") for number in (2, 3)))),
        CGB=["2 run so far", "~1 | ^Result: Ascot 15:03", "~1 | ^Result: Ascot 15:02"],
    ),
    "results that disagree": Story(
        *(LIVE, result(), result(placings=("Red Sky", "Blue Moon"))),
        result(placings=("Red Sky", "Blue Moon")) | {"going": "Soft"},
        so_far(
            CGB=[f"1 CONFLICT | +14:30  {CONFLICT}: two versions of the result | +The later says 1 Red Sky", "~1", ""]
        ),
        *(newer(1, placings=("Red Sky", "Blue Moon")), newer(2)),
        CGB=["+14:30  1 Blue Moon", "~1", "", ""],
    ),
    "race that moves to another course": Story(
        *(LIVE, result("rc_0", off_time="13:00"), abandonment() | {"occurred_at": f"{DAY}T11:58:00Z"}),
        *(so_far(CGB=["1 ABANDONED", "~1", ""]), abandonment(course="York") | {"occurred_at": f"{DAY}T11:59:00Z"}),
        CGB=["!ABANDONED", "~1", "^ABANDONED: York"],
    ),
    "abandonment without a course": Story(
        *(LIVE, bare(race_id="rc_2", reason="fog"), result()),
        CGB=["", "!1 ABANDONED | +PERHAPS ABANDONED | +race rc_2 (region unknown), fog, received", "~2"],
    ),
    "abandonment without a date": Story(
        LIVE, result(), abandonment("rc_2", off_time="15:00", date=None), CGB=["1 ABANDONED", "~1", ""]
    ),
}

PLACES = {
    "race of another region": Story(
        *(ALL_LIVE, result(region=None), AT_1505, result("rc_9", region="AUS", off_time="05:05")),
        CGB=[f"{ASCOT} | @14:30 15:05", "~1", "~1", "^Ascot (AUS) | @05:05", "~4"],
    ),
    "region unknown, two meetings": Story(
        *(ALL_LIVE, result(), result("rc_9", region="AUS"), result("rc_2", region=None, off_time="15:05")),
        CGB=["", "~1", "", "~3", FLAT_1505],
    ),
    "region unknown, one meeting": Story(
        *(ALL_LIVE, result(), result("rc_2", region=None, off_time="15:05")),
        abandonment("rc_4", region=None, off_time="16:15"),
        CGB=[f"{ASCOT} | @14:30 15:05 16:15", "~1", "~1", "^ABANDONED: Ascot 16:15 (region unknown)"],
    ),
    "meeting without a region": Story(
        *(ALL_LIVE, at_newcastle("rc_1", "GB"), at_newcastle("rc_2", "AUS")),
        {"event": "meeting.abandoned", "meeting": {"course": "Newcastle", "date": DAY}, "reason": "frost"},
        CGB=["^Newcastle (GB) | ABANDONED", "~1", "^Newcastle (AUS) | ABANDONED", "~3", ""],
    ),
    "course by id, then by name": Story(
        *(LIVE, of_course(1, "14:30", course_id="cr_asc"), of_course(2, "12:05", course_id="cr_asc", name="Ascot")),
        *(AT_1540, of_course(4, "16:15", course_id="cr_asc")),
        CGB=[f"{ASCOT} | @12:05 14:30 15:40 16:15", *["~1"] * 4],
    ),
    "course by name, then by id": Story(
        *(LIVE, result(), of_course(2, "15:05", course_id="cr_asc", name="ASCOT")),
        of_course(3, "15:40", course_id="cr_asc"),
        CGB=[f"{ASCOT} | @14:30 15:05 15:40", *["~1"] * 3],
    ),
}

FAILED, TAKEN = http_error(503), http_error(503).accepted()
LOOKS = [passes(60)] * 4
IN_THREAD = [f"{ASCOT} | 2 run so far", REPLY_1430, REPLY_1505]
TOLD_FLAT = [ASCOT, REPLY_1430, FLAT_1505]
TROUBLES = {
    "reply in doubt, in the thread": Story(
        LIVE, result(), slack_answers("post", TAKEN), AT_1505, *LOOKS, CGB=IN_THREAD
    ),
    "reply in doubt, not there": Story(LIVE, result(), slack_answers("post", FAILED), AT_1505, *LOOKS, CGB=IN_THREAD),
    "reply in doubt, the thread is gone": Story(
        *(LIVE, result(), slack_answers("post", FAILED, "thread_not_found")),
        *(slack_answers("thread", "thread_not_found", "thread_not_found"), AT_1505, passes(20), passes(20)),
        CGB=TOLD_FLAT,
    ),
    "live message in doubt": Story(LIVE, slack_answers("post", TAKEN), result(), AT_1505, *LOOKS, CGB=IN_THREAD),
    "live message given up": Story(
        *(LIVE, slack_answers("post", *["msg_too_long"] * 3), result(), AT_1505),
        waiting={"dead_letter": 1},
        CGB=["^Result: Ascot 14:30", FLAT_1505],
    ),
    "live message deleted, which an edit finds while a reply waits": Story(
        *(LIVE, result(), slack_answers("post", rate_limited(30)), slack_answers("edit", "message_not_found"), AT_1505),
        passes(31),
        CGB=TOLD_FLAT,
    ),
    "thread locked": Story(
        *(LIVE, result(), slack_answers("post", "restricted_action_thread_locked"), AT_1505),
        abandonment("rc_3", off_time="15:40"),
        CGB=[*TOLD_FLAT, "^ABANDONED: Ascot 15:40"],
    ),
}

WHERE = {
    "nowhere, in the channel, in the thread": Story(
        *(subscribes("CGB", "GB", Topic.ABANDONMENTS, show=(MEETINGS,)), abandonment(), AT_1505),
        so_far(CGB=["^ABANDONED", f"{ASCOT} | +This channel is told of no results: they are shown here alone."]),
        *(subscribes("CGB", "*", Topic.RESULTS), AT_1540),
        so_far(CGB=["", "+Results are in the channel.", "^Result: Ascot 15:40"]),
        *(subscribes("CGB", "GB", show=(MEETINGS,)), result("rc_4", off_time="16:15")),
        CGB=["", "+Results are in the thread.", "", "~2 | ^Result: Ascot 16:15"],
    )
}

STORIES = SHOWN | PLACES | TROUBLES | WHERE
ON_BOTH = (
    "race of another region",
    "course by id, then by name",
    "course by name, then by id",
    "reply in doubt, the thread is gone",
)


@rows(STORIES, *ON_BOTH)
async def test_live_meeting(pipeline, story):
    await play(pipeline, story)
