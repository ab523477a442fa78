"""The summary of held events: of a closed or paused channel, of a channel's own hours, or of undelivered events.

Each abandonment is named; other events are counted. Of a channel's own hours, results and cards are named too.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS, DECLARATIONS
from bot.events.race_state import NOT_HELD
from bot.events.sentences import counted, listed
from bot.outbox.held_channels import Backlog
from bot.outbox.held_queues import CARDS, CHOICE_ENDED, DIGEST, KEPT, PAUSED, QUIET, UNDELIVERED
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import EVENT_NAME_MAX, headed
from bot.slack.messages.alerts.event_alerts import declared, unusual_status
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit import marks, names
from bot.slack.messages.kit.blocks import context_block, section
from bot.slack.messages.kit.layout import lines
from bot.slack.messages.kit.result_line import result_line
from bot.slack.messages.kit.text import HEADER_MAX, capital, code, first_of, given, joined, mentions_in_markup, size
from bot.slack.messages.kit.times import moment_for_readers

ABANDONMENTS_TEXT_MAX = 2_500
"""Size of the abandonments named in a message: a section. Further abandonments go into a further message."""

COUNTED: Mapping[str | None, tuple[str, str]] = {
    **{kind: declared.counted for kind, declared in DECLARATIONS.items()},
    None: ("delivery that could not be read", "deliveries that could not be read"),
}
"""Singular and plural of each kind. Events of other kinds are counted by name."""

OTHERS_NAMED = 3

_LOST = "ABANDONED: "

BOTH = "reported abandoned and run"

REFUSED = "Slack refused"
_CLOSED = {"is_archived": "the channel was archived", "not_in_channel": "I was not in the channel"}
"""By Slack's code. A trace shows the code."""

_WHY = {
    UNDELIVERED: "Late: the data service could not deliver to me",
    PAUSED: "This channel was paused",
    QUIET: "The quiet hours are over",
    DIGEST: "Results digest",
    CARDS: "Racecard digest",
    CHOICE_ENDED: "The wait is over",
}


def waited(summary: Backlog) -> list[tuple[Message, int]]:
    """Messages, each with its number of named abandonments. The last message adds results and counts."""
    named = []
    for event, remarks in summary.abandonments:
        mark, place = _place(summary, event)
        line = joined([place, names.reason(event), _conflict(summary, event, remarks)], ", ") + _had(summary, remarks)
        named.append((mark, joined([line, _watched(summary, event, remarks)], ". ")))
    parts = _parts(named, ABANDONMENTS_TEXT_MAX - size(mentions_in_markup(summary.mentions)))
    return [
        (_message(summary, lost, summary.mentions if number == 1 else (), is_last=number == len(parts)), len(lost))
        for number, lost in enumerate(parts, start=1)
    ]


def _message(summary: Backlog, named: Sequence[tuple[str, str]], mentions: Sequence[str], *, is_last: bool) -> Message:
    rest = _rest(summary) if is_last else None
    told = _lines(summary) if is_last else {}
    total = summary.counts.get(EventKind.RESULT_RECEIVED, 0) + len(summary.cards) if is_last else 0
    loud = {event.key for event, _ in summary.results if event.reports_loss}
    in_text = [key for key in told if summary.held.because in KEPT or summary.watched.get(key) or key in loud]
    first_told = "; ".join(told[key] for key in in_text)
    lost = [line.removeprefix(_LOST) for _, line in named if line.startswith(_LOST)]
    others = [line for _, line in named if not line.startswith(_LOST)]
    text = joined([given(f"{_LOST}{{}}", "; ".join(lost)), *others, _why(summary), rest, first_told], ". ")
    every = "\n".join(f"{mark} {line}" for mark, line in named)
    doubt = f"{marks.CONFLICTING} CONFLICT" if marks.CONFLICTING in dict(named) else ""
    is_lost = not {marks.ABANDONED, marks.VOIDED}.isdisjoint(dict(named))
    warning = f"{marks.ABANDONED} ABANDONED" if is_lost else doubt
    title, facts = _only_abandonment(summary) or (_heading(summary, warning), [every])
    since = moment_for_readers(summary.held.since)
    small = [f"The first came {since}"] if summary.held.because in KEPT else [_why(summary), f"since {since}"]
    parts = [*map(section, [*facts, rest]), lines(list(told.values()), total), context_block(*small)]
    return headed(text, title, mentions, parts)


def _only_abandonment(summary: Backlog) -> tuple[str, list[str]] | None:
    """Header and facts, as in the abandonment's own alert, but always with the day: the alert is late.

    None for several abandonments, and for names too long.
    """
    if len(summary.abandonments) != 1:
        return None
    ((event, remarks),) = summary.abandonments
    conflict = _conflict(summary, event, remarks)
    title, is_whole = marks.headline(*_place(summary, event), names.reason(event), conflict)
    if size(title) > HEADER_MAX:
        return None
    facts = joined([f"Told late{_had(summary, remarks)}", None if is_whole else names.reason(event)])
    return title, [joined([facts, _watched(summary, event, remarks)], ". ")]


