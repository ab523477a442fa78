"""Channels and people in notices, trace and audit: by the names that readers know, and nothing else by its id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.outbox.notices import Urgency
from bot.slack.commands.audit import read_target
from bot.slack.messages.alerts.admin_notice import admin_notice
from bot.slack.messages.kit.mentions import named
from bot.slack.messages.kit.sentences import sentence
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems
from tests.notice_levels import BEGINNINGS


@pytest.mark.parametrize(
    ("slack_id", "shown"),
    [("C0AB1", "<#C0AB1>"), ("G0AB1", "<#G0AB1>"), ("U0AB1", "<@U0AB1>"), ("W0AB1", "<@W0AB1>"), ("D0AB1", "D0AB1")],
)
def test_channel_or_person_is_shown_by_name(slack_id, shown):
    assert named(slack_id) == shown


@given(st.text(max_size=20))
def test_what_is_no_id_makes_no_mention(slack_id):
    shown = named(f"C<{slack_id}")
    assert "<" not in shown


def test_notice_names_whom_it_was_told_to_name_and_nobody_else():
    words = "In channel C1 (U2, @U1, C12 and late:rc_1@C1 <@U1> <!channel>). Subscribed by U1."
    shown = "In channel <#C1> (U2, @U1, C12 and late:rc_1@C1 &lt;@U1&gt; &lt;!channel&gt;). Subscribed by <@U1>."
    for said in (sentence(words, ["C1", "U1"]), *(admin_notice(level, words, ["C1", "U1"]) for level in Urgency)):
        assert said.text.endswith(shown)
        assert said.blocks[-1]["text"]["text"].endswith(shown)


@given(st.text(max_size=60))
def test_strangers_words_in_a_notice_mention_nobody(words):
    shown = sentence(f"In C1: {words}", ["C1"]).text
    assert shown.startswith("In <#C1>: "[: len(shown)])
    assert "<" not in shown.replace("<#C1>", "")


@given(st.sampled_from(Urgency), st.sampled_from(["<!channel> & *more*", "&" * 9_999, ""]) | st.text(max_size=60))
def test_notice_begins_with_its_level_and_mentions_nobody_whatever_the_words(level, words):
    said = admin_notice(level, words)
    assert said.text.startswith(BEGINNINGS)
    assert "<" not in f"{said.text} {said.blocks}"
    assert block_problems(list(said.blocks), most=MESSAGE_BLOCKS) == []


@pytest.mark.parametrize(("typed", "words"), [("<#C1|gb>", "in <#C1>"), ("U1", "by <@U1>"), ("all", "anywhere")])
def test_audit_says_whose_it_is_by_name(typed, words):
    assert read_target(typed)[2] == words
