"""The ledger: of each event who was told and when, or why not; and which race the words of `/racing trace` name."""

import re
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from bot.db.tables import InboxDelivery
from bot.errors import CommandError
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.ledger import LedgerOutcome
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCourse
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.trace import TRACE_COMMAND, named_race, no_such_race, place_of
from bot.slack.listeners.command_runner import offered_lines
from bot.slack.messages.answers.trace_answer import TraceView, trace_answer
from sandbox.slack import failures
from tests.answering import answering
from tests.clock import DAY, START
from tests.databases import on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import abandonment, close, fail, meeting, result, tell, traced, wait, write
from tests.integration.pipeline.stories import does, lists, subscribes, take
from tests.unit.kept_text import as_read, check

OFFS = ("13:55", "14:30")
GREEN_FIELD = result(placings=("Green Field",))
YORK_TWICE = [result("rc_1", course="York", off_time="13:30"), result("rc 2", course="York")]


def shown(found, wanted="rc_1", only=None):
    view = TraceView(lambda channel, ts: f"https://x.slack.com/{channel}/{ts}", only_channel=only)
    message = trace_answer(found, wanted, view)
    assert len(message.blocks) <= 50
    return message.text + str(message.blocks)


async def said_of(pipeline, wanted="rc_1", only=None):
    return shown(await traced(pipeline, wanted, only), wanted, only)


async def test_every_version_of_every_event_of_a_race_is_traced(gb):
    await gb.subscribe("CALL", "*")
    await tell(gb, result(), GREEN_FIELD, abandonment(), GREEN_FIELD | {"attempt": 2})
    found = await traced(gb)
    results = [("result.received", 1, 2), ("result.received", 2, 2)]
    assert [(one.row.kind, one.row.version, one.row.posts) for one in found.versions] == [
        *results,
        ("race.abandoned", 1, 2),
    ]
    assert {told.outcome for one in found.versions for told in one.told} == {LedgerOutcome.SENT}
    first = found.versions[0].told[1]
    assert (first.channel_id, first.attempts) == ("CGB", 1)
    assert first.message_ts == gb.slack.messages("CGB")[0].ts
    assert all(words in shown(found) for words in (f"ts `{first.message_ts}`", "inbox-4", "said nothing new"))


@on_both
async def test_race_meeting_key_and_reference_name_it_and_its_meetings_abandonment(gb):
    await tell(gb, result(meeting_id="m_7"))
    for wanted in ("rc_1", "m_7", "result.received:rc_1", "inbox-1"):
        assert [one.row.event_key for one in (await traced(gb, wanted)).versions] == ["result.received:rc_1"]
    assert [len((await traced(gb, channel_id=one)).versions[0].told) for one in ("CGB", "CIRE")] == [1, 0]
    await tell(gb, meeting(meeting_id="m_7"))
    assert [one.row.kind for one in (await traced(gb)).versions] == ["result.received", "meeting.abandoned"]
    await tell(gb, [result("rc_8"), result("rc_9")])
    both = ["result.received:rc_8", "result.received:rc_9"]
    assert [one.row.event_key for one in (await traced(gb, "inbox-3")).versions] == both


@pytest.mark.parametrize(
    ("failure", "outcome", "why"),
    [
        (failures.rate_limited(30), LedgerOutcome.WAITING, "ratelimited"),
        (failures.slack_error("is_archived"), LedgerOutcome.WAITING, "is_archived"),
        (failures.slack_error("msg_too_long"), LedgerOutcome.DEAD_LETTER, "msg_too_long"),
        (failures.drop_before(), LedgerOutcome.IN_DOUBT, "chat.postMessage"),
    ],
    ids=["rate limited", "closed", "given up", "doubtful"],
)
async def test_why_a_channel_was_not_told_is_said(pipeline, failure, outcome, why):
    fail(pipeline, post=[failure] * 3)
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    # Past the call's deadline.
    await wait(pipeline, 6)
    found = await traced(pipeline)
    ((told,),) = [one.told for one in found.versions]
    assert told.outcome is outcome
    assert why in (told.why or "")
    assert why.split(".")[0] in shown(found)


