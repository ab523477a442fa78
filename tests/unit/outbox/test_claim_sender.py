"""The fate of a message or an edit by Slack's answers, and the meaning of each of Slack's error codes."""

import asyncio
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from bot.db.tables import EventVersion, MessageKind, MessageState, OutboxMessage, Reason
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
from bot.events.event import RacingEvent
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_outcomes import (
    CallHeld,
    ChannelClosed,
    CredentialsDead,
    Found,
    GivenUp,
    LookAgain,
    NotEdited,
    NotInThread,
    NotSent,
    Overran,
    Posted,
)
from bot.outbox.claim_sender import UNKNOWN_CODE, ClaimSender
from bot.outbox.message import HistoryPage, Message, NativeBlocks, Search, Sending
from bot.outbox.message_store import OVERRAN
from bot.outbox.message_view import MessageView
from bot.slack.api_errors import classify
from tests.rows import over
from tests.sim.ports import VirtualLoop

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BLOCKS = ({"type": "section"},)
UNREACHED, DOUBT, WAIT = SlackUnreached("m", "refused"), SlackDoubtful("m", "HTTP 503"), SlackWait("m", "limited", 7)
SHUT, DEAD, REFUSED = SlackChannelClosed("m", "archived"), SlackCredentialsDead("m", "dead"), SlackRefused("m", "odd")
BAD, GONE = SlackMessageRefused("m", "invalid_blocks"), SlackMessageGone("m", "message_not_found")
NO_EDIT, NO_SCOPE = SlackEditRefused("m", "msg_blocked"), SlackScopeMissing("m", "missing_scope")


