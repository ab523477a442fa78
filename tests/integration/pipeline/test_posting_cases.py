"""What stops a lane, or everything, and what does not: refusals, poison and outages."""

import json
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlmodel import col
from structlog.testing import capture_logs

from bot.db.database_clock import database_now
from bot.db.tables import ChannelQueue, EventVersion, OutboxMessage
from bot.errors import SlackDoubtful, SlackUnreached
from bot.outbox.messenger import Sender
from bot.settings import DoubtfulPosts
from bot.slack.web_client import WORDS_MAX
from sandbox.slack.failures import Failure, http_error, slack_error
from tests.databases import on_both
from tests.integration.conftest import TOKEN
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, tell
from tests.notice_levels import URGENT

POISON = "Poison Park"


@dataclass
class Stumbling:
    """A sender that fails on messages which name POISON, or only on those that have blocks."""

    sender: Sender
    error: Exception
    only_blocks: bool = False
    calls: list[bool] = field(default_factory=list)
    """Of each call that failed, whether it had blocks."""

    async def post(self, channel_id, message, **how):
        if POISON in message.text and (message.blocks or not self.only_blocks):
            self.calls.append(bool(message.blocks))
            raise self.error
        return await self.sender.post(channel_id, message, **how)

    async def update(self, channel_id, message_ts, message, **how):
        await self.sender.update(channel_id, message_ts, message, **how)

    async def find(self, *what, **how):
        return await self.sender.find(*what, **how)


def stumble(pipeline, error, **how):
    sender = Stumbling(pipeline.poster.sender, error, **how)
    pipeline.poster.claim_sender.sender = sender
    return sender


async def pass_time(pipeline, seconds=20):
    """As if so many seconds had passed, by the clock that is passed in and by PostgreSQL's own."""
    pipeline.clock.forward(seconds)

    def move(session):
        for post in session.execute(select(OutboxMessage).where(col(OutboxMessage.deadline_at).is_not(None))).scalars():
            post.deadline_at -= timedelta(seconds=seconds)

    await pipeline.database.write(move)
    await free_all(pipeline)


async def settle_once(pipeline):
    """Post what is due, and look twice for what is doubtful: it is then repeated, or given up."""
    for _ in range(2):
        await pass_time(pipeline)
        await pipeline.post_all()


async def post_of(pipeline, course):
    def read(session):
        statement = select(OutboxMessage).join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        return session.execute(statement.where(col(EventVersion.data).contains(course))).scalars().one()

    return await pipeline.database.read(read)


async def wait_of(pipeline, channel_id):
    """For how many seconds the lane's doubtful post is left alone; 0 where it is none any more."""

    def read(session):
        statement = select(col(ChannelQueue.next_free_at)).join(
            OutboxMessage, col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id)
        )
        free_at = session.execute(
            statement.where(
                col(ChannelQueue.channel_id) == channel_id, col(OutboxMessage.state).in_(["sending", "in_doubt"])
            )
        ).scalar_one_or_none()
        return (free_at - database_now(session, pipeline.clock)).total_seconds() if free_at else 0.0

    return await pipeline.database.read(read)


WORKSPACE_WIDE = (
    "org_login_required",
    "accesslimited",
    "access_denied",
    "team_access_not_granted",
    "two_factor_setup_required",
    "enterprise_is_restricted",
    "not_allowed_token_type",
)


@pytest.mark.parametrize("code", WORKSPACE_WIDE)
async def test_workspace_wide_refusal_holds_all_posts_and_loses_none(pipeline, code):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    pipeline.slack.script("chat.postMessage", [], then_always=slack_error(code))
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    assert (await pipeline.holds()).keys() == {"*"}
    assert await pipeline.waiting() == {"queued": 2}
    pipeline.slack.script("chat.postMessage", [])
    await free_all(pipeline)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == len(pipeline.texts("CALL")) == 1
    assert pipeline.texts("CADMIN") == []


