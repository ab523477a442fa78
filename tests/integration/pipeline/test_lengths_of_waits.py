"""How long each wait lasts: what Slack is asked, and when. On SQLite, where waits end by the test's clock alone."""

from collections import defaultdict

import pytest

from bot.db.database_clock import database_now
from bot.outbox import channel_queues
from bot.outbox.pace import Pace
from sandbox.slack.failures import http_error, rate_limited, slack_error
from tests.integration.pipeline.racing_day import result, tell

METHODS = {"post": "chat.postMessage", "edit": "chat.update", "look": "conversations.history"}
WORDS = {method: word for word, method in METHODS.items()}
FAILS = http_error(503)
OUTAGE = [FAILS] * 99


async def turns(pipeline, *, until_s):
    """Seconds from now → what Slack is asked then. The clock goes from one turn of the poster to the next."""
    begun = pipeline.clock()
    asked: dict[float, str] = defaultdict(str)

    def next_due(session):
        return channel_queues.next_due(session, database_now(session, pipeline.clock))

    while (passed_s := (pipeline.clock() - begun).total_seconds()) <= until_s:
        before = len(pipeline.slack.calls)
        await pipeline.post_all()
        asked[round(passed_s, 1)] += " ".join(WORDS[call.method] for call in pipeline.slack.calls[before:])
        due = await pipeline.database.read(next_due)
        if due is None:
            break
        pipeline.clock.now = max(due, pipeline.clock())
    return dict(asked)


IN_DOUBT = {0: "post", 5: ""}
"""The first turn after the call's deadline finds that the history may lag."""

SIX_LOOKS = {15: "look", 20: "look", 30: "look", 50: "look", 90: "look", 150: "look post"}
EDITED_AGAIN = dict.fromkeys([0, 1, 3, 8, 18, 48, 78], "edit")
EIGHT_LOOKS = dict.fromkeys([1, 3, 8, 18, 48, 78, 108], "edit look")


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ({"post": [rate_limited(7)]}, {0: "post", 7: "post"}),
        ({"post": [slack_error("token_revoked")]}, {0: "post", 60: "post"}),
        ({"post": [FAILS.accepted()]}, IN_DOUBT | {15: "look"}),
        ({"post": [FAILS]}, IN_DOUBT | {15: "look", 20: "look post"}),
        ({"post": [FAILS], "look": OUTAGE}, IN_DOUBT | SIX_LOOKS),
        ({"post": [FAILS], "look": [rate_limited(9)]}, IN_DOUBT | {15: "look", 24: "look", 29: "look post"}),
        (
            {"post": [FAILS], "look": [slack_error("token_revoked")]},
            IN_DOUBT | {15: "look", 75: "look", 80: "look post"},
        ),
    ],
    ids=["limited", "token", "accepted", "not there", "six looks", "look limited", "token at the look"],
)
async def test_message_is_sent_again_or_looked_for_after_its_wait(pipeline, failures, expected):
    await pipeline.subscribe("CGB", "GB")
    for word, script in failures.items():
        pipeline.slack.script(METHODS[word], script)
    await pipeline.deliver(result())
    assert await turns(pipeline, until_s=400) == expected
    assert len(pipeline.texts("CGB")) == 1


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ({"edit": [rate_limited(7)]}, {0: "edit", 7: "edit"}),
        ({"edit": OUTAGE}, EDITED_AGAIN),
        (
            {"edit": [FAILS, *[slack_error("edit_window_closed")] * 9], "look": OUTAGE},
            {0: "edit"} | EIGHT_LOOKS | {138: "edit look post"},
        ),
    ],
    ids=["limited", "outage", "eight looks"],
)
async def test_edit_is_made_again_after_its_wait(pipeline, failures, expected):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result())
    for word, script in failures.items():
        pipeline.slack.script(METHODS[word], script)
    await pipeline.deliver(result(going="Soft"))
    found = await turns(pipeline, until_s=max(expected))
    assert found == expected


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([], {0: "post", 1: "post", 2: "post"}),
        # The second of the first turn is the notice to admins.
        ([slack_error("never_heard_of_it")], {0: "post post", 1: "post", 2: "post"}),
        ([slack_error("invalid_blocks")] * 2, {0: "post post post", 1: "post", 2: "post"}),
    ],
    ids=["taken", "given up", "in words"],
)
async def test_channel_gets_a_message_a_second(make_pipeline, failures, expected):
    pipeline = make_pipeline(pace=Pace())
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script(METHODS["post"], failures)
    for number in range(3):
        await pipeline.deliver(result(f"rc_{number}"))
    assert await turns(pipeline, until_s=60) == expected