async def key_named(pipeline, words):
    now = pipeline.clock()
    place = await pipeline.database.read(lambda session: place_of(session, words, now))
    found = place and named_race(place, now)
    return found and found.key


NAMED = {"York 13:30": "rc_1", "york, 14.30": "rc 2", "york 1.30": "rc_1", "York 2.30pm": "rc 2"}
NAMED |= {"York 1430": "rc 2", "york 130": "rc_1", "York 2-30": "rc 2"}
NAMED |= {"14:30 York": "rc 2", "York 14:30 today": "rc 2", "today at York, 1.30": "rc_1"}
NAMES_NONE = dict.fromkeys(["York 9:30", "rc_1", "York", "York again", "York 14:30 yesterday"])


BY_DAY = [(0, "%A"), (2, "%A"), (2, "%d/%m"), (1, "%-d %b"), (1, "%F")]
NAMED |= {"Ascot 14:30 GB": "rc_3", "AUS Ascot 14:30": "rc_4"}


async def test_race_is_found_by_course_and_time_and_a_course_of_two_regions_by_its_region(pipeline):
    await write(pipeline, lexicon.REGIONS.put, ["AUS", "GB"], pipeline.clock())
    await tell(pipeline, *YORK_TWICE, result("rc_3"), result("rc_4", region="AUS"))
    # A weekday means the last such day, or the coming day if only the coming day has an event.
    days = [date.fromisoformat(DAY) + timedelta(days=ahead) for ahead in (-5, 2, 3)]
    await tell(pipeline, *(abandonment(f"rc_{one:%a}", course="Ayr", date=f"{one}") for one in days))
    said = NAMED | NAMES_NONE | {f"Ayr 14:30 {days[at]:{form}}": f"rc_{days[at]:%a}" for at, form in BY_DAY}
    assert {words: await key_named(pipeline, words) for words in said} == said


@pytest.mark.parametrize(
    ("words", "lines"),
    [("york", ['trace "rc 2"', "trace rc_1"]), ("YORK 9.30", ["trace rc_1", 'trace "rc 2"'])],
    ids=["the newest first", "the nearest first"],
)
async def test_races_of_a_course_are_offered_where_no_race_is_named(pipeline, words, lines):
    await tell(pipeline, *YORK_TWICE, result("rc_3", course="Ayr"))
    now = pipeline.clock()
    error = no_such_race(await pipeline.database.read(lambda session: place_of(session, words, now)), now)
    assert error
    named = {"York 14:30": 'trace "rc 2"', "York 13:30": "trace rc_1"}
    assert {label.rpartition(",")[0]: line for label, line in error.lines.items()} == named
    assert list(error.lines.values()) == lines


async def test_lost_race_and_course_are_found_by_the_abandonment_of_their_meeting(gb):
    await tell(gb, YORK_TWICE[0], meeting("rc_8", course="York"))
    assert await key_named(gb, "York 13:30") == "rc_1"
    (found,) = {await key_named(gb, words) for words in ("York 14:05", "york", "YORK 9.30")}
    assert found.startswith("meeting.abandoned:")
    assert "• <#CGB>: posted " in await said_of(gb, found)
    assert await key_named(gb, "Yo") is None
    gb.clock.now += timedelta(days=3)
    assert await key_named(gb, "York") is None


def card(*offs):
    """A published racecard of York with races at these times; a race's id is "rc_" with the time."""
    races = [{"race_id": f"rc_{off}", "off_time": off} for off in offs]
    of_york = {"meeting_id": "mt_1", "course": "York", "date": DAY, "region": "GB"}
    return {"event": "racecard.published", "meeting": of_york, "races": races}


def race(race_id=None, off=None, course="Bath", **more):
    given = {"race_id": race_id, "off": OffTime(text=off) if off else None} | more
    return Race(course=Course(name=course), race_date=DAY, **given)


# The answers of `/racing trace`, with the words in traces.txt


KEPT = Path(__file__).parent / "traces.txt"
TS = re.compile(r"\d{10}\.?\d{6}")


