"""A field that is told is a field that a message shows, and a change of it has words."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.events.event import EventKind
from bot.events.facts import changes_between, only
from bot.events.kinds import ToldField
from bot.slack.messages import MessageContext, render
from bot.slack.messages.alerts.corrections import additions_in_words, changes_in_words
from bot.slack.messages.answers.full_result_answer import full_result
from tests.unit.events.test_facts import DECLARATIONS, DECLARED, EVENTS, event_with

NOW = datetime(2026, 11, 20, 14, 32, tzinfo=UTC)
CONTEXT = MessageContext(received_at=NOW, now=NOW, late_after_s=600)
TOLD = [(kind, path) for kind, path in DECLARED if isinstance(DECLARATIONS[kind][path], ToldField)]


def shown(event):
    messages = [render(event, CONTEXT)]
    if event.kind is EventKind.RESULT_RECEIVED:
        messages.append(full_result(event, None, NOW))
    return [(message.text, message.blocks, message.plain_blocks) for message in messages]


@pytest.mark.parametrize(("kind", "path"), TOLD)
def test_message_shows_each_field_that_is_told(kind, path):
    assert shown(event_with(kind, path)) != shown(event_with(kind, path, changed=True))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.booleans())
def test_every_change_has_words(versions, disagree):
    _, old, new = versions
    for change in changes_between(old, new, received_at=NOW):
        said = changes_in_words([change], new.race.runners, disagree=disagree)
        assert bool(said) is bool(only([change], additions=False))
        assert bool(additions_in_words([change])) is change.is_addition
