"""App Home with more subscriptions than buttons."""

from bot.channels.filters import ChannelFilter
from bot.events.event import DEFAULT_TOPICS
from bot.slack.forms.home_view import CHANGES_MAX, HomeChannel, HomePage, home_view, said_of


def test_subscriptions_beyond_the_buttons_are_counted():
    filters = [ChannelFilter(region=f"R{number}", topics=DEFAULT_TOPICS) for number in range(CHANGES_MAX + 2)]
    channel = HomeChannel("C1", filters, "live", is_paused=False, last_post_at=None)
    _, words, buttons = home_view(HomePage([channel], 1, is_admin=False))["blocks"]
    assert "2 subscriptions without a button" in words["text"]["text"]
    labels = [button["text"]["text"] for button in buttons["elements"]]
    assert labels == ["Pause", *(f"Change R{number}" for number in range(CHANGES_MAX)), "Add"]


def test_answer_to_a_press_names_the_channel_and_no_direct_message():
    assert said_of("C1", "PAUSED.") == "<#C1>: PAUSED."
    assert said_of("D1", "PAUSED.") == "PAUSED."
