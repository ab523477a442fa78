"""What becomes of a message or an edit by Slack's answer to its call, and by how often the call had none."""

import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.db.tables import EventVersion, MessageKind, OutboxMessage
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackEditRefused,
    SlackMessageGone,
    SlackMessageRefused,
    SlackRefused,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_outcomes import (
    CallHeld,
    ChannelClosed,
    CredentialsDead,
    Found,
    GivenUp,
    NoAnswer,
    NotEdited,
    NotInThread,
    NotSent,
    Posted,
)
from bot.outbox.claim_sender import ClaimSender
from bot.outbox.message import Message, NativeBlocks
from bot.outbox.message_view import MessageView
from bot.outbox.messenger import HistoryPage

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BLOCKS = ({"type": "section"},)
UNREACHED, DOUBT, WAIT = SlackUnreached("m", "refused"), SlackDoubtful("m", "HTTP 503"), SlackWait("m", "limited", 7)
SHUT, DEAD, REFUSED = SlackChannelClosed("m", "archived"), SlackCredentialsDead("m", "dead"), SlackRefused("m", "odd")
BAD, GONE = SlackMessageRefused("m", "invalid_blocks"), SlackMessageGone("m", "message_not_found")
NO_EDIT, NO_SCOPE = SlackEditRefused("m", "msg_blocked"), SlackScopeMissing("m", "missing_scope")


