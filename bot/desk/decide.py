"""Decides how a channel is told of news: by a new message, by an edit, by an existing message, or not at all.

A race is a subject, with result and abandonment; so is a meeting, and a card. A chain holds the tellings of a subject
in a channel, the oldest first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from bot.channels.filters import AckRequest
from bot.desk.absorb import News
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.facts import changes_winner
from bot.events.meeting_parts import lost_with, says_all_of


class Because(StrEnum):
    """Why a telling has no message of its own."""

    MUTED = "muted"
    MEETING = "meeting"
    """The message of the abandoned meeting says the race."""
    SUMMARY = "summary"


class Telling(NamedTuple):
    """An event as told to a channel. `id`: of the message. `kind` to `remarks`: of the event.

    `by`: the summary that says the event instead. A race in a meeting's message has the `id` of that message.
    `waits`: until when, if unsent. `in_thread`: of a live message. `message_ts`: of the message, or of its summary;
    `is_unsent`: neither is sent yet. `is_asked`: to be acknowledged.
    `is_link`: the message of another event shows the event, without telling the channel of the event.
    """

    id: int
    channel_id: str
    kind: EventKind | None
    event_key: str
    race_id: str | None
    version: int
    received_at: datetime
    remarks: str | None
    is_dead: bool = False
    withheld: Because | None = None
    by: int | None = None
    waits: datetime | None = None
    in_thread: bool = False
    message_ts: str | None = None
    is_unsent: bool = False
    is_asked: bool = False
    is_link: bool = False

    @property
    def is_own(self) -> bool:
        """True for the event's own message, and for a summary."""
        return not self.is_link and self.withheld is not Because.MEETING

    @property
    def unsent(self) -> int | None:
        """The unsent message."""
        return (self.by or self.id) if self.is_unsent else None

    @property
    def tells(self) -> bool:
        return not self.is_dead and self.withheld is not Because.MUTED

    @property
    def stands(self) -> bool:
        """True with a message of its own."""
        return not self.is_dead and self.withheld is None

    @property
    def shown_by(self) -> int | None:
        """The message to edit for the event. No summary is edited."""
        return self.id if self.stands or self.withheld is Because.MEETING else None


def standing(chain: Sequence[Telling]) -> Telling | None:
    """The newest telling with a message of its own."""
    return next((one for one in reversed(chain) if one.stands), None)


@dataclass(frozen=True)
class Live:
    """The live message of the meeting. `takes`: a filter of the channel shows the event live."""

    takes: bool
    is_there: bool
    may_be_made: bool


@dataclass(frozen=True)
class Choices:
    """The channel's choices for the event.

    `takes`: a filter takes the event. `listens`: the channel has a filter or a watch. `watches`: for a runner.
    `noted`: the version has a watched runner of the channel, perhaps a lost one. `rung`: a watched runner is out.
    `loss_told`: the newest telling of the same loss by another event.
    """

    takes: bool = True
    listens: bool = True
    watches: bool = False
    noted: bool = False
    rung: bool = False
    muted: bool = False
    loss_told: int | None = None
    until: datetime | None = None
    live: Live | None = None
    asked: AckRequest | None = None


@dataclass(frozen=True)
class Post:
    """A new message."""

    until: datetime | None = None
    in_thread: bool = False
    asked: AckRequest | None = None


class Show(NamedTuple):
    """The message of a telling shows the present values; without `edits`, the message has said all of the news.

    `asks_no_longer`: a newer message is to be acknowledged, or the loss was taken back.
    """

    telling: int
    edits: bool = True
    asks_no_longer: bool = False


@dataclass(frozen=True)
class Withhold:
    """A telling without a message of its own. `by`: the meeting's message; None for a muted telling."""

    by: int | None = None


@dataclass(frozen=True)
class Release:
    """A message waits no longer."""

    telling: int


Decision = Post | Show | Withhold | Release


def decide(
    news: News, choices: Choices, chain: Sequence[Telling], meetings: Sequence[tuple[RacingEvent, Telling]] = ()
) -> list[Decision]:
    """The steps for one subject in one channel; none for a channel that does not hear of the event.

    `meetings`: abandoned meetings of the race or card, with the channel's tellings; meetings that name the race first.
    """
    told = _Told(news, chain, meetings)
    if news.is_late and (told.own or told.denied_before):
        return _shown_late(news, choices, told)
    if not (choices.takes or choices.watches or (told.has_heard and choices.listens)):
        return [Show(one.id, asks_no_longer=news.event.is_taken_back) for one in told.replaced(choices)]
    hurries = news.is_urgent or choices.noted or _corrects_live(news, choices)
    steps: list[Decision] = [Release(one.id) for one in chain if one.waits and hurries]
    if (without_message := _without_message(news, choices, told)) is not None:
        return [*steps, *without_message]
    until = None if hurries else _until(choices, told)
    in_thread = _belongs_in_thread(news, choices, told, until)
    asks_no_longer = choices.asked is not None or news.event.is_taken_back
    shown = [Show(one.id, asks_no_longer=asks_no_longer) for one in told.replaced(choices)]
    return [*steps, Post(until, in_thread, choices.asked), *shown]