async def asked(pipeline, words, *, is_admin=True):
    """The answer as it is shown, or the refusal with the lines of its buttons."""
    names = ("York", "Bath", "Kempton (AW)")
    lists = [KnownCourse(course_id=f"crs_{name}", name=name, region="GB") for name in names]

    desk: Any = SimpleNamespace(
        people=SimpleNamespace(is_admin=answering(is_admin)),
        database=pipeline.database,
        clock=pipeline.clock,
        reference=SimpleNamespace(courses=answering(lists)),
        identity=SimpleNamespace(permalink=lambda channel_id, ts: f"https://x.slack.com/{channel_id}/{ts}"),
    )
    try:
        message = await TRACE_COMMAND.say(desk, Invocation(words, "CGB", "UALICE", "cmd-1"))
        assert message
    except CommandError as error:
        return "\n".join([str(error), *(f"[{label}] {line}" for label, line in offered_lines(error).items())])
    return TS.sub("TS", as_read(message))


async def delivery_fails(pipeline):
    failing = update(InboxDelivery).values(attempts=2, error="ValueError: <!here>", not_before=pipeline.clock())
    await write(pipeline, lambda session: session.execute(failing))


async def waits_unread(pipeline):
    await pipeline.deliver([result("rc_8"), result()])


IN_GB, IN_ALL, IN_IRE = subscribes("CGB"), subscribes("CALL"), subscribes("CGB", "IRE")
YORK_RUN, YORK_LOST = result("rc_1", course="York"), meeting(course="York")
LOST = abandonment("rc_1", course="York", race_class="4", race_type="Flat")
FOG = {"event": "race.abandoned", "region": "GB", "course": "Bath", "off_time": "14:30", "reason": "Fog"}
OF_YORK = card("12:55", "13:30", "14:05", "14:40")
MARKED_OFFS = ("12:50", "13:30", "14:00", "14:30")
MARKED = card(*MARKED_OFFS)
for _race, _status in zip(MARKED["races"], ("abandoned", "postponed", "void"), strict=False):
    _race["status"] = _status
IN_BOOK = lists(*(race(f"rc_{off}", off) for off in ("13:55", "14:30")))
BY_THE_LIST = lists(
    race("rc_1", "13:55", abandoned=True), race("rc_2", "14:30", runners=(Runner(horse="Blue Moon", position="1"),))
)
STILL_LISTED = lists(
    *(race(f"rc_{off}", off, "York", status="declared") for off in ("12:50", "13:30", "14:00", "14:30"))
)
BY_TIME = lists(race("rc_1", "15:00"), race("rc_2", "2:05"), race("rc_3", "13:30"))
IN_NORWAY = lists(race("rc_1", "14:30", "Øvrevoll"), region="NO")
BOTH = {"course": "York", "meeting_id": "mt_1"}
CONFLICT = (IN_GB, result("rc_1", **BOTH), abandonment("rc_1", **BOTH))
RESULTS = {"topics": frozenset({Topic.RESULTS})}
BATH = Course(name="Bath")
LEFT_OUT: dict[str, dict[str, Any]] = {
    "region": {"region": "IRE"},
    "topic": RESULTS,
    "courses": {"courses": (BATH,)},
    "without courses": {"not_courses": (Course(name="York"),)},
    "code": {"codes": ("jumps",)},
    "class": {"classes": ("Class 1",)},
    "topic and courses": {"courses": (BATH,)} | RESULTS,
}
NEAREST = (IN_IRE, subscribes("CGB", "GB", courses=(BATH,)), abandonment("rc_1", course="York"))
TOLD_ELSEWHERE = (subscribes("D0ALICE", "GB"), *(subscribes(one, "IRE") for one in ("CGB", "CIRE", "CFR")), YORK_RUN)

