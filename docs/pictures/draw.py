"""`python -m docs.pictures.draw page` draws the README's pictures, light and dark, from the demo's real page.

`python -m docs.pictures.draw [KIND…]` draws a picture of each kind of message that docs/pictures/README.md shows, at a
phone's and a desktop's width: the kept snapshots, by the demo's page in a real browser. The marks need a font with
emoji, such as Debian's fonts-noto-color-emoji.
"""

import asyncio
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.demo_day import SUBSCRIBED
from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage
from sandbox.loopback_server import serve
from sandbox.page.page_app import Page, build_page

PICTURES = Path(__file__).parent
SIZE = {"width": 1280, "height": 760}
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


SNAPSHOTS = PICTURES.parents[1] / "tests/unit/messages/snapshots"
FOLDER = PICTURES / "messages"
PAGE = PICTURES / "README.md"
WIDTHS = (380, 1200)
COLOURS = 64

DRAW = """async ([blocks, text, width]) => {
  const { drawBlocks } = await import("/static/blocks.js");
  const { mrkdwn } = await import("/static/mrkdwn.js");
  const context = { names: {}, people: {}, inputs: [], press() {}, lookUp: async () => [] };
  const holder = document.createElement("div");
  holder.id = "picture";
  holder.style.cssText = `width: ${width}px; padding: 0 12px; display: flow-root; background: var(--ground)`;
  holder.append(blocks.length ? drawBlocks(blocks, context) : mrkdwn(text, {}));
  document.body.replaceChildren(holder);
  document.body.style.cssText = "height: auto; display: block; overflow: visible";
}"""


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


async def draw_page() -> None:
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


async def draw_messages(kinds: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with open_stand() as stand:
        context = await stand.browser.new_context(color_scheme="light", viewport={"width": 1240, "height": 900})
        for name in kinds or names():
            for width in WIDTHS:
                page = await context.new_page()
                await page.goto(stand.address)
                await draw(page, name, width)
                await page.close()


def names() -> list[str]:
    """The snapshots that the page shows."""
    return re.findall(rf"\[!\[\]\(messages/(\w+)-{WIDTHS[0]}\.png\)\]", PAGE.read_text(encoding="utf-8"))


async def draw(page: Any, name: str, width: int) -> None:
    from PIL import Image  # noqa: PLC0415  of the dependency group "browser"

    said = json.loads((SNAPSHOTS / f"{name}.json").read_text("utf-8"))
    view = said.get("view", {})
    blocks = said.get("blocks") or [*_title(view), *view.get("blocks", [])]
    await page.evaluate(DRAW, [blocks, said.get("text", ""), width])
    drawn = Image.open(io.BytesIO(await page.locator("#picture").screenshot()))
    # A third of the bytes, and no difference to the eye.
    few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}-{width}.png", optimize=True)


def _title(view: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "header", "text": view["title"]}] if "title" in view else []


if __name__ == "__main__":
    asyncio.run(draw_page() if sys.argv[1:] == ["page"] else draw_messages(sys.argv[1:]))
