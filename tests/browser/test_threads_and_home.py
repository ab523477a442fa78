"""Threads beside the channel, the app's Home, and what stands under the hood."""

import json

import httpx
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def call(desk, method, **arguments):
    """As the bot calls Slack."""
    slack = desk.stage.slack
    async with httpx.AsyncClient(trust_env=False) as client:
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        answer = (await client.post(f"{slack.api_url}{method}", json=arguments, headers=headers)).json()
    assert answer["ok"], answer
    return answer


async def test_replies_stand_in_their_thread_and_a_broadcast_in_the_channel_too(desk):
    page = await desk.open()
    parent = await call(desk, "chat.postMessage", channel=desk.channel_id, text="Ascot, today")
    for text, broadcast in (("13:30 run", False), ("ABANDONED: Ascot 14:05", True)):
        await call(
            desk,
            "chat.postMessage",
            channel=desk.channel_id,
            text=text,
            thread_ts=parent["ts"],
            reply_broadcast=broadcast,
        )
    await page.wait_for_selector("#messages .replies:has-text('2 replies')")
    said = await page.locator("#messages .message").all_inner_texts()
    assert len(said) == 2
    assert "replied to a thread" in said[1]
    await page.focus("#messages .replies")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#thread .message >> nth=2")
    assert await page.locator("#thread .message").count() == 3
    await page.keyboard.press("Enter")
    assert await page.locator("#thread").is_hidden()
    assert await page.evaluate("document.activeElement.classList.contains('replies')")


async def test_home_is_what_the_app_has_published_for_this_person(desk):
    page = await desk.open()
    await page.click("#channels button:has-text('direct')")
    await page.click("#channel-tabs button:has-text('Home')")
    # The bot answers the opening with a view of its own, which must not come after the view below.
    await page.wait_for_selector("#messages :text('Open Home again for newer figures')")
    person = await page.input_value("#person")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*Your channels*"}}]
    await call(desk, "views.publish", user_id=person, view={"type": "home", "blocks": blocks})
    await page.wait_for_selector("#messages strong:has-text('Your channels')")
    await page.click("#channel-tabs button:has-text('Messages')")
    await page.wait_for_selector("#messages:not(:has-text('Your channels'))")


async def test_ledger_and_calls_stand_under_the_hood_and_a_repeated_call_is_a_doubled_message(desk):
    page = await desk.subscribed()
    race, row = await desk.race(page, "GB")
    await row.get_by_text("Settle", exact=True).click()
    await page.wait_for_selector(f"#messages :text('{race.course.name}') >> nth=0")
    await page.click("#tab-hood")
    ledger = page.get_by_role("region", name="The bot's ledger")
    await ledger.get_by_text(f"{race.race_id}#1@{desk.channel_id}", exact=False).first.wait_for()
    calls = page.get_by_role("region", name="Calls of Slack")
    posted = calls.locator("tr:has-text('chat.postMessage')").first
    await posted.get_by_text("Arguments").click()
    shown = calls.locator("details[open] pre").first
    await shown.wait_for()
    assert json.loads(await shown.text_content())["channel"] == desk.channel_id
    await posted.get_by_role("button", name="Repeat").click()
    await page.wait_for_selector("[data-count='doubled'] dd:text-is('1')")


async def test_arguments_stay_open_when_the_page_is_drawn_in_the_same_moment(desk):
    page = await desk.open()
    await call(desk, "chat.postMessage", channel=desk.channel_id, text="13:30 run")
    await page.click("#tab-hood")
    await page.wait_for_selector("td details summary:has-text('Arguments')")
    is_open = """() => {
      const arguments_of = document.querySelector("td details");
      arguments_of.querySelector("summary").click();
      document.querySelector("#tab-hood").click();
      return arguments_of.open;
    }"""
    assert await page.evaluate(is_open)
    assert not await page.evaluate(is_open)