class Slack:
    """Gives each call the next answer; an error is raised. Notes the words said and the histories read."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: Counter[str] = Counter()
        self.said: list[Message] = []
        self.read: list[list[datetime]] = []

    def _answer(self, call: str) -> Any:
        self.asked[call] += 1
        if isinstance(answer := self.answers.pop(0), Exception):
            raise answer
        return answer

    async def post(self, _channel_id: str, message: Message, _sending: Sending) -> Any:
        self.said.append(message)
        return self._answer("post")

    async def update(self, _channel_id: str, _message_ts: str, message: Message, _sending: Sending) -> Any:
        self.said.append(message)
        return self._answer("edit")

    async def find(self, _channel_id: str, search: Search) -> Any:
        self.read.append([search.since, search.until])
        return self._answer("look")


NOW_S = 100.0


def sender(*answers, render_s=0.0):
    slack: Any = Slack(*answers)
    worked = count(7.0, render_s)
    at: dict[str, Any] = {"clock": lambda: NOON, "monotonic": lambda: NOW_S, "worked": lambda: next(worked)}
    return slack, ClaimSender(slack, lambda _claim, _now: Message("Result", BLOCKS), NativeBlocks(lambda: 0.0), **at)


def row(number, **more):
    begun: dict[str, Any] = {"attempts": 1, "state": MessageState.SENDING}
    given = {"plain": False, "thread_of": None, "message_ts": None, "priority": 0} | begun | more
    return OutboxMessage(id=number, channel_id="CGB", idempotency_key=f"key {number}", received_at=NOON, **given)


EVENT = EventVersion(id=1, event_key="result.received:rc_1", version=1, inbox_id=1, received_at=NOON, data="{}")


HERE: Any = {}
CLAIMED: Any = {"in_doubt": False, "claimed_at": NOON, "begun_at_s": NOW_S}


def message(number=1, *, channel_id="CGB", thread_ts=None, **more):
    post = row(number, kind=MessageKind.EVENT, **more)
    return Claim(channel_id, "token", post, EVENT, thread_ts=thread_ts, **CLAIMED)


def edit(number=2, *, channel_id="CGB", event=EVENT, thread_ts=None, calls=1, **more):
    """`event`: None for the edit of a live message."""
    kind = MessageKind.LIVE if event is None else MessageKind.EVENT
    sent = {"state": MessageState.SENT, "message_ts": "1.1", "wanted_rev": 2, "edit_attempts": calls}
    post = row(number, kind=kind, **sent | more)
    view = MessageView(post, event, event, RacingEvent(key=event.event_key), rev=2) if event else None
    return Claim(channel_id, "token", post, event, thread_ts=thread_ts, shown=view, **CLAIMED)


LIVE = {"event": None}
THREAD, PERSON, PLAIN, AGAIN = {"thread_ts": "1.1"}, {"channel_id": "UALICE"}, {"plain": True}, {"calls": 2}

ANSWERS = [
    ("message", message, HERE, ["1.2"], Posted),
    ("message", message, HERE, [UNREACHED], NotSent),
    ("message", message, HERE, [DOUBT], LookAgain),
    ("message", message, HERE, [WAIT], CallHeld),
    ("message", message, HERE, [SHUT], ChannelClosed),
    ("message", message, HERE, [DEAD], CredentialsDead),
    ("message", message, HERE, [BAD], NotSent),
    # An unknown code may pass.
    ("message", message, HERE, [REFUSED], NotSent),
    ("message, for the fifth time", message, {"attempts": 5, "detail": f"{UNKNOWN_CODE}m: odd"}, [REFUSED], NotSent),
    ("message, for the sixth time", message, {"attempts": 6, "detail": f"{UNKNOWN_CODE}m: other"}, [REFUSED], GivenUp),
    ("plain, sixth time", message, {"attempts": 6, "detail": f"{OVERRAN}; {UNKNOWN_CODE}m: odd"}, [REFUSED], GivenUp),
    ("message, after other failures", message, {"attempts": 6, "detail": "m: refused"}, [REFUSED], NotSent),
    ("plain message", message, PLAIN, [BAD], GivenUp),
    ("reply", message, THREAD, [DOUBT], LookAgain),
    ("reply", message, THREAD, [BAD], NotInThread),
    ("reply", message, THREAD, [REFUSED], NotInThread),
    ("message for a person", message, PERSON, [SHUT], GivenUp),
    ("edit of a reply", edit, THREAD | PLAIN, [BAD], NotEdited),
    ("edit of a reply", edit, THREAD | LIVE, [REFUSED], NotSent),
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
    # Refused when made again: the first call may have made the edit, as the message's metadata tells.
    ("edit again, there", edit, AGAIN, [NO_EDIT, HistoryPage("1.1", None, 2)], Found),
    ("edit again, later there", edit, AGAIN, [NO_EDIT, HistoryPage("1.1", None, 3)], Found),
    ("edit again, earlier there", edit, AGAIN, [NO_EDIT, HistoryPage("1.1", None, 1)], NotEdited),
    ("edit again, look fails", edit, AGAIN, [NO_EDIT, DOUBT], CallHeld),
    ("edit again, look silent", edit, AGAIN, [NO_EDIT, TimeoutError()], CallHeld),
    ("edit again, look waits", edit, AGAIN, [NO_EDIT, WAIT], CallHeld),
    ("edit again, no scope", edit, AGAIN, [NO_EDIT, NO_SCOPE], NotEdited),
    ("edit again, channel shut", edit, AGAIN, [NO_EDIT, SHUT], NotEdited),
]


@over(("what", "made", "more", "answers", "outcome"), ANSWERS)
async def test_answer_has_its_outcome(what, made, more, answers, outcome):
    slack, claims = sender(*answers)
    claim = made(**more)
    found = await claims.send(claim)
    assert type(found) is outcome
    assert not slack.answers
    second = timedelta(seconds=1)
    assert slack.read in ([], [[datetime.fromtimestamp(1.1, UTC) - second, datetime.fromtimestamp(1.1, UTC) + second]])
    if isinstance(found, GivenUp):
        why = (Reason.NO_ENTRY, SHUT.code) if answers == [SHUT] else (Reason.REFUSED, str(answers[0]))
        assert (found.reason, found.detail) == why
    if isinstance(found, NotEdited):
        assert found.is_gone == (answers[0] is GONE)
    if isinstance(found, CallHeld):
        assert found.wait_s == (7 if answers[0] is WAIT else 2 if more is AGAIN else 1)
    if isinstance(found, NotSent):
        waits_s = 0 if answers == [BAD] else 30 if claim.calls >= 5 else 1
        assert (found.plain, found.after) == (answers == [BAD] or None, timedelta(seconds=waits_s))


async def many(claims, slack, *steps):
    """The outcomes of claims, by Slack's answers."""
    slack.answers = [answer for _, answer in steps]
    return [await claims.send(claim) for claim, _ in steps]


