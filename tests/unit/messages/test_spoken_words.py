"""What a channel reads, as far as words count: no id, no technical name, no double negative, no long sentence."""

import re

import pytest

from bot.outbox.message import Message
from tests.unit.kept_text import as_read
from tests.unit.messages.kept_answers import ANSWERS
from tests.unit.messages.kept_events import EVENTS

ABOUT_THE_BOT = re.compile(
    "^(audit|coverage|courses|drill|error|form|help|home|notice|status|trace|usage|answer|subscri|paused|resumed|welcome|watching)"
)
"""Answers about the bot itself, its subscriptions and its deliveries: commands, ids and settings are their subject."""

QUOTED = {"unreadable": "the reference is what a reader tells an admin"}

SPOKEN = [name for name in EVENTS | ANSWERS if not ABOUT_THE_BOT.search(name)]
ID = re.compile(r"\b(?:rc|mt|cr|cmd|inbox|drl)[_-]\w|[0-9a-f]{16}")
TECHNICAL = re.compile(r"\b\w+_\w+\b|\b(?:null|None|JSON|payload|webhook|inbox|ts)\b")
NEGATIVE = re.compile(r"\b(?:not|no|never|nobody|none|without|nothing|neither|nor|cannot|\w+n't)\b", re.IGNORECASE)
SENTENCE = re.compile(r"[.;:!?·] +|\N{EM SPACE}|, (?=[0-9])")
DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
LINK = re.compile(r"<https[^|>]*\|([^>]*)>")
WORDS_MOST = 18


def sentences(name):
    kept = (EVENTS | ANSWERS)[name]
    made = kept()
    for message in [made] if isinstance(made, Message) else [one for one, _named in made]:
        for form in message.forms:
            read = LINK.sub(r"\1", DATE.sub(r"\1", as_read(form, {"actions"})))
            spoken = [line for line in read.split("\n") if not line.startswith(("[", "    ["))]
            yield from (one for line in spoken for one in SENTENCE.split(re.sub("`[^`]*`", "", line)))


@pytest.mark.parametrize("name", SPOKEN)
def test_message_is_spoken_as_people_speak(name):
    for sentence in sentences(name):
        assert name in QUOTED or not ID.search(sentence), sentence
        assert name in QUOTED or not TECHNICAL.search(sentence), sentence
        assert all(len(NEGATIVE.findall(clause)) < 2 for clause in sentence.split(", ")), sentence
        assert len(sentence.split()) <= WORDS_MOST, sentence


def test_every_alert_and_summary_is_counted():
    assert {*EVENTS, "live_meeting", "waited", "waited_for_a_digest", "results_of_day"} <= set(SPOKEN)
