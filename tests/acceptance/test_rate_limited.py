"""What `rate_limited` asks for is waited, and no longer: whoever typed a command has their answer then."""

from collections.abc import Callable
from datetime import datetime, timedelta

from tests.clock import now


def five_seconds_into_a_minute() -> Callable[[], datetime]:
    """A clock of the data service whose minute began five seconds ago."""
    ahead = timedelta(seconds=(5 - now().second) % 60)
    return lambda: now() + ahead


async def test_request_is_repeated_after_retry_after_however_far_off_the_reset_is(make_world):
    async with make_world(start=False) as world:
        world.service.set_clock(five_seconds_into_a_minute())
        await world.bot.start()
        await world.say("/usage", "", channel="CGB")
        world.service.fail_next("/account/usage", "rate_limited", times=2)
        asked = len(world.service.requests)
        said = await world.say("/usage", "", channel="CGB")
        assert "15,000" in said, said
        refused, again, served = (one for one in world.service.requests[asked:] if one.endpoint == "/account/usage")
        assert [refused.status, again.status, served.status] == [429, 429, 200]
        # The stand-in's Retry-After is one second, each time, and its reset most of a minute off.
        assert timedelta(seconds=2) <= served.at - refused.at < timedelta(seconds=15)
