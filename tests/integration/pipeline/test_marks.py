"""Repeated, older and overtaken deliveries, and the marks of messages that later ones replace."""

from datetime import timedelta

import pytest

from bot.events.event import Topic
from bot.events.races import Course, Race, Runner
from bot.outbox.channel_closing import pause_channel
from bot.racedata import race_book_store
from bot.slack.commands.full_result_button import _delivered
from bot.slack.messages.answers.full_result_answer import full_result
from sandbox.slack import failures
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, edits, free_all, meeting, result, shown, tell
from tests.said import as_posted

FIRST, SWAPPED = ("Alpha", "Bravo"), ("Bravo", "Alpha")


def version(placings, sequence=None, **more):
    race = {name: more.pop(name) for name in ("going", "winning_time") if name in more}
    ordered = {} if sequence is None else {"sequence": sequence}
    return result(placings=placings, **race) | ordered | more


def begins(pipeline):
    """How each message of the channel begins, marks left out."""
    return [as_posted(text).partition(":")[0] for text in pipeline.texts("CGB")]


@pytest.mark.parametrize("code", ["edit_window_closed", "message_not_found"])
@pytest.mark.parametrize(
    ("later", "word"),
    [(version(SWAPPED, 2), "CORRECTION"), (abandonment(), "ABANDONED")],
    ids=["correction", "contradiction"],
)
async def test_mark_that_slack_refuses_makes_no_second_message(pipeline, code, later, word):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1))
    pipeline.slack.script("chat.update", [failures.slack_error(code)])
    await tell(pipeline, later)
    assert len(begins(pipeline)) == 2
    assert begins(pipeline)[1] == word
    assert await pipeline.waiting() == {}


async def test_mark_that_is_refused_after_its_message_was_given_up_becomes_the_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1))
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    pipeline.slack.script("chat.update", [failures.slack_error("message_not_found")])
    await tell(pipeline, version(SWAPPED, 2))
    assert begins(pipeline) == ["Result", "CORRECTION"]


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        (abandonment(), version(FIRST), abandonment(distance="2m") | {"attempt": 2}),
        (version(FIRST), abandonment(), version(FIRST, winning_time="1m 12s") | {"attempt": 2}),
    ],
    ids=["abandonment", "result"],
)
async def test_delivery_that_only_adds_a_fact_contradicts_nothing_anew(pipeline, first, second, again):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, first, second, again)
    texts = pipeline.texts("CGB")
    assert len(texts) == 2
    assert "Contradicted" in texts[0]
    assert "Contradicted" not in texts[1]
    assert any(fact in texts[0] for fact in ("2m", "1m 12s"))


@pytest.mark.parametrize("change", [{"reason": "fog"}, {"sequence": 2, "distance": "2m"}], ids=["changed", "newer"])
async def test_abandonment_that_is_stated_anew_contradicts_the_result(pipeline, change):
    await pipeline.subscribe("CGB", "GB")
    race = {name: change[name] for name in change if name == "distance"}
    again = abandonment(**race) | {name: value for name, value in change.items() if name != "distance"}
    await tell(pipeline, abandonment() | {"sequence": 1}, version(FIRST), again)
    texts = pipeline.texts("CGB")
    assert len(texts) == 3
    assert "Contradicted" in texts[1]


async def test_version_between_two_that_say_the_same_is_the_older(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1), version(FIRST, 3), version(SWAPPED, 2))
    assert begins(pipeline) == ["Result"]
    assert edits(pipeline.slack) == []


async def test_order_is_kept_through_a_version_that_says_nothing_of_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1), version(SWAPPED, 2), version(SWAPPED, going="Soft"))
    await tell(pipeline, version(FIRST, 1, attempt=2))
    first, second = pipeline.texts("CGB")
    assert first.startswith("Superseded ")
    assert "1 Bravo, 2 Alpha" in second


