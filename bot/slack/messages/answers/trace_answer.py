"""The answer of `/racing trace`: each event's channels, with outcome and time, failures first.

Also the answer of `/racing drill`: how far the drill came, and how to mend each failure.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.db.tables import AckState, InboxDelivery, InboxState
from bot.deliveries.inbox import reference
from bot.events import drill_mark
from bot.events.kinds import DECLARATIONS, EventKind, Subject
from bot.events.race_state import RaceOutcome
from bot.events.races import Race
from bot.events.sentences import counted, listed
from bot.operations.drill_run import DrillReport, Stop
from bot.outbox.held_queues import PAUSED
from bot.outbox.ledger import LedgerAcknowledgement, LedgerLine, LedgerOutcome, Trace, TracedVersion
from bot.outbox.message import Message
from bot.slack.messages.answers.day_answer import IN_CONFLICT
from bot.slack.messages.kit.blocks import context_block, section
from bot.slack.messages.kit.layout import lines, listing, message
from bot.slack.messages.kit.marks import MARKED_CONFLICT
from bot.slack.messages.kit.names import ID_MAX, card_name, class_name, course_name, dated_name, not_held, race_name
from bot.slack.messages.kit.text import clip, code, given, joined, link_to, named, safe
from bot.slack.messages.kit.times import in_readers_zone, moment_for_readers

TRACE_CHANNELS_MAX = 60
"""Channels named in an answer, shared by the events. All channels are counted."""

CHANNELS_NAMED_LEAST = 3
WHY_MAX = 200
EVENT_KEYS_SHOWN = 5
SHOWN_KEY_MAX = 120

KINDS_IN_WORDS: Mapping[str | None, tuple[str, Callable[[Race], str]]] = {
    **{
        kind: (declared.title, race_name if declared.subject is Subject.RACE else card_name)
        for kind, declared in DECLARATIONS.items()
    },
    drill_mark.KIND: ("Drill", race_name),
}
"""Each kind's words, and the name of its race or card."""

_NOT_YET = {
    LedgerOutcome.DEAD_LETTER: "not posted",
    LedgerOutcome.WAITING: "waiting",
    LedgerOutcome.IN_DOUBT: "sent to Slack, and I am finding out whether it arrived",
    LedgerOutcome.SENDING: "being posted now",
}

_CODE = re.compile("[a-z_]+")
"""Slack's error code: "is_archived"."""

_CALL = re.compile(r"[a-z]+(?:\.[A-Za-z]+)+: ")
"""Slack's method with its answer: "chat.postMessage: ratelimited"."""

Link = Callable[[str, str], str | None]
"""Channel and ts → https address; None before Slack named the workspace."""

DRILL_CHANNELS_MAX = 60

_MENDS = {
    "is_archived": "unarchive the channel, and invite me back if I am gone",
    "not_in_channel": "invite me there",
    "channel_not_found": "invite me there; a deleted channel does not come back",
}


@dataclass(frozen=True)
class TraceView:
    """`has_ids`: with ids, references, seconds and Slack's own words, for operators.

    `only_channel` limits the answer to a channel.
    """

    link: Link
    has_ids: bool = True
    only_channel: str | None = None

    def moment(self, at: datetime) -> str:
        return moment_for_readers(at, seconds=self.has_ids)

    def ids(self, words: str | None) -> str:
        return (words or "") if self.has_ids else ""


