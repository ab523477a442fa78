"""Troubles, each a switch: a context in which something fails. The docstring is the expected effect, as on the page."""

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace

from bot.clock import utc_now
from sandbox.demo_bot import BotProcess
from sandbox.demo_stage import PLAN, RETRY_GAPS_S, SERVICE_TIMEOUT_S, Stage
from sandbox.page.happenings import burst
from sandbox.racing_service.plan_table import PLANS
from sandbox.slack import failures
from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.failures import Failure
from sandbox.slack.values import PostedMessage

Steps = AsyncIterator[None]
Needs = Callable[[Stage], str | None]

VERY_OFTEN = 100_000
BIGGER_PLAN = "analyst"
SLOW_S = 2.0
METHODS = ("chat.postMessage", "chat.update", "conversations.history")
CHANNEL = "C0GB"
FULL_AT_BYTES = 1_000
KILLED_AFTER_S = 0.3


@dataclass(frozen=True)
class Trouble:
    """`needs` is the reason why the trouble can't be had here."""

    name: str
    title: str
    expected: str
    lasts: Callable[[Stage], AbstractAsyncContextManager[None]]
    needs: Needs


TROUBLES: list[Trouble] = []


def trouble(title: str, needs: Needs = lambda _stage: None) -> Callable[[Callable[[Stage], Steps]], None]:
    """Lists a trouble: the function begins, yields while the switch is on, and ends."""

    def add(steps: Callable[[Stage], Steps]) -> None:
        TROUBLES.append(Trouble(steps.__name__, title, steps.__doc__ or "", asynccontextmanager(steps), needs))

    return add


@trouble("The bot is killed")
async def bot_killed(stage: Stage) -> Steps:
    """Deliveries fail and are sent again. When the bot is back, nothing is lost."""
    stage.bot.kill()
    yield
    await stage.start_bot()


@trouble("The bot is killed amid 50 deliveries")
async def bot_killed_in_burst(stage: Stage) -> Steps:
    """What was accepted is on disk. What was not is delivered again. Each is posted once."""
    await burst(stage, "")
    await asyncio.sleep(KILLED_AFTER_S)
    stage.bot.kill()
    yield
    await stage.start_bot()


async def _slack_fails(stage: Stage, failure: Failure) -> Steps:
    for method in METHODS:
        stage.slack.script(method, [], then_always=failure)
    yield
    for method in METHODS:
        stage.slack.script(method, [])


@trouble("Slack is down")
def slack_down(stage: Stage) -> Steps:
    """Deliveries are taken and wait. Afterwards they are posted, abandonments first."""
    return _slack_fails(stage, failures.slack_error("service_unavailable"))


@trouble("Slack is slow")
def slack_slow(stage: Stage) -> Steps:
    """Messages come two seconds later, and none comes twice."""
    return _slack_fails(stage, failures.delay_after(SLOW_S))


@trouble("Slack answers 429")
def slack_limits(stage: Stage) -> Steps:
    """The bot waits as long as Slack asks, and posts then."""
    return _slack_fails(stage, failures.rate_limited(1))


@trouble("Slack's answers are lost")
def slack_silent(stage: Stage) -> Steps:
    """The message may be there: the bot looks before it repeats. Nothing is doubled."""
    return _slack_fails(stage, failures.drop_after())


@trouble("Slack refuses native tables")
async def blocks_refused(stage: Stage) -> Steps:
    """The same message comes in plain sections, and so do later messages for a day."""
    stage.slack.refused_blocks = NEW_BLOCKS
    yield
    stage.slack.refused_blocks = ()


@trouble("#gb-racing is archived")
async def channel_archived(stage: Stage) -> Steps:
    """Its messages wait, and admins are told. Afterwards they come, those older than three hours in one summary."""
    await stage.slack.archive(CHANNEL, stage.bot.url)
    yield
    await stage.slack.unarchive(CHANNEL, stage.bot.url)


@trouble("The bot is removed from #gb-racing")
async def bot_removed(stage: Stage) -> Steps:
    """Its messages wait, and admins are told. Once the bot is invited again, they are posted."""
    await stage.slack.remove_bot(CHANNEL, stage.bot.url)
    yield
    await stage.slack.invite_bot(CHANNEL, stage.bot.url)


