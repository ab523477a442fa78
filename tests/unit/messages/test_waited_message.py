"""The summary of waiting messages, and answers on traces and failures, with the words in words.txt."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.db.tables import EventVersion, InboxDelivery, InboxState
from bot.errors import StorageUnavailable
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.held_channels import Backlog
from bot.outbox.held_queues import DIGEST, PAUSED, UNDELIVERED, Held
from bot.outbox.ledger import LedgerLine, LedgerOutcome, Trace
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, ServerFault, Unauthorized, UnknownRefusal
from bot.slack.listeners.command_runner import explain
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words, shown_to
from bot.slack.messages.answers.trace_answer import TRACE_CHANNELS_MAX, TraceView, trace_answer
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.marks import MARKED_CONFLICT, MARKED_LOST, VOIDED, without_marks
from bot.slack.messages.kit.text import HEADER_MAX, MESSAGE_MAX, SECTION_MAX, TEXT_MAX, size
from tests.rows import over
from tests.unit.kept_text import as_read, check
from tests.unit.messages.kept_events import RECEIVED_AT
from tests.unit.messages.kept_values import TRACE, VERSION

KEPT = Path(__file__).parent / "words.txt"
SINCE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NO_REMARKS = VersionRemarks()
WON = (Runner(horse="Blue Moon", position="1"),)
BALLOON = "stewards.weather_balloon.sighted"


def event(kind, *, course="Kempton", off="14:30", reason=None, runners=(), **race):
    given = {"race_date": "2026-11-20", "region": "GB", "runners": runners} | race
    race_of = Race(course=Course(name=course), off=OffTime(text=off), **given)
    return RacingEvent(key="k", kind=kind, race=race_of, reason=reason), NO_REMARKS


def make(abandonments=(), results=(), counts=None, given_up=0, because="is_archived"):
    made = {EventKind.RESULT_RECEIVED: len(results)} if results else {}
    return Backlog(Held(because, SINCE), tuple(abandonments), tuple(results), made | (counts or {}), given_up)


LONG = event(EventKind.RACE_ABANDONED, course="C" * 80, off="T" * 40, region="R" * 40)
BARE = RacingEvent(key="k", kind=EventKind.RACE_ABANDONED), VersionRemarks(contradicts=EventKind.RESULT_RECEIVED)
DISPUTED = event(EventKind.RESULT_RECEIVED)[0], VersionRemarks(contradicts=EventKind.RACE_ABANDONED)
FROST = event(EventKind.RACE_ABANDONED, reason="Frozen track")
CALLED_OFF = event(EventKind.RACE_ABANDONED, race_id="rc_1")
RUN = event(EventKind.RESULT_RECEIVED, runners=WON, race_id="rc_1")[0], DISPUTED[1]
MEETING = event(EventKind.MEETING_ABANDONED, course="Ascot", off=None, reason="Waterlogged")
KNOWN = event(EventKind.RACE_ABANDONED)[0], VersionRemarks(had_at=SINCE)
CARD = event(EventKind.RACECARD_PUBLISHED, abandoned=True)[0].model_copy(update={"key": "card"}), NO_REMARKS
VOID = event(EventKind.RESULT_RECEIVED, status="void")
IN_A_DIGEST: dict[str | None, int] = {EventKind.RESULT_RECEIVED: 1, EventKind.RACECARD_PUBLISHED: 1}
STRANGE: dict[str | None, int] = {EventKind.RACECARD_PUBLISHED: 1, BALLOON: 2, "a`<!here>": 1, "b": 1, "c": 1, "d": 1}
SUMMARIES = {
    "of abandonments, a result and more": make(
        [FROST, MEETING],
        [event(EventKind.RESULT_RECEIVED, course="Bath", runners=WON)],
        {EventKind.RACECARD_PUBLISHED: 2, None: 1},
        given_up=4,
    ),
    "of an abandoned race": make([FROST]),
    "of an abandoned meeting in a pause": make([MEETING], because=PAUSED),
    "of an abandonment that contradicts, of which nothing came": make([BARE]),
    "of an abandonment with a long reason": make(
        [event(EventKind.RACE_ABANDONED, reason="Standing water in the back straight " * 4)]
    ),
    "of an abandonment that is known since long": make([KNOWN], because=UNDELIVERED),
    "of an abandonment with too long names": make([LONG]),
    "of two abandonments": make([event(EventKind.RACE_ABANDONED), event(EventKind.RACE_ABANDONED, course="Bath")]),
    "of a disputed result": make([BARE], [DISPUTED]),
    "of an abandonment and of a result of that race": make([CALLED_OFF], [RUN]),
    "of a lost card and a void race": Backlog(Held(DIGEST, SINCE), (), (VOID,), IN_A_DIGEST, 0, cards=(CARD,)),
    "of an event that this version does not know": make([], [], {BALLOON: 1}),
    "of many events that this version does not know": make([], [], STRANGE),
    "of a pause in which everything was given up": make(given_up=1, because=PAUSED),
}


@over("name", SUMMARIES)
def test_summary_reads_as_kept(name):
    ((message, named),) = waited(SUMMARIES[name])
    assert named == len(SUMMARIES[name].abandonments)
    check(KEPT, f"Summary {name}", as_read(message))


def test_summary_names_results_by_meeting_and_off_time():
    """The order of receipt makes no difference. Ten o'clock comes after nine."""
    raced = [("York", "13:30"), ("Ascot", "10:05"), ("York", "12:55"), ("Ascot", "9:30"), ("York", "14:05")]
    told = [(event(EventKind.RESULT_RECEIVED, course=course, off=off)[0], f"{course} {off}") for course, off in raced]
    results = [(one.model_copy(update={"key": key}), NO_REMARKS) for one, key in told]
    ((message, _),) = waited(make([], results, because=DIGEST))
    shown = str(message.blocks)
    order = ["Ascot 9:30", "Ascot 10:05", "York 12:55", "York 13:30", "York 14:05"]
    assert sorted(order, key=shown.index) == order
    assert sorted(order, key=message.text.index) == order


