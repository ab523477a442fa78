"""Meeting over race: each lost race is told once, and none that has a result is called lost."""

import random

import pytest
from sqlalchemy import create_engine
from sqlalchemy import event as sa_event
from sqlmodel import Session

from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.events.event import Topic
from bot.racedata import recent_races
from sandbox.slack import failures
from tests.databases import on_both, on_postgresql
from tests.integration.pipeline.racing_day import abandonment, edits, meeting, result, shown, states, tell


@on_both
async def test_race_that_its_meeting_names_makes_no_second_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    whole = meeting("rc_1", "rc_2")
    whole["races"][0]["off_time"] = "14:30"
    await tell(pipeline, whole, abandonment("rc_1"))
    assert len(pipeline.texts("CGB")) == 1
    assert edits(pipeline.slack) == []
    assert await states(pipeline) == [("sent", False), ("folded", True)]


async def test_race_with_a_reason_of_its_own_is_a_line_of_its_meeting(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1", "rc_2"), abandonment("rc_1", reason="a loose horse"))
    (message,) = pipeline.slack.messages("CGB")
    assert "a loose horse" in shown(message)
    assert "2 races" in message.text


@pytest.mark.parametrize(
    ("card", "race", "folds"),
    [
        ({}, {"meeting_id": "mt_1", "course": "Elsewhere"}, True),
        ({}, {}, True),
        ({}, {"meeting_id": "mt_2"}, False),
        ({}, {"course": "Ayr"}, False),
        ({}, {"date": "2026-11-21"}, False),
        ({}, {"region": "IRE"}, False),
        ({"course_id": "cr_1"}, {"course_id": "cr_1", "course": "Ascot (AW)"}, True),
        ({"course_id": "cr_1"}, {"course_id": "cr_2"}, False),
    ],
)
async def test_race_that_no_meeting_names_folds_by_meeting_id_or_else_by_course_and_date(pipeline, card, race, folds):
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, meeting(**card), abandonment("rc_9", title="The Ninth", **race))
    assert len(pipeline.texts("CALL")) == (1 if folds else 2)
    assert "The Ninth" in shown(pipeline.slack.messages("CALL")[-1])


@pytest.mark.parametrize("naming_first", [True, False])
async def test_race_of_two_meetings_is_told_in_the_message_that_names_the_race(pipeline, naming_first):
    await pipeline.subscribe("CALL", "*")
    meetings = [meeting("rc_1", reason="fog"), meeting(meeting_id=None, region=None, reason="snow")]
    await tell(pipeline, *meetings[:: 1 if naming_first else -1], abandonment("rc_1", reason="a loose horse"))
    named, other = pipeline.slack.messages("CALL")[:: 1 if naming_first else -1]
    assert "a loose horse" in shown(named)
    assert "a loose horse" not in shown(other)


async def test_race_with_an_id_that_its_meeting_does_not_name_stands_alone(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"), abandonment("rc_9"))
    assert len(pipeline.texts("CGB")) == 2


async def test_meeting_after_its_race_is_one_message_and_the_races_links_it(pipeline):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment("rc_1"), meeting("rc_1", "rc_2"))
    race, whole = pipeline.slack.messages("CGB")
    assert race.text.startswith("ABANDONED: ")
    assert "Part of the abandoned meeting: <https://example.slack.com/archives/CGB/p" in race.text
    assert whole.ts.replace(".", "") in race.text
    assert "2 races" in whole.text


async def test_queued_race_is_sent_before_its_meeting_and_edited_after_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment("rc_1"))
    pipeline.clock.forward(0.001)
    await pipeline.deliver(meeting("rc_1"))
    await pipeline.post_all()
    race, whole = pipeline.slack.messages("CGB")
    assert "Part of the abandoned meeting" in race.text
    assert race.edited > whole.ts


async def test_channel_without_the_meetings_message_is_told_of_the_race(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, abandonment("rc_1"))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [1, 1]


