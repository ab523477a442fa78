"""`/racing trace` read aloud: whole sentences, and the text itself says what the blocks show."""

from dataclasses import replace

import pytest

from bot.events.races import Course, OffTime, Race
from bot.outbox.ledger import LedgerLine, LedgerOutcome, Trace
from bot.slack.messages.answers.trace_answer import trace_answer
from tests.unit.messages.kept_answers import TRACE, VERSION
from tests.unit.messages.kept_events import RECEIVED_AT

IN_DOUBT = "sent to Slack, and I am finding out whether it arrived"
UNTOLD = replace(VERSION, told=())
AT = "<!date^1795185130^{date_short} {time_secs}|2026-11-20 14:32:10 UTC>"


def answer(found, only_channel=None, link=None):
    return trace_answer(found, "rc_1", lambda _channel_id, _ts: link, only_channel)


def text(found, only_channel=None):
    return answer(found, only_channel).text


def bullet(told, link=None):
    """The line of one channel."""
    found = replace(TRACE, versions=(replace(VERSION, told=(told,)),), deliveries=())
    lines = "\n".join(block["text"]["text"] for block in answer(found, link=link).blocks if "text" in block)
    return next(line for line in lines.splitlines() if line.startswith("•"))


@pytest.mark.parametrize(
    ("version", "only_channel", "why"),
    [
        (UNTOLD, "C9", "This channel had not asked for it."),
        (replace(UNTOLD, posts=0), None, "Nobody was subscribed to it."),
        (UNTOLD, None, "No message was made for it."),
    ],
)
def test_text_of_a_trace_says_why_nobody_was_told(version, only_channel, why):
    found = replace(TRACE, versions=(version, version))
    assert text(found, only_channel) == f"`rc_1` came twice. {why}"


@pytest.mark.parametrize(("number", "words"), [(1, "came once."), (2, "came twice."), (4, "came 4 times.")])
def test_text_of_a_trace_counts_versions_and_messages(number, words):
    found = replace(TRACE, versions=(VERSION,) * number)
    each = f"{number} not posted, {number} muted, {number} posted"
    assert text(found) == f"`rc_1` {words} {3 * number} messages: {each}."


def test_trace_names_the_race_and_has_the_ids_in_small_print():
    race = Race(race_id="rc_1", course=Course(name="Les Landes"), off=OffTime(text="12:50"))
    found = answer(replace(TRACE, versions=(replace(VERSION, race=race),)))
    assert found.text.startswith("Les Landes 12:50 came once.")
    shown, small = str(found.blocks[:-1]), str(found.blocks[-1])
    assert "*Les Landes 12:50, race abandoned*" in shown
    assert VERSION.event_key in small
    assert VERSION.event_key not in str(found.blocks[0])


def test_text_of_a_trace_says_what_became_of_a_delivery_that_made_no_version():
    found = Trace((), TRACE.deliveries, 0, TRACE.kept_since)
    assert text(found) == "`rc_1`: inbox-18 said nothing new, so nobody was told again."


def told(outcome, attempts=1, **fields):
    return LedgerLine("C1", outcome, attempts, RECEIVED_AT, **fields)


POSTED = {"sent_at": RECEIVED_AT, "message_ts": "1.2"}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (told(LedgerOutcome.SENT, **POSTED), f"posted {AT} (ts `1.2`)."),
        (told(LedgerOutcome.SENT, 3, **POSTED), f"posted {AT}, after 3 attempts (ts `1.2`)."),
        (told(LedgerOutcome.SENT, by_edit=True, **POSTED), f"shown by an edit of the message there, {AT} (ts `1.2`)."),
        (told(LedgerOutcome.FOLDED, within=True, **POSTED), f"said in another message, posted {AT} (ts `1.2`)."),
        (
            told(LedgerOutcome.FOLDED, within=True, by_edit=True, **POSTED),
            f"said in another message, by an edit {AT} (ts `1.2`).",
        ),
        (told(LedgerOutcome.WAITING, 0, why="the channel is paused"), "waiting, because the channel is paused."),
        (told(LedgerOutcome.WAITING, 0, why="is_archived"), "waiting, because Slack said `is_archived`."),
        (
            told(LedgerOutcome.WAITING, 2, why="chat.postMessage: ratelimited"),
            "waiting, after 2 attempts, because the last call ended with `chat.postMessage: ratelimited`.",
        ),
        (told(LedgerOutcome.WAITING, 0, by_edit=True, why="its turn has not come"), None),
        (
            told(LedgerOutcome.WAITING, 0, within=True, why="the channel is paused"),
            "to be said in another message, which is waiting, because the channel is paused.",
        ),
        (told(LedgerOutcome.DEAD_LETTER, 5, why="invalid_arguments"), None),
        (told(LedgerOutcome.DEAD_LETTER, 0, why="the channel unsubscribed while it waited"), None),
        (
            told(LedgerOutcome.IN_DOUBT, 1, why="chat.postMessage: timeout"),
            f"{IN_DOUBT}, because the last call ended with `chat.postMessage: timeout`.",
        ),
        (told(LedgerOutcome.SENDING, 1), "being posted now."),
        (told(LedgerOutcome.MUTED, 0, muted_by="U1"), "not posted, because <@U1> muted the meeting there."),
    ],
)
def test_outcome_in_a_channel_is_a_sentence(one, said):
    line = bullet(one)
    assert line.startswith("• <#C1>: ")
    assert line.endswith(".")
    assert said is None or line == f"• <#C1>: {said}"
    for stumble in ("0 attempts", "because:", "by another message", ",,"):
        assert stumble not in line


def test_message_that_stands_is_linked():
    assert bullet(told(LedgerOutcome.SENT, **POSTED), link="https://x.slack.com/1").endswith(
        "(ts `1.2`, <https://x.slack.com/1|see it>)."
    )
