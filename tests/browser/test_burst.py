"""The bot is killed amid fifty deliveries."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

BURST = 50
TIMEOUT_S = 300


@pytest.mark.timeout(TIMEOUT_S)
async def test_bot_killed_amid_fifty_deliveries_loses_and_doubles_nothing(desk):
    """A channel for each region, since a channel takes a message a second."""
    page = await desk.open()
    racing = desk.stage.service.racing
    regions = sorted({race.course.region for race in racing.races(racing.today)})
    for region in regions:
        desk.stage.slack.add_channel(f"C0{region}DESK", f"desk-{region.lower()}")
        assert await desk.stage.say(f"C0{region}DESK", "U0ALICE", f"/racing subscribe {region}") is None
    await page.click("#tab-trouble")
    await page.click("[data-trouble=bot_killed_in_burst]")
    await page.wait_for_selector(".down")
    await page.click("[data-trouble=bot_killed_in_burst]")
    await page.wait_for_selector(".up")
    counts = await desk.counts_with(page, told=BURST)
    waiting = [one.attempts for one in desk.stage.service.deliveries if one.status != "delivered"]
    assert counts["told"] == str(BURST), (counts, waiting, desk.stage.bot.log_end())
    assert (counts["lost"], counts["doubled"], counts["out of order"]) == ("0", "0", "0")
    assert any(len(one.attempts) > 1 for one in desk.stage.service.deliveries), "the kill was amid the deliveries"
    for region in regions:
        assert await desk.stage.say(f"C0{region}DESK", "U0ALICE", f"/racing unsubscribe {region}") is None
