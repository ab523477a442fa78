"""Answers on traces and failures, with the words in words.txt.

After a wanted change, write the words anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/messages/test_trace_words.py
"""

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

from bot.db.tables import EventVersion, InboxDelivery, InboxState
from bot.errors import StorageUnavailable
from bot.events.races import Course, OffTime, Race
from bot.outbox.ledger import LedgerLine, LedgerOutcome, Trace
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, ServerFault, Unauthorized
from bot.slack.commands.error_answers import explain
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words, shown_to
from bot.slack.messages.answers.trace_answer import TRACE_CHANNELS_MAX, TraceView, trace_answer
from tests.rows import over
from tests.unit.kept_text import as_read, check
from tests.unit.messages.kept_events import RECEIVED_AT
from tests.unit.messages.kept_values import TRACE, VERSION

KEPT = Path(__file__).parent / "words.txt"

# Traces


def told(outcome, attempts=1, **fields):
    return LedgerLine("C1", outcome, attempts, RECEIVED_AT, **fields)


def with_row(**columns):
    return EventVersion(**VERSION.row.model_dump() | columns)


def traced(found, only_channel=None, link=None, *, has_ids=True):
    return trace_answer(found, "rc_1", TraceView(lambda _channel_id, _ts: link, has_ids, only_channel))


def versions(*made, deliveries=TRACE.deliveries):
    return replace(TRACE, versions=made, deliveries=deliveries)


SENT, FOLDED, WAITING = LedgerOutcome.SENT, LedgerOutcome.FOLDED, LedgerOutcome.WAITING
UNTOLD = replace(VERSION, told=())
POSTED = {"sent_at": RECEIVED_AT, "message_ts": "1.2"}
LES_LANDES = Race(race_id="rc_1", course=Course(name="Les Landes"), off=OffTime(text="12:50"))
TRACES = {
    "of what another channel asked for": lambda: traced(versions(UNTOLD, UNTOLD), "C9"),
    "of what nobody was subscribed to": lambda: traced(versions(*[replace(UNTOLD, row=with_row(posts=0))] * 2)),
    "of what became no message": lambda: traced(versions(UNTOLD, UNTOLD)),
    "of four versions": lambda: traced(versions(*[VERSION] * 4)),
    "of a post and two edits": lambda: traced(
        versions(replace(VERSION, told=(told(SENT, **POSTED), *[told(SENT, by_edit=True, **POSTED)] * 2)))
    ),
    "of a race with a name": lambda: traced(versions(replace(VERSION, race=LES_LANDES))),
    "of a delivery that made no version": lambda: traced(Trace((), TRACE.deliveries, 0, TRACE.kept_since)),
}


WAITS = TRACE.deliveries[0].model_dump() | {"state": InboxState.NEW, "error": "KeyError: 7"}
WITHOUT_IDS = {
    "of a race with a name": versions(replace(VERSION, race=LES_LANDES)),
    "of a race without a name": versions(VERSION, replace(VERSION, row=with_row(kind="stewards.weather"))),
    "of a delivery that made no version": Trace((), TRACE.deliveries, 0, TRACE.kept_since),
    "of deliveries that wait": versions(deliveries=(InboxDelivery(**WAITS),)),
}


@over("name", WITHOUT_IDS)
def test_button_who_was_told_answers_without_ids(name):
    said = as_read(traced(WITHOUT_IDS[name], has_ids=False))
    check(KEPT, f"Who was told {name}", said)
    assert not re.search("`|rc_1|inbox-|Error|\\(ts |:10 UTC", said)


@over("name", TRACES)
def test_trace_reads_as_kept(name):
    check(KEPT, f"Trace {name}", as_read(TRACES[name]()))


LINES = {
    "posted": told(SENT, **POSTED),
    "posted at last": told(SENT, 3, **POSTED),
    "shown by an edit": told(SENT, by_edit=True, **POSTED),
    "folded": told(FOLDED, within=True, **POSTED),
    "folded by an edit": told(FOLDED, within=True, by_edit=True, **POSTED),
    "waiting in a pause": told(WAITING, 0, why="the channel is paused"),
    "waiting for an archived channel": told(WAITING, 0, why="is_archived"),
    "waiting after two tries": told(WAITING, 2, why="chat.postMessage: ratelimited"),
    "waiting to be an edit": told(WAITING, 0, by_edit=True, why="its turn has not come"),
    "waiting within another": told(WAITING, 0, within=True, why="the channel is paused"),
    "given up": told(LedgerOutcome.DEAD_LETTER, 5, why="invalid_arguments"),
    "given up before a try": told(LedgerOutcome.DEAD_LETTER, 0, why="the channel unsubscribed while it waited"),
    "in doubt": told(LedgerOutcome.IN_DOUBT, 1, why="chat.postMessage: timeout"),
    "sending": told(LedgerOutcome.SENDING, 1),
    "muted": told(LedgerOutcome.MUTED, 0, muted_by="U1"),
}


