"""A wrong letter typed while the data service was away: no abandonment is missed, and the rest follows."""

import asyncio
import time
from typing import Any

import pytest

from sandbox.racing_places import courses_of
from tests.acceptance.payloads import abandoned, result
from tests.notice_levels import without_level

A_MINUTE_S = 60


async def wait_for_post(world, channel, beginning, *, timeout_s=A_MINUTE_S):
    def is_there():
        return any(without_level(text).startswith(beginning) for text in world.texts(channel))

    await world.slack.wait_for(is_there, timeout_s=timeout_s)


def count(world, channel, beginning):
    return sum(without_level(text).startswith(beginning) for text in world.texts(channel))


@pytest.mark.long
async def test_wrong_letter_while_the_service_is_away_loses_nothing(make_world):
    async with make_world(start=False) as world:
        ascot = courses_of("GB")[0]
        world.service.fail_next("*", "drop", times=100_000)
        await world.bot.start()
        for channel, words in (
            ("CGB", "gb"),
            ("CIRE", "ire"),
            ("CALL", f'gb results abandonments course:"{ascot.name.upper()}"'),
        ):
            assert "could not check" in await world.say("/racing", f"subscribe {words}", channel=channel)
        there: dict[str, Any] = {"course": {"course_id": ascot.course_id, "name": ascot.name}}
        await world.bot.deliver(abandoned("rc_1", **there))
        await asyncio.gather(*(wait_for_post(world, channel, "ABANDONED", timeout_s=60) for channel in ("CGB", "CALL")))
        # Results wait for the check, and are kept over a restart.
        for number in range(2):
            await world.bot.deliver(result(f"rc_result_{number}", **there))
        await world.bot.stop()
        await world.bot.start()
        await world.bot.deliver(result("rc_elsewhere", course="Nowhere Park"))
        world.service.heal()
        since = time.monotonic()
        await world.slack.wait_for(
            lambda: (count(world, "CGB", "Result"), count(world, "CALL", "Result")) == (3, 2), timeout_s=A_MINUTE_S
        )
        assert time.monotonic() - since < A_MINUTE_S
        await wait_for_post(world, "CGB", "This channel was subscribed to gb while I could not check that.")
        assert any("the subscription is to GB now" in text and "3 messages" in text for text in world.texts("CGB"))
        await wait_for_post(world, "CALL", "This channel was subscribed to gb")
        assert any(f"GB, {ascot.name} now" in text and "2 messages" in text for text in world.texts("CALL"))
        await wait_for_post(world, "CIRE", "This channel was subscribed to ire")
        await world.bot.stop()
        await world.bot.start()
        await world.bot.deliver(result("rc_after", **there))
        await world.slack.wait_for(lambda: count(world, "CGB", "Result") == 4, timeout_s=60)
        for channel, results in (("CGB", 4), ("CALL", 3), ("CIRE", 0)):
            await world.slack.wait_for(lambda c=channel, n=results: count(world, c, "Result") == n, timeout_s=60)
            assert count(world, channel, "ABANDONED") == (channel != "CIRE")
            assert count(world, channel, "This channel was subscribed") == 1
        said = await world.say("/racing", "list", channel="CGB")
        assert "publishes no region" not in said
