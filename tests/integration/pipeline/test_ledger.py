"""The ledger: of each event who was told and when, or why not; and which race the words of `/racing trace` name."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from bot.db.tables import InboxDelivery
from bot.errors import CommandError
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.ledger import LedgerOutcome
from bot.racedata import lexicon, race_book_store
from bot.racedata.client.records import KnownCourse
from bot.slack.commands.error_answers import offered_lines
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.trace import TRACE_COMMAND, named_race, no_such_race, place_of
from bot.slack.messages.answers.trace_answer import TraceView, trace_answer
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.steps import abandonment, close, fail, meeting, result, tell, traced, wait, write

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


async def test_unknown_id_is_told_apart_from_an_event_that_nobody_wanted(pipeline):
    assert "so far: I have no delivery at all" in await said_of(pipeline)
    await tell(pipeline, result())
    unknown = await said_of(pipeline, "RC_1")
    assert "No delivery called `RC_1`" in unknown
    assert "since <!date^" in unknown
    nobody = await said_of(pipeline)
    assert "No channel was subscribed" in nobody
    assert "inbox-1" in nobody


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
    await tell(gb, meeting(meeting_id="m_7"))
    assert [one.row.kind for one in (await traced(gb)).versions] == ["result.received", "meeting.abandoned"]
    await tell(gb, [result("rc_8"), result("rc_9")])
    both = ["result.received:rc_8", "result.received:rc_9"]
    assert [one.row.event_key for one in (await traced(gb, "inbox-3")).versions] == both


@on_both
async def test_others_than_admins_see_their_own_channel(gb):
    await gb.subscribe("CALL", "*")
    await tell(gb, result())
    said = await said_of(gb, only="CGB")
    assert "• <#CGB>: " in said
    assert "Limited to this channel, <#CGB>: admins see all." in said
    assert "CALL" not in said
    assert "This channel was not told: it had not asked for this news." in await said_of(gb, only="CIRE")


async def test_why_nobody_was_told_yet_is_said(gb):
    await gb.deliver([result("rc_8"), result()])
    assert "waits to be read" in await said_of(gb)
    broken = update(InboxDelivery).values(attempts=2, error="ValueError: <!here>", not_before=gb.clock())
    await write(gb, lambda session: session.execute(broken))
    failing = await said_of(gb)
    assert "failed twice" in failing
    assert "<!here>" not in failing


@pytest.mark.parametrize(
    ("failure", "outcome", "why"),
    [
        (failures.rate_limited(30), LedgerOutcome.WAITING, "ratelimited"),
        (failures.slack_error("is_archived"), LedgerOutcome.WAITING, "is_archived"),
        (failures.slack_error("never_heard_of_it"), LedgerOutcome.DEAD_LETTER, "never_heard_of_it"),
        (failures.drop_before(), LedgerOutcome.IN_DOUBT, "chat.postMessage"),
    ],
    ids=["rate limited", "closed", "given up", "doubtful"],
)
async def test_why_a_channel_was_not_told_is_said(pipeline, failure, outcome, why):
    fail(pipeline, post=[failure])
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    # Past the call's deadline.
    await wait(pipeline, 6)
    found = await traced(pipeline)
    ((told,),) = [one.told for one in found.versions]
    assert told.outcome is outcome
    assert why in (told.why or "")
    assert why.split(".")[0] in shown(found)


async def test_channels_that_were_not_told_come_first(gb):
    await gb.subscribe("CIRE", "GB")
    await close(gb, "CIRE")
    await tell(gb, result())
    said = await said_of(gb)
    assert "1 waiting, 1 posted" in said
    assert said.index("<#CIRE>: waiting, because Slack said `is_archived`.") < said.index("<#CGB>")


async def key_named(pipeline, words):
    now = pipeline.clock()
    place = await pipeline.database.read(lambda session: place_of(session, words, now))
    found = place and named_race(place, now)
    return found and found.key


NAMED = {"York 13:30": "rc_1", "york, 14.30": "rc 2", "york 1.30": "rc_1", "York 2.30pm": "rc 2"}
NAMED |= {"York 1430": "rc 2", "york 130": "rc_1", "York 2-30": "rc 2"}
NAMED |= {"14:30 York": "rc 2", "York 14:30 today": "rc 2", "today at York, 1.30": "rc_1"}
NAMES_NONE = dict.fromkeys(["York 9:30", "rc_1", "York", "York again", "York 14:30 yesterday"])


NAMED |= {"Ascot 14:30 GB": "rc_3", "AUS Ascot 14:30": "rc_4"}


async def test_race_is_found_by_course_and_time_and_a_course_of_two_regions_by_its_region(pipeline):
    await write(pipeline, lexicon.REGIONS.put, ["AUS", "GB"], pipeline.clock())
    await tell(pipeline, *YORK_TWICE, result("rc_3"), result("rc_4", region="AUS"))
    said = NAMED | NAMES_NONE
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


async def put(pipeline, *races, region="GB"):
    await write(pipeline, race_book_store.put, races, pipeline.clock(), region=region)


async def asked(pipeline, words, *, is_admin=True):
    """The answer of `/racing trace` as it is shown, with the lines of the buttons behind a refusal."""
    names = ("York", "Bath", "Kempton (AW)")
    lists = [KnownCourse(course_id=f"crs_{name}", name=name, region="GB") for name in names]

    async def known(_timeout_s):
        return lists

    async def admin(_user_id):
        return is_admin

    desk: Any = SimpleNamespace(
        people=SimpleNamespace(is_admin=admin),
        database=pipeline.database,
        clock=pipeline.clock,
        reference=SimpleNamespace(courses=known),
        identity=SimpleNamespace(permalink=lambda _channel_id, _ts: None),
    )
    try:
        message = await TRACE_COMMAND.say(desk, Invocation(words, "CGB", "UALICE", "cmd-1"))
        assert message
    except CommandError as error:
        return f"{error}\n{list(offered_lines(error).values())}"
    return f"{message.text}\n{message.blocks}"


async def test_race_that_is_not_known_is_never_answered_with_the_meeting(pipeline):
    await tell(pipeline, card("12:55", "13:30", "14:05", "14:40"), meeting(course="York"))
    for words in ("york 14.30", "York 2:30"):
        said = await asked(pipeline, words)
        assert "No race is known at 14:30 at York. Known: 12:55, 13:30, 14:05 and 14:40" in said
        assert "the meeting was abandoned." in said
        assert said.index("'trace rc_14:40'") < said.index("'trace rc_14:05'") < said.index("'trace rc_12:55'")


async def test_race_of_an_abandoned_meeting_is_named_with_its_time(gb):
    await tell(gb, card("12:55", "13:30"), meeting(course="York"))
    for words in ("york 13.30", "York 1:30pm", "rc_13:30"):
        said = await asked(gb, words)
        assert said.startswith("*What became of York 13:30*\nYork 13:30 was abandoned with its meeting.\n")
        assert "meeting abandoned" in said
        assert "• <#CGB>: posted " in said


@on_both
async def test_race_without_an_outcome_is_said_to_be_on_the_card(pipeline):
    await put(pipeline, *(race(f"rc_{off}", off) for off in OFFS))
    for words in ("bath 2.30", '"Bath" 2.30', "rc_14:30", '"rc_14:30"'):
        said = await asked(pipeline, words)
        assert "Bath 14:30, " in said
        assert "is on the card. No result and no abandonment of that race was received." in said
    missed = await asked(pipeline, "bath 13.56")
    assert "at 13:56 at Bath. Known: 13:55 and 14:30" in missed
    assert missed.index("'trace rc_13:55'") < missed.index("'trace rc_14:30'")


async def test_races_of_the_book_are_offered_in_the_order_of_their_off_times(pipeline):
    await put(pipeline, race("rc_1", "15:00"), race("rc_2", "2:05"), race("rc_3", "13:30"))
    assert re.findall("trace (rc_.)", await asked(pipeline, "bath")) == ["rc_3", "rc_2", "rc_1"]


async def test_what_the_list_alone_says_of_a_race_is_never_called_unknown(pipeline):
    runners = (Runner(horse="Blue Moon", position="1"),)
    await put(pipeline, race("rc_1", "13:55", abandoned=True), race("rc_2", "14:30", runners=runners))
    assert "is abandoned in the data service's list. No delivery" in await asked(pipeline, "bath 13.55")
    assert "has a result in the data service's list. No delivery" in await asked(pipeline, "bath 14.30")
    await tell(pipeline, meeting(course="Bath"))
    assert "Bath 13:55 was abandoned with its meeting." in await asked(pipeline, "bath 13.55")
    after = await asked(pipeline, "bath 14.30")
    assert "14:30 was abandoned" not in after
    assert "meeting abandoned" in after


async def test_race_that_a_racecard_marked_abandoned_is_traced_to_the_racecard(gb):
    lost = card("12:50", "13:30", "14:00", "14:30")
    for one, status in zip(lost["races"], ("abandoned", "postponed", "void"), strict=False):
        one["status"] = status
    await tell(gb, lost)
    listed = [race(f"rc_{one['off_time']}", one["off_time"], "York", status="declared") for one in lost["races"]]
    await put(gb, *listed)
    for off, state in (("12:50", "abandoned"), ("13:30", "postponed"), ("14:00", "void")):
        for words in (f"york {off}", f"rc_{off}"):
            said = await asked(gb, words)
            assert said.startswith(f"*What became of York {off}*\nYork {off}, ")
            assert f", is marked {state} on a racecard.\n" in said
            assert "• <#CGB>: posted " in said
            assert "No result and no abandonment" not in said
    assert "is on the card. No result and no abandonment" in await asked(gb, "york 14:30")


@on_both
async def test_course_with_other_letters_than_english_is_found_on_the_card(pipeline):
    await put(pipeline, race("rc_1", "14:30", "Øvrevoll"), region="NO")
    for words in ("øvrevoll 14:30", "ØVREVOLL 2.30"):
        assert "Øvrevoll 14:30, " in await asked(pipeline, words)


async def test_mistyped_course_is_asked_about_and_a_course_without_races_is_named(pipeline):
    await tell(pipeline, result("rc_1", course="York"))
    mistyped = await asked(pipeline, "yrok 13:30")
    assert 'Did you mean "York"?' in mistyped
    assert "trace York 13:30" in mistyped
    assert "may mean a date or the time 5:11" in await asked(pipeline, "york 5-11")
    none = await asked(pipeline, "kempton 2.30")
    assert "No race is known at Kempton (AW)" in none
    assert 'racecard "Kempton (AW)"' in none
    assert "No race is known at York on " in await asked(pipeline, "york 2.30 yesterday")
    assert "No delivery called `qqqqq 13:30`" in await asked(pipeline, "qqqqq 13:30")


async def test_horse_that_deliveries_name_is_not_said_to_be_in_no_delivery(pipeline):
    await tell(pipeline, result("rc_1", course="York", placings=("Wandering Dawn",)))
    said = await asked(pipeline, "Wandering Dawn")
    assert "No delivery about" not in said
    assert "Trace a race by course and time" in said
    assert "Horses and people can't be traced." in said


async def test_admin_reads_which_channels_were_not_told_and_whose_direct_messages_were(pipeline):
    await pipeline.subscribe("D0ALICE", "GB")
    for channel in ("CGB", "CIRE", "CFR"):
        await pipeline.subscribe(channel, "IRE")
    await tell(pipeline, result("rc_1", course="York"))
    said = await asked(pipeline, "york 14.30")
    assert "• direct messages with <@" in said
    assert "D0ALICE" not in said
    assert '<#CGB>, this channel, was not told: it had not asked for this news, but for "IRE".' in said
    assert "2 other channels with a subscription had not asked for this news." in said
    assert "CIRE" not in said
    assert "other channel" not in await asked(pipeline, "york 14.30", is_admin=False)


RESULTS = {"topics": frozenset({Topic.RESULTS})}
BATH, YORK = (Course(name=name) for name in ("Bath", "York"))


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ({"region": "IRE"}, '"IRE"'),
        (RESULTS, '"results"'),
        ({"courses": (BATH,)}, '"only Bath"'),
        ({"not_courses": (YORK,)}, '"without York"'),
        ({"codes": ("jumps",)}, '"jumps races only", and the race is Flat'),
        ({"classes": ("Class 1",)}, '"class 1 races only", and the race is Class 4'),
        ({"courses": (BATH,)} | RESULTS, '"results" and "only Bath"'),
    ],
)
async def test_condition_that_leaves_the_race_out_is_named(pipeline, chosen, why):
    await pipeline.subscribe("CGB", **{"region": "GB"} | chosen)
    await tell(pipeline, abandonment("rc_1", course="York", race_class="4", race_type="Flat"))
    for is_admin in (True, False):
        said = await asked(pipeline, "york 14.30", is_admin=is_admin)
        assert f"was not told: it had not asked for this news, but for {why}." in said


async def test_nearest_subscription_says_what_leaves_the_race_out_and_a_later_one_takes_such_news(pipeline):
    await pipeline.subscribe("CGB", "IRE")
    await pipeline.subscribe("CGB", "GB", courses=(BATH,))
    await tell(pipeline, abandonment("rc_1", course="York"))
    assert 'news, but for "only Bath" and "IRE".' in await asked(pipeline, "york 14.30")
    await pipeline.subscribe("CGB", "FR", courses=(BATH,))
    assert 'news, but for "only Bath" and "IRE".' in await asked(pipeline, "york 14.30")
    await pipeline.subscribe("CGB", "GB")
    assert "was not told: no message was made then, and it asks for such news now." in await asked(
        pipeline, "york 14.30"
    )


async def test_race_reported_abandoned_and_run_is_marked_as_a_conflict(gb):
    told = {"course": "York", "meeting_id": "mt_1"}
    await tell(gb, result("rc_1", **told), abandonment("rc_1", **told))
    said = await asked(gb, "york 14.30")
    assert said.startswith("*What became of York 14:30*\nCONFLICT: reported abandoned and as run, check.\n")
    assert "⚠️ *CONFLICT*: reported abandoned and as run, check." in said
    meeting_id = await asked(gb, "mt_1")
    assert "*\nCONFLICT: York 14:30, reported abandoned and as run, check.\n" in meeting_id
