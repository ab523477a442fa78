"""Later looks at events: where our code fails on some, and where a job learns more meanwhile."""

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError
from sqlmodel import Session
from structlog.testing import capture_logs

from bot.deliveries import inbox
from bot.events import touched
from bot.events.meeting_parts import shows_the_same
from bot.events.touched import LOOKS_MAX, What
from tests.databases import on_both, on_postgresql
from tests.integration.pipeline.steps import fan_out, result, tell, wait, write
from tests.integration.pipeline.stories import bare, listed, read_list


async def names(pipeline):
    now = pipeline.clock()
    return [
        one.name
        for one in await pipeline.database.read(lambda session: touched.first(session, now, inbox.far_from(now)))
    ]


async def test_lists_of_long_ago_are_no_news_for_messages(pipeline):
    await read_list(pipeline, listed(race_date="2019-11-20"), listed("rc_2"))
    assert await names(pipeline) == ["rc_2"]


REFUSED = OperationalError("SELECT", {}, ValueError("too many variables"))


@pytest.fixture(params=[RuntimeError(), REFUSED], ids=["our code", "database"])
def fails_on_the_first(request, monkeypatch):
    """The later look fails on the first race."""

    def fails(event, other):
        if event.race.race_id == "rc_1":
            raise request.param
        return shows_the_same(event, other)

    monkeypatch.setattr("bot.fanout.completion_edits.shows_the_same", fails)


async def two_are_listed_after_their_messages(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, bare("race.abandoned", "rc_1"), bare("race.abandoned", "rc_2"))
    await read_list(pipeline, listed(), listed("rc_2"))
    await pipeline.post_all()


def filled_in(pipeline):
    return ["Ascot" in text for text in pipeline.texts("CGB")]


async def test_failing_race_is_looked_at_later_and_holds_up_no_other(pipeline, fails_on_the_first, monkeypatch):
    with capture_logs() as lines:
        await two_are_listed_after_their_messages(pipeline)
    failed = [line for line in lines if line["event"] == "later_values_not_told"]
    assert [(line["reference"], line["attempts"]) for line in failed] == [("race:rc_1", 1)]
    assert filled_in(pipeline) == [False, True]
    monkeypatch.undo()
    await pipeline.post_all()
    assert filled_in(pipeline) == [False, True]
    await wait(pipeline, 6)
    await pipeline.post_all()
    assert filled_in(pipeline) == [True, True]
    assert await names(pipeline) == []


@on_both
@pytest.mark.parametrize("fails_on_the_first", [RuntimeError()], ids=["our code"], indirect=True)
async def test_failing_race_is_dropped_after_an_hour(pipeline, fails_on_the_first):
    with capture_logs() as lines:
        await two_are_listed_after_their_messages(pipeline)
        waits = [5, 10, 20, 40, 80, 160, 320, *[600] * 6]
        for wait_s in waits:
            await wait(pipeline, wait_s + 1)
            await pipeline.fanout.run_once()
    assert sum(line["event"] == "later_values_not_told" for line in lines) == LOOKS_MAX < len(waits)
    assert await names(pipeline) == []


async def test_delivery_without_news_is_done_though_our_code_fails_on_its_watched_runners(pipeline, monkeypatch):
    def fails(*_what, **_how):
        raise RuntimeError

    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    monkeypatch.setattr("bot.fanout.transaction.repeated", fails)
    with capture_logs() as lines:
        await fan_out(pipeline, result("rc_1") | {"attempt": 2}, result("rc_2"))
        assert await names(pipeline) == ["result.received:rc_1"]
        await pipeline.post_all()
    failed = [line["reference"] for line in lines if line["event"] == "later_values_not_told"]
    assert (failed, await pipeline.database.read(inbox.count_waiting)) == (["inbox-2"], 0)
    assert (len(pipeline.texts("CGB")), await names(pipeline)) == (2, [])


@on_postgresql
async def test_race_learned_by_a_job_during_a_look_is_looked_at_again(pipeline):
    await write(pipeline, touched.note, What.RACE, ["rc_1"])
    engine = create_engine(pipeline.database.url)
    with Session(engine) as job:
        touched.note(job, What.RACE, ["rc_1"])
        await pipeline.fanout.run_once()
        job.commit()
    engine.dispose()
    assert await names(pipeline) == ["rc_1"]