def _lines(summary: Backlog) -> dict[str, str]:
    """Results and cards by event key, by day, meeting and off time."""
    told = {}
    for event, remarks in (*sorted(summary.results, key=_by_meeting), *sorted(summary.cards, key=_by_meeting)):
        is_card = event.kind is EventKind.RACECARD_PUBLISHED
        line = _card(summary, event) if is_card else _result(event, remarks) + _had(summary, remarks)
        told[event.key] = joined([_watched(summary, event, remarks), line], ". ")
    return told


def _by_meeting(told: tuple[RacingEvent, VersionRemarks]) -> tuple[str, str, str, tuple[datetime, int]]:
    race = told[0].race
    return race.race_date or "", race.region or "", names.course_name(race) or "", race.soonest


def _watched(summary: Backlog, event: RacingEvent, remarks: VersionRemarks) -> str:
    since, watched = summary.held.since, summary.watched.get(event.key, ())
    of_event = dict(remarks) | {"in_meeting": event.key in summary.lost, "watched": watched}
    circumstances = MessageContext(received_at=since, now=since, late_after_s=0, **of_event)
    return ". ".join(watch_lines(event, circumstances))


def _parts(lines: Sequence[tuple[str, str]], room: int) -> list[list[tuple[str, str]]]:
    """The lines of each message, each with its mark; at least one message."""
    lots: list[list[tuple[str, str]]] = [[]]
    for line in lines:
        if lots[-1] and sum(size(one) + 4 for _, one in [*lots[-1], line]) > room:
            lots.append([])
        lots[-1].append(line)
    return lots


def _place(summary: Backlog, event: RacingEvent) -> tuple[str, str]:
    """The mark, and the words up to the place: "ABANDONED: Kempton 14:30, Sat 28 Nov (GB)"."""
    was_run = event.contradicting_key in {result.key for result, _ in summary.results}
    name = names.lost_name(event, partly_run=event.key in summary.partly_run)
    return names.present_state(event, name, was_run=was_run)


def _conflict(summary: Backlog, event: RacingEvent, remarks: VersionRemarks) -> str | None:
    """The mark of a loss whose result was told before, or is told by this summary."""
    told = {result.race.race_id for result, of_result in summary.results if of_result.contradicts} - {None}
    is_both = remarks.contradicts or event.race.race_id in told
    return marks.RUN_TOO if is_both and not event.is_taken_back else None


def _result(event: RacingEvent, remarks: VersionRemarks) -> str:
    """The order and an unusual status, as the result's own message says them; of a lost or void race the mark."""
    race, conflict = event.race, f"{marks.MARKED_CONFLICT}: {BOTH}"
    if race.outcome() in NOT_HELD:
        said = [names.marked_not_held(race), names.reason(event)]
    else:
        status = unusual_status(race)
        order = result_line(race, in_text=True, first=None if status else "result in")
        said = [order, conflict if race.abandoned else None, status]
    said += ["corrected" if remarks.changes else None, conflict if remarks.contradicts and not race.abandoned else None]
    return f"{names.dated_name(race)}{names.region_mark(event)}: {joined(said, ', ')}"


def _card(summary: Backlog, event: RacingEvent) -> str:
    lost = marks.MARKED_LOST if event.key in summary.lost or event.race.abandoned else None
    return joined([f"{names.card_name(event.race)}{names.region_mark(event)}: {declared(event)}", lost], ", ")


def _rest(summary: Backlog) -> str:
    counts = {kind: count for kind, count in summary.counts.items() if kind not in ABANDONMENTS}
    said = [counted(counts[kind], *words) for kind, words in COUNTED.items() if counts.get(kind)]
    if others := {kind: count for kind, count in counts.items() if kind not in COUNTED}:
        others_named = [code(name, EVENT_NAME_MAX) or "no name" for name in others]
        named = listed(first_of(others_named, OTHERS_NAMED, "{} more"))
        said.append(f"{counted(sum(others.values()), 'other event')} ({named})")
    came = listed(said) + ("" if summary.held.because in {DIGEST, CARDS} else " came meanwhile")
    dropped = f"{counted(summary.given_up, 'message')} had waited too long and will not be posted"
    return joined([came if said else None, dropped if summary.given_up else None], ". ")


def _had(summary: Backlog, remarks: VersionRemarks) -> str:
    if summary.held.because != UNDELIVERED or remarks.had_at is None:
        return ""
    return f", known since {moment_for_readers(remarks.had_at)}"


def _heading(summary: Backlog, warning: str) -> str:
    if summary.held.because == UNDELIVERED:
        return f"{warning}, told late" if warning else "Told late"
    if summary.held.because in KEPT and not warning:
        return _why(summary)
    when = "during the pause" if summary.held.because == PAUSED else "while nothing could be posted here"
    return f"{warning} {when}" if warning else capital(when)


def _why(summary: Backlog) -> str:
    because = summary.held.because
    return _WHY.get(because) or f"I could not post here: {_CLOSED.get(because, REFUSED)}"
