"""What a later version does to a message that is posted: an edit, a new message, or neither."""

import pytest
from sqlalchemy import func, select

from bot.channels import subscriptions
from bot.db.tables import NamedRace
from bot.events.event import Topic
from bot.slack.web_client import METADATA_EVENT
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, edits, free_all, meeting, result, shown, states, tell


async def test_lesser_change_edits_the_message_and_says_what_was_corrected(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    (before,) = pipeline.slack.messages("CGB")
    await tell(pipeline, result(going="Soft"))
    (after,) = pipeline.slack.messages("CGB")
    assert after.ts == before.ts
    assert "UTC: two versions disagree: going is Good in one, Soft in the other" in after.text
    assert "Another version <!date^" in str(after.blocks)
    assert "1 Blue Moon" in after.text
    assert after.metadata["event_payload"]["post"] == before.metadata["event_payload"]["post"]
    assert after.metadata["event_type"] == METADATA_EVENT


@on_both
async def test_edit_is_no_last_post_of_the_channel_or_of_its_subscription(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.clock.forward(3600)
    await tell(pipeline, result(going="Soft"))

    def last(session):
        filters = [subscriptions.read_filter(row) for row in subscriptions.of_channel(session, "CGB")]
        (post,) = subscriptions.last_posts(session, "CGB", filters)
        assert post
        return post.sent_at, subscriptions.last_post_at(session, "CGB")

    of_list, of_home = await pipeline.database.read(last)
    assert of_list == of_home


async def test_changed_winner_is_a_new_message_that_later_edits_go_to(pipeline):
    await pipeline.subscribe("CGB", "GB")
    swapped = ("Red Sky", "Blue Moon")
    await tell(pipeline, result(going="Good"), result(placings=swapped, going="Good"))
    await tell(pipeline, result(placings=swapped, going="Soft"))
    first, second = pipeline.slack.messages("CGB")
    assert first.text.startswith("Superseded ")
    assert "see the later message. Result: Ascot 14:30 (GB): 1 Blue Moon" in first.text
    assert "Soft" not in first.text
    assert second.text.startswith("Two versions disagree: ")
    assert "Soft in the other" in second.text


async def test_edit_takes_nothing_away_that_only_the_earlier_version_said(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good", title="Novices' Hurdle"), result(placings=(), going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert "1 Blue Moon" in message.text
    assert "Novices' Hurdle" in shown(message)


async def test_channel_that_has_no_message_of_the_event_gets_one(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, result(going="Soft"))
    assert len(pipeline.slack.messages("CGB")) == len(pipeline.slack.messages("CALL")) == 1
    assert len(edits(pipeline.slack)) == 1


async def test_change_that_comes_before_the_message_is_sent_costs_no_call(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for going in ("Good", "Soft", "Heavy"):
        await pipeline.deliver(result(going=going))
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    (message,) = pipeline.slack.messages("CGB")
    assert "going is Good in one, Heavy in the other" in message.text
    assert edits(pipeline.slack) == []
    assert await states(pipeline) == [("sent", False), ("sent", True), ("sent", True)]


async def test_edits_that_wait_for_one_message_are_one_call(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    for going in ("Soft", "Heavy", "Firm"):
        await pipeline.deliver(result(going=going))
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    assert len(edits(pipeline.slack)) == 1
    assert "Firm in the other" in pipeline.texts("CGB")[0]


async def test_meeting_that_names_further_races_is_edited(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"), meeting("rc_2", "rc_3"))
    (message,) = pipeline.slack.messages("CGB")
    assert "3 races" in message.text
    assert "names 2 more races" in message.text
    assert all(f"Title rc_{number}" in shown(message) for number in (1, 2, 3))
    count = select(func.count()).select_from(NamedRace)
    assert await pipeline.database.read(lambda session: session.execute(count).scalar_one()) == 3


async def test_card_that_names_further_races_is_edited(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset({Topic.RACECARDS}))
    card = meeting("rc_1") | {"event": "racecard.published"}
    await tell(pipeline, card, card | {"races": [{"race_id": "rc_1"}, {"race_id": "rc_2"}]})
    (text,) = pipeline.texts("CGB")
    assert "2 races declared" in text


async def test_repeated_and_older_versions_change_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    new = result(going="Soft") | {"occurred_at": "2026-11-20T14:40:00Z"}
    await tell(pipeline, new)
    await tell(pipeline, new | {"attempt": 2}, result(going="Good") | {"occurred_at": "2026-11-20T14:35:00Z"})
    assert len(pipeline.texts("CGB")) == 1
    assert edits(pipeline.slack) == []


@pytest.mark.parametrize(
    "code", ["edit_window_closed", "cant_update_message", "message_not_found", "is_inactive", "never_heard_of_it"]
)
async def test_refused_edit_becomes_a_new_message_that_says_all_that_waits(pipeline, code):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.slack_error(code)])
    for going in ("Soft", "Heavy"):
        await pipeline.deliver(result(going=going))
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    first, second = pipeline.texts("CGB")
    assert "Corrected" not in first
    assert "going is Soft in one, Heavy in the other" in second
    assert await pipeline.waiting() == {}


@pytest.mark.parametrize("later", [result(placings=("Red Sky", "Blue Moon")), abandonment()], ids=["winner", "lost"])
async def test_refused_mark_of_a_superseded_message_tells_the_later_one_no_second_time(pipeline, later):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    pipeline.slack.script("chat.update", [], then_always=failures.slack_error("edit_window_closed"))
    await tell(pipeline, later)
    assert len(pipeline.texts("CGB")) == 2
    assert await states(pipeline) == [("sent", False), ("sent", False), ("folded", True)]


async def test_refused_blocks_are_edited_as_plain_text(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.slack_error("invalid_blocks")] * 2)
    await tell(pipeline, result(going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert "Soft in the other" in message.text
    assert message.blocks == ()


@pytest.mark.parametrize("failure", [failures.drop_after(), failures.http_error(500), failures.drop_before()])
async def test_doubtful_edit_is_made_again_and_never_looked_for(pipeline, failure):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failure])
    await tell(pipeline, result(going="Soft"))
    await free_all(pipeline)
    await pipeline.post_all()
    (message,) = pipeline.slack.messages("CGB")
    assert "Soft in the other" in message.text
    assert not [call for call in pipeline.slack.calls if call.method == "conversations.history"]


@on_both
async def test_edit_of_a_process_that_was_killed_is_made_by_the_next(make_pipeline, slack):
    killed, other = make_pipeline(), make_pipeline()
    await killed.subscribe("CGB", "GB")
    await tell(killed, result(going="Good"))
    await killed.deliver(result(going="Soft"))
    await killed.fanout.run_once()
    (claim,) = await killed.database.write(lambda session: killed.poster._claim(session, 5))
    assert not claim.in_doubt
    await free_all(killed)
    await other.post_all()
    assert "Soft in the other" in other.texts("CGB")[0]
    assert await other.waiting() == {}


async def test_held_edits_let_other_posts_by_and_are_made_afterwards(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.rate_limited(30)])
    await tell(pipeline, result(going="Soft"), result("rc_2"))
    assert (await pipeline.holds()).keys() == {"chat.update"}
    assert len(pipeline.texts("CGB")) == 2
    assert edits(pipeline.slack) == []
    await free_all(pipeline)
    await pipeline.post_all()
    assert "Soft in the other" in pipeline.texts("CGB")[0]


async def test_held_posts_let_edits_by_but_not_those_of_messages_that_wait(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)])
    await tell(pipeline, result("rc_2", going="Good"), result(going="Soft"), result("rc_2", going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert "Soft in the other" in message.text
    assert await pipeline.waiting() == {"queued": 2}
    await free_all(pipeline)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 2
    assert len(edits(pipeline.slack)) == 1


@on_both
async def test_edit_of_a_message_that_was_given_up_becomes_a_new_one(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    await pipeline.deliver(result(going="Good"))
    await pipeline.deliver(result(going="Soft"))
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
    assert await states(pipeline) == [("dead_letter", False), ("sent", False), ("sent", False)]


async def test_contradiction_is_a_new_message_and_what_follows_edits_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment(), result(going="Good"), result(going="Soft"))
    first, second = pipeline.texts("CGB")
    assert first.startswith("Contradicted ")
    assert "a result was reported, see the later message" in first
    assert "ABANDONED: Ascot" in first
    assert "Contradicts" in second
    assert "Soft in the other" in second


async def test_edit_does_not_make_a_message_late(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.clock.forward(3_600)
    await tell(pipeline, result(going="Soft"))
    assert "late" not in pipeline.texts("CGB")[0]
