"""Slack's answers to an edit's call, of a message and of a live message: the calls, and the final messages."""

from datetime import timedelta
from secrets import token_hex

import pytest

from bot.db.engine import database_now
from bot.outbox import channel_queues, pace
from bot.outbox.message import Call
from bot.settings import DoubtfulPosts
from bot.slack.web_client import METADATA_EVENT
from sandbox.slack import failures
from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.failures import drop_after, http_error, slack_error
from tests.databases import first_on_both
from tests.integration.pipeline.steps import (
    abandonment,
    count,
    edits,
    fail,
    fan_out,
    flat_and_threads,
    kinds,
    result,
    show_meetings,
    shown,
    states,
    step,
    tell,
    turns,
    wait,
    write,
)
from tests.integration.pipeline.stories import Story, play, slack_answers

FAILS, MADE = http_error(503), http_error(503).accepted()
REFUSED, NO_SCOPE = slack_error("edit_window_closed"), slack_error("missing_scope")
TWICE = [http_error(500), FAILS]
SOFT = "or Soft"

AGAIN = dict.fromkeys([0, 1, 3, 8, 18, 48, 78], "edit")
EIGHT_LOOKS = {0: "edit"} | dict.fromkeys([1, 3, 8, 18, 48, 78, 108], "edit look") | {138: "edit look post"}


@pytest.mark.parametrize(
    ("edit", "look", "asked", "stand"),
    [
        ([failures.rate_limited(7)], [], {0: "edit", 7: "edit"}, 1),
        ([FAILS] * 6, [], AGAIN, 1),
        ([MADE, *[REFUSED] * 9], [], {0: "edit", 1: "edit look"}, 1),
        ([MADE, *[REFUSED] * 9], TWICE, {0: "edit", 1: "edit look", 3: "edit look", 8: "edit look"}, 1),
        ([MADE, *[FAILS] * 5, *[REFUSED] * 9], TWICE, AGAIN | {78: "edit look", 108: "edit look", 138: "edit look"}, 1),
        ([FAILS, *[REFUSED] * 9], [], {0: "edit", 1: "edit look post"}, 2),
        ([FAILS, *[REFUSED] * 9], FAILS, EIGHT_LOOKS, 2),
        ([FAILS, *[REFUSED] * 9], NO_SCOPE, {0: "edit", 1: "edit look post"}, 2),
    ],
    ids=[
        *("limited", "outage", "made, refused", "made, refused, looks fail", "made, outage, refused"),
        *("not made, refused", "eight looks", "no scope"),
    ],
)
async def test_edit_whose_call_fails(gb, edit, look, asked, stand):
    await tell(gb, result(going="Good"))
    fail(gb, edit=edit, look=look)
    await gb.deliver(result(going="Soft"))
    assert await turns(gb, 300) == asked
    assert (len(gb.texts("CGB")), await gb.waiting()) == (stand, {})
    assert SOFT in gb.texts("CGB")[-1]


async def test_edit_whose_blocks_are_refused_is_made_in_words(gb):
    await tell(gb, result(going="Good"))
    fail(gb, edit=[slack_error("invalid_blocks")] * 2)
    await gb.deliver(result(going="Soft"))
    assert await turns(gb, 60) == {0: "edit edit edit"}
    (told,) = gb.slack.messages("CGB")
    assert (SOFT in told.text, bool(told.blocks)) == (True, False)


async def test_edit_that_its_doubtful_message_said_already_is_no_second_message(gb):
    for going in ("Good", "Soft"):
        await gb.deliver(result(going=going))
        gb.clock.forward(0.001)
    fail(gb, post=[MADE], edit=REFUSED)
    await turns(gb, 60)
    assert (len(gb.texts("CGB")), await gb.waiting()) == (1, {})


async def test_correction_is_told_where_its_edit_is_refused_and_an_older_version_stands(gb):
    await tell(gb, result(), result(placings=("Red Sky", "Blue Moon")))
    fail(gb, edit=REFUSED)
    await tell(gb, result(placings=("Red Sky", "Blue Moon"), going="Soft"))
    *_, last = gb.slack.messages("CGB")
    assert len(gb.texts("CGB")) == 3
    assert "Soft" in shown(last)


async def test_abandonment_waits_for_no_edit_whose_message_nobody_can_look_at(gb):
    await tell(gb, result(going="Good"))
    fail(gb, edit=[MADE, *[REFUSED] * 9], look=FAILS)
    await tell(gb, result(going="Soft"))
    await turns(gb, 20)
    await tell(gb, abandonment("rc_2"))
    assert kinds(gb)[1:] == ["ABANDONED"]