BODIES = ({"error": "Forbidden"}, {"error": "channel_not_found", "ok": "false"}, ["not Slack"])


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("status", [200, 403])
async def test_json_that_is_no_answer_of_slacks_is_a_doubt(pipeline, body, status):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [Failure(name="proxy", status=status, body=json.dumps(body))])
    await tell(pipeline, result())
    assert await pipeline.waiting() == {"in_doubt": 1}
    await settle_once(pipeline)
    assert len(pipeline.texts("CGB")) == 1


@pytest.fixture
def quiet():
    """Without the log of errors that a test makes: to format them takes longer than the test."""
    with capture_logs():
        yield


DOUBTS = (SlackDoubtful("chat.postMessage", "internal_error"), AttributeError("a bug of ours"))


async def test_answer_whose_ts_is_no_time_is_a_doubt(pipeline):
    await pipeline.subscribe("CGB", "GB")
    odd = Failure(name="odd_ts", status=200, body='{"ok": true, "ts": "soon"}').accepted()
    pipeline.slack.script("chat.postMessage", [odd, http_error(500).accepted()])
    for race_id in ("rc_1", "rc_2"):
        await tell(pipeline, result(race_id))
        await settle_once(pipeline)
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 2


@pytest.mark.parametrize("error", DOUBTS, ids=["slack", "ours"])
@pytest.mark.usefixtures("quiet")
async def test_post_that_is_always_doubtful_is_given_up_while_others_are_posted(pipeline, error):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    sender = stumble(pipeline, error)
    await tell(pipeline, abandonment("rc_p", course=POISON), result("rc_behind"))
    for number in range(8):
        await tell(pipeline, result(f"rc_{number}", region="IRE"))
        await settle_once(pipeline)
    post = await post_of(pipeline, POISON)
    assert (post.state, len(sender.calls)) == ("dead_letter", 8)
    assert sender.calls == [True] * 4 + [False] * 4
    assert len(pipeline.texts("CGB")) == 1
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{URGENT}An abandonment's message for channel <#CGB> was not posted: 8 calls")
    assert "rc_p#1@CGB" in told


async def test_post_whose_blocks_slack_stumbles_over_goes_out_as_plain_text(pipeline):
    await pipeline.subscribe("CGB", "GB")
    sender = stumble(pipeline, DOUBTS[0], only_blocks=True)
    await tell(pipeline, abandonment("rc_p", course=POISON))
    for _ in range(4):
        await settle_once(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert POISON in message.text
    assert not message.blocks
    assert len(sender.calls) == 4


async def test_outage_gives_no_post_up_and_tells_admins_once_an_hour(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_before", region="IRE"))
    pipeline.clock.now = pipeline.clock.now.replace(minute=0)
    pipeline.slack.script("chat.postMessage", [], then_always=http_error(503))
    await tell(pipeline, result("rc_1"), result("rc_2", region="IRE"))
    for _ in range(12):
        await settle_once(pipeline)
    assert "dead_letter" not in await pipeline.waiting()
    pipeline.slack.script("chat.postMessage", [])
    for _ in range(2):
        await settle_once(pipeline)
    assert await pipeline.waiting() == {}
    assert (len(pipeline.texts("CGB")), len(pipeline.texts("CIRE"))) == (1, 2)
    assert 1 <= len(pipeline.texts("CADMIN")) <= 2


async def test_history_that_fails_is_looked_at_for_an_hour_before_a_held_post_is_parked(make_pipeline):
    pipeline = make_pipeline(doubtful=DoubtfulPosts.HOLD)
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [http_error(503)])
    pipeline.slack.script("conversations.history", [], then_always=http_error(503))
    await tell(pipeline, result())
    await pass_time(pipeline)
    waited = 0.0
    while await pipeline.waiting() == {"in_doubt": 1}:
        await pipeline.poster.start_due()
        await pipeline.poster.finish()
        waited += await wait_of(pipeline, "CGB")
        await free_all(pipeline)
    assert await pipeline.waiting() == {"dead_letter": 1, "queued": 1}
    assert 3590 <= waited <= 3700


async def test_held_post_is_settled_once_history_answers_again(make_pipeline):
    pipeline = make_pipeline(doubtful=DoubtfulPosts.HOLD)
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [http_error(503).accepted()])
    pipeline.slack.script("conversations.history", [http_error(503)] * 10)
    await tell(pipeline, result())
    for _ in range(12):
        await pass_time(pipeline)
        await pipeline.post_all()
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 1


