"""Quiet hours: what waits, what does not, and what comes at the end."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels import subscriptions, watches
from bot.channels.filters import ChannelFilter
from bot.channels.watches import WatchedName
from bot.db.tables import OutboxMessage, WatchKind
from bot.events.event import Topic
from bot.operations.jobs.tell_due import DueTelling
from bot.outbox import backlog, ledger, message_store, traffic
from bot.outbox.channel_closing import pause_channel
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, result, shown, states, tell
from tests.integration.pipeline.test_round_trips import counting

LEFT = timedelta(hours=2)
"""Until the end of the quiet hours, to the minute."""


def around(now: datetime) -> str:
    """Quiet hours around a moment, by UTC."""
    return f"{now - timedelta(hours=1):%H:%M}-{now + LEFT:%H:%M}"


@pytest.fixture
async def quiet(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), quiet=(around(pipeline.clock()),))
    return pipeline


async def end_of(pipeline, *, clock=None):
    """The job, once the hours are over."""
    if clock is None:
        pipeline.clock.forward(LEFT.total_seconds())
    job = DueTelling(pipeline.database, pipeline.reopening, clock or pipeline.clock, pipeline.poster.wake)
    ended = await job()
    await pipeline.post_all()
    return ended


def card(meeting_id="mt_9", **more):
    race = {"race_id": "rc_9", "course": "York", "date": DAY, "off_time": "14:30", "region": "GB"}
    return {"event": "racecard.published", "meeting_id": meeting_id, "race": race | more}


async def test_results_of_a_quiet_night_wait_and_come_in_one_message_and_an_abandonment_comes_at_once(quiet):
    await quiet.subscribe("CALL", "GB")
    await tell(quiet, result("rc_1"), abandonment("rc_2", course="Bath"), result("rc_3", course="York"), card())
    (text,) = quiet.texts("CGB")
    assert text.startswith("ABANDONED: Bath")
    # Other channels hear of everything as it comes.
    assert [text.split(":")[0] for text in quiet.texts("CALL")] == ["Result", "ABANDONED", "Result"]
    assert await end_of(quiet, clock=quiet.clock) == 0
    assert await end_of(quiet) == 1
    _, summary = quiet.slack.messages("CGB")
    assert summary.text.startswith("The quiet hours are over. 2 results and 1 racecard came meanwhile. Ascot 14:30")
    assert all(name in shown(summary) for name in ("York 14:30", "1 Blue Moon, 2 Red Sky", "declarations available"))
    assert await end_of(quiet) == 0
    await tell(quiet, result("rc_4"))
    assert quiet.texts("CGB")[2].startswith("Result: ")


async def test_single_result_comes_by_itself_and_shows_the_last_that_is_known(quiet):
    await tell(quiet, result("rc_1"), result("rc_1", going="Soft"))
    assert quiet.texts("CGB") == []
    await end_of(quiet)
    (message,) = quiet.slack.messages("CGB")
    assert message.text.startswith("Result: ")
    assert "Soft" in shown(message)


async def test_contradiction_comes_at_once_after_the_result_that_waited(quiet):
    await tell(quiet, result("rc_1"), result("rc_3", course="York"), abandonment("rc_1"))
    earlier, contradicts = quiet.texts("CGB")
    assert "Ascot" in earlier
    assert contradicts.startswith("ABANDONED: Ascot")
    await end_of(quiet)
    assert [text.split(":")[0] for text in quiet.texts("CGB")[2:]] == ["Result"]


async def test_contradiction_of_a_race_without_an_id_lets_the_result_wait_no_longer(quiet):
    await tell(quiet, result(None), result(None, course="York"), abandonment(None))
    assert sorted("Result: Ascot" in text for text in quiet.texts("CGB")) == [False, True]


@on_both
async def test_result_of_an_abandoned_race_comes_at_once(quiet):
    await tell(quiet, abandonment("rc_1"), result("rc_1"))
    assert len(quiet.texts("CGB")) == 2


@pytest.mark.parametrize("told_before", [True, False])
async def test_void_comes_at_once_also_of_a_result_that_waits(pipeline, told_before):
    if told_before:
        await pipeline.subscribe("CGB", "GB")
        await tell(pipeline, result("rc_1"))
    await pipeline.subscribe("CGB", "GB", quiet=(around(pipeline.clock()),))
    await tell(pipeline, result("rc_1"))
    await tell(pipeline, result("rc_1", status="void"))
    assert any("void" in text.casefold() for text in pipeline.texts("CGB"))
    assert await end_of(pipeline) == 0


@on_both
async def test_card_that_marks_a_race_abandoned_comes_at_once(quiet):
    def of_two_races(sequence, **second):
        races = [{"race_id": "rc_1", "off_time": "14:30"}, {"race_id": "rc_2", "off_time": "15:00"} | second]
        meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB", "races": races}
        return {"event": "racecard.published", "sequence": sequence, "meeting": meeting}

    await tell(quiet, of_two_races(1))
    assert quiet.texts("CGB") == []
    await tell(quiet, of_two_races(2, abandoned=True))
    assert "15:00 is now marked abandoned" in quiet.texts("CGB")[-1]
    await tell(quiet, card(abandoned=True))
    assert quiet.texts("CGB")[-1].startswith("ABANDONED: York 14:30")
    assert await end_of(quiet) == 0


async def test_correction_of_a_told_result_does_not_wait(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    await pipeline.subscribe("CGB", "GB", quiet=(around(pipeline.clock()),))
    await tell(pipeline, result("rc_1", placings=("Red Sky", "Blue Moon")))
    assert len(pipeline.texts("CGB")) == 2


async def test_summary_says_the_last_that_is_known(quiet):
    await tell(quiet, result("rc_1"), result("rc_1", placings=("Red Sky", "Blue Moon")))
    assert quiet.texts("CGB") == []
    await end_of(quiet)
    (summary,) = quiet.slack.messages("CGB")
    assert "1 Red Sky, 2 Blue Moon" in shown(summary)
    assert {state for state, _ in await states(quiet)} == {"folded", "sent"}


async def test_superseded_result_that_comes_again_is_told_after_the_summary(quiet):
    await tell(quiet, result("rc_1"), result("rc_1", placings=("Red Sky", "Blue Moon")), result("rc_3", course="York"))
    await end_of(quiet)
    await tell(quiet, result("rc_1") | {"attempt": 2})
    assert [text.split(":")[0] for text in quiet.texts("CGB")[1:]] == ["Two versions disagree"]


async def test_many_results_of_a_night_are_all_named(quiet, monkeypatch):
    monkeypatch.setattr("bot.outbox.resume.KEPT_PER_SUMMARY", 3)
    await tell(quiet, *(result(f"rc_{number}", course=f"Course {number}") for number in range(7)))
    await end_of(quiet)
    told = "\n".join(map(shown, quiet.slack.messages("CGB")))
    assert len(quiet.texts("CGB")) == 3
    assert all(f"Course {number} 14:30" in told for number in range(7))


@on_both
async def test_two_replicas_and_a_kill_in_between_tell_once(quiet, make_pipeline):
    await tell(quiet, result("rc_1"), result("rc_3", course="York"))
    quiet.clock.forward(LEFT.total_seconds())

    def die(session):
        assert quiet.reopening.tell_due(session, quiet.clock) == 1
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        await quiet.database.write(die)
    assert {state for state, _ in await states(quiet)} == {"queued"}
    other = make_pipeline(clock=quiet.clock)
    assert [await end_of(one, clock=quiet.clock) for one in (quiet, other)] == [1, 0]
    assert len(quiet.texts("CGB")) == 1


async def test_other_filter_of_the_channel_without_quiet_hours_tells_at_once(quiet):
    await quiet.subscribe("CGB", "*", frozenset({Topic.RESULTS}))
    await tell(quiet, result("rc_1"))
    assert len(quiet.texts("CGB")) == 1


async def test_watched_name_is_told_in_quiet_hours(quiet):
    names = [WatchedName(WatchKind.HORSE, "Blue Moon")]
    await quiet.database.write(lambda s: watches.add(s, "CGB", names, user_id="U1", now=quiet.clock()))
    quiet.clock.forward(1)
    await tell(quiet, result("rc_1"), result("rc_2", placings=("Red Sky",)))
    assert len(quiet.texts("CGB")) == 1


async def test_pause_holds_the_summary_and_unsubscribing_takes_back_what_waits(quiet):
    await tell(quiet, result("rc_1"), result("rc_3", course="York"))
    await quiet.database.write(lambda session: pause_channel(session, "CGB", None, quiet.clock()))
    await end_of(quiet)
    assert quiet.texts("CGB") == []
    await quiet.database.write(lambda session: quiet.reopening.resume(session, "CGB", quiet.clock()))
    assert await end_of(quiet, clock=quiet.clock) == 1
    assert len(quiet.texts("CGB")) == 1
    await quiet.subscribe("CGB", "GB", quiet=(around(quiet.clock()),))
    await tell(quiet, result("rc_4"))

    def unsubscribe(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", quiet.clock())

    await quiet.database.write(unsubscribe)
    assert await end_of(quiet) == 0


async def test_trace_and_figures_say_what_waits_for_the_end(quiet):
    await tell(quiet, result("rc_1"))
    found = await quiet.database.read(lambda session: ledger.trace(session, "rc_1", quiet.clock()))
    ((told,),) = [version.told for version in found.versions]
    assert told.outcome is ledger.LedgerOutcome.WAITING
    assert told.why.startswith("the channel asked for it at ")
    depths = await quiet.database.read(message_store.depths)
    assert set(depths) == {"held", "dead_letter"}


async def test_new_hours_count_for_what_waits(quiet):
    await tell(quiet, result("rc_1"))
    later = (around(quiet.clock() + timedelta(hours=1)),)
    gb = ChannelFilter(region="GB", topics=frozenset(Topic))

    async def waits_until(*filters):
        await quiet.database.write(lambda session: backlog.wait_anew(session, "CGB", filters, quiet.clock()))
        statement = select(col(OutboxMessage.not_before))
        return await quiet.database.read(lambda session: session.execute(statement).scalar_one())

    until = await waits_until(gb.model_copy(update={"quiet": later}))
    assert timedelta(hours=2, minutes=58) < until - quiet.clock() < timedelta(hours=3)
    assert await waits_until(gb) == quiet.clock().astimezone(UTC)
    assert await end_of(quiet, clock=quiet.clock) == 1
    assert len(quiet.texts("CGB")) == 1


async def test_correction_between_the_hour_and_the_job_is_told_with_its_result(quiet):
    await tell(quiet, result("rc_1"), result("rc_3", course="York"))
    quiet.clock.forward(LEFT.total_seconds())
    await tell(quiet, result("rc_1", placings=("Red Sky", "Blue Moon")))
    assert quiet.texts("CGB") == []
    assert await end_of(quiet, clock=quiet.clock) == 1
    (summary,) = quiet.slack.messages("CGB")
    assert "1 Red Sky, 2 Blue Moon" in shown(summary)


async def test_change_of_hours_between_the_hour_and_the_job_puts_nothing_off(quiet):
    await tell(quiet, result("rc_1"))
    quiet.clock.forward(LEFT.total_seconds())
    later = ChannelFilter(region="GB", topics=frozenset(Topic), quiet=(around(quiet.clock()),))
    await quiet.database.write(lambda session: backlog.wait_anew(session, "CGB", [later], quiet.clock()))
    assert await end_of(quiet, clock=quiet.clock) == 1
    assert len(quiet.texts("CGB")) == 1


async def test_correction_that_is_watched_does_not_wait_and_comes_after_its_result(quiet):
    names = [WatchedName(WatchKind.HORSE, "Golden Melody")]
    await quiet.database.write(lambda s: watches.add(s, "CGB", names, user_id="U1", now=quiet.clock()))
    quiet.clock.forward(1)
    await tell(quiet, result("rc_1"))
    assert quiet.texts("CGB") == []
    await tell(quiet, result("rc_1", placings=("Golden Melody", "Blue Moon")))
    earlier, corrected = quiet.texts("CGB")
    assert earlier.startswith("Superseded")
    assert "Watched here: Golden Melody (position 1)" in corrected
    assert await end_of(quiet) == 0


@on_both
async def test_result_of_a_runner_that_proves_watched_waits_no_longer(quiet):
    names = [WatchedName(WatchKind.TRAINER, "A. Smith")]
    await quiet.database.write(lambda s: watches.add(s, "CGB", names, user_id="U1", now=quiet.clock()))
    quiet.clock.forward(1)
    await tell(quiet, result("rc_9"))
    assert quiet.texts("CGB") == []
    await tell(quiet, card(course="Ascot", race_id="rc_9", runners=[{"horse": "Blue Moon", "trainer": "A. Smith"}]))
    assert any(text.startswith("Result: ") and "Watched here" in text for text in quiet.texts("CGB"))


async def test_quiet_hours_add_no_statement_to_a_result(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_0"))
    with counting(pipeline.database) as before:
        await pipeline.deliver(result("rc_1"))
        await pipeline.fanout.run_once()
    await pipeline.post_all()
    await pipeline.subscribe("CGB", "GB", quiet=(around(pipeline.clock()),))
    await tell(pipeline, result("rc_2"))
    with counting(pipeline.database) as after:
        await pipeline.deliver(result("rc_3"))
        await pipeline.fanout.run_once()
    assert len(after.statements) <= len(before.statements), str(after)


async def test_single_result_at_its_hour_is_not_late_but_a_result_after_its_hour_is(quiet):
    took_s: list[float] = []
    quiet.poster.on_told = took_s.append
    await tell(quiet, result("rc_1"))
    await end_of(quiet)
    quiet.clock.forward(-LEFT.total_seconds())
    await tell(quiet, result("rc_2", course="York"))
    # The job is late itself, as after an outage.
    quiet.clock.forward(1_800)
    await end_of(quiet)
    in_time, late = quiet.texts("CGB")
    assert "min late" not in in_time
    assert late.endswith("(alert 30 min late)")
    assert [int(seconds // 60) for seconds in took_s] == [0, 30]
    sent = await quiet.database.read(lambda s: traffic.sent_since(s, quiet.clock() - timedelta(days=1)))
    assert sent.p50_s <= 60
    # An edit keeps what the message said.
    await tell(quiet, result("rc_1", going="Soft"))
    (message, _) = quiet.slack.messages("CGB")
    assert "Soft" in shown(message)
    assert "min late" not in message.text


async def test_result_that_an_abandonment_brings_before_its_hour_is_not_late(quiet):
    await tell(quiet, result("rc_1"))
    quiet.clock.forward(3_600)
    await tell(quiet, abandonment("rc_1"))
    earlier, _ = quiet.texts("CGB")
    assert "min late" not in earlier
