"""Quiet hours and digests: waiting events, events told at once, and the message of the hour."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels.filters import ChannelFilter
from bot.db.tables import OutboxMessage, WatchKind
from bot.events.event import Topic
from bot.outbox import backlog, ledger, message_store
from tests.clock import DAY
from tests.integration.pipeline.steps import (
    LEFT,
    abandonment,
    at_the_hour,
    card,
    card_of,
    counting,
    fan_out,
    result,
    shown,
    states,
    tell,
    tell_due,
    traced,
    wait,
    watch,
    write,
)
from tests.integration.pipeline.stories import Story, chooses, passes, play, rows, so_far, subscribes

EVERY = frozenset(Topic)
LEFT_S, DAY_S = LEFT.total_seconds(), 86_400


def watches(name, kind=WatchKind.HORSE):
    async def do(pipeline):
        await watch(pipeline, "CGB", name, kind=kind)

    return do


@pytest.fixture
async def quiet(pipeline):
    await chooses("quiet")(pipeline)
    return pipeline


QUIET, DIGEST = chooses("quiet"), chooses("digest")
ONE, YORK = result("rc_1"), result("rc_3", course="York")
RED = result("rc_1", placings=("Red Sky", "Blue Moon"))
TWO_RACES = [card_of(DAY, second=2), card_of(DAY, second=3, abandoned=True)]
NOTHING = so_far(CGB=[])
SUMMARY = "^The quiet hours are over. 2 results and 1 racecard came meanwhile. Ascot 14:30"
RUN_BY = card(course="Ascot", runners=[{"horse": "Blue Moon", "trainer": "A. Smith"}])

STORIES = {
    "night": Story(
        *(QUIET, subscribes("CALL", "GB"), ONE, abandonment("rc_2", course="Bath"), YORK, card()),
        *(so_far(CGB=["^ABANDONED: Bath"]), tell_due, so_far(CGB=["^ABANDONED: Bath"])),
        *(at_the_hour, at_the_hour, result("rc_4")),
        CGB=["", f"{SUMMARY} | +York 14:30 | +1 Blue Moon | +2 Red Sky | +declarations available", "^Result: "],
        # Other channels hear of everything at once.
        CALL=["^Result", "^ABANDONED", "^Result", "^Result"],
    ),
    "another winner after the hour": Story(
        *(QUIET, ONE, YORK, passes(LEFT_S), RED, NOTHING, tell_due), CGB=["2 results | +1 Red Sky, 2 Blue Moon"]
    ),
    "contradicted": Story(
        *(QUIET, ONE, YORK, abandonment(), so_far(CGB=["Ascot | !min late", "^ABANDONED: Ascot"]), at_the_hour),
        CGB=["", "", "^Result"],
    ),
    "contradicted, no id": Story(QUIET, result(None), abandonment(None), CGB=["Blue Moon", "^ABANDONED"]),
    "abandoned, then run": Story(QUIET, abandonment(), ONE, CGB=["^ABANDONED", "^CONFLICT"]),
    "card marks a race": Story(
        QUIET, TWO_RACES[0], NOTHING, TWO_RACES[1], CGB=["", "15:00 is marked abandoned in one only"]
    ),
    "card marks its race": Story(QUIET, card(abandoned=True), CGB=["^ABANDONED: York 14:30"]),
    "filter without hours": Story(QUIET, subscribes("CGB", "*", Topic.RESULTS), ONE, CGB=["^Result"]),
    "watched": Story(
        *(QUIET, watches("Blue Moon"), ONE, result("rc_2", placings=("Red Sky",)), so_far(CGB=["Blue Moon"])),
        *(at_the_hour,),
        CGB=["", "Red Sky"],
    ),
    "proves watched": Story(
        *(QUIET, watches("A. Smith", WatchKind.TRAINER), result("rc_9"), NOTHING, RUN_BY),
        CGB=["^⭐ Blue Moon | Result: ", "Racecard: "],
    ),
    "digest": Story(
        *(DIGEST, ONE, abandonment("rc_2", course="Bath"), YORK, card(), so_far(CGB=["^ABANDONED", "^Racecard"])),
        *(tell_due, so_far(CGB=["", ""]), at_the_hour),
        # A result after the hour is in the next day's digest; a day without a result has no digest.
        *(result("rc_4", course="Wells"), tell_due, passes(DAY_S), tell_due, tell_due, passes(DAY_S), tell_due),
        CGB=["", "", "^Results digest. 2 results. Ascot 14:30 | +York 14:30", "1 result. Wells 14:30"],
    ),
    "digest: contradicted": Story(
        *(DIGEST, ONE, YORK, abandonment(), so_far(CGB=["", "^ABANDONED"]), at_the_hour),
        CGB=["", "", "1 result. York 14:30"],
    ),
    "digest and quiet hours": Story(
        *(DIGEST, chooses("quiet", "IRE"), ONE, YORK),
        *(*(result(f"rc_{course}", region="IRE", course=course) for course in ("Cork", "Naas")), at_the_hour),
        CGB=["^Results digest", "^The quiet hours are over"],
    ),
    "digest, then a small change": Story(
        *(DIGEST, subscribes("CALL", "GB"), result("rc_1", going="Good"), at_the_hour),
        *(result("rc_1", going="Soft"), result("rc_1", going="Heavy"), so_far(CGB=[""], CALL=["+Heavy"])),
        *(RED, result("rc_1", going="Firm", placings=("Red Sky", "Blue Moon"))),
        CGB=["", "^Two versions disagree: Ascot 14:30 | Red Sky | +Heavy | +Firm"],
        CALL=["", ""],
    ),
}


@rows(STORIES)
async def test_event_waits_for_the_hour_or_is_told_at_once(pipeline, story):
    await play(pipeline, story)


async def test_many_results_of_a_night_are_all_named(quiet, monkeypatch):
    monkeypatch.setattr("bot.outbox.held_channels.KEPT_PER_SUMMARY", 3)
    await tell(quiet, *(result(f"rc_{number}", course=f"Course {number}") for number in range(7)))
    await at_the_hour(quiet)
    told = "\n".join(map(shown, quiet.slack.messages("CGB")))
    assert len(quiet.texts("CGB")) == 3
    assert all(f"Course {number} 14:30" in told for number in range(7))


async def test_two_replicas_and_a_kill_in_between_tell_once(quiet, make_pipeline):
    await tell(quiet, ONE, YORK)
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
            await fan_out(pipeline, result(f"rc_{number}_again"))
        await pipeline.post_all()
        return len(counted.statements)

    await pipeline.subscribe("CGB", "GB")
    before = await statements(1)
    await QUIET(pipeline)
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
    sent = await quiet.database.read(lambda s: ledger.sent_since(s, quiet.clock() - timedelta(days=1)))
    assert sent.p50_s <= 60
    # An edit keeps the message's earlier words.
    await tell(quiet, result("rc_1", going="Soft"))
    (message, _) = quiet.slack.messages("CGB")
    assert "Soft" in shown(message)
    assert "min late" not in message.text
