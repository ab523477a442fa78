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
from bot.operations.repair.failed_record import Failed
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
    """The latest outage. `name` tells outages apart. The counts are of deliveries made good."""

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

    def goes_on(self, found: "Outage") -> bool:
        return found.since <= self.until + OUTAGES_APART and found.until >= self.since - OUTAGES_APART

    def with_(self, found: "Outage") -> "Outage":
        return Outage(
            name=self.name,
            since=min(self.since, found.since),
            until=max(self.until, found.until),
            kinds=Counter(self.kinds) + Counter(found.kinds),
            answers=Counter(self.answers) + Counter(found.answers),
            has_abandonment=self.has_abandonment or found.has_abandonment,
        )

    @property
    def told(self) -> str:
        one = self.count == 1
        deliveries = "1 delivery to me" if one else f"{self.count} deliveries to me"
        kinds = ", ".join(f"{kind}: {self.kinds[kind]}" for kind in IN_WORDS.values() if kind in self.kinds)
        when = _moment(self.since) if self.since == self.until else f"{_moment(self.since)} to {_moment(self.until)}"
        unless = "" if self.urgency is Urgency.CRITICAL else ", unless an abandonment is among it"
        return (
            f"The data service gave up {deliveries} ({kinds}), first tried {when} UTC. My endpoint's last answers, by "
            f"the service's records: {_in_words(self.answers)}. I post {'the event' if one else 'all events'} now, "
            "marked late, abandonments first. If the service gives up more of the same outage, I post that without "
            f"another warning{unless}. Check the address, the certificate and the load balancer in front of me for "
            "that time."
        )


def outage_of(made: Sequence[Failed], now: datetime) -> Outage:
    moments = [one.tried_at or now for one in made]
    answers = Counter(one.answered.told for one in made)
    kinds = Counter(IN_WORDS[one.event.kind] for one in made)
    since = min(moments)
    return Outage(
        name=since.isoformat(),
        since=since,
        until=max(moments),
        kinds=kinds,
        answers=answers,
        has_abandonment=any(one.event.reports_loss for one in made),
    )


def note(session: Session, notices: Notices, found: Outage | None, now: datetime, *, is_last: bool) -> None:
    """Add found deliveries to their outage. `is_last`: tell admins, once for each outage and level."""
    kept = named_values.get(session, Mark.OUTAGE)
    known = Outage.model_validate(kept[0]) if kept else None
    if found is not None:
        known = known.with_(found) if known and known.goes_on(found) else found
        named_values.put(session, Mark.OUTAGE, known.model_dump(mode="json"), now)
    if known is not None and is_last:
        notices.tell(session, _key(known), known.told, urgency=known.urgency)


def has_news(session: Session, unread: Sequence[str]) -> bool:
    """A process killed between two transactions leaves an outage untold."""
    kept = named_values.get(session, Mark.OUTAGE)
    is_untold = kept is not None and not told_once.is_noted(session, _key(Outage.model_validate(kept[0])))
    return is_untold or not all(told_once.is_noted(session, f"{_UNREAD}{name}") for name in unread)


def note_unread(session: Session, notices: Notices, names: Sequence[str], now: datetime) -> None:
    news = told_once.note(session, (f"{_UNREAD}{name}" for name in sorted(set(names))), now)
    if not news:
        return
    some = ", ".join(sorted(set(names))[:UNREAD_NAMED])
    notices.tell(
        session,
        f"outage-{news[0]}",
        f"The data service lists failed deliveries to me that I can't make good, because I can't read their records: "
        f"{some}{' and others' if len(set(names)) > UNREAD_NAMED else ''}. My log has the records "
        "(failed_delivery_not_read). Look the deliveries up with the data service.",
        urgency=Urgency.CRITICAL,
    )


def _key(known: Outage) -> str:
    return f"outage:{known.name}{':abandonments' if known.urgency is Urgency.CRITICAL else ''}"


def _in_words(answers: Mapping[str, int]) -> str:
    most = Counter(answers).most_common()
    said = [f"{count} x {answer}" for answer, count in most[:ANSWERS_NAMED]]
    return "; ".join([*said, *(["and others"] if len(most) > ANSWERS_NAMED else [])])


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