@pytest.mark.parametrize("others", [0, 1], ids=["nothing else", "another post"])
async def test_edit_outlasts_an_outage_in_which_nothing_is_posted(pipeline, others):
    for channel_id, region in (("CGB", "GB"), ("CIRE", "IRE")):
        await pipeline.subscribe(channel_id, region)
    await tell(pipeline, result("rc_1", going="Good"))
    fail(pipeline, post=FAILS, edit=FAILS, look=FAILS)
    await tell(pipeline, result("rc_1", going="Soft"), *(result(f"rc_{n}", region="IRE") for n in range(others)))
    await turns(pipeline, 200)
    assert edits(pipeline.slack) == []
    fail(pipeline, post=[], edit=[], look=[])
    await turns(pipeline, 100)
    (text,) = pipeline.texts("CGB")
    assert SOFT in text
    assert (len(pipeline.texts("CIRE")), len(edits(pipeline.slack))) == (others, 1)
    assert await pipeline.waiting() == {}


@pytest.mark.parametrize("error", [None, AttributeError("a bug of ours")])
async def test_edit_that_alone_gets_no_answer_delays_no_message_and_becomes_one_in_the_end(gb, error):
    """`error`: of the client, in place of Slack's."""
    await tell(gb, result("rc_1", going="Good"))
    fail(gb, edit=FAILS)
    if error:

        async def update(*_what, **_how):
            raise error

        gb.sender.update = update
    await tell(gb, result("rc_1", going="Soft"))
    assert (await gb.holds()).keys() == {"chat.update"}
    await tell(gb, result("rc_2"), abandonment("rc_3"))
    assert kinds(gb) == ["Result", "Result", "ABANDONED"]
    await turns(gb, 17)
    assert len(gb.texts("CGB")) == 3
    await turns(gb, 1)
    assert SOFT in gb.texts("CGB")[3]
    assert (count(gb, "edit"), await gb.waiting()) == (0 if error else 5, {})


async def doubtful_reply(pipeline, *looks, posted=False):
    """A reply in the thread of a live message has no answer, and an abandonment waits behind; then a minute passes."""
    await show_meetings(pipeline)
    await tell(pipeline, result("rc_1"))
    fail(pipeline, post=[MADE if posted else FAILS])
    pipeline.slack.script("conversations.replies", list(looks))
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await pipeline.deliver(abandonment("rc_3", off_time="15:40"))
    await turns(pipeline, 300)
    (live, *flat), threads = flat_and_threads(pipeline)
    return live, sorted(text.split(" (")[0] for text in flat), len(threads)


@pytest.mark.parametrize(
    ("choice", "looks", "posted", "looked", "in_channel"),
    [
        (DoubtfulPosts.REPEAT, [NO_SCOPE] * 9, True, 1, True),
        (DoubtfulPosts.REPEAT, [slack_error("channel_not_found")] * 9, False, 1, True),
        (DoubtfulPosts.REPEAT, [FAILS] * 99, True, 6, True),
        (DoubtfulPosts.HOLD, [NO_SCOPE] * 9, False, 1, False),
    ],
    ids=["no scope, posted", "not in the channel", "looks fail", "hold"],
)
async def test_reply_in_doubt_whose_thread_cant_be_read(make_pipeline, choice, looks, posted, looked, in_channel):  # noqa: PLR0917  a row
    pipeline = make_pipeline(doubtful=choice)
    live, flat, threads = await doubtful_reply(pipeline, *looks, posted=posted)
    assert flat == ["ABANDONED: Ascot 15:40", *["Result: Ascot 15:05"] * in_channel]
    assert live.endswith("2 run so far, 1 ABANDONED")
    assert (count(pipeline, "thread"), threads) == (looked, 1 + posted)
    assert (await pipeline.waiting(), await pipeline.holds()) == ({} if in_channel else {"dead_letter": 1}, {})
    repeats = [one.text for one in pipeline.slack.messages("CGB") if "may be a repeat" in shown(one)]
    assert [text.startswith("Result: Ascot 15:05") for text in repeats] == [True] * in_channel
    assert ["I can't look" in text for text in pipeline.texts("CADMIN")] == [True] * (not in_channel)


async def test_reply_in_doubt_is_found_in_its_thread_after_the_live_message_was_deleted(pipeline):
    """A dead process left an edit, and edits are held until a reply is in doubt."""
    await show_meetings(pipeline)
    await tell(pipeline, result("rc_1"))
    await fan_out(pipeline, result("rc_2", off_time="15:05"))

    def claim_and_die(session):
        now = database_now(session, pipeline.clock)
        allowed = {Call.POST: 0}
        return channel_queues.claim(session, now, token=token_hex(8), limit=9, allowed=allowed)

    (left,) = await write(pipeline, claim_and_die)
    assert left.call is Call.EDIT
    await wait(pipeline, 20)
    until = pipeline.clock() + timedelta(seconds=60)
    await write(pipeline, pace.hold_call, Call.EDIT, until, "ratelimited")
    await fan_out(pipeline, result("rc_3", off_time="15:40"))
    fail(pipeline, post=[failures.passes(), MADE], edit=slack_error("message_not_found"))
    await step(pipeline, 2)
    assert await states(pipeline) == ["sent", "sent", "sent", "in_doubt"]
    await turns(pipeline, 200)
    flat, threads = flat_and_threads(pipeline)
    assert (len(flat), len(threads), await pipeline.waiting()) == (1, 3, {})


