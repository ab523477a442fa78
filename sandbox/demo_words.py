"""The demo's own reading of typed lines: what a channel wants. No code of the bot takes part."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.clock import utc_now
from sandbox.racing_day import REGION_CODES
from sandbox.racing_service.event_payloads import CARD, MEETING_OFF, RACE_OFF, RESULT, Happening

EVENTS_OF = {
    "results": {RESULT},
    "abandonments": {RACE_OFF, MEETING_OFF},
    "racecards": {CARD},
}
DEFAULT = frozenset(EVENTS_OF["results"] | EVENTS_OF["abandonments"])
HELD = {
    "digest": {RESULT},
    "cards": {CARD},
    "quiet": {RESULT, CARD},
    **dict.fromkeys(("zone", "show", "ack", "escalate"), frozenset[str]()),
}
"""The choices, and the events that wait for an hour by the choice."""

CHANGE_NOTHING = frozenset(
    {"", "help", "list", "watch", "watching", "unwatch", "trace", "status", "audit", "drill", "coverage", "courses"}
    | {"next", "racecard", "results", "usage"}
)
CHANGE = frozenset({"subscribe", "unsubscribe"})


@dataclass(frozen=True)
class Wanted:
    """Event names by region; "*" is every region.

    `held` events wait for an hour, all events for the end of a pause. Without `is_sure` a choice was not understood: an
    event may be wanted or not.
    """

    events: dict[str, frozenset[str]] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    is_paused: bool = False
    is_sure: bool = True

    def takes(self, event: str, region: str) -> bool:
        return any(event in self.events.get(one, ()) for one in (region, "*"))

    def waits(self, event: str) -> bool:
        return self.is_paused or event in self.held

    def after(self, line: str) -> "Wanted":
        """The wanted events after a line, typed or of a button."""
        words = line.replace(",", " ").split()
        verb, *named = (words[1:] if words[:1] == ["/racing"] else words) or [""]
        if verb.startswith("/") or verb in CHANGE_NOTHING or (verb in CHANGE and not named):
            return self
        if verb in {"pause", "resume"}:
            return replace(self, is_paused=verb == "pause")
        where = ["*" if one == "all" else one for one in named if one == "all" or one in REGION_CODES]
        topics = [one for one in named if one in EVENTS_OF]
        choices = [one.partition(":")[0] for one in named if one.partition(":")[0] in HELD]
        is_read = verb in CHANGE and len([*where, *topics, *choices]) == len(named) and bool(where or not topics)
        held = frozenset[str]().union(*(HELD[one] for one in choices))
        events = frozenset[str]().union(*(EVENTS_OF[one] for one in topics))
        if verb == "subscribe":
            added = {one: (events or DEFAULT) | self.events.get(one, frozenset()) for one in where}
            return replace(self, events=self.events | added, held=self.held | held, is_sure=self.is_sure and is_read)
        if not is_read:
            return replace(self, is_sure=False)
        if choices:
            return replace(self, held=self.held - held)
        if where == ["*"] and not topics:
            return Wanted()
        left = {one: self.events.get(one, frozenset()) - (events or self.events.get(one, frozenset())) for one in where}
        return replace(self, events=self.events | left)


@dataclass
class Expectations:
    """The wanted events of each channel over time."""

    wanted: dict[str, list[tuple[datetime, Wanted]]] = field(default_factory=lambda: defaultdict(list))

    def typed(self, channel_id: str, line: str) -> None:
        """Notes the change by a line typed now."""
        before = self.of(channel_id, utc_now())
        if line.strip() and (after := before.after(line)) != before:
            self.wanted[channel_id].append((utc_now(), after))

    def filled_in(self, channel_id: str) -> None:
        """A form was submitted now: the channel may want another part of the racing from now on."""
        self.wanted[channel_id].append((utc_now(), replace(self.of(channel_id, utc_now()), is_sure=False)))

    def takers(self, happening: Happening, at: datetime) -> list[str]:
        """The channels that want an event."""
        return [one for one in self.wanted if self.of(one, at).takes(happening.event, happening.region)]

    def of(self, channel_id: str, at: datetime) -> Wanted:
        """An empty `Wanted` before the first subscription."""
        return next((wanted for since, wanted in reversed(self.wanted.get(channel_id, ())) if since <= at), Wanted())
