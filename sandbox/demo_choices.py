"""The choices of each channel, as the bot has stored them. No code of the bot judges who wants an event."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session, select

from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.tables import ChannelSubscriptionRow, MutedMeetingRow
from sandbox.racing_service.event_payloads import CARD, MEETING_OFF, RACE_OFF, RESULT, Happening
from sandbox.slack.values import Json

EVENTS_OF = {"results": {RESULT}, "abandonments": {RACE_OFF, MEETING_OFF}, "racecards": {CARD}}
HELD = {"digest": {RESULT}, "cards": {CARD}, "quiet": {RESULT, CARD}}
"""The choices of hours, and the events that wait for an hour."""


@dataclass(frozen=True)
class Wanted:
    """A channel's choices. Results and cards of `muted` meetings do not come: each is an id, or a course and a date."""

    filters: tuple[Json, ...] = ()
    muted: frozenset[tuple[str, ...]] = frozenset()
    paused_until: datetime | None = None

    def takes(self, happening: Happening) -> bool:
        subject = happening.subject
        meeting = {(happening.meeting_id,), (subject["course"]["course_id"], subject["date"])}
        is_muted = happening.event in {RESULT, CARD} and not meeting.isdisjoint(self.muted)
        return not is_muted and any(_takes(one, happening) for one in self.filters)

    def waits(self, happening: Happening, now: datetime) -> bool:
        """Whether the event waits for the end of a pause, or for an hour."""
        taking = [one for one in self.filters if _takes(one, happening)]
        is_paused = self.paused_until is not None and self.paused_until > now
        return is_paused or any(one.get(name) for one in taking for name in HELD if happening.event in HELD[name])


def _takes(chosen: Json, happening: Happening) -> bool:
    """A racecard is taken for any of its races, an abandoned meeting in any class and code."""
    subject, is_whole = happening.subject, happening.event == MEETING_OFF
    course_id = subject["course"]["course_id"]
    only, left_out = ({one["course_id"] for one in chosen.get(name, ())} for name in ("courses", "not_courses"))
    return (
        chosen["region"] in {happening.region, "*"}
        and any(happening.event in EVENTS_OF[topic] for topic in chosen["topics"])
        and course_id in (only or {course_id}) - left_out
        and (is_whole or any(_takes_race(chosen, race) for race in subject.get("races", [subject])))
    )


def _takes_race(chosen: Json, race: Json) -> bool:
    codes = {"flat" if race["run_type"] == "Flat" else "jumps", "aw" if race["surface"] == "All Weather" else ""}
    is_of_class = not race["class"] or race["class"] in (chosen.get("classes") or [race["class"]])
    return is_of_class and not codes.isdisjoint(chosen.get("codes") or codes)


@dataclass
class Choices:
    """The choices of each channel over time."""

    database: Database
    wanted: dict[str, list[tuple[datetime, Wanted]]] = field(default_factory=lambda: defaultdict(list))

    async def look(self) -> None:
        """Notes what the bot has stored by now. The bot stores a choice before the answer to the person."""
        stored = await self.database.read(_stored)
        for channel_id in {*self.wanted, *stored}:
            now, wanted = utc_now(), stored.get(channel_id, Wanted())
            if wanted != self.of(channel_id, now):
                self.wanted[channel_id].append((now, wanted))

    def takers(self, happening: Happening, at: datetime) -> list[str]:
        """The channels that want an event."""
        return [one for one in self.wanted if self.of(one, at).takes(happening)]

    def of(self, channel_id: str, at: datetime) -> Wanted:
        """An empty `Wanted` before the first subscription."""
        return next((wanted for since, wanted in reversed(self.wanted.get(channel_id, ())) if since <= at), Wanted())

    def changed_at(self, channel_id: str, now: datetime) -> list[datetime]:
        """The last change, and the end of a pause that is over."""
        last = self.wanted.get(channel_id, ())[-1:]
        return [at for since, wanted in last for at in (since, wanted.paused_until) if at and at <= now]


def _stored(session: Session) -> dict[str, Wanted]:
    rows: dict[str, list[ChannelSubscriptionRow]] = defaultdict(list)
    for row in session.exec(select(ChannelSubscriptionRow).order_by(ChannelSubscriptionRow.region)):
        rows[row.channel_id].append(row)
    muted: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for one in session.exec(select(MutedMeetingRow).where(MutedMeetingRow.ended_at == None)):  # noqa: E711  SQL's own
        meeting = json.loads(one.meeting)
        named = (meeting["course"]["course_id"], meeting["race_date"])
        muted[one.channel_id].add((meeting["meeting_id"],) if meeting["meeting_id"] else named)
    return {
        channel_id: Wanted(
            tuple(json.loads(row.filter) for row in some), frozenset(muted[channel_id]), some[0].paused_until
        )
        for channel_id, some in rows.items()
    }
