"""The messages by each press of the day, and a bot killed amid fifty deliveries."""

import pytest

from sandbox.demo_bot import end_of_log

pytestmark = pytest.mark.asyncio(loop_scope="session")
BURST = 50
TIMEOUT_S = 300


async def press(desk, page, region, label):
    race, row = await desk.race(page, region)
    await row.get_by_role("button", name=label, exact=True).click()
    return race


async def said(page, *words):
    """The newest messages with the words."""
    found = page.locator("#messages > .message:not(.is-ephemeral)")
    for word in words:
        found = found.filter(has_text=word)
    await found.first.wait_for()
    return found


async def test_corrected_result_is_a_new_message_and_marks_the_first(desk):
    page = await desk.subscribed("/racing subscribe GB")
    race = await press(desk, page, "GB", "Settle")
    await said(page, race.course.name, race.off_time)
    await page.locator(f"[data-race='{race.race_id}']").get_by_role("button", name="Correct").click()
    await said(page, "CORRECTION", race.off_time)
    await said(page, "Superseded", race.off_time)


async def test_older_delivery_after_a_newer_one_changes_nothing(desk):
    page = await desk.subscribed("/racing subscribe IRE")
    race = await press(desk, page, "IRE", "Wrong order")
    await said(page, race.course.name, race.off_time)
    await page.wait_for_function("document.querySelector('#bot-state').textContent.trim() === 'bot is up'")
    counts = await desk.counts(page)
    assert (counts["lost"], counts["doubled"], counts["out of order"]) == ("0", "0", "0")


async def test_forged_delivery_is_refused_and_told_nowhere(desk):
    page = await desk.subscribed("/racing subscribe all")
    await press(desk, page, "USA", "Forge")
    await page.wait_for_selector("#notice:has-text('answered 401')")
    words, list_ = [await page.locator(one).bounding_box() for one in ("#notice", "#messages")]
    assert words["y"] >= list_["y"] + list_["height"], "a notice covers no message"
    assert await page.locator("#messages > .message:not(.is-ephemeral)").count() == 0


async def test_published_cards_come_to_whoever_asked_for_racecards(desk):
    page = await desk.subscribed("/racing subscribe GB racecards")
    await page.get_by_role("button", name="Publish tomorrow").click()
    await said(page, "Racecard: ")


async def test_no_pace_is_pressed_before_the_day_begins_and_pause_is_until_the_day_plays(desk):
    desk.stage.is_begun = False
    page = await desk.open()
    await page.wait_for_selector("#panel-day button[aria-pressed=false]:text-is('Pause')")
    assert await page.locator("#panel-day [aria-pressed=true]").count() == 0
    desk.stage.is_begun = True
    await page.wait_for_selector("#panel-day button[aria-pressed=true]:text-is('Pause')")
    assert await page.locator("#panel-day [aria-pressed=true]").count() == 1


async def test_day_plays_and_pauses(desk):
    page = await desk.subscribed("/racing subscribe all")
    await page.get_by_role("button", name="Quick", exact=True).click()
    await page.wait_for_selector("#messages > .message:not(.is-ephemeral) >> nth=2")
    await page.get_by_role("button", name="Pause").click()
    await page.wait_for_selector("button[aria-pressed=true]:text-is('Pause')")


async def test_form_searches_courses_and_shows_its_errors(desk):
    page = await desk.subscribed("/racing subscribe GB")
    await desk.type(page, "/racing subscribe")
    await page.wait_for_selector("#modal[open]")
    of_dialog = "(dialog) => dialog.scrollHeight <= dialog.clientHeight"
    assert await page.locator("#modal").evaluate(of_dialog), "the form's body scrolls, and the dialog does not"
    course = desk.stage.service.racing.meetings(desk.stage.service.racing.today, "GB")[0].course.name
    search = page.locator("#modal").get_by_label("Only these courses")
    await search.fill(course[:4])
    await page.locator("#modal .offers li", has_text=course).first.click()
    await page.wait_for_selector(f"#modal .chosen:has-text('{course}')")
    while await page.locator("#modal input[type=checkbox]:checked").count():
        await page.locator("#modal input[type=checkbox]:checked").first.uncheck()
    await page.click("#modal .primary")
    await page.wait_for_selector("#modal .error:not(:empty)")


@pytest.mark.timeout(TIMEOUT_S)
async def test_bot_killed_amid_fifty_deliveries_loses_and_doubles_nothing(desk):
    """A channel for each region, since a channel takes a message a second."""
    page = await desk.open()
    racing = desk.stage.service.racing
    regions = sorted({race.course.region for race in racing.races(racing.today)})
    for region in regions:
        desk.stage.slack.add_channel(f"C0{region}DESK", f"desk-{region.lower()}")
        assert await desk.stage.say(f"C0{region}DESK", "U0ALICE", f"/racing subscribe {region}") is None
    await page.click("#tab-trouble")
    await page.click("[data-trouble=bot_killed_in_burst]")
    await page.wait_for_selector(".down")
    await page.wait_for_selector("[data-count='on the way']")
    await page.click("[data-trouble=bot_killed_in_burst]")
    await page.wait_for_selector(".up")
    counts = await desk.counts_with(page, told=BURST)
    waiting = [one.attempts for one in desk.stage.service.deliveries if one.status != "delivered"]
    assert counts["told"] == str(BURST), (counts, waiting, end_of_log(desk.stage.bot.log_path))
    assert (counts["lost"], counts["doubled"], counts["out of order"]) == ("0", "0", "0")
    assert any(len(one.attempts) > 1 for one in desk.stage.service.deliveries), "the kill was amid the deliveries"
    for region in regions:
        assert await desk.stage.say(f"C0{region}DESK", "U0ALICE", f"/racing unsubscribe {region}") is None