async def _service_fails(stage: Stage, failure: str) -> Steps:
    stage.service.switch(slow_s=SLOW_S)
    stage.service.fail_next("*", failure, VERY_OFTEN)
    yield
    stage.service.heal()


@trouble("The data service is down")
def service_down(stage: Stage) -> Steps:
    """Alerts go on. Commands say what failed, and answer from what the bot keeps."""
    return _service_fails(stage, "server_error")


@trouble("The data service is slow")
def service_slow(stage: Stage) -> Steps:
    """Alerts go on. A command says that it works on an answer."""
    return _service_fails(stage, "slow")


@trouble("The data service answers 429")
def service_limited(stage: Stage) -> Steps:
    """Commands wait their turn."""
    return _service_fails(stage, "rate_limited")


@trouble("The month's quota is spent")
async def quota_spent(stage: Stage) -> Steps:
    """Admins are warned at once. Alerts go on, since deliveries cost nothing. Switched off, the plan is bigger."""
    stage.service.set_plan(PLAN)
    stage.service.set_used(PLANS[PLAN].per_month)
    yield
    stage.service.set_plan(BIGGER_PLAN)


@trouble("The key is rotated")
async def key_rotated(stage: Stage) -> Steps:
    """Admins are told once. Alerts go on. Switched off, the bot starts again with the new key."""
    stage.service.rotate_key()
    yield
    await stage.bot.stop()
    await stage.start_bot()


@trouble("Each delivery comes twice")
async def delivered_twice(stage: Stage) -> Steps:
    """The second is answered “duplicate” and posted nowhere."""
    stage.service.switch(repeat_every=1)
    yield
    stage.service.switch(repeat_every=0)


@trouble("Deliveries are given up")
async def deliveries_given_up(stage: Stage) -> Steps:
    """Nothing arrives. Switched off, the bot finds the failed deliveries within seconds, and posts the events late."""
    # Given up at the first failure, as after a day of failures.
    stage.service.switch(retry_gaps_s=(), delivery_timeout_s=0.0)
    yield
    stage.service.switch(retry_gaps_s=RETRY_GAPS_S, delivery_timeout_s=SERVICE_TIMEOUT_S)


@trouble(
    "The disk is full",
    lambda _stage: None if sys.platform == "linux" else "Only Linux can limit the files of a process that runs.",
)
async def disk_full(stage: Stage) -> Steps:
    """Deliveries are refused with 503 and sent again. Nothing that was accepted is lost."""
    _limit_files(stage, FULL_AT_BYTES)
    yield
    _limit_files(stage, resource.RLIM_INFINITY)


def _limit_files(stage: Stage, most_bytes: int) -> None:
    if stage.bot.pid is not None and sys.platform == "linux":
        _, hard = resource.prlimit(stage.bot.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(stage.bot.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))


@trouble("Slack swallows one message")
async def slack_swallows(stage: Stage) -> Steps:
    """Slack said that it had the message: no bot can know. The page counts 1 lost."""
    taken = json.dumps({"ok": True, "channel": CHANNEL, "ts": f"{utc_now().timestamp():.6f}"})
    stage.slack.script("chat.postMessage", [Failure(name="swallowed", status=200, body=taken)])
    yield


@trouble("Slack doubles one message")
async def slack_doubles(stage: Stage) -> Steps:
    """No bot does that. The page counts 1 doubled."""
    slack = stage.slack

    def copy(message: PostedMessage) -> None:
        if message.only is None and not message.edited:
            slack.listeners.remove(copy)
            slack.put(replace(message, ts=slack.timestamps.issue()))

    slack.listeners.append(copy)
    yield


@trouble(
    "A second replica",
    lambda stage: (
        None
        if stage.bot.database_url.startswith("postgresql")
        else "Replicas share a PostgreSQL: start the demo with --database-url postgresql://…"
    ),
)
async def second_replica(stage: Stage) -> Steps:
    """Both post from one database. Each message comes once."""
    second = BotProcess(stage.bot.folder, stage.bot.database_url, "second.log")
    try:
        await second.start(stage.settings())
        yield
    finally:
        await second.stop()
