"""Quiet hours and digests: what waits for the hour, what does not, and what comes at the hour."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.tables import OutboxMessage, WatchKind
from bot.events.event import Topic
from bot.outbox import backlog, ledger, message_store, traffic
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, result, shown, tell
from tests.integration.pipeline.steps import (
    LEFT,
    at_the_hour,
    card,
    card_of,
    hour,
    kinds,
    pause,
    quiet_now,
    resume,
    states,
    tell_due,
    traced,
    wait,
    watch,
    write,
)
from tests.integration.pipeline.test_round_trips import counting

EVERY = frozenset(Topic)
LEFT_S = LEFT.total_seconds()


async def choose(pipeline, choice):
    chosen = {"quiet": quiet_now(pipeline)} if choice == "quiet" else {"digest": (hour(pipeline),)}
    await pipeline.subscribe("CGB", "GB", EVERY, **chosen)


@pytest.fixture
async def quiet(pipeline):
    await choose(pipeline, "quiet")
    return pipeline


A, R = "ABANDONED: ", "Result: "
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
YORK = result("rc_3", course="York")
VOID, LOST = result(status="void"), result(status="Abandoned", placings=())
TWO_RACES = [card_of(DAY, second=2), card_of(DAY, second=3, abandoned=True)]

CASES = {
    # The choice; what was told before; what comes; what is told at once, and at the hour.
    "another version": ("quiet", [], [result(), result(going="Soft")], [], ["Soft"]),
    "another winner": ("quiet", [], [result(), result(**RED_FIRST)], [], ["1 Red Sky, 2 Blue Moon"]),
    "contradicted": ("quiet", [], [result(), YORK, abandonment()], ["Ascot", A], [R]),
    "contradicted, no id": ("quiet", [], [result(None), abandonment(None)], [A, "Blue Moon"], []),
    "abandoned, then run": ("quiet", [], [abandonment(), result()], [A, "CONFLICT: "], []),
    "void": ("quiet", [], [result(), VOID], ["Blue Moon", "void"], []),
    "void, told before": ("quiet", [result()], [VOID], ["Blue Moon", "void"], []),
    "correction, told before": ("quiet", [result()], [result(**RED_FIRST)], ["Superseded", "Red Sky"], []),
    "card marks a race": ("quiet", [], TWO_RACES, ["Superseded", "15:00 is now marked abandoned"], []),
    "card marks its race": ("quiet", [], [card(abandoned=True)], ["ABANDONED: York 14:30"], []),
    "digest: contradicted": ("digest", [], [result(), YORK, abandonment()], ["Ascot", A], ["1 result. York 14:30"]),
    "digest: marked abandoned": ("digest", [], [LOST], ["ABANDONED: Ascot 14:30"], []),
    "digest: abandoned later": (
        *("digest", [], [YORK, result("rc_3", course="York", status="Abandoned")]),
        *(["Blue Moon", "CONFLICT: York 14:30"], []),
    ),
}


def said(pipeline, wanted):
    """`wanted`, where each message of the channel says its words."""
    messages = pipeline.slack.messages("CGB")
    assert len(messages) == len(wanted), [one.text for one in messages]
    return [words if words in shown(one) else one.text for one, words in zip(messages, wanted, strict=True)]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_event_waits_for_the_hour_or_is_told_at_once(pipeline, case):
    choice, before, came, at_once, at_hour = case
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *before)
    await choose(pipeline, choice)
    await tell(pipeline, *came)
    assert said(pipeline, at_once) == at_once
    assert await at_the_hour(pipeline) == len(at_hour)
    assert said(pipeline, at_once + at_hour) == at_once + at_hour


@pytest.mark.parametrize("came", [[abandonment(), result()], TWO_RACES], ids=["abandoned, then run", "card"])
@on_both
async def test_news_of_an_abandonment_comes_at_once(quiet, came):
    await tell(quiet, *came)
    assert len(quiet.texts("CGB")) == 2


async def test_results_of_a_quiet_night_wait_and_come_in_one_message_and_an_abandonment_comes_at_once(quiet):
    await quiet.subscribe("CALL", "GB")
    await tell(quiet, result("rc_1"), abandonment("rc_2", course="Bath"), YORK, card())
    (text,) = quiet.texts("CGB")
    assert text.startswith("ABANDONED: Bath")
    # Other channels hear of everything as it comes.
    assert kinds(quiet, "CALL") == ["Result", "ABANDONED", "Result"]
    assert await tell_due(quiet) == 0
    assert await at_the_hour(quiet) == 1
    _, summary = quiet.slack.messages("CGB")
    assert summary.text.startswith("The quiet hours are over. 2 results and 1 racecard came meanwhile. Ascot 14:30")
    assert all(name in shown(summary) for name in ("York 14:30", "1 Blue Moon, 2 Red Sky", "declarations available"))
    assert await at_the_hour(quiet) == 0
    await tell(quiet, result("rc_4"))
    assert kinds(quiet)[2:] == ["Result"]
    assert "folded" in await states(quiet)


async def test_superseded_result_that_comes_again_is_told_after_the_summary(quiet):
    await tell(quiet, result("rc_1"), result("rc_1", **RED_FIRST), YORK)
    await at_the_hour(quiet)
    await tell(quiet, result("rc_1") | {"attempt": 2})
    assert kinds(quiet)[1:] == ["Two versions disagree"]


async def test_many_results_of_a_night_are_all_named(quiet, monkeypatch):
    monkeypatch.setattr("bot.outbox.resume.KEPT_PER_SUMMARY", 3)
    await tell(quiet, *(result(f"rc_{number}", course=f"Course {number}") for number in range(7)))
    await at_the_hour(quiet)
    told = "\n".join(map(shown, quiet.slack.messages("CGB")))
    assert len(quiet.texts("CGB")) == 3
    assert all(f"Course {number} 14:30" in told for number in range(7))


@on_both
async def test_two_replicas_and_a_kill_in_between_tell_once(quiet, make_pipeline):
    await tell(quiet, result("rc_1"), YORK)
    await wait(quiet, LEFT_S)

    def die(session):
        assert quiet.reopening.tell_due(session, quiet.clock) == 1
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        await write(quiet, die)
    assert set(await states(quiet)) == {"queued"}
    other = make_pipeline(clock=quiet.clock)
    assert [await tell_due(one) for one in (quiet, other)] == [1, 0]
    assert len(quiet.texts("CGB")) == 1


async def test_other_filter_of_the_channel_without_quiet_hours_tells_at_once(quiet):
    await quiet.subscribe("CGB", "*", frozenset({Topic.RESULTS}))
    await tell(quiet, result("rc_1"))
    assert kinds(quiet) == ["Result"]


async def test_watched_name_is_told_in_quiet_hours(quiet):
    await watch(quiet, "CGB", "Blue Moon")
    await tell(quiet, result("rc_1"), result("rc_2", placings=("Red Sky",)))
    assert kinds(quiet) == ["Result"]


async def test_correction_that_is_watched_does_not_wait_and_comes_after_its_result(quiet):
    await watch(quiet, "CGB", "Golden Melody")
    await tell(quiet, result("rc_1"))
    assert quiet.texts("CGB") == []
    await tell(quiet, result("rc_1", placings=("Golden Melody", "Blue Moon")))
    earlier, corrected = quiet.texts("CGB")
    assert earlier.startswith("Superseded")
    assert "Watched here: Golden Melody (position 1)" in corrected
    assert await at_the_hour(quiet) == 0


@on_both
async def test_result_of_a_runner_that_proves_watched_waits_no_longer(quiet):
    await watch(quiet, "CGB", "A. Smith", kind=WatchKind.TRAINER)
    await tell(quiet, result("rc_9"))
    assert quiet.texts("CGB") == []
    await tell(quiet, card(course="Ascot", runners=[{"horse": "Blue Moon", "trainer": "A. Smith"}]))
    assert any(text.startswith("Result: ") and "Watched here" in text for text in quiet.texts("CGB"))


async def test_pause_holds_the_summary_and_unsubscribing_takes_back_what_waits(quiet):
    await tell(quiet, result("rc_1"), YORK)
    await pause(quiet)
    await at_the_hour(quiet)
    assert quiet.texts("CGB") == []
    await resume(quiet)
    assert await tell_due(quiet) == 1
    assert len(quiet.texts("CGB")) == 1
    await choose(quiet, "quiet")
    await tell(quiet, result("rc_4"))

    def unsubscribe(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", quiet.clock())

    await write(quiet, unsubscribe)
    assert await at_the_hour(quiet) == 0


async def test_trace_and_figures_say_what_waits_for_the_end(quiet):
    await tell(quiet, result("rc_1"))
    ((told,),) = [version.told for version in (await traced(quiet)).versions]
    assert told.outcome is ledger.LedgerOutcome.WAITING
    assert told.why.startswith("the channel asked for it at ")
    assert set(await quiet.database.read(message_store.depths)) == {"held", "dead_letter"}


def around(now: datetime) -> tuple[str]:
    return (f"{now - timedelta(hours=1):%H:%M}-{now + LEFT:%H:%M}",)


async def test_new_hours_count_for_what_waits(quiet):
    await tell(quiet, result("rc_1"))
    gb = ChannelFilter(region="GB", topics=EVERY)

    async def waits_until(*filters):
        await write(quiet, backlog.wait_anew, "CGB", filters, quiet.clock())
        statement = select(col(OutboxMessage.not_before))
        return await quiet.database.read(lambda session: session.execute(statement).scalar_one())

    later = around(quiet.clock() + timedelta(hours=1))
    until = await waits_until(gb.model_copy(update={"quiet": later}))
    assert timedelta(hours=2, minutes=58) < until - quiet.clock() < timedelta(hours=3)
    assert await waits_until(gb) == quiet.clock().astimezone(UTC)
    assert await tell_due(quiet) == 1
    assert len(quiet.texts("CGB")) == 1


async def test_correction_between_the_hour_and_the_job_is_told_with_its_result(quiet):
    await tell(quiet, result("rc_1"), YORK)
    await wait(quiet, LEFT_S)
    await tell(quiet, result("rc_1", **RED_FIRST))
    assert quiet.texts("CGB") == []
    assert await tell_due(quiet) == 1
    (summary,) = quiet.slack.messages("CGB")
    assert "1 Red Sky, 2 Blue Moon" in shown(summary)


async def test_change_of_hours_between_the_hour_and_the_job_puts_nothing_off(quiet):
    await tell(quiet, result("rc_1"))
    await wait(quiet, LEFT_S)
    later = ChannelFilter(region="GB", topics=EVERY, quiet=around(quiet.clock()))
    await write(quiet, backlog.wait_anew, "CGB", [later], quiet.clock())
    assert await tell_due(quiet) == 1
    assert len(quiet.texts("CGB")) == 1


async def test_quiet_hours_add_no_statement_to_a_result(pipeline):
    async def statements(number):
        await tell(pipeline, result(f"rc_{number}"))
        with counting(pipeline.database) as counted:
            await pipeline.deliver(result(f"rc_{number}_again"))
            await pipeline.fanout.run_once()
        await pipeline.post_all()
        return len(counted.statements)

    await pipeline.subscribe("CGB", "GB")
    before = await statements(1)
    await choose(pipeline, "quiet")
    assert await statements(2) <= before


async def test_single_result_at_its_hour_is_not_late_but_a_result_after_its_hour_is(quiet):
    took_s: list[float] = []
    quiet.poster.on_told = took_s.append
    await tell(quiet, result("rc_1"))
    await at_the_hour(quiet)
    quiet.clock.forward(-LEFT_S)
    await tell(quiet, result("rc_2", course="York"))
    # The job is late itself, as after an outage.
    await wait(quiet, 1_800)
    await at_the_hour(quiet)
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
