"""Of the alerts given up, only alerts in force are offered and posted after all; edits are revisions."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from bot.db.tables import EventVersion
from bot.outbox import backlog, said_anew
from bot.outbox.ledger import LedgerOutcome
from bot.outbox.said_anew import OFFERED_FOR
from sandbox.slack import failures
from sandbox.slack.failures import drop_after, passes
from tests.databases import on_both
from tests.integration.pipeline.steps import (
    KEEP_HOURS,
    abandonment,
    close,
    count,
    expire,
    fan_out,
    meeting,
    pause,
    reopen,
    result,
    resume,
    shown,
    step,
    tell,
    traced,
    turns,
    wait,
    write,
)
from tests.integration.pipeline.stories import Story, does, play, rows, slack_answers

CALLS = 3
"""With native blocks, with sections, as plain text."""


async def given_up(pipeline, payload):
    """The number of the refused alert."""
    pipeline.slack.script("chat.postMessage", [failures.slack_error("msg_too_long")] * CALLS)
    await tell(pipeline, payload)
    pipeline.slack.script("chat.postMessage", [])
    return (await offered(pipeline))[0]


async def offered(pipeline):
    now = pipeline.clock()
    letters = await pipeline.database.read(lambda session: said_anew.newest(session, 5, now))
    return [letter.message_id for letter in letters]


async def post_again(pipeline, message_id):
    """True if the alert was queued."""
    channel_id = await write(pipeline, said_anew.post_again, message_id, pipeline.clock())
    await pipeline.post_all()
    return channel_id is not None


RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
ELSEWHERE = [meeting("rc_2", "rc_3", meeting_id="mt_2", course="Ayr"), result("rc_4")]


@pytest.mark.parametrize(
    ("before", "lost", "later", "is_in_force"),
    [
        ([], result(), [result(**RED_FIRST)], False),
        ([], abandonment(), [result()], False),
        ([], result(), [abandonment()], False),
        ([], abandonment("rc_1"), [meeting("rc_1", "rc_2")], False),
        ([result()], abandonment(), [], True),
        ([result()], abandonment(), [result(going="Soft")], True),
        ([], abandonment("rc_1"), ELSEWHERE, True),
    ],
    ids=[
        *("corrected", "run after all", "abandoned after all", "its meeting abandoned"),
        *("contradicts what was told", "contradicted by a mere addition", "others"),
    ],
)
async def test_alert_given_up_is_offered_and_posted_once_while_in_force(gb, before, lost, later, is_in_force):
    await tell(gb, *before)
    number = await given_up(gb, lost)
    await tell(gb, *later)
    there = gb.texts("CGB")
    assert await offered(gb) == [number] * is_in_force
    assert await post_again(gb, number) is is_in_force
    new = gb.texts("CGB")[len(there) :]
    assert ["ABANDONED" in text for text in new] == [True] * is_in_force
    assert ["CONFLICT" in text for text in new] == [bool(before)] * is_in_force
    assert await offered(gb) == []
    assert not await post_again(gb, number)


async def test_of_two_versions_that_were_given_up_the_later_is_offered(gb):
    first = await given_up(gb, result())
    second = await given_up(gb, result(**RED_FIRST))
    assert await offered(gb) == [second]
    assert not await post_again(gb, first)
    assert await post_again(gb, second)


async def test_alert_that_a_channel_gave_up_by_unsubscribing_is_not_offered(gb):
    await fan_out(gb, abandonment())
    assert await write(gb, backlog.drop, "CGB", gb.clock()) == 1
    assert await offered(gb) == []
    assert not await post_again(gb, 1)
    assert gb.texts("CGB") == []


async def test_alert_is_offered_for_two_days_even_if_its_event_cant_be_read(gb):
    number = await given_up(gb, abandonment())
    await gb.database.write(lambda session: session.execute(update(EventVersion).values(data="{")))
    await wait(gb, (OFFERED_FOR - timedelta(minutes=1)).total_seconds())
    assert await offered(gb) == [number]
    await wait(gb, 120)
    assert await offered(gb) == []
    assert not await post_again(gb, number)


# News during an edit's call, in a held channel, or for a message given up


def going(said, minute=0):
    return result("rc_1", going=said, occurred_at=f"2026-11-20T14:{minute:02}:00Z")


def last(pipeline):
    return shown(pipeline.slack.messages("CGB")[-1])


@on_both
async def test_news_during_the_call_of_an_edit_leaves_an_edit_due(gb):
    await tell(gb, going("Good"))
    await fan_out(gb, going("Soft", 1))
    gb.slack.script("chat.update", [replace(passes(), delay_before_s=0.3)])
    await gb.poster.start_due()
    await fan_out(gb, going("Heavy", 2))
    await gb.poster.finish()
    assert await gb.waiting() == {"queued": 1}
    await gb.post_all()
    assert (count(gb, "edit"), await gb.waiting()) == (2, {})
    assert "Heavy" in last(gb)


async def test_correction_outlives_a_message_that_waited_too_long(gb):
    await close(gb)
    await tell(gb, going("Good"))
    gb.clock.forward((KEEP_HOURS - 1) * 3_600)
    await tell(gb, going("Soft", 1))
    gb.clock.forward(2 * 3_600)
    await expire(gb)
    await reopen(gb)
    assert "Soft" in last(gb)
    first, second = (version.told for version in (await traced(gb)).versions)
    assert [line.outcome for line in (*first, *second)] == [LedgerOutcome.DEAD_LETTER, LedgerOutcome.SENT]


async def test_lost_race_told_by_an_edit_waits_for_no_results(gb):
    await tell(gb, meeting("rc_1"))
    for number in range(5):
        await gb.deliver(result(f"rc_{number + 10}", course="York"))
    await fan_out(gb, abandonment("rc_1", reason="a loose horse"))
    gb.clock.forward(2)
    await step(gb)
    (told,) = gb.slack.messages("CGB")
    assert "a loose horse" in shown(told)
    await gb.post_all()
    assert (len(gb.slack.messages("CGB")), await gb.waiting()) == (6, {})


REFUSED = slack_answers("post", *["msg_too_long"] * CALLS)
LOOSE_HORSE = abandonment("rc_1", reason="a loose horse")
STORIES = {
    "edit of days ago, in a pause": Story(
        *(going("Good"), pause, going("Soft", 1), does(wait, (KEEP_HOURS + 1) * 3_600), expire, resume), CGB=["+Soft"]
    ),
    "in doubt, in a channel that stays closed": Story(
        *(slack_answers("post", drop_after(), "is_archived"), slack_answers("look", "not_in_channel"), result()),
        *(does(turns, 20), does(wait, (KEEP_HOURS + 1) * 3_600), expire),
        CGB=["^Result"],
        waiting={"dead_letter": 1, "queued": 1},
    ),
    "races of a refused meeting": Story(
        *(REFUSED, (meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_2", off_time="15:05"))),
        waiting={"dead_letter": 1},
        CGB=["14:30 | !15:05", "15:05 | !14:30"],
    ),
    "race of a refused meeting, and its result": Story(
        *(REFUSED, (meeting("rc_1"), LOOSE_HORSE, result("rc_1"))),
        waiting={"dead_letter": 1},
        CGB=["^Contradicted | a loose horse", "before you act"],
    ),
    "race of a refused meeting, and its later version": Story(
        *(REFUSED, (meeting("rc_1"), LOOSE_HORSE, abandonment("rc_1", reason="fog"))),
        waiting={"dead_letter": 1},
        CGB=["a loose horse | fog"],
    ),
}


@rows(STORIES, "race of a refused meeting, and its result")
async def test_what_is_told_in_place_of_a_refused_message(pipeline, story):
    await play(pipeline, story)
