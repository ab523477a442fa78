"""Every trouble at its switch, and counts that are no ornament."""

import pytest

from sandbox.page.troubles import TROUBLES

pytestmark = pytest.mark.asyncio(loop_scope="session")

REGIONS = ("GB", "USA")
BY_THEMSELVES = {"slack_swallows", "slack_doubles", "bot_killed_in_burst"}
LASTING = [one for one in TROUBLES if one.name not in BY_THEMSELVES]


async def at_trouble(desk, line="/racing subscribe all"):
    page = await desk.subscribed(line)
    await page.click("#tab-trouble")
    return page


async def switch(page, name, *, on):
    await page.click(f"[data-trouble={name}]")
    await page.wait_for_selector(f"[data-trouble={name}][aria-checked={str(on).lower()}]")


async def counted(desk, page, name, value):
    try:
        await page.wait_for_selector(f"[data-count='{name}'] dd:text-is('{value}')")
    except Exception as error:
        said = {id_: [one.text for one in desk.stage.slack.messages(id_)] for id_ in desk.stage.slack.channels}
        raise AssertionError((await desk.counts(page), said)) from error


async def settle_one(desk, page):
    region = max(REGIONS, key=lambda one: len(desk.races(one)))
    await page.click("#tab-day")
    race, row = await desk.race(page, region)
    await row.get_by_text("Settle", exact=True).click()
    await page.click("#tab-trouble")
    return race


async def test_page_says_that_a_message_was_lost_and_which(desk):
    page = await at_trouble(desk)
    await page.click("[data-trouble=slack_swallows]")
    race = await settle_one(desk, page)
    await counted(desk, page, "lost", 1)
    await page.wait_for_selector(f"#problems:has-text('lost: result.received, {race.course.name} {race.off_time}')")


async def test_page_says_that_a_message_was_doubled(desk):
    page = await at_trouble(desk)
    await page.click("[data-trouble=slack_doubles]")
    await settle_one(desk, page)
    await counted(desk, page, "doubled", 1)


@pytest.mark.parametrize(
    "trouble", [one for one in TROUBLES if one.name not in BY_THEMSELVES], ids=lambda one: one.name
)
async def test_trouble_is_switched_on_and_off_and_nothing_is_lost(desk, trouble):
    page = await at_trouble(desk)
    button = page.locator(f"[data-trouble={trouble.name}]")
    if (missing := trouble.needs(desk.stage)) is not None:
        assert await button.is_disabled()
        assert missing in await page.inner_text("#panel-trouble")
        return
    await switch(page, trouble.name, on=True)
    await settle_one(desk, page)
    await switch(page, trouble.name, on=False)
    await counted(desk, page, "told", 1)
    counts = await desk.counts(page)
    assert (counts["lost"], counts["doubled"]) == ("0", "0")
    assert "So far" in await page.locator(f"li:has([data-trouble={trouble.name}]) .did").inner_text()