async def test_race_is_told_after_all_where_its_meeting_could_not_be_posted(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    await pipeline.deliver(meeting("rc_1"))
    pipeline.clock.forward(0.001)
    await pipeline.deliver(abandonment("rc_1"))
    await pipeline.post_all()
    (text,) = pipeline.texts("CGB")
    assert text.startswith("ABANDONED: Ascot 14:30")


async def test_race_with_a_result_is_not_lost_in_a_meeting_that_comes_later(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"), meeting("rc_1", "rc_2"))
    whole = pipeline.slack.messages("CGB")[1]
    assert "1 race" in whole.text
    assert "Title rc_1" not in shown(whole)
    assert "race lost, 1 run" in shown(whole)


async def test_result_after_its_meeting_contradicts_it_and_is_taken_out(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*", frozenset({Topic.ABANDONMENTS}))
    await tell(pipeline, meeting("rc_1", "rc_2"), result("rc_1"))
    assert len(edits(pipeline.slack)) == 2
    await tell(pipeline, result("rc_1", going="Soft"))
    for channel in ("CGB", "CALL"):
        assert "Title rc_1" not in shown(pipeline.slack.messages(channel)[0])
        # The meeting's message is not edited again: only the result's says the going.
        assert pipeline.slack.messages(channel)[0].edited < pipeline.slack.messages(channel)[1].edited
    assert "Contradicts an earlier report: this meeting was reported abandoned" in pipeline.texts("CGB")[1]
    # Both messages of the meeting, and the result whose going became known.
    assert len(edits(pipeline.slack)) == 4


async def test_result_of_a_race_that_was_folded_unnamed_is_taken_out(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting(), abandonment("rc_9", title="The Ninth"), result("rc_9", title="The Ninth"))
    whole, contradiction = pipeline.slack.messages("CGB")
    assert "The Ninth" not in shown(whole)
    assert "Contradicts" in contradiction.text


async def test_race_abandoned_after_its_own_result_is_never_folded(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"), result("rc_1"), abandonment("rc_1"))
    assert len(pipeline.texts("CGB")) == 3
    assert "Contradicts" in pipeline.texts("CGB")[2]


async def test_folding_edit_that_is_refused_becomes_the_races_own_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.update", [failures.slack_error("edit_window_closed")])
    await tell(pipeline, meeting(), abandonment("rc_1"))
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: Ascot 14:30")


async def test_link_that_is_refused_makes_no_second_message_of_the_meeting(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.update", [failures.slack_error("edit_window_closed")])
    await tell(pipeline, abandonment("rc_1"), meeting("rc_1"))
    assert len(pipeline.texts("CGB")) == 2
    assert await pipeline.waiting() == {}


@on_postgresql
async def test_replicas_fan_out_meeting_and_race_one_after_another(pipeline):
    """Neither would see what the other has not committed."""
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_0"))
    await pipeline.deliver(meeting("rc_1"))
    await pipeline.deliver(abandonment("rc_1"))
    read = await pipeline.database.read(lambda session: pipeline.fanout.reader.waiting(session, pipeline.clock()))
    engine = create_engine(pipeline.database.url)
    with Session(engine) as one, Session(engine) as other:
        done = [
            pipeline.fanout.transactions.together(session, [each])
            for session, each in zip((one, other), read, strict=True)
        ]
        assert [each and each.deliveries for each in done] == [1, None]
        one.commit()
        assert pipeline.fanout.transactions.together(other, [read[1]]).deliveries == 1
        other.commit()
    engine.dispose()
    await pipeline.post_all()
    assert [text[:17] for text in pipeline.texts("CGB")[1:]] == ["ABANDONED: Ascot,"]


MANY_ROUNDS = pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(600)])


@pytest.mark.parametrize("rounds", [8, MANY_ROUNDS])
async def test_whatever_the_order_each_lost_race_is_shown_and_no_race_with_a_result_is(pipeline, rounds):
    """Deliveries of a meeting, its races and results, in any order, some again, some before anything is posted."""
    await pipeline.subscribe("CGB", "GB")
    chance = random.Random(20_261_120)
    for number in range(rounds):
        await one_round(pipeline, chance, number)


async def one_round(pipeline, chance, number):
    """One meeting, with ids, course and date of its own."""
    place = {"course": f"Course {number}", "date": f"2026-12-{number % 28 + 1:02}"}
    ids = [f"rc_{number}_{race}" for race in range(3)]
    names = chance.random() < 0.7
    whole = meeting(*(ids if names else ()), meeting_id=f"mt_{number}", **place)
    races = {
        race_id: abandonment(race_id, title=f"Title {race_id}", reason=chance.choice(["frost", "fog"]), **place)
        for race_id in ids
    }
    with_result = chance.sample(ids, chance.randrange(3))
    results = [result(race_id, title=f"Title {race_id}", **place) for race_id in with_result]
    deliveries = [whole, *races.values(), *results, *chance.sample([whole, *races.values()], 2)]
    chance.shuffle(deliveries)
    before = len(pipeline.slack.messages("CGB"))
    for delivery in deliveries:
        await pipeline.deliver(delivery)
        pipeline.clock.forward(0.001)
        if chance.random() < 0.5:
            await pipeline.post_all()
    await pipeline.post_all()
    messages = pipeline.slack.messages("CGB")[before:]
    lost = [message for message in messages if message.text.startswith("ABANDONED")]
    assert len([message for message in lost if (" meeting, " in message.text)]) == 1
    for race_id in ids:
        said_lost = [message for message in lost if f"Title {race_id}" in shown(message)]
        if race_id not in with_result:
            assert said_lost, (race_id, [message.text for message in messages])
        elif said_lost:
            of_race = [message for message in messages if f"Title {race_id}" in shown(message)]
            assert any("Contradicts" in message.text for message in of_race), [one.text for one in messages]
            assert all(" meeting, " not in message.text for message in said_lost)
    assert await pipeline.waiting() == {}


MANY_CHANNELS = 80


async def test_event_for_very_many_channels_takes_few_statements(pipeline):
    for number in range(MANY_CHANNELS):
        await pipeline.subscribe(f"C{number:04}", "GB")
    for payload in (abandonment("rc_1"), meeting("rc_1", "rc_2"), abandonment("rc_2"), result("rc_2", placings=("A",))):
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    statements = await count_statements(pipeline.database, pipeline.fanout.run_once)
    assert statements < MANY_CHANNELS
    # The first race's, the meeting's, and the edits that link; the second race's; its result, and what takes it out.
    assert len(await states(pipeline)) == MANY_CHANNELS * 6


async def count_statements(database: Database, work):
    """How many statements the work sends; one that inserts many rows counts once for each batch."""
    sent = []

    def count(_conn, _cursor, statement, *_):
        sent.append(statement)

    sa_event.listen(database.writer, "before_cursor_execute", count)
    await work()
    sa_event.remove(database.writer, "before_cursor_execute", count)
    return len(sent)


async def test_channel_that_takes_abandonments_only_hears_that_one_was_contradicted(pipeline):
    await pipeline.subscribe("CGB", "GB", topics={Topic.ABANDONMENTS})
    await pipeline.subscribe("CALL", "GB", topics={Topic.RESULTS})
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment("rc_1"), result("rc_1"), meeting("rc_2"), result("rc_2"))
    assert ["Contradicts" in text for text in pipeline.texts("CGB")] == [False, True, False, True]
    assert len(pipeline.texts("CALL")) == 2
    assert pipeline.texts("CIRE") == []


async def test_channel_that_takes_results_only_hears_that_one_was_contradicted(pipeline):
    await pipeline.subscribe("CALL", "GB", topics={Topic.RESULTS})
    await tell(pipeline, result("rc_1"), abandonment("rc_1"), abandonment("rc_2"))
    before, after = pipeline.texts("CALL")
    assert "ABANDONED" not in before
    assert after.startswith("ABANDONED")
    assert "Contradicts" in after


async def test_race_that_is_reported_lost_and_run_is_a_number_of_its_own(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment("rc_1", meeting_id="mt_1"), result("rc_1", meeting_id="mt_1"))
    await tell(pipeline, result("rc_2", meeting_id="mt_1", off_time="15:05"), meeting("rc_1", "rc_2", "rc_3"))
    whole = pipeline.slack.messages("CGB")[-1]
    gb = ChannelFilter(region="GB", topics=frozenset(Topic))
    assert "1 race lost, 1 run" in whole.text
    assert "CONFLICT: 14:30 reported as run too" in shown(whole)
    recent = await pipeline.database.read(
        lambda session: recent_races.recent(session, [gb], pipeline.clock().date(), pipeline.clock())
    )
    assert [event.race.meeting_id for event in recent.abandoned if event.key in recent.partly_run] == ["mt_1"]
    assert [event.race.race_id for event in recent.disputed] == ["rc_1"]
