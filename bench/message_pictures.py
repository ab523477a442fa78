"""`python -m bench.message_pictures`: draws a picture of each kind of message, at a phone's and a desktop's width.

The messages are the kept snapshots, drawn by the demo's page in a real browser. The pictures stand in docs/messages.md.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from bench.demo_picture import PICTURES
from bench.demo_stand import open_stand

ROOT = Path(__file__).parents[1]
SNAPSHOTS = ROOT / "tests/unit/messages/snapshots"
FOLDER = PICTURES / "messages"
WIDTHS = (320, 1200)

KINDS = {
    "race_abandoned": "A race is abandoned",
    "meeting_abandoned": "A meeting is abandoned",
    "race_abandoned_after_result": "An abandonment contradicts a result",
    "result": "A result",
    "result_corrected": "A corrected result",
    "result_declared_void": "A race is declared void",
    "racecard_published": "A racecard",
    "race_abandoned_to_be_acknowledged": "An abandonment to be acknowledged",
    "race_abandoned_acknowledged": "The same, acknowledged",
    "escalation": "An abandonment that nobody has acknowledged",
    "live_meeting": "A live meeting",
    "waited": "What waited while the channel was closed",
    "unreadable": "A delivery that could not be read",
    "drill": "A drill",
    "card": "The answer to /racecard",
    "card_of_a_course_to_come": "The answer to /racecard of a course",
    "results_of_day": "The answer to /results",
    "usage": "The answer to /usage",
    "subscription_list": "The answer to /racing list",
    "help": "The answer to /racing help",
    "notice": "A notice to admins",
}
"""Snapshot → words below the picture."""

DRAW = """async ([blocks, text, width]) => {
  const { drawBlocks } = await import("/static/blocks.js");
  const { mrkdwn } = await import("/static/mrkdwn.js");
  const context = { names: {}, people: {}, inputs: [], press() {}, lookUp: async () => [] };
  const holder = document.createElement("div");
  holder.id = "picture";
  holder.style.cssText = `width: ${width}px; padding: 12px; background: var(--ground)`;
  holder.append(blocks.length ? drawBlocks(blocks, context) : mrkdwn(text, {}));
  document.body.replaceChildren(holder);
  document.body.style.cssText = "height: auto; display: block";
}"""


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with open_stand() as stand:
        context = await stand.browser.new_context(color_scheme="light", viewport={"width": 1240, "height": 900})
        for name in KINDS:
            for width in WIDTHS:
                page = await context.new_page()
                await page.goto(stand.address)
                await draw(page, name, width)
                await page.close()


async def draw(page: Any, name: str, width: int) -> None:
    said = json.loads((SNAPSHOTS / f"{name}.json").read_text("utf-8"))
    await page.evaluate(DRAW, [said["blocks"], said["text"], width])
    await page.locator("#picture").screenshot(path=FOLDER / f"{name}-{width}.png")


if __name__ == "__main__":
    asyncio.run(main())