async def test_placings_that_only_the_older_version_has_are_told(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version((), 2, going="Soft"), version(FIRST, 1, going="Good"))
    texts = pipeline.texts("CGB")
    assert len(texts) == 2
    assert "1 Alpha" in texts[-1]
    assert "Good" not in texts[-1]


async def test_overtaken_version_that_is_delivered_again_rings_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for attempt in range(4):
        await tell(pipeline, version(FIRST, attempt=attempt), version(SWAPPED, attempt=attempt))
    first, second = pipeline.texts("CGB")
    assert first.startswith("Superseded ")
    assert ": two versions disagree, see the later message. " in first
    assert "An earlier version was delivered again" in second
    assert "1st is Bravo in one, Alpha in the other" in second
    assert "1 Bravo, 2 Alpha" in second
    assert len(edits(pipeline.slack)) == 2


async def test_new_version_after_a_repeated_one_rings_and_the_repeated_is_said_again(pipeline):
    await pipeline.subscribe("CGB", "GB")
    third = version(("Cee", "Alpha"))
    await tell(pipeline, version(FIRST), version(SWAPPED), version(FIRST, attempt=2))
    await tell(pipeline, third, version(FIRST, attempt=3), version(SWAPPED, attempt=2), version(FIRST, attempt=4))
    texts = pipeline.texts("CGB")
    assert len(texts) == 3
    assert "An earlier version was delivered again" in texts[2]
    assert "1 Cee" in texts[2]


async def test_first_attempt_tells_which_version_is_older(pipeline):
    def at(attempt, minute):
        return {"delivery": {"attempt": attempt, "first_attempt_at": f"2026-11-20T08:{minute}:00Z"}}

    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, **at(1, "00")), version(SWAPPED, **at(1, "20")), version(FIRST, **at(2, "00")))
    first, second = pipeline.texts("CGB")
    assert "disagree" not in first + second
    assert second.startswith("CORRECTION")


async def test_channel_whose_race_class_fits_no_more_reads_that_its_result_is_wrong(pipeline):
    await pipeline.subscribe("CGB", "GB", classes=("Class 1",))
    await tell(pipeline, version(FIRST, 1), result(placings=SWAPPED, race_class="Class 4") | {"sequence": 2})
    assert begins(pipeline) == ["Result", "CORRECTION"]
    assert "Superseded" in pipeline.texts("CGB")[0]


async def test_channel_whose_race_class_fits_no_more_reads_that_its_abandoned_race_is_postponed(pipeline):
    await pipeline.subscribe("CGB", "GB", classes=("Class 1",))
    await tell(pipeline, abandonment(), abandonment(status="Postponed", race_class="Class 4") | {"sequence": 2})
    (text,) = pipeline.texts("CGB")
    assert "status Postponed" in text


async def placings_from_the_book(pipeline, *names):
    runners = tuple(Runner(horse=name, position=str(place)) for place, name in enumerate(names, start=1))
    race = Race(race_id="rc_1", region="GB", course=Course(name="Ascot"), race_date=DAY, runners=runners)
    await pipeline.database.write(lambda session: race_book_store.put(session, [race], pipeline.clock(), region="GB"))
    await pipeline.post_all()


async def test_placings_that_were_shown_from_the_race_book_ring_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(()))
    await placings_from_the_book(pipeline, *FIRST)
    assert "1 Alpha" in pipeline.texts("CGB")[0]
    await tell(pipeline, version(FIRST), version(SWAPPED, attempt=2))
    assert begins(pipeline) == ["Result", "Two versions disagree"]


async def test_placings_that_differ_from_the_race_book_are_a_correction(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(()))
    await placings_from_the_book(pipeline, *FIRST)
    await tell(pipeline, version(SWAPPED))
    assert begins(pipeline) == ["Result", "CORRECTION"]
    assert "1st was Alpha, now Bravo" in str(pipeline.slack.messages("CGB")[1])


