"""What an event is."""

from bot.events.event import EventKind, RacingEvent, Topic


def test_every_kind_has_a_topic_and_an_unread_payload_none():
    assert {RacingEvent(key="k", kind=kind).topic for kind in EventKind} == set(Topic)
    assert RacingEvent(key="k").topic is None
