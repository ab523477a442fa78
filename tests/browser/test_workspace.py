"""The workspace: what is typed, pressed and filled in, and where messages show up."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_result_is_read_in_the_channel_that_subscribed_and_in_no_other(desk):
    page = await desk.open()
    assert "Nothing here yet" in await page.inner_text("#messages")
    await desk.type(page, "/racing subscribe GB")
    await page.wait_for_selector(".is-ephemeral:has-text('This channel receives')")
    race, row = await desk.race(page, "GB")
    await row.get_by_text("Settle", exact=True).click()
    message = page.locator(".message", has_text=f"Result: {race.course.name} {race.off_time}")
    await message.wait_for()
    assert await message.locator("details.container").count() == 1
    assert await message.locator(".unknown").count() == 0
    await page.wait_for_selector("[data-count='told'] dd:text-is('1')")
    assert (await desk.counts(page))["lost"] == "0"
    await desk.choose(page, "everything")
    assert "Nothing here yet" in await page.inner_text("#messages")


async def test_abandonment_is_seen_at_once_and_its_buttons_answer(desk):
    page = await desk.subscribed("/racing subscribe all")
    race, row = await desk.race(page, "IRE")
    await row.get_by_text("Abandon", exact=True).click()
    alarm = page.locator(".message.is-alarm", has_text=f"{race.course.name} {race.off_time}")
    await alarm.wait_for()
    await alarm.get_by_role("button", name="Who was told").click()
    await page.wait_for_selector(".is-ephemeral:has-text('1 message posted')")


async def test_abandoned_meeting_is_one_message(desk):
    page = await desk.subscribed("/racing subscribe AUS")
    racing = desk.stage.service.racing
    meeting = next(one for one in racing.meetings(racing.today, "AUS") if not any(map(desk.is_run, one.races)))
    await page.locator(f"details[data-id='{meeting.meeting_id}'] > summary").click()
    await page.locator(f"details[data-id='{meeting.meeting_id}']").get_by_text("Abandon the meeting").click()
    await page.wait_for_selector(f".is-alarm:has-text('{meeting.course.name}')")
    assert await page.locator(".is-alarm").count() == 1


async def test_form_changes_the_filter(desk):
    page = await desk.subscribed()
    await desk.type(page, "/racing subscribe")
    await page.wait_for_selector("#modal[open]")
    await page.locator("#modal").get_by_label("Racecards", exact=True).check()
    await page.locator("#modal select").first.select_option(label="IRE")
    await page.click("#modal .primary")
    await page.wait_for_selector("#modal:has-text('results, abandonments and racecards from IRE')")
    await page.locator("#modal").get_by_role("button", name="Close").click()
    await page.wait_for_selector("#modal:not([open])", state="attached")
    await desk.type(page, "/racing list")
    await page.wait_for_selector(".is-ephemeral:has-text('racecards')")


async def test_typed_word_without_a_command_is_refused_with_the_commands(desk):
    page = await desk.open()
    await desk.type(page, "hello")
    await page.wait_for_selector("#notice.is-error:has-text('/racecard')")


async def test_direct_message_is_answered(desk):
    page = await desk.open()
    await page.click("#channels button:has-text('racing-bot (direct)')")
    await desk.type(page, "help")
    await page.wait_for_selector(".message:has-text('alice'):has-text('help')")
    await page.wait_for_selector(".message:has-text('APP'):has-text('/racing')")


async def test_channel_that_nobody_looks_at_is_marked_unread(desk):
    page = await desk.subscribed("/racing subscribe IRE")
    await desk.choose(page, "everything")
    _, row = await desk.race(page, "IRE")
    await row.get_by_text("Settle", exact=True).click()
    await page.wait_for_selector(f"#channels button:has-text('{desk.channel}') .unread:text-is('1')")
    await desk.choose(page, desk.channel)
    await page.wait_for_selector(f"#channels button:has-text('{desk.channel}'):not(:has(.unread))")


async def test_raw_payload_and_notification_are_a_press_away(desk):
    page = await desk.open()
    await desk.type(page, "/racing help")
    answer = page.locator(".is-ephemeral").first
    await answer.get_by_text("As a phone notifies, and raw").click()
    assert '"blocks"' in await answer.locator("pre").inner_text()


async def test_focus_stays_where_it_is_while_the_page_is_drawn_anew(desk):
    page = await desk.subscribed("/racing subscribe GB")
    _, row = await desk.race(page, "GB")
    await row.get_by_text("Settle", exact=True).focus()
    other = desk.races("IRE")[0]
    desk.stage.service.settle(other.race_id)
    await page.wait_for_selector(f"[data-race='{other.race_id}'].is-result", state="attached")
    assert await page.evaluate("document.activeElement.textContent") == "Settle"
