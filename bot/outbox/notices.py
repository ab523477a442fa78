"""Notices for admins, each told once, through the outbox."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from sqlmodel import Session

from bot.channels.conditions.event_conditions import is_person
from bot.clock import Clock
from bot.db.tables import MessageKind
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.logs import get_logger
from bot.outbox import held_queues, message_store, told_once
from bot.outbox.channel_queues import Claim
from bot.outbox.held_queues import Held
from bot.outbox.message import Message
from bot.outbox.message_store import NewPost, Priority

log = get_logger(__name__)

DELETED = "the channel was deleted"
"""The reason of a closing without an end."""

_WORDS = {"is_archived": "archived", "not_in_channel": "I am not in the channel"}
_MENDS = {"is_archived": "Unarchive the channel, and invite me back if I am gone"}
"""By Slack's code."""


class Urgency(StrEnum):
    """The level of a notice. docs/messages.md, Looks, has the rule and examples."""

    ALL_CLEAR = "all clear"
    """The trouble of an earlier notice is over."""
    NOTE = "note"
    """Worth knowing. Nobody has to act."""
    WARNING = "warning"
    """A message was lost, or a channel is closed. Somebody should act today."""
    CRITICAL = "critical"
    """Abandonments may be missed, or the data service refuses the bot, until somebody acts."""


RenderNotice = Callable[[Urgency, str, Iterable[str]], Message]
"""Makes a message of plain sentences that begins with the level, with ids shown by name."""


LONGEST_ABOUT = 100