@over(
    ("race", "said"),
    [
        ({"abandoned": True, "status": "Abandoned"}, f"{MARKED_LOST}, frost"),
        ({"status": "Void", "runners": WON}, f"{VOIDED} *VOID*, frost"),
        ({"status": "Postponed"}, "placings not received, Status: Postponed"),
        ({"status": "Provisional", "runners": WON}, "1 Blue Moon, Status: Provisional"),
        (
            {"abandoned": True, "status": "Abandoned", "runners": WON},
            f"1 Blue Moon, {MARKED_CONFLICT}: reported abandoned and run, Status: Abandoned",
        ),
        ({"status": "Walkover", "runners": WON}, "Walkover: Blue Moon"),
        ({"status": "Result"}, "result in, placings not received"),
    ],
)
@over("because", [DIGEST, PAUSED])
def test_summary_says_of_each_result_what_its_own_message_would_say(race, said, because):
    told = event(EventKind.RESULT_RECEIVED, reason="frost", **race)
    ((message, _),) = waited(make([], [told], because=because))
    line = f"Kempton 14:30, Fri 20 Nov (GB): {said}"
    assert line in str(message.blocks[-2])
    # A loss is in the notification too.
    is_loud = race.get("abandoned") or race["status"] == "Void"
    assert message.text.endswith(without_marks(line)) is bool(is_loud or because == DIGEST)


@given(st.dictionaries(st.sampled_from([*EventKind, None]) | st.text("ab.", min_size=1), st.integers(1, 10**6)))
def test_every_event_that_is_not_named_is_in_a_figure(counts):
    ((message, _),) = waited(make([], [], counts, given_up=1))
    figures = re.findall(r"([\d,]+) (?:result|racecard|deliver|other event)", message.text)
    told = sum(int(one.replace(",", "")) for one in figures)
    assert told == sum(count for kind, count in counts.items() if kind not in ABANDONMENTS)
    # More results than fit are counted.
    results = [event(EventKind.RESULT_RECEIVED, course=f"Course {n} {'x' * 70}") for n in range(80)]
    ((message, _),) = waited(make(results=results, counts={EventKind.RESULT_RECEIVED: 900}))
    assert "900 results came meanwhile" in message.text
    assert " more" in str(message.blocks)


HOSTILE = st.text(max_size=300) | st.sampled_from(["<!here>", "*_~`", "&lt;" * 99, "🐎" * 300, None])


@given(st.lists(st.tuples(st.booleans(), HOSTILE, HOSTILE, HOSTILE), max_size=40), st.integers(0, 5))
def test_every_abandonment_is_whole_in_one_message_and_no_limit_is_met(given_events, given_up):
    kinds = {True: EventKind.MEETING_ABANDONED, False: EventKind.RACE_ABANDONED}
    lost = [
        event(kinds[is_meeting], course=course, off=off, reason=why) for is_meeting, course, off, why in given_events
    ]
    late = [event(EventKind.RESULT_RECEIVED, course=course) for _, course, _, _ in given_events]
    messages = waited(make(lost, late, given_up=given_up))
    assert sum(named for _, named in messages) == len(lost)
    for message, named in messages:
        assert size(message.text) <= TEXT_MAX
        assert not message.text.endswith("…")
        assert message.text.startswith("ABANDONED: ") == bool(named)
        assert len(message.blocks) <= 50
        assert weight(message.blocks) <= MESSAGE_MAX
        assert "<!here>" not in str(message)
        shown = [block["text"]["text"] for block in message.blocks if block["type"] in {"header", "section"}]
        assert all(size(text) <= SECTION_MAX for text in shown)
        assert size(shown[0]) <= HEADER_MAX
        assert sum(text.count("ABANDONED: ") for text in shown) >= named


# Answers on traces and failures, with the words in words.txt

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


def test_reader_is_told_whom_to_turn_to_by_mentions_of_admins_alone():
    told = [AnswerReader(admins=("U1", "U2", "U3", "U4")[:count]).whom_to_tell for count in range(5)]
    assert told == ["whoever runs this bot", "U1", "U1 or U2", "U1, U2 or U3", "U1, U2 or U3"]
    assert shown_to("Tell U1 or U2 <!here>.", SOMEBODY) == "Tell <@U1> or <@U2> &lt;!here&gt;."
    assert "Tell <@U1> or <@U2>: the right key" in explain(KEY, "cmd-1", reader=SOMEBODY).text


@over("error", [StorageUnavailable("locked"), ValueError("bug"), UnknownRefusal("courses", status=402)])
def test_reference_goes_to_somebody_who_has_the_log(error):
    for reader, words in (
        (SOMEBODY, "give <@U1> or <@U2> the reference cmd-1"),
        (NOBODY_KNOWN, "give whoever runs this bot the reference cmd-1"),
        (ADMIN, "look into the log for the reference cmd-1"),
    ):
        assert words in explain(error, "cmd-1", reader=reader).text