TRACES: dict[str, tuple[tuple[Any, ...], list[str]]] = {
    "before any delivery": ((), ["rc_1"]),
    "unknown id": ((result(),), ["RC_1"]),
    "nobody wanted it": ((result(),), ["rc_1"]),
    "delivery waits": ((IN_GB, waits_unread), ["rc_1"]),
    "delivery fails": ((IN_GB, waits_unread, delivery_fails), ["rc_1"]),
    "channel not told first": ((IN_GB, subscribes("CIRE", "GB"), does(close, "CIRE"), result()), ["rc_1"]),
    "of a member": ((IN_GB, IN_ALL, result()), ["rc_1"]),
    "of a member elsewhere": ((IN_ALL, result()), ["rc_1"]),
    "race that the meeting lacks": ((OF_YORK, YORK_LOST), ["york 14.30", "York 2:30"]),
    "race of an abandoned meeting": ((IN_GB, OF_YORK, YORK_LOST), ["york 13.30", "York 1:30pm", "rc_13:30"]),
    "on the card": ((IN_BOOK,), ["bath 2.30", '"Bath" 2.30', "rc_14:30", '"rc_14:30"']),
    "not on the card": ((IN_BOOK,), ["bath 13.56"]),
    "races of the book, by their off times": ((BY_TIME,), ["bath"]),
    "abandoned by the list": ((BY_THE_LIST,), ["bath 13.55"]),
    "run by the list": ((BY_THE_LIST,), ["bath 14.30"]),
    "abandoned by the list, and the meeting": ((BY_THE_LIST, meeting(course="Bath")), ["bath 13.55"]),
    "run by the list, and the meeting lost": ((BY_THE_LIST, meeting(course="Bath")), ["bath 14.30"]),
    "abandoned by a racecard": ((IN_ALL, MARKED, STILL_LISTED), ["york 12:50", "rc_12:50"]),
    "postponed by a racecard": ((IN_ALL, MARKED, STILL_LISTED), ["york 13:30", "rc_13:30"]),
    "void by a racecard": ((IN_ALL, MARKED, STILL_LISTED), ["york 14:00", "rc_14:00"]),
    "declared by a racecard": ((IN_ALL, MARKED, STILL_LISTED), ["york 14:30"]),
    "course with other letters": ((IN_NORWAY,), ["øvrevoll 14:30", "ØVREVOLL 2.30"]),
    "mistyped course": ((YORK_RUN,), ["yrok 13:30"]),
    "time like a date": ((YORK_RUN,), ["york 5-11"]),
    "course without races": ((YORK_RUN,), ["kempton 2.30"]),
    "another day": ((YORK_RUN,), ["york 2.30 yesterday"]),
    "no course": ((YORK_RUN,), ["qqqqq 13:30"]),
    "horse": ((result("rc_1", course="York", placings=("Wandering Dawn",)),), ["Wandering Dawn"]),
    "channels and direct messages": (TOLD_ELSEWHERE, ["york 14.30"]),
    "of a member in a channel that is not told": (TOLD_ELSEWHERE, ["york 14.30"]),
    **{f"left out by {name}": ((subscribes("CGB", **of), LOST), ["york 14.30"]) for name, of in LEFT_OUT.items()},
    "left out by the nearest subscription": (NEAREST, ["york 14.30"]),
    "left out, and a farther one since": ((*NEAREST, subscribes("CGB", "FR", courses=(BATH,))), ["york 14.30"]),
    "taken since": ((*NEAREST, IN_GB), ["york 14.30"]),
    "lost, by course and time alone": ((IN_GB, IN_BOOK, FOG), ["bath 14.30"]),
    "lost, by course, time and day": ((IN_GB, IN_BOOK, FOG | {"date": DAY}), ["bath 14.30"]),
    "reported lost and run": (CONFLICT, ["york 14.30"]),
    "meeting of a race reported lost and run": (CONFLICT, ["mt_1"]),
}


@pytest.mark.parametrize(
    ("database", "name"),
    [*product(["sqlite"], TRACES), *product(["postgresql"], ["on the card", "course with other letters"])],
    indirect=["database"],
)
async def test_trace_reads_as_kept(make_pipeline, name):
    pipeline = make_pipeline(clock=Moment(START))
    steps, lines = TRACES[name]
    await take(pipeline, *steps)
    for line in lines:
        check(KEPT, name, await asked(pipeline, line, is_admin="member" not in name))


async def test_trace_finds_the_race_by_its_id_and_by_each_delivery(pipeline):
    await tell(pipeline, result(None), result(), abandonment())
    for wanted, versions in (("rc_1", 2), ("inbox-1", 1), ("inbox-2", 1), ("inbox-3", 1)):
        keys = [one.row.event_key.partition(":")[2] for one in (await traced(pipeline, wanted)).versions]
        assert keys == [f"region=gb|course=ascot|date={DAY}|off=14:30"] * versions, wanted