class Notices:
    """Tells admins: in their channel, else by direct messages, else in the log.

    `unreached`: admins without working direct messages, with the reason. Warnings are tried there too, until one
    arrives.
    """

    def __init__(
        self, admin_channel: str | None, render: RenderNotice, *, clock: Clock, admin_users: Sequence[str] = ()
    ) -> None:
        self.admin_channel = admin_channel
        self.admin_users = tuple(dict.fromkeys(user_id for user_id in admin_users if user_id != admin_channel))
        self.unreached: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._render = render
        self._clock = clock

    def tell(self, session: Session, key: str, words: str, *named_ids: str, urgency: Urgency) -> bool:
        """False if the key was told before. `named_ids`: ids in the words."""
        places = self.places(session)
        news = message_store.add_notice(session, key, places, self._render(urgency, words, named_ids), self._clock())
        if news:
            log.warning("admins_told", key=key, urgency=urgency.value, words=words, places=places)
        return news

    @property
    def _today(self) -> str:
        """The day, for the key of a notice told once a day."""
        return f"{self._clock():%Y-%m-%d}"

    def places(self, session: Session) -> Sequence[str]:
        """If no place is open, the notice waits in the closed channel."""
        channel = [self.admin_channel] if self.admin_channel else []
        if self.admin_channel and self._is_open(session, self.admin_channel):
            return channel
        tried = [one for one in (*channel, *self.admin_users) if one in self._refused]
        return tuple(dict.fromkeys([*(self.reachable or channel), *tried]))

    def looked_up(self, user_id: str, problem: str | None) -> bool:
        """True if the problem is news. An earlier refusal counts if `problem` is None."""
        before, now = self.unreached.pop(user_id, None), problem or self._refused.get(user_id)
        if now is not None:
            self.unreached[user_id] = now
        return now not in {None, before}

    def taken(self, channel_id: str) -> None:
        if self._refused.pop(channel_id, None):
            self.unreached.pop(channel_id, None)

    @property
    def reachable(self) -> Sequence[str]:
        """The ADMIN_USERS, without persons whom Slack is known not to reach."""
        return [user_id for user_id in self.admin_users if user_id not in self.unreached]

    def _is_open(self, session: Session, channel_id: str) -> bool:
        if is_person(channel_id):
            return channel_id not in self.unreached
        closing = held_queues.closing_of(session, channel_id)
        return closing is None or closing.on_trial

    def problem(self, session: Session) -> str | None:
        """For `/readyz`."""
        channel = self.admin_channel
        closing = held_queues.closing_of(session, channel) if channel else None
        problems = [f"{user_id}: no direct message reaches this person ({why})" for user_id, why in self._missing()]
        if channel and closing:
            instead = "go to ADMIN_USERS by direct message" if self.reachable else "wait, and stand in the log"
            problems.insert(0, f"{channel}: Slack takes no post there ({closing.because}); warnings {instead}")
        return "; ".join(problems) or None

    def _missing(self) -> list[tuple[str, str]]:
        return [(one, self.unreached[one]) for one in (self.admin_channel, *self.admin_users) if one in self.unreached]

    def divert(self, session: Session, channel_id: str, reason: str, since: datetime) -> None:
        """Move notices from the closed admins' channel to direct messages, if any admin is reachable."""
        if channel_id != self.admin_channel or not self.reachable:
            return
        moved = message_store.divert_notices(session, channel_id, self.reachable)
        log.warning("notices_diverted", channel_id=channel_id, reason=reason, notices=moved, to=self.reachable)
        words = (
            f"Slack does not let me post in the channel for warnings, {channel_id} ({closed_words(reason)}). Until it "
            "does, warnings come to you directly, because ADMIN_USERS names you. Invite me to that channel, or set "
            "ADMIN_CHANNEL to the id of another and start me again."
        )
        key = _of_closing("admin-channel-closed", channel_id, since)
        self.tell(session, key, words, urgency=Urgency.WARNING)

    def is_back(self, session: Session, since: datetime) -> None:
        """Say in the admins' channel, once a closing, that warnings come there again."""
        if self.admin_channel is None:
            return
        words = (
            f"Warnings for admins come here again. From {since.astimezone(UTC):%Y-%m-%d %H:%M} UTC until now Slack did "
            "not let me post here."
        )
        key = _of_closing("admin-channel-open", self.admin_channel, since)
        content = self._render(Urgency.ALL_CLEAR, words, []).as_json()
        # Not a notice: a notice would go to other channels where this channel closes again.
        said = NewPost(self.admin_channel, key, MessageKind.WELCOME, Priority.ADMIN, self._clock(), content=content)
        message_store.add(session, [said])

    def tell_channel(self, session: Session, key: str, channel_id: str, words: str, *, urgency: Urgency) -> None:
        """Tell a channel, and admins of the message."""
        if self.tell(session, key, f"I tell channel {channel_id}: {words}", channel_id, urgency=urgency):
            message = self._render(urgency, words, [])
            message_store.add_notice(session, f"{key}:{channel_id}", [channel_id], message, self._clock())

    def unreadable(self, session: Session, event: RacingEvent, reference: str, channels: int) -> None:
        """`channels`: how many get a plain line of the unreadable delivery."""
        # Unknown events may come in thousands: told once by name.
        key = f"unknown-event:{event.name}" if event.name else f"unreadable:{event.key}"
        because = (event.unreadable_because or "unknown form").removesuffix(".")
        plainly = f"A plain line goes to channels that take all regions: {channels}."
        told = plainly if channels else "No channel takes all regions, so no channel is told."
        words = (
            f"A signed delivery could not be read: {because}. It may be an abandonment, and is kept whole as "
            f"{reference}. {told}"
        )
        self.tell(session, key, words, urgency=Urgency.CRITICAL)

    def told_plainly(self, session: Session, because: str, about: str, reference: str) -> None:
        """Once a day and cause. `about`: the event, or its message."""
        words = (
            f"A signed delivery is told in plain form, without runners and races: {because}. Channels may miss news of "
            f"the runners and races. The delivery is kept whole as {reference} ({about[:LONGEST_ABOUT]}). Further "
            "deliveries of today with the same cause stand in the log alone."
        )
        self.tell(session, f"told-plainly:{because}:{self._today}", words, urgency=Urgency.WARNING)

    def of_no_region(self, session: Session, event: RacingEvent, reference: str) -> None:
        """Told once a day for each region, as published."""
        said = event.race.said_region
        named = f'the unlisted region "{said[:LONGEST_ABOUT]}"' if said else "an unknown region"
        words = (
            f"A delivery ({event.topic}) of {named} went to no channel so far. Of an unknown region, channels of "
            "single regions get abandonments alone. Channels of all regions get results and racecards too. The "
            f"delivery is kept whole as {reference} ({event.key[:LONGEST_ABOUT]}). Further deliveries of the region "
            "stand in the log alone today."
        )
        self.tell(session, f"no-region:{said or ''}:{self._today}", words, urgency=Urgency.WARNING)

    def stands_still(self, session: Session, reason: str) -> None:
        """Once a day and cause."""
        cause = reason.partition(" (")[0]
        self.tell(session, f"standstill:{cause}:{self._today}", _standstill(reason), urgency=Urgency.CRITICAL)

    def standstill_message(self, reason: str) -> Message:
        """The same, for a post past the queue."""
        return self._render(Urgency.CRITICAL, _standstill(reason), [])

    def ways(self) -> Sequence[Sequence[str]]:
        """Without the database; the best way first."""
        return [[self.admin_channel] if self.admin_channel else [], self.reachable]

    def unread_filters(self, session: Session, channel_ids: Iterable[str]) -> None:
        """Once a day and channel."""
        for channel_id in sorted(set(channel_ids)):
            words = (
                f"A stored subscription of channel {channel_id} can't be read. Until somebody types /racing subscribe "
                "there again, the channel gets the results and abandonments of the subscription's region."
            )
            self.tell(session, f"filter:{channel_id}:{self._today}", words, channel_id, urgency=Urgency.WARNING)

    def unreadable_acknowledgement(self, session: Session, channel_id: str, key: str) -> None:
        words = (
            f"The stored list of whom to tell when nobody takes an abandonment in channel {channel_id} can't be read. "
            f"The button works, but nobody else is told ({key})."
        )
        self.tell(session, f"acknowledgement:{key}", words, channel_id, urgency=Urgency.WARNING)

    def not_escalated(self, session: Session, key: str, channel_ids: Sequence[str]) -> None:
        """`channel_ids`: of each abandonment. `key`: of one of their messages."""
        channels = sorted(set(channel_ids))
        one, many = "Nobody took an abandonment", f"Nobody took {len(channel_ids)} abandonments"
        words = (
            f"{many if len(channel_ids) > 1 else one}, and the day of the races was over before I could tell more "
            f"people. So I tell nobody else ({', '.join(channels)}). /racing trace says of a race who was told."
        )
        self.tell(session, f"not-escalated:{key}", words, *channels, urgency=Urgency.WARNING)

    def channel_closed(
        self, session: Session, channel_id: str, held: Held, creators: Iterable[str], escalating: Sequence[str] = ()
    ) -> None:
        """Once a closing. `escalating`: channels whose abandonments are told there while nobody has them."""
        what = f"Slack no longer lets me post in channel {channel_id} ({closed_words(held.because)})."
        what += f" {_what_follows(held.because)}"
        if escalating:
            of = ", ".join(escalating)
            what += f" Abandonments of {of} that nobody takes are to be told there: name another channel."
        creators = sorted(filter(is_person, creators))
        made_by = f" Subscribed by {', '.join(creators)}." if creators else ""
        key = _of_closing("closed", channel_id, held.since)
        self.tell(session, key, what + made_by, channel_id, *escalating, *creators, urgency=Urgency.WARNING)
        why = f"{what} I tell you because you subscribed the channel."
        self._tell_people(session, key, self._render(Urgency.WARNING, why, [channel_id, *escalating]), creators)

    def channel_open(self, session: Session, channel_id: str, closed_at: datetime, creators: Iterable[str]) -> None:
        """Tell those who were told of the closing."""
        if not told_once.is_noted(session, _of_closing("closed", channel_id, closed_at)):
            return
        key = _of_closing("open", channel_id, closed_at)
        what = (
            f"Slack lets me post in channel {channel_id} again. Its subscriptions go on. Waiting messages are posted."
        )
        self.tell(session, key, what, channel_id, urgency=Urgency.ALL_CLEAR)
        self._tell_people(session, key, self._render(Urgency.ALL_CLEAR, what, [channel_id]), creators)

    def _tell_people(self, session: Session, key: str, message: Message, user_ids: Iterable[str]) -> None:
        told = self.places(session)
        for user_id in filter(is_person, user_ids):
            if user_id not in told:
                message_store.add_notice(session, f"{key}:{user_id}", [user_id], message, self._clock())

    def given_up(
        self, session: Session, channel_id: str, held: Held, keep_hours: int, *, has_abandonment: bool
    ) -> None:
        """Once a closing. A later abandonment is told once more, because the first notice was no urgent notice."""
        since, key = held.since.astimezone(UTC), _of_closing("given-up", channel_id, held.since)
        key_of_abandonments = f"{key}:abandonments"
        if not has_abandonment and told_once.is_noted(session, key_of_abandonments):
            return
        among = ", abandonments among them," if has_abandonment else ""
        later = " Once the channel is back, a summary there says how many they were." if held.because != DELETED else ""
        words = (
            f"Messages for channel {channel_id}{among} are being given up, each once it has waited more than "
            f"{keep_hours} hours ({held.because} since {since:%Y-%m-%d %H:%M} UTC). They are kept, but not posted: "
            f"/racing trace says of a race who was told.{later}"
        )
        key, urgency = (key_of_abandonments, Urgency.CRITICAL) if has_abandonment else (key, Urgency.WARNING)
        self.tell(session, key, words, channel_id, urgency=urgency)

    def dead_letter(self, session: Session, claim: Claim, error: str, *, is_closed: bool = False) -> None:
        """Tell of a dead letter. A notice goes to the admins' other places instead.

        `is_closed`: Slack takes no post there at all. Then admins are told once a day.
        """
        if is_closed and claim.channel_id in {self.admin_channel, *self.admin_users}:
            self.unreached[claim.channel_id] = self._refused[claim.channel_id] = error
        if claim.post.kind == MessageKind.NOTICE:
            log.error("notice_not_posted", post=claim.post.idempotency_key, reason=error)
            self._tell_elsewhere(session, claim)
            return
        # A person who closed direct messages, or has left, may watch many names. A live message has many edits.
        key = claim.post.idempotency_key
        about = f"{claim.channel_id}:{self._today}" if is_closed else key
        named = _message_of(claim)
        missing = f"{named.capitalize()} for channel {{}} was not posted"
        what = f"An edit of {named} in channel {{}} was not made" if claim.is_edit else missing
        words = f"{what.format(claim.channel_id)}: {error}. The message is kept, and not tried again by itself ({key})."
        # Only the person could open direct messages again.
        urgency = Urgency.WARNING if is_closed else _urgency_of(claim)
        self.tell(session, f"parked:{about}", words, claim.channel_id, urgency=urgency)

    def _tell_elsewhere(self, session: Session, claim: Claim) -> None:
        others = [user_id for user_id in self.reachable if user_id != claim.channel_id]
        if claim.channel_id == self.admin_channel:
            message_store.resend_notice(session, claim.post, others)
        elif claim.channel_id in self.admin_users and self.admin_channel and not others:
            # The notice waits for the channel.
            message_store.resend_notice(session, claim.post, [self.admin_channel])

    def stuck(self, session: Session, claim: Claim, now: datetime) -> None:
        """Tell once an hour and level. The notice also shows whether Slack takes other messages.

        See bot.outbox.resolve.
        """
        at, urgency = now.astimezone(UTC), _urgency_of(claim)
        words = (
            f"Several calls for {_message_of(claim)} ended in doubt, and channel {claim.channel_id} waits: "
            f"{claim.post.idempotency_key}. I go on trying, and give the message up if Slack goes on taking others. "
            "Other channels may wait too."
        )
        # A person would be rung for nothing.
        named = [] if is_person(claim.channel_id) else [claim.channel_id]
        self.tell(session, f"stuck:{at:%Y-%m-%dT%H}:{urgency.value}", words, *named, urgency=urgency)