OTHER = message(9, channel_id="CIRE")
OTHER_EDIT = edit(8, channel_id="CIRE", event=None)


@over("error", [UNREACHED, DOUBT], ids=["left nothing", "no answer"])
@over(
    ("event", "before", "others", "fifth"),
    [
        (EVENT, [], [], CallHeld),
        (EVENT, [], [(OTHER, "1.2")], NotEdited),
        # The last call for a message had no answer: an outage.
        (EVENT, [], [(OTHER, "1.2"), (OTHER, DOUBT)], CallHeld),
        (EVENT, [(OTHER, DOUBT)], [(OTHER, "1.2")], NotEdited),
        (EVENT, [(OTHER, "1.2")], [], CallHeld),
        # The edit of a live message waits through an outage of edits.
        (None, [], [(OTHER, "1.2")], CallHeld),
        (None, [], [(OTHER_EDIT, None)], GivenUp),
    ],
    ids=[
        *("nothing else", "message taken", "then an outage", "after an outage", "taken before"),
        *("live: message taken", "live: edit made"),
    ],
)
async def test_edit_that_alone_gets_no_answer_five_times_is_given_up(event, before, others, fifth, error):
    slack, claims = sender()
    one = edit(event=event)
    await many(claims, slack, *before)
    outcomes = await many(claims, slack, *[(one, error)] * 3, *others, *[(one, error)] * 2)
    assert [type(outcome) for outcome in outcomes if outcome.claim is one] == [CallHeld] * 4 + [fifth]
    if fifth is GivenUp:
        assert outcomes[-1].reason is Reason.IN_VAIN


@over(("error", "taken_between", "counts"), [(DOUBT, True, (9, 9)), (DOUBT, False, (9, 1)), (UNREACHED, True, (0, 0))])
async def test_calls_of_a_message_without_an_answer_are_counted(error, taken_between, counts):
    slack, claims = sender()
    one = message()
    for _ in range(9):
        await many(claims, slack, (one, error), *([(OTHER, "1.2")] if taken_between else []))
    seen = claims.unanswered.of(one)
    assert (seen.times, seen.while_others_passed) == counts
    assert claims.unanswered.of(message(2)).times == 0
    await many(claims, slack, (one, "1.3"))
    assert claims.unanswered.of(one).times == 0


def test_look_for_an_edit_without_an_answer_ends_after_two_seconds():
    class Silent(Slack):
        async def find(self, _channel_id: str, _search: Search) -> Any:
            await asyncio.Event().wait()

    _, claims = sender()
    claims.sender = Silent(NO_EDIT)
    with closing(VirtualLoop()) as loop:
        began_s = loop.time()
        assert isinstance(loop.run_until_complete(claims.send(edit(calls=2))), CallHeld)
        assert round(loop.time() - began_s, 1) == 2


