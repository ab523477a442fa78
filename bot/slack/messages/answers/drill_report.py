"""The answer of `/racing drill`: how far the drill came, and how to mend each failure."""

from collections.abc import Iterator, Sequence

from bot.events import drill_mark
from bot.events.sentences import counted
from bot.operations.drill_run import DrillReport, Stop
from bot.outbox.held_queues import PAUSED
from bot.outbox.ledger import LedgerLine, LedgerOutcome
from bot.outbox.message import Message
from bot.slack.messages.answers.trace_answer import Link, TraceView, outcome_words
from bot.slack.messages.kit.blocks import context_block
from bot.slack.messages.kit.layout import listing
from bot.slack.messages.kit.text import code, given, joined, named, safe

DRILL_CHANNELS_MAX = 60

_MENDS = {
    "is_archived": "unarchive the channel, and invite me back if I am gone",
    "not_in_channel": "invite me there",
    "channel_not_found": "invite me there; a deleted channel does not come back",
}


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