async def test_edit_says_what_differs_from_the_version_that_its_message_was_made_for(pipeline):
    def priced(price, sequence, **race):
        runners = [{"position": 1, "horse": "Alpha", "sp": price}]
        return result(runners=runners, placings=(), **race) | {"sequence": sequence}

    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, priced("7/2", 1))
    for later in (priced("99/1", 2), priced("99/1", 3, going="Soft")):
        await pipeline.deliver(later)
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    (text,) = pipeline.texts("CGB")
    assert "starting price of Alpha was 7/2, now 99/1; added: going Soft" in text
    await tell(pipeline, priced("99/1", 4, going="Soft", winning_time="1m 12s"))
    assert "starting price of Alpha was 7/2, now 99/1" in pipeline.texts("CGB")[0]


async def test_full_result_says_what_was_corrected_before_the_newest_version(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1), version(SWAPPED, 2), version(SWAPPED, 3, winning_time="1m 12s"))
    found = await pipeline.database.read(lambda session: _delivered(session, "result.received:rc_1"))
    event, changed, received_at = found
    said = full_result(event, None, received_at, (), changed)
    assert said.text.startswith("Full result, corrected: ")
    assert "1st was Alpha, now Bravo" in str(said.blocks)


def links(pipeline):
    """The channel's messages, and where each stands as links say it."""
    messages = pipeline.slack.messages("CGB")
    return messages, [message.ts.replace(".", "") for message in messages]


@pytest.mark.parametrize("later", [version(SWAPPED, 2), abandonment()], ids=["correction", "contradiction"])
async def test_mark_waits_for_the_message_that_it_links(pipeline, later):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, version(FIRST, 1))
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)])
    await tell(pipeline, later)
    assert edits(pipeline.slack) == []
    await free_all(pipeline)
    await pipeline.post_all()
    messages, at = links(pipeline)
    assert at[1] in shown(messages[0])
    assert await pipeline.waiting() == {}


async def test_abandoned_race_waits_to_link_its_meeting(pipeline):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment())
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)])
    await tell(pipeline, meeting("rc_1", "rc_2"))
    assert await pipeline.waiting() == {"queued": 2}
    await free_all(pipeline)
    await pipeline.post_all()
    messages, at = links(pipeline)
    assert at[1] in shown(messages[0])


async def pause_and_resume(pipeline, payload):
    """The channel is paused when this is delivered, and resumed so much later that a summary says it."""
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await tell(pipeline, payload)
    later = pipeline.clock() + timedelta(hours=4)
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", later))
    await free_all(pipeline)


@pytest.mark.parametrize("is_held", [False, True], ids=["at once", "posts held"])
async def test_mark_links_the_summary_that_says_the_later_message(pipeline, is_held):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment())
    await pause_and_resume(pipeline, version(FIRST))
    if is_held:
        pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)])
        await pipeline.post_all()
        await free_all(pipeline)
    await pipeline.post_all()
    messages, at = links(pipeline)
    assert len(messages) == 2
    assert messages[0].text.startswith("Contradicted ")
    assert at[1] in shown(messages[0])


async def test_mark_says_what_contradicts_where_the_later_message_was_given_up(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment())
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    await tell(pipeline, version(FIRST))
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Contradicted ")
    assert "UTC: a result was reported. ABANDONED: " in text


async def test_result_links_the_meeting_that_its_race_was_called_off_with(pipeline):
    pipeline.poster.render.identity.workspace_url = "https://example.slack.com/"
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1", "rc_2"), abandonment(), version(FIRST))
    messages, at = links(pipeline)
    assert len(messages) == 2
    assert at[0] in shown(messages[1])


async def test_card_that_comes_in_parts_is_one_message_however_often_the_parts_come(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset({Topic.RACECARDS}))
    today = pipeline.clock().date().isoformat()
    for attempt in range(3):
        for part in (("rc_1", "rc_2"), ("rc_3", "rc_4")):
            card = meeting(*part, reason=None, date=today) | {"event": "racecard.published", "attempt": attempt}
            await tell(pipeline, card)
    (text,) = pipeline.texts("CGB")
    assert "4 races declared" in text
    assert len(edits(pipeline.slack)) == 1
