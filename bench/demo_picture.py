"""`python -m bench.demo_picture`: draws the README's pictures, light and dark, from the demo's real page."""

import asyncio
import io
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage
from sandbox.loopback_server import serve
from sandbox.page.page_app import Page, build_page

PICTURES = Path(__file__).parents[1] / "docs/pictures"
SIZE = {"width": 1280, "height": 760}
SUBSCRIBED = {"C0GB": "GB", "C0IRE": "IRE results abandonments racecards", "C0ALL": "all abandonments"}
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Stand:
    stage: Stage
    browser: Any
    address: str


@asynccontextmanager
async def open_browser() -> AsyncIterator[Any]:
    """Raises LookupError without Chromium."""
    from playwright.async_api import async_playwright  # noqa: PLC0415  of the dependency group "browser"

    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        raise LookupError("no Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        await browser.close()


@asynccontextmanager
async def open_stand() -> AsyncIterator[Stand]:
    with tempfile.TemporaryDirectory(prefix="racing-bot-demo-") as folder:
        screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()))
        async with (
            open_stage(Path(folder), screen, 1.0) as stage,
            serve(build_page(Page(stage))) as address,
            open_browser() as browser,
        ):
            await stage.start_bot()
            delivering = asyncio.create_task(stage.service.run_deliveries())
            yield Stand(stage, browser, address)
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)


async def main() -> None:
    async with open_stand() as stand:
        for channel_id, words in SUBSCRIBED.items():
            await stand.stage.say(channel_id, "U0ALICE", f"/racing subscribe {words}")
        await race(stand)
        for scheme in ("light", "dark"):
            page = await opened(stand, scheme)
            PICTURES.mkdir(exist_ok=True)
            await page.screenshot(path=PICTURES / f"demo-{scheme}.png")


async def race(stand: Stand) -> None:
    """Two results and two abandonments."""
    service = stand.stage.service
    british, other = service.racing.meetings(service.racing.today, "GB")[:2]
    (irish, *_) = service.racing.meetings(service.racing.today, "IRE")
    service.settle(british.races[0].race_id)
    await there(stand, "C0GB", 1)
    service.settle(irish.races[0].race_id)
    service.abandon_race(other.races[1].race_id, "High winds")
    await there(stand, "C0GB", 2)
    service.abandon_meeting(irish.meeting_id, "Frozen track")
    await there(stand, "C0IRE", 2)


async def there(stand: Stand, channel_id: str, messages: int) -> None:
    await stand.stage.slack.wait_for(lambda: len(stand.stage.slack.messages(channel_id)) >= messages, 60)


async def opened(stand: Stand, scheme: str) -> Any:
    context = await stand.browser.new_context(color_scheme=scheme, viewport=SIZE, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(stand.address)
    await page.click("#channels button:has-text('#gb-racing')")
    await page.wait_for_selector(".is-alarm")
    await page.click("#panel-day summary >> nth=0")
    return page


if __name__ == "__main__":
    asyncio.run(main())
