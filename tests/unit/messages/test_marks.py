"""In lists each loud word stands behind its mark; in `text` the word stands alone (docs/messages.md, Looks)."""

import re

import pytest

from bot.outbox.message import Message
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, VOIDED, without_marks
from tests.unit.messages.kept_answers import ANSWERS, VIEWS

MARK_OF = {"ABANDONED": ABANDONED, "CONFLICT": CONFLICTING, "VOID": VOIDED}


def texts(block):
    """What people read. The value of a button is for the bot alone."""
    if isinstance(block, dict):
        return [one for key, inner in block.items() if key not in {"value", "type"} for one in texts(inner)]
    if isinstance(block, list | tuple):
        return [one for inner in block for one in texts(inner)]
    return [block] if isinstance(block, str) else []


def unmarked(text):
    return [
        text[max(0, found.start() - 30) : found.end()]
        for found in re.finditer(r"\b(?:ABANDONED|CONFLICT|VOID)\b", text)
        if not re.search(rf"{MARK_OF[found[0]]} \*?(?:\d+ |(?:REST OF THE )?MEETING )?$", text[: found.start()])
    ]


def made(name):
    """The messages of a builder. A summary is several, each with a number."""
    built = (ANSWERS | VIEWS)[name]()
    return built if isinstance(built, list) else [(built, 0)]


@pytest.mark.parametrize("name", [*ANSWERS, *VIEWS])
def test_loud_word_of_an_answer_stands_behind_its_mark(name):
    for message, _ in made(name):
        forms = [form.blocks for form in message.forms] if isinstance(message, Message) else message["blocks"]
        assert [where for text in texts(forms) for where in unmarked(text)] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_text_of_an_answer_has_the_word_alone(name):
    for message, _ in made(name):
        assert not any(mark in message.text for mark in MARK_OF.values())


def test_only_the_marks_of_our_own_words_are_taken_off():
    said = f"15:00  {ABANDONED} *ABANDONED*, {ABANDONED} frost · {CONFLICTING} *1 CONFLICT*"
    assert without_marks(said) == f"15:00  ABANDONED, {ABANDONED} frost · 1 CONFLICT"
