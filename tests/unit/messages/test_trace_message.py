"""The text of `/racing trace`: what became of it stands there, not in the blocks alone."""

from dataclasses import replace

import pytest

from bot.slack.messages.trace import trace_answer
from bot.storage.ledger import Trace
from tests.unit.messages.kept_answers import TRACE, VERSION

UNTOLD = replace(VERSION, told=())


def text(found, only_channel=None):
    return trace_answer(found, "rc_1", lambda _channel_id, _ts: None, only_channel).text


@pytest.mark.parametrize(
    ("version", "only_channel", "why"),
    [
        (UNTOLD, "C9", "this channel had not asked for it"),
        (replace(UNTOLD, posts=0), None, "nobody was subscribed to it"),
        (UNTOLD, None, "no channel was to be told"),
    ],
)
def test_text_of_a_trace_says_why_nobody_was_told(version, only_channel, why):
    found = replace(TRACE, versions=(version, version))
    assert text(found, only_channel) == f"`rc_1`: 2 versions of events. {why}"


def test_text_of_a_trace_says_what_became_of_a_delivery_that_made_no_version():
    found = Trace((), TRACE.deliveries, 0, TRACE.kept_since)
    assert text(found) == "`rc_1`: 0 versions of events. inbox-18 said nothing new, so nobody was told again"