def test_outcomes_in_a_channel_read_as_kept():
    def bullet(one, link=None):
        shown = as_read(traced(versions(replace(VERSION, told=(one,)), deliveries=()), link=link))
        return next(line for line in shown.split("\n") if line.startswith("•"))

    lines = [f"{name}: {bullet(one)}" for name, one in LINES.items()]
    linked = bullet(told(SENT, **POSTED), "https://x.slack.com/1")
    check(KEPT, "Lines of a trace", "\n".join([*lines, f"linked: {linked}"]))


def test_channels_beyond_so_many_are_counted():
    waiting = [replace(told(WAITING, 0, why="is_archived"), channel_id=f"C{number:03}") for number in range(70)]
    trace = versions(replace(VERSION, told=(*waiting, told(SENT, **POSTED))), deliveries=())
    said = "\n".join(block["text"]["text"] for block in traced(trace).blocks if block["type"] == "section")
    assert "70 waiting, 1 posted" in said
    assert "and 11 more: 10 waiting, 1 posted" in said
    assert said.count("is_archived") == TRACE_CHANNELS_MAX


# Failures

TODAY = date(2026, 11, 20)
SOMEBODY = AnswerReader(admins=("U1", "U2"), today=TODAY)
ADMIN = AnswerReader(is_admin=True, admins=("U1",), today=TODAY)
READERS = {
    "somebody": SOMEBODY,
    "an admin": ADMIN,
    "nobody known": NOBODY_KNOWN,
    "somebody in December": replace(SOMEBODY, today=date(2026, 12, 31)),
}
KEY = CircuitOpen("courses", code="unauthorized", request_id="req_7")
FAILURES = {
    "the open breaker of the key": KEY,
    "the open breaker of the quota": CircuitOpen("courses", code="quota_exceeded"),
    "a refused key": Unauthorized("courses"),
    "a spent month": QuotaExceeded("courses", code="quota_exceeded"),
    "a fault": ServerFault("courses", request_id="req_9"),
    "a timeout": TimeoutError(),
}


@over("name", FAILURES)
def test_failure_reads_as_kept(name):
    said_to = {who: failure_words(FAILURES[name], reader) for who, reader in READERS.items()}
    check(KEPT, f"Failure by {name}", "\n".join(f"to {who}: {words}" for who, words in said_to.items()))
    for who in READERS.keys() - {"an admin"}:
        assert not re.search("racing-bot|RACING_API_KEY|COMMAND_QUOTA_SHARE", said_to[who])


@over(
    ("admins", "words"),
    [
        ((), "whoever runs this bot"),
        (("U1",), "U1"),
        (("U1", "U2"), "U1 or U2"),
        (("U1", "U2", "U3"), "U1, U2 or U3"),
        (("U1", "U2", "U3", "U4"), "U1, U2 or U3"),
    ],
)
def test_reader_is_told_whom_to_turn_to(admins, words):
    assert AnswerReader(admins=admins).whom_to_tell == words


def test_admins_are_shown_by_their_names_and_data_does_nothing():
    assert shown_to("Tell U1 or U2 <!here>.", SOMEBODY) == "Tell <@U1> or <@U2> &lt;!here&gt;."
    assert "Tell <@U1> or <@U2>: the right key" in explain(KEY, "cmd-1", reader=SOMEBODY).text


@over("error", [StorageUnavailable("locked"), ValueError("bug")])
def test_reference_goes_to_somebody_who_has_the_log(error):
    for reader, words in (
        (SOMEBODY, "give <@U1> or <@U2> the reference cmd-1"),
        (NOBODY_KNOWN, "give whoever runs this bot the reference cmd-1"),
        (ADMIN, "look into the log for the reference cmd-1"),
    ):
        assert words in explain(error, "cmd-1", reader=reader).text