class Slack:
    """Gives these answers, one a call: an error is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: Counter[str] = Counter()

    def _answer(self, call: str) -> Any:
        self.asked[call] += 1
        if isinstance(answer := self.answers.pop(0), Exception):
            raise answer
        return answer

    async def post(self, *_what: Any, **_how: Any) -> Any:
        return self._answer("post")

    async def update(self, *_what: Any, **_how: Any) -> Any:
        return self._answer("edit")

    async def find(self, *_what: Any, **_how: Any) -> Any:
        return self._answer("look")


def sender(*answers):
    slack: Any = Slack(*answers)
    at: dict[str, Any] = {"clock": lambda: NOON, "monotonic": time.monotonic, "worked": lambda: 0.0}
    return slack, ClaimSender(slack, lambda _claim, _now: Message("Result", BLOCKS), NativeBlocks(lambda: 0.0), **at)


def row(number, **more):
    given = {"attempts": 1, "plain": False, "thread_of": None, "message_ts": None, "priority": 0} | more
    return OutboxMessage(id=number, channel_id="CGB", idempotency_key=f"key {number}", received_at=NOON, **given)


EVENT = EventVersion(id=1, event_key="result.received:rc_1", version=1, inbox_id=1, received_at=NOON, data="{}")


def message(number=1, *, channel_id="CGB", thread_ts=None, **more):
    post = row(number, kind=MessageKind.EVENT, **more)
    return Claim(channel_id, "token", post, EVENT, in_doubt=False, claimed_at=NOON, thread_ts=thread_ts)


def edit(number=2, *, channel_id="CGB", event=EVENT, **more):
    """`event`: None stands for the edit of a live message."""
    view = MessageView(row(1, kind=MessageKind.EVENT, message_ts="1.1"), EVENT, EVENT, edits=(number,))
    post = row(number, kind=MessageKind.EDIT, edits_id=1, **more)
    return Claim(channel_id, "token", post, event, in_doubt=False, claimed_at=NOON, view=view)


LIVE = {"event": None}
HERE: Any = {}
THREAD, PERSON, PLAIN, AGAIN = {"thread_ts": "1.1"}, {"channel_id": "UALICE"}, {"plain": True}, {"attempts": 2}

ANSWERS = [
    ("message", message, HERE, ["1.2"], Posted),
    ("message", message, HERE, [UNREACHED], NotSent),
    ("message", message, HERE, [DOUBT], NoAnswer),
    ("message", message, HERE, [WAIT], CallHeld),
    ("message", message, HERE, [SHUT], ChannelClosed),
    ("message", message, HERE, [DEAD], CredentialsDead),
    ("message", message, HERE, [BAD], NotSent),
    ("message", message, HERE, [REFUSED], GivenUp),
    ("plain message", message, PLAIN, [BAD], GivenUp),
    ("reply", message, THREAD, [DOUBT], NoAnswer),
    ("reply", message, THREAD, [BAD], NotInThread),
    ("reply", message, THREAD, [REFUSED], NotInThread),
    ("edit", edit, HERE, [None], Posted),
    ("edit", edit, HERE, [UNREACHED], CallHeld),
    ("edit", edit, HERE, [DOUBT], CallHeld),
    ("edit", edit, HERE, [WAIT], CallHeld),
    ("edit", edit, HERE, [SHUT], ChannelClosed),
    ("edit for a person", edit, PERSON, [SHUT], NotEdited),
    ("edit", edit, HERE, [DEAD], CredentialsDead),
    ("edit", edit, HERE, [BAD], NotSent),
    ("plain edit", edit, PLAIN, [BAD], NotEdited),
    ("edit", edit, HERE, [GONE], NotEdited),
    ("edit", edit, HERE, [NO_EDIT], NotEdited),
    ("edit of a live message", edit, LIVE, [GONE], NotEdited),
    ("edit of a live message", edit, LIVE, [NO_EDIT], GivenUp),
    # Refused when made again: the first call may have made the edit, which the message's metadata tells.
    ("edit again, there", edit, AGAIN, [NO_EDIT, HistoryPage("1.1", None, frozenset({2}))], Found),
    ("edit again, others there", edit, AGAIN, [NO_EDIT, HistoryPage("1.1", None, frozenset({9}))], NotEdited),
    ("edit again, look fails", edit, AGAIN, [NO_EDIT, DOUBT], CallHeld),
    ("edit again, look waits", edit, AGAIN, [NO_EDIT, WAIT], CallHeld),
    ("edit again, no scope", edit, AGAIN, [NO_EDIT, NO_SCOPE], NotEdited),
    ("edit again, channel shut", edit, AGAIN, [NO_EDIT, SHUT], NotEdited),
]


@pytest.mark.parametrize(
    ("made", "more", "answers", "outcome"),
    [pytest.param(*rest, id=f"{what}-{type(rest[2][0]).__name__}") for what, *rest in ANSWERS],
)
async def test_answer_has_its_outcome(made, more, answers, outcome):
    slack, claims = sender(*answers)
    claim = made(**more)
    found = await claims.send(claim, time.monotonic())
    assert type(found) is outcome
    assert not slack.answers
    if isinstance(found, CallHeld):
        assert found.wait_s == (7 if answers[0] is WAIT else 2 if more is AGAIN else 1)
    if isinstance(found, NotSent):
        assert (found.plain, found.after_s) == ((None, 1) if answers[0] is UNREACHED else (True, 0))


async def many(claims, slack, *steps):
    """The outcomes of claims and of the answers that they get."""
    slack.answers = [answer for _, answer in steps]
    return [await claims.send(claim, time.monotonic()) for claim, _ in steps]


OTHER = message(9, channel_id="CIRE")
OTHER_EDIT = edit(8, channel_id="CIRE", event=None)


@pytest.mark.parametrize("error", [UNREACHED, DOUBT], ids=["left nothing", "no answer"])
@pytest.mark.parametrize(
    ("event", "before", "others", "fifth"),
    [
        (EVENT, [], [], CallHeld),
        (EVENT, [], [(OTHER, "1.2")], NotEdited),
        # The last call for a message had no answer: an outage.
        (EVENT, [], [(OTHER, "1.2"), (OTHER, DOUBT)], CallHeld),
        (EVENT, [(OTHER, "1.2")], [], CallHeld),
        # The edit of a live message waits through an outage of edits.
        (None, [], [(OTHER, "1.2")], CallHeld),
        (None, [], [(OTHER_EDIT, None)], GivenUp),
    ],
    ids=["nothing else", "message taken", "then an outage", "taken before", "live: message taken", "live: edit made"],
)
async def test_edit_that_alone_gets_no_answer_five_times_is_given_up(event, before, others, fifth, error):
    slack, claims = sender()
    one = edit(event=event)
    await many(claims, slack, *before)
    outcomes = await many(claims, slack, *[(one, error)] * 4, *others)
    assert {type(outcome) for outcome in outcomes[:4]} == {CallHeld}
    (last,) = await many(claims, slack, (one, error))
    assert type(last) is fifth


@pytest.mark.parametrize(
    ("error", "taken_between", "counts"), [(DOUBT, True, (9, 9)), (DOUBT, False, (9, 1)), (UNREACHED, True, (0, 0))]
)
async def test_calls_of_a_message_without_an_answer_are_counted(error, taken_between, counts):
    slack, claims = sender()
    one = message()
    for _ in range(9):
        await many(claims, slack, (one, error), *([(OTHER, "1.2")] if taken_between else []))
    seen = claims.unanswered.of(one)
    assert (seen.times, seen.while_others_passed) == counts
    await many(claims, slack, (one, "1.3"))
    assert claims.unanswered.of(one).times == 0


async def test_refused_edit_is_looked_for_eight_times():
    slack, claims = sender()
    one = edit(attempts=2)
    outcomes = []
    for _ in range(8):
        slack.answers = [NO_EDIT, DOUBT]
        outcomes.append(type(await claims.send(one, time.monotonic())))
    assert outcomes == [CallHeld] * 7 + [NotEdited]


async def test_call_that_comes_too_late_is_not_made():
    slack, claims = sender()
    assert type(await claims.send(message(), time.monotonic() - 5)) is NotSent
    assert not slack.asked


@pytest.mark.parametrize(("attempts", "wait_s"), [(1, 1), (2, 2), (3, 5), (4, 10), (5, 30), (6, 30)])
async def test_message_that_never_left_waits_ever_longer(attempts, wait_s):
    _, claims = sender(UNREACHED)
    assert (await claims.send(message(attempts=attempts), time.monotonic())).after_s == wait_s
