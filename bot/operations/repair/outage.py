"""Outages in words for admins: deliveries, time, and answers, by the service's records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import AwareDatetime
from sqlmodel import Session

from bot.db import named_values
from bot.db.named_values import Mark
from bot.events.kinds import DECLARATIONS
from bot.events.races import Value
from bot.events.sentences import counted
from bot.operations.repair.failed_record import Failed
from bot.operations.self_notices import notice_words
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency

OUTAGES_APART = timedelta(hours=1)
"""First attempts closer than this belong to the same outage.

The data service gives up a delivery about a day after its first attempt, so an outage appears piece by piece.
"""

IN_WORDS: Mapping[str | None, str] = {
    **{kind: declared.counted[1] for kind, declared in DECLARATIONS.items()},
    None: "other events",
}
_UNREAD = "unread-record:"

ANSWERS_NAMED = 5
UNREAD_NAMED = 10


class Outage(Value):
    """`name` tells outages apart. The counts are of the deliveries that a run found missing."""

    name: str
    since: AwareDatetime
    until: AwareDatetime
    kinds: Mapping[str, int]
    answers: Mapping[str, int]
    has_abandonment: bool = False

    @property
    def count(self) -> int:
        return sum(self.kinds.values())

    @property
    def urgency(self) -> Urgency:
        """An abandonment that comes a day late was missed, and the cause may go on."""
        return Urgency.CRITICAL if self.has_abandonment else Urgency.WARNING

    def joined_to(self, latest: "Outage") -> "Outage":
        """This outage by the name of the latest, if both are one outage."""
        if self.since > latest.until + OUTAGES_APART or self.until < latest.since - OUTAGES_APART:
            return self
        update = {
            "name": latest.name,
            "since": min(self.since, latest.since),
            "until": max(self.until, latest.until),
            "has_abandonment": self.has_abandonment or latest.has_abandonment,
        }
        return self.model_copy(update=update)

    @property
    def told(self) -> str:
        one = self.count == 1
        deliveries = counted(self.count, "delivery", "deliveries")
        kinds = ", ".join(f"{kind}: {self.kinds[kind]}" for kind in IN_WORDS.values() if kind in self.kinds)
        posted = "the event now" if one else "all events now, abandonments first"
        when = _moment(self.since) if self.since == self.until else f"{_moment(self.since)} to {_moment(self.until)}"
        unless = "" if self.urgency is Urgency.CRITICAL else " I warn again only if an abandonment is among them."
        facts = {"deliveries": deliveries, "kinds": kinds, "when": when, "posted": posted, "unless": unless}
        return notice_words("outage", answers=_in_words(self.answers), **facts)


def outage_of(missing: Sequence[Failed], now: datetime) -> Outage:
    moments = [one.tried_at or now for one in missing]
    since = min(moments)
    return Outage(
        name=since.isoformat(),
        since=since,
        until=max(moments),
        kinds=Counter(IN_WORDS[one.event.kind] for one in missing),
        answers=Counter(one.answered.told for one in missing),
        has_abandonment=any(one.event.reports_loss for one in missing),
    )


def tell(session: Session, notices: Notices, found: Outage, now: datetime) -> None:
    """Once for each outage and level."""
    if latest := named_values.load(session, Mark.OUTAGE, Outage):
        found = found.joined_to(latest)
    named_values.put(session, Mark.OUTAGE, found.model_dump(mode="json"), now)
    key = f"outage:{found.name}{':abandonments' if found.urgency is Urgency.CRITICAL else ''}"
    notices.tell(session, key, found.told, urgency=found.urgency)


def tell_unread(session: Session, notices: Notices, names: Sequence[str], now: datetime) -> bool:
    """True if a record is news."""
    news = told_once.note(session, (f"{_UNREAD}{name}" for name in sorted(set(names))), now)
    some = ", ".join(sorted(set(names))[:UNREAD_NAMED]) + (" and others" if len(set(names)) > UNREAD_NAMED else "")
    words = notice_words("unread-records", some=some)
    return bool(news) and notices.tell(session, f"outage-{news[0]}", words, urgency=Urgency.CRITICAL)


def _in_words(answers: Mapping[str, int]) -> str:
    most = Counter(answers).most_common()
    said = [f"{count} x {answer}" for answer, count in most[:ANSWERS_NAMED]]
    return "; ".join([*said, *(["and others"] if len(most) > ANSWERS_NAMED else [])])


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
