"""The workspace: what is typed, pressed and filled in, and where messages show up."""

import httpx
import pytest

from sandbox.page import documents, happenings

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
    told = page.locator(".is-ephemeral", has_text=f"What became of {race.course.name} {race.off_time}")
    await told.filter(has_text=": posted").wait_for()


async def test_abandoned_meeting_is_one_message(desk):
    page = await desk.subscribed("/racing subscribe AUS")
    racing = desk.stage.service.racing
    meeting = next(one for one in racing.meetings(racing.today, "AUS") if not any(map(desk.is_run, one.races)))
    await page.locator(f"details[data-id='{meeting.meeting_id}'] > summary").click()
    await page.locator(f"details[data-id='{meeting.meeting_id}']").get_by_text("Abandon the meeting").click()
    await page.wait_for_selector(f".is-alarm:has-text('{meeting.course.name}')")
    assert await page.locator(".is-alarm").count() == 1


@pytest.mark.parametrize("width", [380, 1200])
async def test_form_changes_the_filter(desk, width):
    page = await desk.subscribed(viewport={"width": width, "height": 800}, color_scheme="dark")
    await desk.type(page, "/racing subscribe")
    await page.wait_for_selector("#modal[open]")
    await page.locator("#modal").get_by_label("Racecards", exact=True).check()
    regions = page.locator("#modal").get_by_label("Regions", exact=True)
    await regions.fill("ir")
    await page.locator("#modal [role=option]", has_text="IRE").click()
    await regions.fill("gb")
    await regions.press("Enter")
    await page.locator("#modal").get_by_role("button", name="Remove GB").click()
    await page.click("#modal .primary")
    await page.wait_for_selector("#modal:has-text('results, abandonments and racecards from IRE')")
    await page.locator("#modal").get_by_role("button", name="Close").click()
    await page.wait_for_selector("#modal:not([open])", state="attached")
    await desk.type(page, "/racing list")
    await page.wait_for_selector(".is-ephemeral:has-text('racecards')")


async def test_typed_command_is_echoed_a_word_is_a_message_and_no_command_is_refused(desk):
    page = await desk.open()
    await desk.type(page, "/racing help")
    await page.wait_for_selector(".is-ephemeral:has-text('alice'):has-text('/racing help')")
    await desk.type(page, "good morning")
    await page.wait_for_selector(".message:not(.is-ephemeral):has-text('alice'):has-text('good morning')")
    await desk.type(page, "/hello")
    await page.wait_for_selector("#notice.is-error:has-text('/racecard')")


async def test_direct_message_is_answered(desk):
    page = await desk.open()
    await page.click("#apps button")
    await page.wait_for_selector("#messages .empty:has-text('Type help below')")
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


async def test_new_messages_are_counted_while_a_person_reads_above(desk):
    page = await desk.open(viewport={"width": 1200, "height": 420})
    for number in range(12):
        desk.stage.slack.say(desk.channel_id, "U0BOB", f"line {number}\nand more")
    await page.wait_for_selector("#messages :text('line 11')")
    at_end = (
        "(list => list.scrollHeight - list.scrollTop - list.clientHeight < 60)(document.getElementById('messages'))"
    )
    await page.wait_for_function(at_end)
    assert await page.locator("#messages .message.is-joined").count() == 11, "a sender's messages stand together"
    assert await page.locator("#messages .day").inner_text() == "Today"
    await page.evaluate("document.getElementById('messages').scrollTop = 0")
    await page.wait_for_function("document.getElementById('messages').scrollTop === 0")
    for text in ("one", "two"):
        desk.stage.slack.say(desk.channel_id, "U0BOB", text)
    await page.wait_for_selector("#newer:text-is('↓ 2 new messages')")
    await page.click("#newer")
    await page.wait_for_selector("#newer", state="hidden")