@pytest.mark.usefixtures("quiet")
@on_both
async def test_stored_event_that_cant_be_read_keeps_nobody_waiting(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("here",))
    await pipeline.subscribe("CIRE", "IRE")
    for payload in (meeting("rc_9"), abandonment("rc_2", course="Kempton"), abandonment("rc_3", region="IRE")):
        await pipeline.deliver(payload)
    await pipeline.fanout.run_once()
    broken = update(EventVersion).where(col(EventVersion.region) == "GB").values(data="{}")
    await pipeline.database.write(lambda session: session.execute(broken))
    await pipeline.post_all()
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CIRE")) == 1
    assert all(text.startswith("ABANDONED: an event came") for text in pipeline.texts("CGB"))
    assert len(pipeline.texts("CGB")) == 2


@pytest.mark.parametrize("error", [SlackUnreached("chat.update", "refused"), *DOUBTS], ids=["left", "slack", "ours"])
@pytest.mark.usefixtures("quiet")
async def test_edit_that_gets_no_answer_delays_no_message_and_becomes_one_in_the_end(pipeline, error, monkeypatch):
    # A second of PostgreSQL's clock may be over before the test has said anything else.
    monkeypatch.setattr("bot.outbox.claim_sender.BACKOFF_S", (600.0,))
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1", going="Good"))
    sender = stumble(pipeline, error)
    tried = []

    async def update(*_what, **_how):
        tried.append(1)
        raise error

    sender.update = update
    await tell(pipeline, result("rc_1", going="Soft"))
    assert (await pipeline.holds()).keys() == {"chat.update"}
    await tell(pipeline, result("rc_2"), abandonment("rc_3"))
    assert (len(pipeline.texts("CGB")), len(tried)) == (3, 1)
    for _ in range(4):
        await free_all(pipeline)
        await pipeline.post_all()
    assert len(tried) == 5
    assert "Soft in the other" in pipeline.texts("CGB")[3]
    assert await pipeline.waiting() == {}


ECHOES = {
    "in the code": {"error": f"odd_{TOKEN}"},
    "in the scope that it needs": {"error": "missing_scope", "needed": f"chat:write {TOKEN}"},
    "in a message": {"error": "odd", "response_metadata": {"messages": [f"[ERROR] {TOKEN} is odd"]}},
    "in a message about blocks": {"error": "invalid_blocks", "response_metadata": {"messages": [TOKEN]}},
    "where the words are cut": {"error": "o" * (WORDS_MAX - 5) + TOKEN},
}


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
async def test_token_that_slack_echoes_is_stored_told_and_logged_masked(pipeline, echo, status):
    await pipeline.subscribe("CGB", "GB")
    echoing = Failure(name="echo", status=status, body=json.dumps({"ok": False} | echo))
    pipeline.slack.script("chat.postMessage", [echoing] * 4)
    with capture_logs() as logged:
        await tell(pipeline, abandonment())
        await free_all(pipeline)
        await pipeline.post_all()

    def stored(session):
        return [(row.detail, row.content) for row in session.execute(select(OutboxMessage)).scalars()]

    everything = [logged, await pipeline.database.read(stored), await pipeline.holds(), pipeline.texts("CADMIN")]
    assert "chat.postMessage" in str(everything)
    assert TOKEN[:10] not in str(everything)