# Seconds since the claim, seconds of work on reading and on rendering.
@over(
    ("since_s", "read_s", "render_s", "outcome"),
    [
        (4.5, 0, 0, Posted),
        (5, 0, 0, NotSent),
        (4.5, 0, 4.5, Posted),
        (5, 0, 2.5, NotSent),
        (5, 0, 2.75, Overran),
        (5, 1, 1.5, NotSent),
        (5, 1, 1.75, Overran),
    ],
)
async def test_call_that_comes_too_late_is_not_made(since_s, read_s, render_s, outcome):
    slack, claims = sender("1.2", render_s=render_s)
    assert type(await claims.send(replace(message(), read_s=read_s, begun_at_s=NOW_S - since_s))) is outcome
    assert slack.asked["post"] == (outcome is Posted)


@over(
    ("claim", "is_plain"), [(message(), False), (message(plain=True), True), (edit(), False), (edit(plain=True), True)]
)
async def test_message_that_was_to_be_plain_has_no_blocks(claim, is_plain):
    slack, claims = sender("1.2")
    await claims.send(claim)
    assert [message.blocks for message in slack.said] == [() if is_plain else BLOCKS]


@over(("attempts", "wait_s"), [(1, 1), (2, 2), (3, 5), (4, 10), (5, 30), (6, 30)])
async def test_message_that_never_left_waits_ever_longer(attempts, wait_s):
    _, claims = sender(UNREACHED)
    assert (await claims.send(message(attempts=attempts))).after == timedelta(seconds=wait_s)


# The meaning of each of Slack's error codes for a method


SAID = ("chat.postMessage", "chat.update")
READ = ("conversations.history", "conversations.replies")
OTHERS = ("conversations.info", "views.open")
ALL = (*SAID, *READ, *OTHERS)

MEANINGS = [
    (SlackChannelClosed, ALL, "is_archived channel_not_found not_in_channel no_permission ekm_access_denied"),
    (SlackChannelClosed, ALL, "user_not_found cannot_dm_bot messages_tab_disabled"),
    (SlackChannelClosed, ALL, "restricted_action restricted_action_read_only_channel restricted_action_of_next_year"),
    (SlackRefused, SAID[:1], "restricted_action_thread_locked restricted_action_non_threadable_channel"),
    (SlackCredentialsDead, ALL, "account_inactive token_revoked token_expired invalid_auth not_authed"),
    (SlackCredentialsDead, ALL, "org_login_required accesslimited two_factor_setup_required"),
    (SlackCredentialsDead, SAID, "missing_scope access_denied enterprise_is_restricted not_allowed_token_type"),
    (SlackCredentialsDead, SAID, "team_access_not_granted"),
    (SlackScopeMissing, READ + OTHERS, "missing_scope access_denied enterprise_is_restricted not_allowed_token_type"),
    (SlackScopeMissing, READ + OTHERS, "team_access_not_granted"),
    (SlackScopeMissing, READ, "user_is_bot user_is_restricted method_not_supported_for_channel_type"),
    (SlackWait, ALL, "ratelimited rate_limited service_unavailable team_added_to_org external_channel_migrating"),
    (SlackWait, ALL, "message_limit_exceeded"),
    (SlackDoubtful, ALL, "fatal_error internal_error request_timeout"),
    (SlackMessageRefused, ALL, "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long no_text"),
    (SlackMessageRefused, ALL, "invalid_metadata_format invalid_metadata_schema metadata_too_large"),
    (SlackMessageRefused, ALL, "too_many_attachments invalid_attachments"),
    (SlackMessageGone, SAID[1:], "message_not_found cant_update_message edit_window_closed is_inactive"),
    (SlackEditRefused, SAID[1:], "msg_blocked_by_policy restricted_action_thread_locked never_heard_of_it"),
    (SlackRefused, (*SAID[:1], *READ, *OTHERS), "message_not_found as_user_not_supported never_heard_of_it"),
]


@over(
    ("code", "methods", "meaning"),
    [(code, methods, meaning) for meaning, methods, codes in MEANINGS for code in codes.split()],
)
def test_code_has_its_meaning(code, methods, meaning):
    assert {type(classify(method, code)) for method in methods} == {meaning}
