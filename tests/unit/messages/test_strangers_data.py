"""Every kept message again, with a stranger's words in the place of all its data: it is built, and they do nothing."""

import re
from dataclasses import fields, is_dataclass, replace

import pytest

from bot.events.event import RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.message import Message
from bot.racedata.month_quota import UsageRow
from bot.racedata.reference_store import KnownCountry, KnownCourse
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.pages import Turning, turns
from bot.slack.messages.kit.text import MESSAGE_MAX, TEXT_MAX, size
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems
from tests.unit.messages.kept_answers import ANSWERS
from tests.unit.messages.kept_events import EVENTS

OF_STRANGERS = (Race, Runner, Course, OffTime, UsageRow, KnownCourse, KnownCountry, RacingEvent)
"""What is made of the data service's words. An event's key is of our own making."""

OURS = {"key"}

WORDS = [
    "<!channel>",
    "<@U666>",
    "<https://evil.example|Kempton>",
    "*bold* _leaning_ ~gone~ `code`",
    "\u202edlrow\u202c \u200b\x07",
    "&" * 10_000,
    "<" * 10_000,
    "🐎" * 10_000,
    "",
]
ACTS = re.compile("<!channel>|<@U666>|<https://evil|[\u202a-\u202e\u2066-\u2069\u200b\x07]")


def with_words(value, words):
    """The value with all that a stranger said in it said otherwise."""
    if isinstance(value, OF_STRANGERS):
        said = {name: getattr(value, name) for name in type(value).model_fields if name not in OURS}
        return value.model_copy(update={name: _said(one, words) for name, one in said.items()})
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: with_words(getattr(value, one.name), words) for one in fields(value)})
    if isinstance(value, tuple | list):
        return type(value)([with_words(one, words) for one in value])
    return value


def _said(value, words):
    return words if type(value) is str else with_words(value, words)


def shown(blocks):
    """What the blocks show but for raw cells, in which Slack reads nothing, and for values that only we read."""
    texts, waiting = [], [blocks]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            hidden = {"value", "action_id"} | ({"text"} if value.get("type") == "raw_text" else set())
            waiting += [inner for name, inner in value.items() if name not in hidden]
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, str):
            texts.append(value)
    return "\n".join(texts)


def test_page_of_a_command_that_no_button_can_carry_has_no_buttons():
    assert turns(Turning("results " + "🐎" * 1_100), 2, 3) is None


@pytest.mark.parametrize("name", EVENTS | ANSWERS)
def test_message_of_a_strangers_words_holds_every_limit_and_they_do_nothing(name):
    for words in WORDS:
        check((EVENTS | ANSWERS)[name], words)


def check(kept, words):
    made = kept.func(*(with_words(one, words) for one in kept.args), **kept.keywords)
    for message in [made] if isinstance(made, Message) else [message for message, _named in made]:
        assert 1 <= size(message.text) <= TEXT_MAX
        for form in message.forms:
            assert block_problems(list(form.blocks), most=MESSAGE_BLOCKS) == []
            assert weight(form.blocks) <= MESSAGE_MAX
            assert not ACTS.search(shown(form.blocks))
        assert not ACTS.search(message.text)
