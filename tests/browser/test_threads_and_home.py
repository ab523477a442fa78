"""Threads beside the channel, and the app's Home."""

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
