"""Trigger ids: each opens a modal once, within three seconds."""

from datetime import datetime
from itertools import count

from bot.clock import Clock
from sandbox.slack.refused_calls import Refused

# docs.slack.dev/reference/methods/views.open
TRIGGER_LIFE_S = 3.0


class Triggers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._issued: dict[str, datetime] = {}
        self._used: set[str] = set()
        self._numbers = count(1)

    def issue(self) -> str:
        trigger_id = f"{next(self._numbers)}.sandbox.trigger"
        self._issued[trigger_id] = self._clock()
        return trigger_id

    def exchange(self, trigger_id: str) -> None:
        """Raises Refused for an unknown, used or old id."""
        issued_at = self._issued.get(trigger_id)
        if issued_at is None:
            raise Refused("invalid_trigger_id")
        if trigger_id in self._used:
            raise Refused("exchanged_trigger_id")
        if (self._clock() - issued_at).total_seconds() > TRIGGER_LIFE_S:
            raise Refused("expired_trigger_id")
        self._used.add(trigger_id)