async def test_dangerous_button_asks_in_a_dialog_of_the_page(desk):
    page = await desk.subscribed("/racing subscribe GB")
    await desk.type(page, "/racing list")
    end = page.locator(".is-ephemeral").get_by_role("button", name="Remove").first
    for answer in ("No", "Remove"):
        await end.click()
        await page.locator("dialog[open]").get_by_role("button", name=answer).click()
        await page.wait_for_selector("dialog[open]", state="detached")
    await page.wait_for_selector(".is-ephemeral:has-text('no subscriptions')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1200])
async def test_tour_is_three_presses_and_is_remembered(desk, width, scheme, monkeypatch):
    # The other tests need races too.
    monkeypatch.setattr(happenings, "BURST", 6)
    page = await desk.open(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tour = page.locator("#tour")
    await tour.get_by_role("button", name="Abandon the").click()
    await page.wait_for_selector("#channel-title:text-is('#gb-racing')")
    await tour.get_by_role("button", name="Show me the button").click()
    assert await page.evaluate("document.activeElement.textContent") == "I have it"
    await page.keyboard.press("Enter")
    await tour.get_by_role("button", name="Kill the bot").click()
    await page.wait_for_selector(".down")
    await page.reload()
    await tour.get_by_role("button", name="Start the bot").click()
    await tour.get_by_text("Nothing was lost.").wait_for()
    await tour.get_by_role("button", name="End the tour").click()
    await page.reload()
    await page.wait_for_selector("#counts .count")
    assert await tour.is_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width, "nothing is wider than the screen"
    assert await page.evaluate("document.querySelector('.top').scrollWidth") <= width, "the counts fit beside the name"
    await desk.end_subscriptions("C0GB")


async def test_tour_without_a_race_to_come_says_so_and_ends(desk, monkeypatch):
    race = documents._race
    monkeypatch.setattr(documents, "_race", lambda *about: race(*about) | {"status": "result"})
    page = await desk.open()
    tour = page.locator("#tour")
    await tour.get_by_text("No race is left today.").wait_for()
    await tour.get_by_role("button", name="End the tour").click()
    assert await tour.is_hidden()


async def test_narrow_screen_has_its_channels_and_its_desk_in_drawers(desk):
    page = await desk.open(viewport={"width": 380, "height": 800})
    assert await page.locator("#side").is_hidden()
    await page.click("#open-side")
    await page.click("#channels button:has-text('#everything')")
    await page.wait_for_selector("#channel-title:text-is('#everything')")
    await page.wait_for_selector("#side", state="hidden")
    await page.click("#open-desk")
    await page.wait_for_selector("#tab-day", state="visible")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("#desk", state="hidden")
    assert await page.evaluate("document.scrollingElement.scrollTop") == 0


async def test_focus_stays_where_it_is_while_the_page_is_drawn_anew(desk):
    page = await desk.subscribed("/racing subscribe GB")
    _, row = await desk.race(page, "GB")
    await row.get_by_text("Settle", exact=True).focus()
    other = desk.races("IRE")[0]
    desk.stage.service.settle(other.race_id)
    await page.wait_for_selector(f"[data-race='{other.race_id}'].is-result", state="attached")
    assert await page.evaluate("document.activeElement.textContent") == "Settle"


# Threads beside the channel, and the app's Home


async def call(desk, method, **arguments):
    """As the bot calls Slack."""
    slack = desk.stage.slack
    async with httpx.AsyncClient(trust_env=False) as client:
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        answer = (await client.post(f"{slack.api_url}{method}", json=arguments, headers=headers)).json()
    assert answer["ok"], answer
    return answer


@pytest.mark.parametrize("width", [380, 1200])
async def test_replies_stand_in_their_thread(desk, width):
    """In light on the narrow screen, in dark on the wide screen."""
    page = await desk.open(viewport={"width": width, "height": 800}, color_scheme="light" if width == 380 else "dark")
    parent = await call(desk, "chat.postMessage", channel=desk.channel_id, text="Ascot, today")
    for text in ("13:30 run", "ABANDONED: Ascot 14:05"):
        await call(desk, "chat.postMessage", channel=desk.channel_id, text=text, thread_ts=parent["ts"])
    await page.wait_for_selector("#messages .replies:has-text('2 replies')")
    assert await page.locator("#messages .message").count() == 1
    await page.focus("#messages .replies")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#thread .message >> nth=2")
    assert await page.locator("#thread .message").count() == 3
    await page.keyboard.type("good, thank you")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#thread .message:has-text('alice'):has-text('good, thank you')")
    await page.wait_for_selector("#messages .replies:has-text('3 replies')")
    assert await page.locator("#messages .message").count() == 1
    await page.keyboard.type("/racing list")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#notice:text-is('/racing is not supported in threads. Sorry!')")
    await page.keyboard.press("Escape")
    assert await page.locator("#thread").is_hidden()
    assert await page.evaluate("document.activeElement.classList.contains('replies')")


async def test_home_is_what_the_app_has_published_for_this_person(desk):
    page = await desk.open()
    await page.click("#apps button")
    await page.click("#channel-tabs button:has-text('Home')")
    # The bot answers the opening with a view of its own, which must not come after the view below.
    await page.wait_for_selector("#messages :text('Open Home again for newer figures')")
    person = await page.input_value("#person")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*Your channels*"}}]
    await call(desk, "views.publish", user_id=person, view={"type": "home", "blocks": blocks})
    await page.wait_for_selector("#messages strong:has-text('Your channels')")
    await page.click("#channel-tabs button:has-text('Messages')")
    await page.wait_for_selector("#messages:not(:has-text('Your channels'))")
