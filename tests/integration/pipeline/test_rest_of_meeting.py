"""An abandoned meeting is "rest of the meeting" everywhere once one of its races was run."""

import json
from datetime import UTC, date, datetime, time, timedelta

import pytest

from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.events.races import Course, Race, Runner
from bot.outbox import acknowledgements
from bot.outbox.channel_closing import pause_channel
from bot.racedata import race_book_store, recent_races
from bot.racedata.day_card import Card, Coverage, outcomes_of
from bot.racedata.recent_races import Recent
from bot.slack.commands import acknowledge_button
from bot.slack.commands.invocation import Invocation
from bot.slack.forms.home_view import HomePage, home_view
from bot.slack.messages.alerts.acknowledge_words import untaken_named
from bot.slack.messages.answers.day_answer import losses_of
from bot.slack.messages.answers.subscription_answers import Said, subscribed
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell

GB = ChannelFilter(region="GB", topics=frozenset(Topic))
REST, WHOLE = "rest of the meeting", "whole meeting"


async def parts_said(pipeline):
    """The part of the meeting that the alert, `/results` and the answer of subscribe call lost."""
    alert = next(message.text for message in pipeline.slack.messages("CGB") if " meeting, " in message.text)

    def read(session):
        since, until = (datetime.combine(date.fromisoformat(DAY), clock, UTC) for clock in (time.min, time.max))
        told = race_book_store.told_of_day(session, DAY, since, until)
        book = [one.race for one in race_book_store.of_day(session, DAY, "GB")]
        recent = recent_races.recent(session, [GB], date.fromisoformat(DAY), pipeline.clock())
        return outcomes_of(book, told, "GB", None), recent

    outcomes, recent = await pipeline.database.read(read)
    card = Card(date.fromisoformat(DAY), "GB", None, outcomes, Coverage.COMPLETE)
    return [_part(words) for words in (alert, losses_of(card).in_text, _subscribed(recent))]


def _part(words):
    return [part for part in (REST, WHOLE) if part in words]


def _subscribed(recent: Recent):
    said = Said([GB], (), (), recent, is_member=True, is_paused=False, bot_name="racing-bot")
    return subscribed(said).text


async def parts_of_acknowledgement(pipeline):
    """The part of the meeting in the list of what nobody has taken, in the answer to a press, and in App Home."""
    (alert,) = [message for message in pipeline.slack.messages("CGB") if " meeting, " in message.text]
    key = alert.metadata["event_payload"]["post"]
    now, long_ago = pipeline.clock(), pipeline.clock() - timedelta(days=1)
    untaken = await pipeline.database.read(lambda session: acknowledgements.untaken(session, long_ago))
    pressed = await pipeline.database.write(lambda session: acknowledgements.take(session, key, "UALICE", now))
    own = await pipeline.database.read(lambda session: acknowledgements.of_person(session, "UALICE", long_ago, 5))
    answered = await acknowledge_button.answer(None, Invocation(key, "CGB", "UALICE", "cmd-1"), pressed)  # type: ignore[arg-type]  # the answer asks the desk nothing
    home = home_view(HomePage([], 0, is_admin=False, abandonments=own))
    return [_part(words) for words in (untaken_named(untaken), answered.text, json.dumps(home))]


RUN = {"meeting_id": "mt_1", "off_time": "13:00"}


@pytest.mark.parametrize("result_first", [True, False])
async def test_race_run_that_the_meeting_does_not_name_leaves_the_rest(pipeline, result_first):
    await pipeline.subscribe("CGB", "GB")
    run, lost = result("rc_0", **RUN), meeting("rc_1", "rc_2")
    await tell(pipeline, *([run, lost] if result_first else [lost, run]))
    assert await parts_said(pipeline) == [[REST]] * 3
    alert = next(message.text for message in pipeline.slack.messages("CGB") if " meeting, " in message.text)
    assert alert.endswith("frost, 2 races lost")


@pytest.mark.parametrize(("run", "part"), [([result("rc_0", meeting_id="mt_1", off_time="13:00")], REST), ([], WHOLE)])
async def test_whoever_takes_a_meeting_reads_which_part_is_lost(pipeline, run, part):
    await pipeline.subscribe("CGB", "GB", ack=("10m",))
    await tell(pipeline, *run, meeting("rc_1", "rc_2"))
    assert await parts_of_acknowledgement(pipeline) == [[part]] * 3


@pytest.mark.parametrize(
    "told",
    [
        [],
        [result("rc_1", status="Void", **RUN)],
        [result("rc_1", **RUN), abandonment("rc_1", **RUN)],
        [result("rc_1", placings=(), abandoned=True, **RUN)],
        [result("rc_9", meeting_id="mt_9", course="Ayr")],
    ],
)
async def test_no_race_run_for_certain_leaves_the_whole_meeting(pipeline, told):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *told, meeting("rc_1", "rc_2"))
    assert await parts_said(pipeline) == [[WHOLE]] * 3


async def test_race_with_placings_in_the_race_book_alone_leaves_the_rest(pipeline):
    await pipeline.subscribe("CGB", "GB")
    won = (Runner(horse="Blue Moon", position="1"),)
    run = Race(race_id="rc_0", meeting_id="mt_1", race_date=DAY, course=Course(name="Ascot"), runners=won)
    await pipeline.database.write(lambda session: race_book_store.put(session, [run], pipeline.clock(), region="GB"))
    await tell(pipeline, meeting("rc_1", "rc_2"))
    assert await parts_said(pipeline) == [[REST]] * 3


@pytest.mark.parametrize(("told", "part"), [([result("rc_0", **RUN)], REST), ([], WHOLE)])
async def test_summary_says_the_part_of_the_meeting_that_is_lost(pipeline, told, part):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *told)
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await pipeline.deliver(meeting("rc_1", "rc_2"))
    await pipeline.post_all()
    pipeline.clock.forward(4 * 3_600)
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", pipeline.clock()))
    await pipeline.post_all()
    assert _part(pipeline.texts("CGB")[-1]) == [part]


async def test_race_run_in_another_region_makes_no_rest_of_a_meeting_without_a_region(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic))
    place = {"course": "Newcastle", "date": DAY}
    card = {"event": "racecard.published", "meeting": {"meeting_id": "mt_n", "region": "GB", **place}}
    races = {"races": [{"race_id": "rc_5", "off_time": "18:00"}]}
    await tell(pipeline, result("rc_2", course="Newcastle", region="AUS"), card | races)
    await tell(pipeline, {"event": "meeting.abandoned", "meeting": place, "reason": "frost"})
    assert pipeline.texts("CGB")[-1].startswith("ABANDONED: Newcastle, whole meeting")