@pytest.mark.parametrize(
    ("database", "case"),
    first_on_both([("message_not_found", 2, 2, False), ("msg_blocked_by_policy", 1, 3, True)]),
    ids=["gone", "refused", "gone, postgresql"],
    indirect=["database"],
)
async def test_refused_edit_ends_a_live_message_only_if_the_message_is_gone(pipeline, case):
    refusal, flat, threads, is_told = case
    await show_meetings(pipeline)
    await tell(pipeline, result("rc_1"))
    fail(pipeline, edit=[slack_error(refusal)])
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40"))
    in_channel, replies = flat_and_threads(pipeline)
    assert (len(in_channel), len(replies), await pipeline.waiting()) == (flat, threads, {})
    assert in_channel[1:] or in_channel[0].endswith("3 run so far")
    assert [text.startswith("Result: Ascot 15:40") for text in in_channel[1:]] == [True] * (flat - 1)
    assert [refusal in text for text in pipeline.texts("CADMIN")] == [True] * is_told


async def test_outage_of_edits_ends_no_live_message_and_an_edit_of_a_result_waits_for_none(pipeline):
    await show_meetings(pipeline)
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_1", going="Good"))
    fail(pipeline, edit=FAILS)
    for number in range(2, 5):
        await tell(pipeline, result(f"rc_{number}", off_time=f"15:0{number}"))
        await turns(pipeline, 30)
    await tell(pipeline, result("rc_1", going="Soft"))
    for number in range(4):
        await tell(pipeline, result(f"rc_ire_{number}", region="IRE", course="Naas"))
        await turns(pipeline, 30)
    assert any(SOFT in text for text in pipeline.texts("CGB"))
    assert await pipeline.waiting() == {"queued": 1}
    fail(pipeline, edit=[])
    await turns(pipeline, 30)
    (live, *flat), threads = flat_and_threads(pipeline)
    assert live.endswith("4 run so far")
    assert (len(flat), len(threads), await pipeline.waiting()) == (1, 4, {})


# Workspaces with containers, and without


WAS_GOOD, IS_SOFT = result(going="Good"), result(going="Soft")
RUNNERS = [{"horse": f"Runner {place}", "position": str(place)} for place in range(1, 9)]
NINE, NINE_AGAIN = (
    result(race_id, placings=(), runners=[*RUNNERS, {"horse": "Runner 9", "position": "PU"}])
    for race_id in ("rc_1", "rc_2")
)
CONTAINER, IN_SECTIONS = "+'container' | +Blue Moon", "+'section' | +Blue Moon | !'container'"
REST = "+Full result | +'default_collapsed': True | +Runner 4 | +PU  Runner 9"


def refuses(*blocks):
    async def do(pipeline):
        pipeline.slack.refused_blocks = set(blocks)

    return do


STORIES = {
    "edited with a container": (Story(WAS_GOOD, IS_SOFT, edits=1, CGB=[CONTAINER]), "post edit"),
    "no containers, which is remembered": (
        Story(
            *(refuses(*NEW_BLOCKS), WAS_GOOD, IS_SOFT, result("rc_2")),
            CGB=[f"{IN_SECTIONS} | +Another version", IN_SECTIONS],
            CADMIN=[],
        ),
        "post post edit post",
    ),
    "no containers any more": (
        Story(WAS_GOOD, refuses(*NEW_BLOCKS), IS_SOFT, CGB=[f"or Soft | {IN_SECTIONS}"]),
        "post edit edit",
    ),
    "no containers": (
        Story(
            *(refuses("container"), NINE, NINE_AGAIN, result("rc_3")),
            CGB=["+Runner 1 | +Full result | !'container'"] * 2 + [IN_SECTIONS],
        ),
        "post post post post",
    ),
    "runners behind the line": (Story(NINE, CGB=[REST]), "post"),
    "sections in doubt": (
        Story(slack_answers("post", "invalid_blocks", drop_after()), result(), waiting={"in_doubt": 1}, CGB=[""]),
        "post post",
    ),
    "abandonment": (Story(refuses(*NEW_BLOCKS), abandonment(), CGB=["^ABANDONED"]), "post"),
}
WORDS = {"chat.postMessage": "post", "chat.update": "edit"}


@pytest.mark.parametrize("name", STORIES)
async def test_blocks(pipeline, name):
    story, calls = STORIES[name]
    await play(pipeline, story)
    assert " ".join(WORDS[call.method] for call in pipeline.slack.calls if call.method in WORDS) == calls


async def test_edit_keeps_the_key_of_the_first_post(gb):
    await tell(gb, WAS_GOOD)
    (before,) = gb.slack.messages("CGB")
    await tell(gb, IS_SOFT)
    (after,) = gb.slack.messages("CGB")
    assert after.metadata["event_payload"]["post"] == before.metadata["event_payload"]["post"]
    assert after.metadata["event_type"] == METADATA_EVENT
