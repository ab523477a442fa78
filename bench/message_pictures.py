"""`python -m bench.message_pictures [KIND…]`: draws a picture of each kind, at a phone's and a desktop's width.

The messages are the kept snapshots that docs/pictures/README.md shows, drawn by the demo's page in a real browser. The
marks need a font with emoji, such as Debian's fonts-noto-color-emoji.
"""

import asyncio
import json
import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.demo_picture import PICTURES, open_stand

ROOT = Path(__file__).parents[1]
SNAPSHOTS = ROOT / "tests/unit/messages/snapshots"
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
  holder.style.cssText = `width: ${width}px; padding: 12px; background: var(--ground)`;
  holder.append(blocks.length ? drawBlocks(blocks, context) : mrkdwn(text, {}));
  document.body.replaceChildren(holder);
  document.body.style.cssText = "height: auto; display: block; overflow: visible";
}"""


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with open_stand() as stand:
        context = await stand.browser.new_context(color_scheme="light", viewport={"width": 1240, "height": 900})
        for name in sys.argv[1:] or names():
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
    drawn = Image.open(BytesIO(await page.locator("#picture").screenshot()))
    # A third of the bytes, and no difference to the eye.
    few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}-{width}.png", optimize=True)


def _title(view: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "header", "text": view["title"]}] if "title" in view else []


if __name__ == "__main__":
    asyncio.run(main())
