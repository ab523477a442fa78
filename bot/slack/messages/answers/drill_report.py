"""The answer of `/racing drill`: how far the drill came, and how to mend each failure."""

from collections.abc import Iterator

from bot.events import drill_mark
from bot.operations.drill_run import DrillReport, Stop
from bot.outbox.held_queues import PAUSED
from bot.outbox.ledger import LedgerLine, LedgerOutcome
from bot.outbox.message import Message
from bot.slack.messages.answers.trace_answer import Link, TraceView, outcome_words
from bot.slack.messages.kit.blocks import listing
from bot.slack.messages.kit.mentions import named
from bot.slack.messages.kit.text import code, counted, safe

DRILL_CHANNELS_MAX = 60

_MENDS = {
    "is_archived": "unarchive the channel, and invite me back if I am gone",
    "not_in_channel": "invite me there",
    "channel_not_found": "invite me there; a deleted channel does not come back",
}


def drill_report(report: DrillReport, link: Link, bot_name: str) -> Message:
    title = f"*{_headline(report)}*"
    lines = [*_on_the_way(report), *_of_channels(report, link), *_of_uninvited(report, bot_name)]
    if report.stop is not Stop.TOLD:
        return listing(title, lines)
    key = code(drill_mark.key_of(report.kept.drill.drill_id))
    withdrawn = (
        "" if _sent(report) == len(report.told) else "Waiting drills are withdrawn; an abandonment would wait on. "
    )
    return listing(title, lines, f"{withdrawn}`/racing trace` {key} says of each channel what became of the drill.")


def _sent(report: DrillReport) -> int:
    return sum(one.outcome is LedgerOutcome.SENT for one in report.told)


def _headline(report: DrillReport) -> str:
    sent = _sent(report)
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
            return f"The drill is done: {_all(sent)}."
        case Stop.TOLD:
            return f"The drill is done: {sent} of {counted(len(report.told), 'channel')} got the message."


def _all(sent: int) -> str:
    return "the channel got the message" if sent == 1 else f"all {sent} channels got the message"


def _on_the_way(report: DrillReport) -> Iterator[str]:
    answered, problem = report.answered, report.answered.problem
    if problem is not None:
        where = f" ({code(answered.address)})" if answered.address else ""
        yield f"• {safe(problem.told)}{where} *Mend:* {safe(problem.mend)}"
        return
    yield f"• {code(answered.address)} took the delivery after {answered.took_s:.1f} s."
    match report.stop:
        case Stop.NOT_STORED:
            yield (
                "• The delivery is not in my database: another bot with the same signing secret answers there. *Mend:* "
                "have PUBLIC_URL lead to this bot, or give both bots one DATABASE_URL."
            )
        case Stop.NOT_FANNED_OUT:
            yield "• Fan-out did not come to the delivery. *Mend:* /readyz names the cause under `deliveries`."
        case Stop.TOLD if not report.told and not report.uninvited:
            yield "• Nobody would hear of an abandonment. *Mend:* `/racing subscribe GB` in a channel."


def _of_channels(report: DrillReport, link: Link) -> Iterator[str]:
    told = sorted(report.told, key=lambda one: (one.outcome is LedgerOutcome.SENT, one.channel_id))
    for one in told[:DRILL_CHANNELS_MAX]:
        mend = _mend(one)
        yield f"• {named(one.channel_id)}: {outcome_words(one, TraceView(link))}{_after(report, one)}." + (
            f" *Mend:* {mend}." if mend else ""
        )
    if rest := told[DRILL_CHANNELS_MAX:]:
        sent = sum(one.outcome is LedgerOutcome.SENT for one in rest)
        yield f"• and {counted(len(rest), 'channel')} more, {sent} of them told."


def _after(report: DrillReport, told: LedgerLine) -> str:
    if told.outcome is not LedgerOutcome.SENT or told.sent_at is None:
        return ""
    return f", {max(0.0, (told.sent_at - report.kept.begun_at).total_seconds()):.1f} s after the beginning"


def _mend(told: LedgerLine) -> str | None:
    if told.outcome is LedgerOutcome.SENT:
        return None
    if told.outcome is LedgerOutcome.DEAD_LETTER:
        return _MENDS.get(told.why or "", "the log has Slack's whole answer")
    if told.is_held:
        return "`/racing resume` there ends the pause" if PAUSED in (told.why or "") else _opens(told)
    if told.outcome in {LedgerOutcome.SENDING, LedgerOutcome.IN_DOUBT}:
        return "see https://slack-status.com: Slack did not answer in time"
    return "see /readyz: Slack, or my own pace, holds posts back"


def _opens(told: LedgerLine) -> str:
    return _MENDS.get(told.why or "", "invite me there; Slack lets me post nothing now")


def _of_uninvited(report: DrillReport, bot_name: str) -> Iterator[str]:
    for channel_id in report.uninvited[:DRILL_CHANNELS_MAX]:
        invite = f"`/invite @{safe(bot_name)}` there"
        yield f"• {named(channel_id)}: hears of abandonments only once I am in the channel. *Mend:* {invite}."