def closed_words(reason: str) -> str:
    return _WORDS.get(reason, reason)


def _urgency_of(claim: Claim) -> Urgency:
    """An unreadable delivery may be an abandonment."""
    is_unreadable = claim.event is not None and claim.event.kind is None
    return Urgency.CRITICAL if is_unreadable or _is_of_abandonment(claim) else Urgency.WARNING


def _message_of(claim: Claim) -> str:
    return "an abandonment's message" if _is_of_abandonment(claim) else "a message"


def _is_of_abandonment(claim: Claim) -> bool:
    if claim.event is None:
        return claim.post.kind == MessageKind.ESCALATION
    event, _ = event_store.known(claim.event)
    return event.reports_loss


def _standstill(reason: str) -> str:
    return (
        f"{reason}. Nothing is lost: waiting messages are posted once the fault is mended. /readyz and the bot's log "
        "tell more."
    )


def _what_follows(reason: str) -> str:
    if reason == DELETED:
        return (
            "The channel can't come back: its subscriptions stay suspended, and waiting messages are not posted "
            "(/racing trace says of a race who was told). Type /racing subscribe in another channel instead."
        )
    return (
        "The channel's subscriptions are suspended. Nothing is deleted, and waiting messages are kept. "
        f"{_MENDS.get(reason, 'Invite me back')}, and the subscriptions go on."
    )


def _of_closing(what: str, channel_id: str, closed_at: datetime) -> str:
    return f"{what}:{channel_id}:{closed_at.astimezone(UTC).isoformat()}"
