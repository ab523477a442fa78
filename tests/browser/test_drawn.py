"""Every kind of message that the project can send is drawn, and everybody can use the page."""

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).parents[2]
FORMS = ("blocks", "plainer_blocks", "plain_blocks")
KEPT = ROOT / "tests/unit/messages/snapshots"
AXE = Path(os.environ.get("AXE", ROOT / ".tool/axe/package/axe.min.js"))
SERIOUS = {"serious", "critical"}
DRAW = """async (blocks) => {
  const { drawBlocks } = await import("/static/blocks.js");
  const drawn = drawBlocks(blocks, { names: {}, people: {}, inputs: [], press() {}, lookUp: async () => [] });
  document.getElementById("messages").replaceChildren(drawn);
  return [...drawn.querySelectorAll(".unknown > strong")].map((one) => one.textContent);
}"""
WIDE, NARROW = {"width": 1366, "height": 850}, {"width": 380, "height": 800}


async def test_every_kept_message_and_form_is_drawn_without_an_unknown_block(desk):
    page = await desk.open()
    unknown = {}
    for path in sorted(KEPT.glob("*.json")):
        said = json.loads(path.read_text("utf-8"))
        for blocks in (*(said.get(form) for form in FORMS), said.get("view", {}).get("blocks")):
            if blocks and (found := await page.evaluate(DRAW, blocks)):
                unknown[path.stem] = found
    assert unknown == {}
    assert await page.evaluate(DRAW, [{"type": "never_heard_of"}]) == ["unknown block: never_heard_of"]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is absent: .ci/axe unpacks it from npm")
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_axe_finds_nothing_serious(desk, viewport):
    """In light and in dark, by every rule."""
    page = await desk.subscribed("/racing subscribe all", viewport=viewport, reduced_motion="reduce")
    race, other = desk.races("GB")[0], desk.races("IRE")[0]
    desk.stage.service.settle(race.race_id)
    desk.stage.service.abandon_race(other.race_id, "Waterlogged")
    await page.locator(".message details.container > summary").first.click()
    await page.wait_for_selector(".is-alarm")
    await page.add_script_tag(path=AXE)
    found = []
    # Parts hidden by a narrow screen alone are looked at once shown.
    opener = page.locator("#open-desk")
    if await opener.is_visible():
        await opener.click()
    await page.click("#tab-trouble")
    found += await serious(page, "#panel-trouble")
    await page.click("#tab-day")
    found += await serious(page, "#desk")
    if await opener.is_visible():
        await opener.click()
    await page.fill("#line", "/racing ")
    await page.wait_for_selector("#offers li")
    found += await serious(page, "body")
    await desk.type(page, "/racing subscribe")
    await page.locator("#modal").get_by_label("Regions", exact=True).click()
    await page.wait_for_selector("#modal [role=option]")
    found += await serious(page, "#modal")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.locator(".is-alarm").get_by_role("button", name="Open the thread").press("Enter")
    found += await serious(page, "#thread")
    assert found == []


async def serious(page, part):
    found = []
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        ran = await page.evaluate("(part) => axe.run(part, {resultTypes: ['violations']})", part)
        found += [
            (scheme, one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:300])
            for one in ran["violations"]
            if one["impact"] in SERIOUS
        ]
    return found


async def test_whole_page_works_by_keyboard_alone(desk):
    page = await desk.open(viewport=WIDE)
    await reach(page, "document.activeElement.id === 'line'")
    await page.keyboard.type("/racing subscribe GB")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".is-ephemeral:has-text('This channel receives')")
    meeting = f"details[data-id='{desk.races('GB')[0].meeting_id}'] summary"
    await reach(page, f'document.activeElement.matches("{meeting}")')
    await page.keyboard.press("Enter")
    await reach(page, "document.activeElement.textContent === 'Settle'")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".message:has-text('Result: ')")
    await reach(page, "document.activeElement.textContent === 'Full result'")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("details.container[open]:has-text('Full result')")
    await reach(page, "document.activeElement.id === 'tab-trouble'")
    await page.keyboard.press("Enter")
    assert await page.locator("#panel-trouble").is_visible()
    await reach(page, "document.activeElement.dataset.trouble === 'delivered_twice'")
    await page.keyboard.press("Space")
    await page.wait_for_selector("[data-trouble=delivered_twice][aria-checked=true]")
    await reach(
        page, "document.activeElement.closest('#channels') && document.activeElement.textContent.includes('ire-racing')"
    )
    await page.keyboard.press("Enter")
    assert "ire-racing" in await page.inner_text("#channel-title")
    await reach(page, "document.activeElement.id === 'line'")
    await page.keyboard.type("/racing subscribe")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#modal[open]")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("#modal:not([open])", state="attached")


async def reach(page, holds):
    """Press Tab until `holds` is true in the page."""
    for _ in range(400):
        await page.keyboard.press("Tab")
        if await page.evaluate(f"() => Boolean({holds})"):
            return
    raise AssertionError(f"Tab never came to where {holds}")


async def test_table_is_sorted_and_turned_by_press(desk):
    page = await desk.open()
    rows = [
        [{"type": "raw_text", "text": text} for text in row]
        for row in (("Pos", "Horse"), ("2", "B"), ("10", "C"), ("1", "A"))
    ]
    await page.evaluate(DRAW, [{"type": "data_table", "caption": "Order", "page_size": 2, "rows": rows}])
    await page.click("#messages .sort:has-text('Pos')")
    assert await page.locator("#messages tbody tr").all_inner_texts() == ["1\tA", "2\tB"]
    await page.get_by_role("button", name="Later rows").click()
    assert await page.locator("#messages tbody tr").all_inner_texts() == ["10\tC"]


async def test_dates_are_shown_in_the_readers_zone(desk):
    page = await desk.open(timezone_id="Asia/Tokyo")
    said = "<!date^1795185000^{date_short} {time}|14:30 UTC>"
    await page.evaluate(DRAW, [{"type": "section", "text": {"type": "mrkdwn", "text": said}}])
    assert await page.inner_text("#messages time") == "20 Nov 2026 23:30"
    sizes = "(one) => [one, one.parentElement].map((each) => getComputedStyle(each).fontSize)"
    shown, around = await page.locator("#messages time").evaluate(sizes)
    assert shown == around


async def test_commands_are_listed_with_their_usage_and_completed_with_places(desk):
    page = await desk.open()
    course = desk.races("GB")[0].course.name
    await page.type("#line", "/racec")
    await page.wait_for_selector("#offers li:has-text('/racecard'):has-text('[region] [day] [course]')")
    await page.keyboard.press("Tab")
    assert await page.input_value("#line") == "/racecard "
    await page.type("#line", course[:5])
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    assert (await page.input_value("#line")).startswith(f"/racecard {course[:5]}")
    await page.keyboard.press("Escape")
    assert await page.locator("#offers").is_hidden()
