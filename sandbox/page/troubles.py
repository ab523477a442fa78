"""Troubles, each a switch with the expected effect."""

import asyncio
import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import isawaitable

from bot.clock import utc_now
from sandbox.demo_stage import PLAN, SERVICE_TIMEOUT_S, Stage
from sandbox.page.happenings import burst
from sandbox.racing_service.plan_table import PLANS
from sandbox.slack import failures
from sandbox.slack.block_rules import NEW_BLOCKS
from sandbox.slack.failures import Failure
from sandbox.slack.values import EphemeralMessage, PostedMessage

Act = Callable[[Stage], object]
"""A plain or an async function."""

VERY_OFTEN = 100_000
BIGGER_PLAN = "analyst"
SLOW_S = 2.0
METHODS = ("chat.postMessage", "chat.update", "conversations.history")
CHANNEL = "C0GB"
FULL_AT_BYTES = 1_000
KILLED_AFTER_S = 0.3


@dataclass(frozen=True)
class Trouble:
    """A switch. `needs` is the reason why the trouble can't be had here."""

    name: str
    title: str
    expected: str
    on: Act
    off: Act
    needs: Callable[[Stage], str | None] = lambda _stage: None

    async def switch(self, stage: Stage, *, on: bool) -> None:
        result = self.on(stage) if on else self.off(stage)
        if isawaitable(result):
            await result


def _slack(failure: Callable[[], Failure]) -> tuple[Act, Act]:
    def begin(stage: Stage) -> None:
        for method in METHODS:
            stage.slack.script(method, [], then_always=failure())

    def end(stage: Stage) -> None:
        for method in METHODS:
            stage.slack.script(method, [])

    return begin, end


def _service(failure: str) -> tuple[Act, Act]:
    def begin(stage: Stage) -> None:
        stage.service.switch(slow_s=SLOW_S)
        stage.service.fail_next("*", failure, VERY_OFTEN)

    return begin, lambda stage: stage.service.heal()


def _spend_all(stage: Stage) -> None:
    stage.service.set_plan(PLAN)
    stage.service.set_used(PLANS[PLAN].per_month)


async def _restart(stage: Stage) -> None:
    await stage.bot.stop()
    await stage.start_bot()


def _refuse_blocks(stage: Stage) -> None:
    stage.slack.refused_blocks = NEW_BLOCKS


def _take_blocks(stage: Stage) -> None:
    stage.slack.refused_blocks = ()


async def _start(stage: Stage) -> None:
    if not stage.bot.is_running:
        await stage.start_bot()


async def _kill_in_burst(stage: Stage) -> None:
    await burst(stage, "")
    await asyncio.sleep(KILLED_AFTER_S)
    stage.bot.kill()


def _limit_files(stage: Stage, most_bytes: int) -> None:
    if stage.bot.pid is not None and sys.platform == "linux":
        _, hard = resource.prlimit(stage.bot.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(stage.bot.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))


def _swallow(stage: Stage) -> None:
    taken = json.dumps({"ok": True, "channel": CHANNEL, "ts": f"{utc_now().timestamp():.6f}"})
    stage.slack.script("chat.postMessage", [Failure(name="swallowed", status=200, body=taken)])


def _double(stage: Stage) -> None:
    slack = stage.slack

    def copy(message: PostedMessage | EphemeralMessage) -> None:
        if isinstance(message, PostedMessage) and not message.edited:
            slack.listeners.remove(copy)
            slack.put(replace(message, ts=slack.timestamps.issue()))

    slack.listeners.append(copy)


def _nothing(_stage: Stage) -> None:
    """Only a single message was met."""


def _needs_linux(_stage: Stage) -> str | None:
    return None if sys.platform == "linux" else "Only Linux can limit the files of a process that runs."


def _needs_postgresql(stage: Stage) -> str | None:
    if stage.bot.database_url.startswith("postgresql"):
        return None
    return "Replicas share a PostgreSQL: start the demo with --database-url postgresql://…"


def send_again(stage: Stage) -> None:
    """Failed deliveries are due at once, in place of half a minute later."""
    for delivery in stage.service.deliveries:
        if delivery.status == "pending" and delivery.next_at is not None:
            delivery.next_at = utc_now()


TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        "bot_killed",
        "The bot is killed",
        "Deliveries fail and are sent again. When the bot is back, nothing is lost.",
        lambda stage: stage.bot.kill(),
        _start,
    ),
    Trouble(
        "bot_killed_in_burst",
        "The bot is killed amid 50 deliveries",
        "What was accepted is on disk. What was not is delivered again. Each is posted once.",
        _kill_in_burst,
        _start,
    ),
    Trouble(
        "slack_down",
        "Slack is down",
        "Deliveries are taken and wait. Afterwards they are posted, abandonments first.",
        *_slack(lambda: failures.slack_error("service_unavailable")),
    ),
    Trouble(
        "slack_slow",
        "Slack is slow",
        "Messages come two seconds later, and none comes twice.",
        *_slack(lambda: failures.delay_after(SLOW_S)),
    ),
    Trouble(
        "slack_limits",
        "Slack answers 429",
        "The bot waits as long as Slack asks, and posts then.",
        *_slack(lambda: failures.rate_limited(1)),
    ),
    Trouble(
        "slack_silent",
        "Slack's answers are lost",
        "The message may be there: the bot looks before it repeats. Nothing is doubled.",
        *_slack(failures.drop_after),
    ),
    Trouble(
        "blocks_refused",
        "Slack refuses native tables",
        "The same message comes in plain sections, and so do later messages for a day.",
        _refuse_blocks,
        _take_blocks,
    ),
    Trouble(
        "channel_archived",
        "#gb-racing is archived",
        "Its messages wait, and admins are told. Afterwards they come, those older than three hours in one summary.",
        lambda stage: stage.slack.archive(CHANNEL, stage.bot.url),
        lambda stage: stage.slack.unarchive(CHANNEL, stage.bot.url),
    ),
    Trouble(
        "bot_removed",
        "The bot is removed from #gb-racing",
        "Its messages wait, and admins are told. Once the bot is invited again, they are posted.",
        lambda stage: stage.slack.remove_bot(CHANNEL, stage.bot.url),
        lambda stage: stage.slack.invite_bot(CHANNEL, stage.bot.url),
    ),
    Trouble(
        "service_down",
        "The data service is down",
        "Alerts go on. Commands say what failed, and answer from what the bot keeps.",
        *_service("server_error"),
    ),
    Trouble(
        "service_slow",
        "The data service is slow",
        "Alerts go on. A command says that it works on an answer.",
        *_service("slow"),
    ),
    Trouble("service_limited", "The data service answers 429", "Commands wait their turn.", *_service("rate_limited")),
    Trouble(
        "quota_spent",
        "The month's quota is spent",
        "Admins are warned at once. Alerts go on, since deliveries cost nothing. Switched off, the plan is bigger.",
        _spend_all,
        lambda stage: stage.service.set_plan(BIGGER_PLAN),
    ),
    Trouble(
        "key_rotated",
        "The key is rotated",
        "Admins are told once. Alerts go on. Switched off, the bot starts again with the new key.",
        lambda stage: stage.service.rotate_key(),
        _restart,
    ),
    Trouble(
        "delivered_twice",
        "Each delivery comes twice",
        "The second is answered “duplicate” and posted nowhere.",
        lambda stage: stage.service.switch(repeat_every=1),
        lambda stage: stage.service.switch(repeat_every=0),
    ),
    Trouble(
        "deliveries_given_up",
        "Deliveries are given up",
        "Nothing arrives. Switched off, the bot finds the failed deliveries within seconds, and posts the events late.",
        # Given up at the first failure, as after a day of failures.
        lambda stage: stage.service.switch(retry_gaps_s=(), delivery_timeout_s=0.0),
        lambda stage: stage.service.switch(retry_gaps_s=stage.retry_gaps_s, delivery_timeout_s=SERVICE_TIMEOUT_S),
    ),
    Trouble(
        "disk_full",
        "The disk is full",
        "Deliveries are refused with 503 and sent again. Nothing that was accepted is lost.",
        lambda stage: _limit_files(stage, FULL_AT_BYTES),
        lambda stage: _limit_files(stage, resource.RLIM_INFINITY),
        _needs_linux,
    ),
    Trouble(
        "slack_swallows",
        "Slack swallows one message",
        "Slack said that it had the message: no bot can know. The page counts 1 lost.",
        _swallow,
        _nothing,
    ),
    Trouble(
        "slack_doubles",
        "Slack doubles one message",
        "No bot does that. The page counts 1 doubled.",
        _double,
        _nothing,
    ),
    Trouble(
        "second_replica",
        "A second replica",
        "Both post from one database. Each message comes once.",
        lambda stage: stage.start_second(),
        lambda stage: stage.stop_second(),
        _needs_postgresql,
    ),
)
BY_NAME = {trouble.name: trouble for trouble in TROUBLES}
