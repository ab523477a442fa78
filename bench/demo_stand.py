"""The demo's page with a bot and a browser, for the picture and the measures of the page."""

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
