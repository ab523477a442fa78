"""`python -m bench.message_pictures [KIND…]`: draws a picture of each kind, at a phone's and a desktop's width.

The messages are the kept snapshots, drawn by the demo's page in a real browser. The pictures stand in
docs/pictures/README.md, which the command writes too. The marks need a font with emoji, such as Debian's
fonts-noto-color-emoji.
"""

import asyncio
import json
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.demo_picture import PICTURES
from bench.demo_stand import open_stand

ROOT = Path(__file__).parents[1]
SNAPSHOTS = ROOT / "tests/unit/messages/snapshots"
FOLDER = PICTURES / "messages"
PAGE = PICTURES / "README.md"
WIDTHS = (380, 1200)
COLOURS = 64

HEAD = """# Pictures of messages

Each kind of message on a phone; a click on a picture shows the message at a desktop's width.
`python -m bench.message_pictures` draws the pictures anew and writes this page.
"""


KINDS = {
    "Alerts": {
        "race_abandoned": "A race is abandoned",
        "race_abandoned_of_another_day": "A race of another day is abandoned",
        "race_abandoned_bare": "A race is abandoned, and the delivery says no more",
        "race_abandoned_after_result": "An abandonment contradicts a result",
        "race_abandoned_contradicted": "The abandonment, once a result contradicts it",
        "race_abandoned_corrected": "An abandonment is corrected",
        "race_abandoned_of_a_meeting": "A race of an abandoned meeting",
        "meeting_abandoned": "A meeting is abandoned",
        "meeting_abandoned_with_races_of_its_own": "A meeting is abandoned after its first race",
        "result": "A result",
        "result_corrected": "A corrected result",
        "result_superseded": "The first result, once corrected",
        "result_edited": "A result, edited",
        "result_in_two_versions": "Two versions of a result disagree",
        "result_after_abandonment": "A result contradicts an abandonment",
        "result_marked_abandoned": "A result says that the race is abandoned",
        "result_with_places_marked_abandoned": "A result with placings says that the race is abandoned",
        "result_declared_void": "A race is declared void",
        "result_of_a_walkover": "A walkover",
        "result_watched": "A result with watched runners",
        "result_late": "A late result",
        "racecard_published": "A racecard",
        "racecard_corrected": "A corrected racecard",
        "racecard_with_an_abandoned_race": "A racecard with an abandoned race",
        "racecard_of_an_abandoned_meeting": "A racecard, once the meeting is abandoned",
        "unreadable": "A delivery that could not be read",
        "drill": "A drill",
    },
    "Acknowledging": {
        "race_abandoned_to_be_acknowledged": "An abandonment to be acknowledged",
        "race_abandoned_acknowledged": "The same, acknowledged",
        "escalation": "An abandonment that nobody has acknowledged, in another channel",
        "escalation_there": "The same, in the channel itself",
        "escalation_taken": "The same, once somebody has it",
        "escalation_replaced": "The same, once later news stands in its place",
    },
    "Live meetings": {
        "live_meeting": "A live meeting",
        "live_meeting_abandoned": "A live meeting that was abandoned",
    },
    "Summaries": {
        "waited": "What waited while the channel was closed",
        "waited_with_one_abandonment": "The same, with a single abandonment",
        "waited_in_a_pause": "What waited in a pause",
        "waited_for_a_digest": "A digest",
        "waited_for_the_eve": "The cards of the next day",
        "waited_in_quiet_hours": "What waited in quiet hours",
        "waited_undelivered": "What the data service could not deliver",
    },
    "Cards and results": {
        "card": "`/racecard`",
        "next_off": "`/racing next`",
        "card_of_a_course": "`/racecard` of a course",
        "card_of_a_course_to_come": "`/racecard` of a course, before the racing",
        "results_of_day": "`/results`",
        "results_of_a_course": "`/results` of a course",
        "abandonments_of_day": "`/results abandonments`",
        "full_result": "*Full result*",
        "usage": "`/usage`",
    },
    "What a channel receives": {
        "welcome": "The bot was invited",
        "subscribed": "`/racing subscribe`",
        "form": "The form of `/racing subscribe`",
        "form_of_a_subscription": "The form of *Edit*",
        "unsubscribed": "`/racing unsubscribe`",
        "subscription_list": "`/racing list`",
        "paused": "`/racing pause`",
        "resumed": "`/racing resume`",
        "muted": "*Mute this meeting here*",
        "unmuted": "*Unmute*",
        "paused_by": "Somebody paused the channel",
        "resumed_by": "Somebody ended the pause",
        "muted_by": "Somebody muted a meeting",
        "unmuted_by": "Somebody ended a mute",
        "ended_by": "Somebody ended a subscription",
        "narrowed_by": "Somebody took a part away",
    },
    "Watches": {
        "watched": "`/racing watch`",
        "watching": "`/racing watching`",
        "unwatched": "A watch is ended",
        "unwatched_by": "Somebody ended a watch of the channel",
    },
    "Notices to admins": {
        "notice": "An urgent notice",
        "notice_of_a_channel": "A warning",
        "notice_to_know": "A note",
        "notice_of_the_end": "All clear",
    },
    "Help, and the bot itself": {
        "home": "App Home",
        "home_of_an_admin": "App Home of an admin",
        "help": "`/racing help`",
        "help_on_a_command": "`/racing help COMMAND`",
        "courses": "`/racing courses`",
        "coverage": "`/racing coverage`",
        "who_was_told": "*Who was told*",
        "trace": "`/racing trace`",
        "status": "`/racing status`",
        "audit_page": "`/racing audit`",
        "drill_report": "`/racing drill`",
        "error_with_buttons": "A mistyped command",
        "error_with_reference": "The bot could not answer",
        "answer_in_a_sentence": "An answer in a sentence",
        "form_outdated": "A form that is too old",
        "form_saved": "A form is saved",
    },
}
"""Heading → snapshot → words beside the picture."""

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
        for name in sys.argv[1:] or names():
            for width in WIDTHS:
                page = await context.new_page()
                await page.goto(stand.address)
                await draw(page, name, width)
                await page.close()
    PAGE.write_text(page_of_pictures(), encoding="utf-8")


def names() -> list[str]:
    return [name for kinds in KINDS.values() for name in kinds]


def page_of_pictures() -> str:
    """Markdown that shows every picture of a phone; each links the picture of a desktop."""
    phone, desktop = WIDTHS
    parts = [HEAD]
    for heading, kinds in KINDS.items():
        parts.append(f"## {heading}\n")
        for name, words in kinds.items():
            parts.append(f"{words}:\n\n[![](messages/{name}-{phone}.png)](messages/{name}-{desktop}.png)\n")
    return "\n".join(parts)


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
