"""The demo's own reading of plain `/racing subscribe` lines. No code of the bot takes part."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from bot.clock import utc_now
from sandbox.racing_places import REGION_CODES
from sandbox.racing_service.event_payloads import CARD, MEETING_OFF, RACE_OFF, RESULT, Happening

EVENTS_OF = {
    "results": {RESULT},
    "abandonments": {RACE_OFF, MEETING_OFF},
    "racecards": {CARD},
}
DEFAULT = frozenset(EVENTS_OF["results"] | EVENTS_OF["abandonments"])


@dataclass(frozen=True)
class Wanted:
    """Event names by region; "*" is every region."""

    events: dict[str, frozenset[str]] = field(default_factory=dict)

    def takes(self, event: str, region: str) -> bool:
        return event in self.events.get(region, frozenset()) or event in self.events.get("*", frozenset())

    def after(self, line: str) -> "Wanted | None":
        """The events after a typed line. None: the line can't be read here."""
        command, _, rest = line.strip().partition(" ")
        word, _, words = rest.partition(" ")
        if command != "/racing" or word not in {"subscribe", "unsubscribe"}:
            return self
        named = words.replace(",", " ").split()
        where = ["*" if one == "all" else one for one in named if one == "all" or one in REGION_CODES]
        topics = [one for one in named if one in EVENTS_OF]
        if not where or len(where) + len(topics) != len(named):
            return None
        if word == "unsubscribe":
            return (
                None if topics or where == ["*"] else Wanted({k: v for k, v in self.events.items() if k not in where})
            )
        events = frozenset[str]().union(*(EVENTS_OF[one] for one in topics)) or DEFAULT
        return Wanted(self.events | {one: events | self.events.get(one, frozenset()) for one in where})


@dataclass
class Expectations:
    """The wanted events of each channel over time."""

    wanted: dict[str, list[tuple[datetime, Wanted | None]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, channel_id: str, at: datetime, wanted: Wanted | None) -> None:
        """From `at` on. With None the channel is no longer counted."""
        self.wanted[channel_id].append((at, wanted))

    def typed(self, channel_id: str, line: str) -> None:
        """Notes the change by a line typed now."""
        now = utc_now()
        before = self.of(channel_id, now)
        if before is not None and (after := before.after(line)) != before:
            self.note(channel_id, now, after)

    def takers(self, happening: Happening, at: datetime) -> list[str]:
        """The channels that want an event."""
        wanted = {channel_id: self.of(channel_id, at) for channel_id in self.wanted}
        return [one for one, each in wanted.items() if each and each.takes(happening.event, happening.region)]

    def of(self, channel_id: str, at: datetime) -> Wanted | None:
        """An empty `Wanted` before the first subscription."""
        found: Wanted | None = Wanted()
        for since, wanted in self.wanted.get(channel_id, ()):
            if since <= at:
                found = wanted
        return found
