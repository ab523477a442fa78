"""The demo's page in a real browser: the bot as a process of its own, stand-ins over HTTP, and Debian's Chromium."""

import asyncio
import importlib.util
import io
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage
from sandbox.loopback_server import serve
from sandbox.page.page_app import Page, build_page
from tests.clock import real_clock
from tests.world import settled

PATIENCE_MS = 60_000
BURST_PATIENCE_MS = 180_000
LOST_AFTER_S = 4
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def why_not() -> str | None:
    """None where a browser can be driven."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed: uv run --group browser pytest -m browser tests/browser"
    return None if CHROMIUM else "no Chromium: apt-get install chromium"


def pytest_collection_modifyitems(items):
    if not (own := [item for item in items if item.nodeid.startswith("tests/browser/")]):
        return
    reason = why_not()
    # A day that plays leaves few races. A workspace that has refused native blocks gets none for a while.
    items.sort(key=lambda item: ("test_troubles.py" in item.nodeid, "day_plays" in item.name))
    for item in own:
        item.add_marker(pytest.mark.browser)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclass
class Desk:
    """A person at the page. `channel` belongs to the test alone. `errors` come from the browser's console."""

    stage: Stage
    address: str
    browser: Any
    channel: str
    channel_id: str
    errors: list[str] = field(default_factory=list)

    async def open(self, **context):
        """A page of its own, with a colour scheme, a width, a taste."""
        opened = await (await self.browser.new_context(**context)).new_page()
        opened.set_default_timeout(PATIENCE_MS)
        opened.on(
            "console",
            lambda one: (
                self.errors.append(one.text) if one.type == "error" and "Failed to load" not in one.text else None
            ),
        )
        opened.on("pageerror", lambda one: self.errors.append(str(one)))
        await opened.goto(self.address)
        await self.choose(opened, self.channel)
        return opened

    async def type(self, page, line):
        await page.fill("#line", line)
        await page.press("#line", "Enter")

    async def choose(self, page, channel):
        if await page.locator("#open-side").is_visible():
            await page.click("#open-side")
        await page.click(f"#channels button:has-text('#{channel}')")
        await page.wait_for_selector(f"#channel-title:text-is('#{channel}')")

    async def subscribed(self, line="/racing subscribe GB", **context):
        """A page whose channel has subscribed by typing."""
        page = await self.open(**context)
        await self.type(page, line)
        await page.wait_for_selector(".is-ephemeral:has-text('This channel receives')")
        return page

    async def end_subscriptions(self, channel_id):
        """Until nothing is left to end: a busy bot may put a person off."""
        line = "/racing unsubscribe all"
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                person = self.stage.slack.person("U0ALICE", self.stage.bot.url)
                answer = await person.types(line, channel=channel_id)
                await self.stage.look()
                if answer.error is None and "has no subscriptions" in (await settled(answer)).text:
                    return

    def is_run(self, race):
        return self.stage.service.racing.state(race).status != "declared"

    def races(self, region):
        """Today's races of a region, still to come."""
        racing = self.stage.service.racing
        return [race for race in racing.races(racing.today, region) if not self.is_run(race)]

    async def race(self, page, region):
        """A race still to come, and its row in an open meeting."""
        race = self.races(region)[0]
        folded = page.locator(f"details[data-id='{race.meeting_id}']:not([open]) > summary")
        if await folded.count():
            await folded.click()
        return race, page.locator(f"[data-race='{race.race_id}']")

    async def counts_with(self, page, told):
        """The counts once so many are told, or the counts at the end of patience."""
        from playwright.async_api import TimeoutError as PatienceEnded

        with suppress(PatienceEnded):
            await page.wait_for_selector(f"[data-count='told'] dd:text-is('{told}')", timeout=BURST_PATIENCE_MS)
        return await self.counts(page)

    async def counts(self, page):
        """The counts, as a person on a wide screen reads them."""
        return await page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('#counts .count')]"
            ".map((row) => [row.dataset.count, row.querySelector('dd').textContent]))"
        )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage(tmp_path_factory):
    """A stage with a running bot, for all tests of a worker."""
    screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()))
    with real_clock():
        async with open_stage(tmp_path_factory.mktemp("stage"), screen, 1.0) as opened:
            await opened.start_bot()
            delivering = asyncio.create_task(opened.service.run_deliveries())
            yield opened
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser():
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        await launched.close()


numbers = count(1)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(stage, browser):
    """The page with a channel of the test's own, unsubscribed at the end."""
    number = next(numbers)
    channel_id = f"C0DESK{number}"
    # The name ends with no digit, since the count of unread messages follows the name.
    channel = stage.slack.add_channel(channel_id, f"desk-{number}-own")
    page = Page(stage, LOST_AFTER_S)
    async with serve(build_page(page)) as address:
        found = Desk(stage, address, browser, channel.name, channel_id)
        yield found
        for context in browser.contexts:
            await context.close()
    await page.aclose()
    stage.slack.views.clear()
    for name in list(page.on):
        await page.trouble({"name": name, "on": False})
    await found.end_subscriptions(channel_id)
    stage.choices.wanted.clear()
    # The next test counts its own deliveries. This test's messages stay, since the bot may yet look for one.
    stage.service.delivery_queue.forget()
    del stage.slack.channels[channel_id]
    assert found.errors == []