def trace_answer(
    found: Trace,
    wanted: str,
    view: TraceView,
    *,
    race: Race | None = None,
    outcome: RaceOutcome | None = None,
    by_card: bool = False,
    here: str | None = None,
) -> Message:
    """`wanted`: the typed id. `race`: the traced race. `outcome`: of the race, else of the race of an event.

    `by_card`: a racecard tells the loss of the race. `here`: the channel in which the trace was asked for.
    """
    name = view.ids(code(wanted, ID_MAX)) or "this event"
    limited = f"Limited to this channel, {named(view.only_channel)}: admins see all." if view.only_channel else None
    became = _became(found, race, outcome, by_card=by_card)
    if not found.versions and not found.deliveries:
        return listing(became or _nothing(name, found.kept_since), [])
    room = max(CHANNELS_NAMED_LEAST, TRACE_CHANNELS_MAX // max(1, len(found.versions)))
    said = [line for one in found.versions for line in _version(one, view, room)]
    said += [*_untold(found, here), *(_delivery(one, view) for one in found.deliveries)]
    title = _named(race) or next(filter(None, map(_race_named, found.versions)), None) or name
    more = f"and {counted(found.more, 'earlier version')}" if found.more else None
    keys = dict.fromkeys(code(one.row.event_key, SHOWN_KEY_MAX) for one in found.versions[:EVENT_KEYS_SHOWN])
    small = context_block(limited, more, view.ids(joined(list(keys), ", ")))
    head = [section(joined([f"*What became of {title}*", became], "\n"))]
    return message(None, [*head, lines(said), small])


def _became(found: Trace, race: Race | None, outcome: RaceOutcome | None, *, by_card: bool) -> str | None:
    """A race by all deliveries together; None where each line says everything."""
    disputed = [_race_named(one) for one in found.versions if one.contradicts or one.in_doubt]
    if outcome is None and disputed:
        outcome = RaceOutcome.IN_DOUBT if found.versions[-1].in_doubt else RaceOutcome.BOTH
    if outcome in IN_CONFLICT:
        races = "" if race else listed(list(dict.fromkeys(filter(None, disputed))))
        return f"{MARKED_CONFLICT}: {joined([races, IN_CONFLICT[outcome]], ', ')}."
    name, kinds = _named(race), {one.row.kind for one in found.versions}
    if race is None or name is None or kinds & {EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED}:
        return None
    if any(one.is_taken_back for one in found.versions):
        return None
    if EventKind.MEETING_ABANDONED in kinds and not race.is_settled:
        return f"{name} was abandoned with its meeting."
    if found.deliveries:
        return None
    on = dated_name(race)
    if race.abandoned or race.is_void:
        if by_card:
            return f"{on}, is marked {not_held(race)} on a racecard."
        return f"{on}, is {not_held(race)} in the data service's list. No delivery that says so was received."
    if race.is_settled:
        return f"{on}, has a result in the data service's list. No delivery of the result was received."
    return f"{on}, is on the card. No result and no abandonment of that race was received."


def _named(race: Race | None) -> str | None:
    return race_name(race) if race is not None and course_name(race) else None


def _nothing(name: str, kept_since: datetime | None) -> str:
    since = f"since {moment_for_readers(kept_since)}" if kept_since else "so far: I have no delivery at all"
    return (
        f"No delivery called {name} came {since}. Trace a race by course and time: `/racing trace York 14:30`. An id, "
        "an event key or a reference (inbox-1) is typed exactly as published, capitals included. Horses and people "
        "can't be traced."
    )


def _version(one: TracedVersion, view: TraceView, room: int) -> Iterator[str]:
    unknown = view.ids(code(one.row.kind)) or "A delivery that could not be read"
    kind, _ = KINDS_IN_WORDS.get(one.row.kind, (unknown, race_name))
    kind = "Abandonment taken back" if one.is_taken_back else "Abandonment in doubt" if one.in_doubt else kind
    number = f", version {one.row.version}" if one.row.version > 1 else ""
    # Only Slack knows each reader's clock.
    off = one.race.off.off_at if one.race else None
    by_clock = f"off time {in_readers_zone(off)} by your clock" if off else None
    received = joined([f"received {view.moment(one.row.received_at)}", by_clock], ", ")
    name = _race_named(one)
    what = f"*{name}, {kind[0].lower()}{kind[1:]}*" if name else f"*{kind}*"
    head = f"{what}{number}, {received}{view.ids(f' ({reference(one.row.inbox_id)})')}."
    if not one.told:
        yield f"{head} {_why_untold(one, view)}"
        return
    yield f"{head} {_in_figures(one.told)}" if len(one.told) > 1 else head
    for told in one.told[:room]:
        where = f"direct messages with {named(told.person_id)}" if told.person_id else named(told.channel_id)
        yield f"• {where}: {outcome_words(told, view)}.{_acknowledged(told.acknowledgement, view)}"
    if rest := one.told[room:]:
        yield f"• and {len(rest)} more: {_figures(rest)}."


def _untold(found: Trace, here: str | None) -> Iterator[str]:
    others = sum(one != here for one in found.untold)
    if here is not None and here in found.untold:
        yield f"{named(here)}, this channel, was not told: {_not_asked(found.versions[-1])}."
    if others:
        yield f"{counted(others, 'other channel')} with a subscription had not asked for this news."


def _race_named(one: TracedVersion) -> str | None:
    _, name = KINDS_IN_WORDS.get(one.row.kind, ("", race_name))
    return name(one.race) if one.race and course_name(one.race) else None


def _why_untold(one: TracedVersion, view: TraceView) -> str:
    if view.only_channel:
        return f"This channel was not told: {_not_asked(one)}."
    if one.row.kind == drill_mark.KIND:
        return "No channel was told: none takes abandonments, or the drill was over."
    return "No message was made for this version." if one.row.posts else "No channel was subscribed to this news."


def _not_asked(one: TracedVersion) -> str:
    """The conditions that left the event out of a channel, and the race's own words."""
    by = {kind.words(chosen).removeprefix(", "): kind for chosen, kinds in one.left_out.items() for kind in kinds}
    if one.left_out and not by:
        return "no message was made then, and it asks for such news now"
    asks = given(", but for {}", safe(listed([f'"{words}"' for words in by]), WHY_MAX)) or ""
    race = one.race or Race()
    names = [name for kind in by.values() for name in kind.race_fields]
    said = [class_name(race) if name == "race_class" else safe(getattr(race, name)) for name in names]
    is_of = given(", and the race is {}", joined(said, ", ")) or ""
    return f"it had not asked for this news{asks}{is_of}"


def why_not_posted(outcome: LedgerOutcome, why: str | None, *, has_ids: bool) -> str:
    """`has_ids`: with Slack's own words, for operators."""
    return joined([_NOT_YET[outcome], f"because {_clause(why, has_ids=has_ids)}" if why else None], ", ")


def outcome_words(told: LedgerLine, view: TraceView) -> str:
    """For example "posted 2026-11-20 14:32:10 UTC (ts `1763649130.000100`)", or the reason for a missing post."""
    if told.outcome is LedgerOutcome.MUTED:
        return f"not posted, because <@{safe(told.muted_by)}> muted the meeting there"
    tries = f"after {counted(told.attempts, 'attempt')}" if told.attempts > 1 else None
    why = f"because {_clause(told.why, has_ids=view.has_ids)}" if told.why else None
    if told.outcome in {LedgerOutcome.SENT, LedgerOutcome.FOLDED}:
        at = view.moment(told.sent_at) if told.sent_at else None
        return joined([joined([_how_said(told), at], " "), tries], ", ") + _where(told, view)
    return joined([_how_not_yet(told), tries, why], ", ")


def _acknowledged(asked: LedgerAcknowledgement | None, view: TraceView) -> str:
    """For example " Nobody has it. <#C2>: posted 2026-11-20 14:42:10 UTC."."""
    if asked is None:
        return ""
    said = "" if asked.state is AckState.REPLACED else " Nobody has it."
    if said and asked.taken_by and asked.taken_at:
        said = f" {named(asked.taken_by)} has it since {view.moment(asked.taken_at)}."
    steps = "".join(f" Told then in {named(step.channel_id)}: {outcome_words(step, view)}." for step in asked.steps)
    return f"{said}{steps}"


def _how_said(told: LedgerLine) -> str:
    if told.within:
        return f"said in another message, {'by an edit' if told.by_edit else 'posted'}"
    return "shown by an edit of the message there," if told.by_edit else "posted"


def _how_not_yet(told: LedgerLine) -> str:
    words = _NOT_YET[told.outcome]
    if told.within:
        return f"to be said in another message, which is {words}"
    return f"the edit of the message there is {words}" if told.by_edit else words


def _clause(why: str, *, has_ids: bool) -> str:
    if not has_ids and (_CALL.match(why) or _CODE.fullmatch(why)):
        return "Slack did not take it"
    if _CALL.match(why):
        return f"the last call ended with {code(why, WHY_MAX)}"
    return f"Slack said {code(why, WHY_MAX)}" if _CODE.fullmatch(why) else safe(why, WHY_MAX) or "?"


def _where(told: LedgerLine, view: TraceView) -> str:
    if told.message_ts is None:
        return ""
    address = view.link(told.channel_id, told.message_ts)
    said = joined([view.ids(f"ts {code(told.message_ts)}"), link_to(address, "see it")], ", ")
    return given(" ({})", said) or ""


def _delivery(one: InboxDelivery, view: TraceView) -> str:
    name = f"{reference(one.id or 0)} ({code(one.event_key, SHOWN_KEY_MAX)})"
    return f"{view.ids(name) or 'A delivery'}, received {view.moment(one.received_at)}, {_delivered(one, view)}."


def _delivered(one: InboxDelivery, view: TraceView) -> str:
    if one.state != InboxState.NEW:
        return "said nothing new, so nobody was told again"
    if not one.error:
        return "waits to be read, and nobody is told yet"
    times = {1: "once", 2: "twice"}.get(one.attempts, f"{one.attempts} times")
    again = f", and is tried again {view.moment(one.not_before)}" if one.not_before else ""
    error = view.ids(f": {safe(one.error, WHY_MAX)}")
    return clip(f"failed {times}{again}{error}", WHY_MAX * 2)


def _in_figures(told: Sequence[LedgerLine]) -> str:
    """For example "1 message posted", "3 messages: 1 waiting, 2 posted", "2 messages: 1 posted, 1 edited"."""
    outcomes = {_figure(one) for one in told}
    return f"{counted(len(told), 'message')}{f' {outcomes.pop()}' if len(outcomes) == 1 else f': {_figures(told)}'}."


def _figure(one: LedgerLine) -> str:
    return "edited" if one.by_edit and one.outcome is LedgerOutcome.SENT else str(one.outcome)


def _figures(told: Sequence[LedgerLine]) -> str:
    counts = Counter(map(_figure, told))
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def drill_report(report: DrillReport, link: Link, bot_name: str) -> Message:
    sent = _sent(report.told)
    invite = f"`/invite @{safe(bot_name)}` there"
    uninvited = [
        f"• {named(channel_id)}: hears of abandonments only once I am in the channel. *Fix:* {invite}."
        for channel_id in report.uninvited[:DRILL_CHANNELS_MAX]
    ]
    lines = [*_on_the_way(report), *_of_channels(report, link), *uninvited]
    small_print = None
    if report.stop is Stop.TOLD:
        is_whole, key = sent == len(report.told), code(drill_mark.key_of(report.kept.drill.drill_id))
        withdrawn = "" if is_whole else "Waiting drills are withdrawn; an abandonment would keep waiting. "
        small_print = f"{withdrawn}`/racing trace` {key} shows what each channel got."
    return listing(f"*{_headline(report, sent)}*", lines, context_block(small_print))


def _sent(told: Sequence[LedgerLine]) -> int:
    return sum(one.outcome is LedgerOutcome.SENT for one in told)


def _headline(report: DrillReport, sent: int) -> str:
    match report.stop:
        case Stop.NOT_DELIVERED:
            return "The drill failed: my public address did not take the delivery."
        case Stop.NOT_STORED:
            return "The drill failed: another bot took the delivery."
        case Stop.NOT_FANNED_OUT:
            return "The drill failed: the delivery is stored, and nobody was told."
        case Stop.TOLD if not report.told:
            return "The drill reached me, and no channel takes abandonments."
        case Stop.TOLD if sent == len(report.told):
            told = "the channel" if sent == 1 else f"all {sent} channels"
            return f"The drill is done: {told} got the message."
        case Stop.TOLD:
            return f"The drill is done: {sent} of {counted(len(report.told), 'channel')} got the message."


def _on_the_way(report: DrillReport) -> Iterator[str]:
    answered, problem = report.answered, report.answered.problem
    if problem is not None:
        where = given("({})", code(answered.address))
        yield joined([f"• {safe(problem.told)}", where, f"*Fix:* {safe(problem.mend)}"], " ")
        return
    yield f"• {code(answered.address)} took the delivery after {answered.took_s:.1f} s."
    match report.stop:
        case Stop.NOT_STORED:
            yield (
                "• The delivery is not in my database: another bot with the same signing secret answers there. *Fix:* "
                "have PUBLIC_URL lead to this bot, or give both bots one DATABASE_URL."
            )
        case Stop.NOT_FANNED_OUT:
            yield "• Fan-out did not come to the delivery. *Fix:* /readyz names the cause under `deliveries`."
        case Stop.TOLD if not report.told and not report.uninvited:
            yield "• Nobody would hear of an abandonment. *Fix:* `/racing subscribe GB` in a channel."


def _of_channels(report: DrillReport, link: Link) -> Iterator[str]:
    told = sorted(report.told, key=lambda one: (one.outcome is LedgerOutcome.SENT, one.channel_id))
    for one in told[:DRILL_CHANNELS_MAX]:
        what = f"• {named(one.channel_id)}: {outcome_words(one, TraceView(link))}{_after(report, one)}."
        yield joined([what, given("*Fix:* {}.", _mend(one))], " ")
    if rest := told[DRILL_CHANNELS_MAX:]:
        yield f"• and {counted(len(rest), 'channel')} more, {_sent(rest)} of them told."


def _after(report: DrillReport, told: LedgerLine) -> str:
    if told.outcome is not LedgerOutcome.SENT or told.sent_at is None:
        return ""
    return f", {max(0.0, (told.sent_at - report.kept.begun_at).total_seconds()):.1f} s after the beginning"


def _mend(told: LedgerLine) -> str | None:
    if told.outcome is LedgerOutcome.SENT:
        return None
    if told.outcome is LedgerOutcome.DEAD_LETTER:
        return _MENDS.get(told.why or "", "the log has Slack's whole answer")
    if told.is_held and PAUSED in (told.why or ""):
        return "`/racing resume` there ends the pause"
    if told.is_held:
        return _MENDS.get(told.why or "", "invite me there; Slack lets me post nothing now")
    if told.outcome in {LedgerOutcome.SENDING, LedgerOutcome.IN_DOUBT}:
        return "see https://slack-status.com: Slack did not answer in time"
    return "see /readyz: Slack, or my own pace, holds posts back"
