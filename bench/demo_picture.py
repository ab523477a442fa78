"""`python -m bench.demo_picture`: draws the README's pictures, light and dark, from the demo's real page."""

import asyncio
from pathlib import Path
from typing import Any

from bench.demo_stand import Stand, open_stand

PICTURES = Path(__file__).parents[1] / "docs/pictures"
SIZE = {"width": 1280, "height": 760}
SUBSCRIBED = {"C0GB": "GB", "C0IRE": "IRE results abandonments racecards", "C0ALL": "all abandonments"}


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