class _Told:
    """The channel's earlier tellings. `own`: of the event. `last`: the event's newest message."""

    def __init__(self, news: News, chain: Sequence[Telling], meetings: Sequence[tuple[RacingEvent, Telling]]) -> None:
        kind, contradicts = news.event.kind, news.remarks.contradicts
        told = [one for one in chain if one.tells]
        self._rings = news.rings
        self.own = [one for one in told if one.kind is kind]
        self.last = standing(self.own)
        others = [one for one in told if one.kind is not kind]
        self._denied = others if contradicts in CONTRADICTIONS else []
        since = min((one.id for one in chain if one.kind is kind), default=0)
        self.denied_before = {one.id for one in others if one.stands and one.id < since}
        is_named = contradicts is EventKind.MEETING_ABANDONED and any(one.tells for _, one in meetings)
        self.has_heard = bool(self.own or self._denied or is_named)
        losing = ((event, one) for event, one in meetings if lost_with(news.event.race, event))
        self.meeting = next(((event, one) for event, one in losing if one.stands and not event.is_reinstated), None)

    def replaced(self, choices: Choices) -> list[Telling]:
        last = [self.last] if self.last and (self._rings or choices.rung) else []
        return last + [one for one in self._denied if one.stands][-1:]


def _shown_late(news: News, choices: Choices, told: _Told) -> list[Decision]:
    """Later values edit the messages of the event, and release waiting messages of a channel that watches."""
    if not (news.shows or choices.watches):
        return []
    shown = {told.last.id} if told.last else set()
    if news.event.kind is EventKind.RACE_ABANDONED:
        # Messages on meetings, and a contradicted result, show the race too.
        shown = {one.shown_by for one in told.own if one.shown_by} | told.denied_before
    released = [Release(one.id) for one in told.own if one.waits and choices.watches]
    return [*released, *(Show(number) for number in sorted(shown))]


def _corrects_live(news: News, choices: Choices) -> bool:
    """True for another winner than the live message has shown."""
    is_shown = choices.live is not None and choices.live.is_there
    return is_shown and changes_winner(news.event.race, news.remarks.changes)


def _without_message(news: News, choices: Choices, told: _Told) -> list[Decision] | None:
    """None if the channel gets a message."""
    is_changed = news.rings and not news.is_first
    # A channel told of a winner is told of another winner.
    is_owed = is_changed and told.last is not None and news.event.kind is EventKind.RESULT_RECEIVED
    is_muted = choices.muted and not news.remarks.contradicts and not is_owed
    loss_told = None if choices.rung else choices.loss_told
    if loss_told and (told.last is None or told.last.id < loss_told):
        return [Show(told.last.id) if told.last else Show(loss_told, edits=False)]
    if told.last and (is_muted or not (news.rings or choices.rung)):
        return [Show(told.last.id, edits=news.shows, asks_no_longer=news.event.is_taken_back)]
    is_denied = news.remarks.contradicts or news.event.is_taken_back
    if news.event.kind is EventKind.RACE_ABANDONED and not is_denied and not is_changed and told.meeting:
        meeting, telling = told.meeting
        edits = not says_all_of(meeting, news.event)
        return [Withhold(telling.id), Show(telling.id, edits=edits)]
    # A channel that watches a runner is told of the change.
    if told.own and ((news.only_adds and not choices.rung) or (news.is_small and not choices.noted)):
        return [Show(told.own[-1].id, edits=False)]
    return [Withhold()] if is_muted else None


def _until(choices: Choices, told: _Told) -> datetime | None:
    """A change of told news does not wait. A change of waiting news waits until the same moment."""
    waits = max((one.waits for one in told.own if one.waits), default=None)
    return waits or (None if told.own else choices.until)


def _belongs_in_thread(news: News, choices: Choices, told: _Told, until: datetime | None) -> bool:
    """A changed racecard, and another winner, go to the channel itself."""
    kind, live = news.event.kind, choices.live
    if live is None or not live.takes or not (live.is_there or (live.may_be_made and until is None)):
        return False
    if news.is_urgent or choices.noted or not news.event.race.race_date:
        return False
    if changes_winner(news.event.race, news.remarks.changes):
        return False
    return not told.last or (kind is EventKind.RESULT_RECEIVED and told.last.in_thread)


# Messages of other subjects


def meetings_without_race(meetings: Iterable[Sequence[Telling]], lost: Sequence[Telling] = ()) -> list[Show]:
    """A race with a result is taken out of messages on abandoned meetings: only a part of the meeting is lost.

    The channel's chains: `meetings` of the race, and the contradicted race as `lost`.
    """
    found = {one.id for chain in meetings if (one := standing(chain))}
    found |= {one.id for one in lost if one.tells and one.withheld is Because.MEETING}
    return [Show(number) for number in sorted(found)]


def linked(meeting: Telling | None, part: Sequence[Telling], *, asks: bool) -> Show | None:
    """The message on an abandoned race, a racecard, or a denied result links the message of its abandoned meeting.

    `meeting`: the channel's message. `part`: the chain of the race, or of the card. `asks`: the channel wants
    abandonments acknowledged; the meeting's message then asks in place of earlier messages.
    """
    one = standing(part)
    # A race's message is edited only beside the meeting's message.
    if one is None or (meeting is None and one.kind is EventKind.RACE_ABANDONED):
        return None
    is_earlier = meeting is not None and one.kind is EventKind.RACE_ABANDONED and one.id < meeting.id
    return Show(one.id, asks_no_longer=asks and is_earlier)
