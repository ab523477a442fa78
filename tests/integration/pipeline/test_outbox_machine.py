"""Whatever happens to the outbox, each event is told once in each channel that asked, in order, and nothing is stuck.

A machine draws deliveries, corrections, refusals, silences, crashes, closings, pauses and clocks. Slack is in memory,
and answers as the machine chooses. On both engines.
"""

import asyncio
import hashlib
import json
from collections import Counter
from datetime import timedelta
from functools import partial
from itertools import combinations, count
from secrets import token_hex
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import func, select
from sqlmodel import Session, col
from structlog.testing import capture_logs

from bot.channels import mutes, subscriptions
from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.filters import ChannelFilter, Meeting
from bot.db.engine import Database
from bot.db.tables import (
    ChannelQueue,
    EventVersion,
    InboxDelivery,
    MessageKind,
    MessageState,
    MutedMeetingRow,
    OutboxMessage,
    QueueState,
)
from bot.deliveries import inbox
from bot.deliveries.ingest import Ingest
from bot.deliveries.payload import identify, read_events
from bot.errors import (
    SlackChannelClosed,
    SlackDoubtful,
    SlackEditRefused,
    SlackMessageRefused,
    SlackUnreached,
    SlackWait,
)
from bot.events.event import EventKind, Topic
from bot.events.races import Course
from bot.fanout.fanout import Fanout
from bot.outbox import backlog, channel_queues
from bot.outbox.channel_closing import close_channel, pause_channel
from bot.outbox.message import Message, NativeBlocks
from bot.outbox.messenger import HistoryPage
from bot.outbox.notices import Notices
from bot.outbox.pace import Pace
from bot.outbox.poster import Poster
from bot.outbox.resolve import Resolver
from bot.outbox.resume import Reopening
from bot.outbox.states import FINAL, UNSENT
from bot.settings import DoubtfulPosts
from bot.slack.messages.alerts.admin_notice import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited as summarise
from tests.clock import START
from tests.databases import empty
from tests.integration.pipeline.racing_day import abandonment, meeting, result

CHANNELS = ("CGB", "CALL")
KEEP = timedelta(hours=72)
LEASE_S, CALL_S = 9.0, 5.0

RACES = st.sampled_from(["rc_1", "rc_2", "rc_3"])
PAYLOADS = st.one_of(
    st.builds(result, RACES, going=st.sampled_from(["Good", "Soft", "Firm"])),
    st.builds(result, RACES, placings=st.sampled_from([(), ("Blue Moon", "Red Sky"), ("Red Sky", "Blue Moon")])),
    st.builds(abandonment, RACES, reason=st.sampled_from(["frost", "fog"])),
    st.builds(abandonment, RACES, reason=st.just("frost"), meeting_id=st.just("mt_1")),
    st.builds(meeting, st.just("rc_1"), st.just("rc_2"), reason=st.sampled_from(["frost", "fog"])),
)

OK, LOST, DROPPED, UNREACHED, WAIT, REFUSED, EDIT_REFUSED = (
    "ok",
    "taken without an answer",
    "not taken, without an answer",
    "never left",
    "429",
    "message refused",
    "edit refused",
)
ANSWERS = st.sampled_from([OK, OK, OK, LOST, DROPPED, UNREACHED, WAIT, REFUSED, EDIT_REFUSED])

EXPECTED_ERRORS = {"blocks_refused", "notice_not_posted"}
"""What the log has at the level of errors where Slack refuses a message."""


class Slack:
    """A workspace in memory. `answer` is what the next call meets; a channel in `closed` takes nothing."""

    def __init__(self, clock) -> None:
        self.answer = OK
        self.closed: set[str] = set()
        self.channels: dict[str, dict[str, tuple[str, str, frozenset[int]]]] = {}
        """By channel and ts: the message's key, text and edits."""
        self.rung: list[tuple[str, str, str]] = []
        """Every message as posted, before any edit: its channel, key and text."""
        self.threads: dict[tuple[str, str], str | None] = {}
        """By channel and ts: the thread that the message stands in."""
        self._clock = clock
        self._numbers = count()

    async def post(self, channel_id, message, *, post_key, timeout_s, edits=(), thread_ts=None):
        self._meet("chat.postMessage", channel_id)
        message_ts = f"{self._clock().timestamp() + next(self._numbers) / 1_000_000:.6f}"
        self.channels.setdefault(channel_id, {})[message_ts] = (post_key, message.text, frozenset(edits))
        assert thread_ts is None or thread_ts in self.channels[channel_id]
        self.threads[channel_id, message_ts] = thread_ts
        self.rung.append((channel_id, post_key, message.text))
        self._leave("chat.postMessage")
        return message_ts

    def direct_message(self, person_id):
        return None

    async def update(self, channel_id, message_ts, message, *, post_key, timeout_s, edits=(), thread_ts=None):
        if self.answer == EDIT_REFUSED:
            raise SlackEditRefused("chat.update", "edit_window_closed")
        self._meet("chat.update", channel_id)
        assert self.channels[channel_id][message_ts][0] == post_key
        self.channels[channel_id][message_ts] = (post_key, message.text, frozenset(edits))
        self._leave("chat.update")

    async def find(self, channel_id, post_key, *, since, until, cursor, thread_ts=None):
        self._meet("conversations.history", channel_id)
        self._leave("conversations.history")
        here = self.channels.get(channel_id, {}).items()
        for message_ts, (key, _, edits) in here:
            if self.threads[channel_id, message_ts] != thread_ts:
                continue
            if key == post_key and since.timestamp() <= float(message_ts) <= until.timestamp():
                return HistoryPage(message_ts, None, edits)
        return HistoryPage(None, None)

    def _meet(self, method, channel_id):
        if channel_id in self.closed:
            raise SlackChannelClosed(method, "is_archived")
        match self.answer:
            case "429":
                raise SlackWait(method, "ratelimited", 3.0)
            case "never left":
                raise SlackUnreached(method, "no connection")
            case "not taken, without an answer":
                raise SlackDoubtful(method, "timeout")
            case "message refused":
                raise SlackMessageRefused(method, "msg_too_long")

    def _leave(self, method):
        if self.answer == LOST:
            raise SlackDoubtful(method, "timeout")


def render(claim, now):
    """A message that names the versions it tells."""
    if claim.live is not None:
        return Message(text="A live message.")
    if claim.view is None:
        return Message.from_json(claim.post.content)
    shown = claim.view
    told = [f"{shown.newest.event_key}#{shown.newest.version}", *(event.key for event in shown.lost)]
    return Message(text=f"{' '.join(told)}.")


class Outbox(RuleBasedStateMachine):
    """Fan-out, poster and reopening on one database, a step at a time, between two subscribed channels and Slack."""

    def __init__(self, database) -> None:
        super().__init__()
        self.database = database
        empty(database)
        self.now = START
        self.slack = Slack(lambda: self.now)
        self.doubtful = DoubtfulPosts.REPEAT
        self.loop = asyncio.new_event_loop()
        self.under_way: list[Any] = []
        self.final: dict[int, str] = {}
        self.first_kinds: dict[int, str] = {}
        self.repeats: set[str] = set()
        self.excused: set[str] = set()
        self.notices = Notices(None, admin_notice, clock=lambda: self.now)
        self.reopening = Reopening(summarise)
        self._restart(sends_at_once=False)
        for channel_id in CHANNELS:
            show = (MEETINGS,) if channel_id == "CALL" else ()
            chosen = ChannelFilter(region="GB", topics=frozenset(Topic), show=show)
            self.within(subscriptions.save, channel_id, chosen, user_id="U", now=self.now)

    def _restart(self, *, sends_at_once):
        self.poster = self._poster()
        self.poster._is_running = sends_at_once
        ingest = Ingest(self.database)
        self.fanout = Fanout(
            self.database,
            read_events,
            arrivals=ingest,
            outbox=self.poster,
            notices=self.notices,
            clock=lambda: self.now,
            wake=ingest.stored,
            monotonic=lambda: 0.0,
        )

    def _poster(self):
        return Poster(
            database=self.database,
            sender=self.slack,
            render=render,
            resolver=Resolver(self.slack, 10, self.doubtful),
            notices=self.notices,
            clock=lambda: self.now,
            monotonic=lambda: 0.0,
            worked=lambda: 0.0,
            token=token_hex,
            native=NativeBlocks(lambda: 0.0),
            wake=asyncio.Event(),
            pace=Pace(channel_s=0.0, workspace_per_minute=None),
        )

    def within(self, work, *args, **kwargs):
        """What the work returns, after a commit. An error of ours that is only logged fails the test too."""
        with capture_logs() as logged, Session(self.database.writer, expire_on_commit=False) as session:
            done = work(session, *args, **kwargs)
            session.commit()
        bad = [line for line in logged if line["log_level"] in {"error", "critical"}]
        assert not [line for line in bad if line["event"] not in EXPECTED_ERRORS], bad
        return done

    # What happens.

    @initialize(
        payloads=st.lists(PAYLOADS, max_size=4),
        muted=st.booleans(),
        doubtful=st.sampled_from(DoubtfulPosts),
        sends_at_once=st.booleans(),
        answer=ANSWERS,
    )
    def begins(self, payloads, muted, doubtful, sends_at_once, answer):
        self.doubtful = doubtful
        self._restart(sends_at_once=sends_at_once)
        if muted:
            ascot = Meeting(meeting_id="mt_1", course=Course(name="Ascot"), race_date=START.date().isoformat())
            self.within(mutes.mute, "CALL", ascot, "U", self.now)
        self.deliver(payloads, answer)

    @rule(payloads=st.lists(PAYLOADS, min_size=1, max_size=3), answer=ANSWERS)
    def deliver(self, payloads, answer):
        for payload in payloads:
            self.now += timedelta(seconds=1)
            body = json.dumps(payload).encode()
            key, name = identify(body)
            arrival = inbox.Arrival(key, name, hashlib.sha256(body).hexdigest(), body, self.now)
            self.within(inbox.store, [arrival])
        self.fan_out(answer)

    def fan_out(self, answer):
        """Fan out. Slack is called for what was claimed at once, and what became of that is not written down yet."""
        read, _ = self.within(self.fanout._read_inbox)
        if read:
            done = self.within(self.fanout.transactions.together, read)
            self.under_way += [(claim, self._outcome(claim, answer)) for claim in done.added.claims]

    @rule(answer=ANSWERS)
    def begin(self, answer):
        """Claim one message and call Slack; what became of the message is not written down yet."""
        self._begin(answer)

    def _begin(self, answer):
        claims = self.within(
            channel_queues.claim, self.now, token=token_hex(8), limit=1, lease_s=LEASE_S, call_s=CALL_S
        )
        self.under_way += [(claim, self._outcome(claim, answer)) for claim in claims]
        return bool(claims)

    def _outcome(self, claim, answer):
        self.slack.answer = answer
        with capture_logs():
            outcome = self.loop.run_until_complete(self.poster._outcome(claim, 0.0))
        self.slack.answer = OK
        return outcome

    @precondition(lambda self: self.under_way)
    @rule(index=st.integers(0, 3))
    def write_down(self, index):
        """Also late: by then the lease may be another's."""
        _, outcome = self.under_way.pop(index % len(self.under_way))
        self.within(outcome.record, self.now, self.poster._context)

    @rule(answer=ANSWERS, times=st.integers(1, 6), apart_s=st.sampled_from([0, 4, 12, 30]))
    def send(self, answer, times, apart_s):
        for _ in range(times):
            if self._begin(answer):
                self.write_down(-1)
            self.now += timedelta(seconds=apart_s)

    @rule()
    def send_all(self):
        for _ in range(40):
            if not self._begin(OK):
                return
            self.write_down(-1)

    @rule(is_claimed=st.booleans())
    def crash(self, is_claimed):
        """The process ends: what the process had under way is never written down, a claim before the call included."""
        if is_claimed:
            self.within(channel_queues.claim, self.now, token=token_hex(8), limit=1, lease_s=LEASE_S, call_s=CALL_S)
        self.under_way.clear()
        self._restart(sends_at_once=self.poster._is_running)

    @rule(seconds=st.sampled_from([1, 4, 12, 30, 600, 4 * 3600, 80 * 3600]))
    def time_passes(self, seconds):
        """The jobs run too."""
        self.now += timedelta(seconds=seconds)
        self.within(self.reopening.end_pauses, self.now)
        self.within(backlog.give_up, self.now - KEEP, 200, self.now)

    @rule(channel_id=st.sampled_from(CHANNELS), is_told=st.booleans())
    def slack_closes(self, channel_id, is_told):
        self.slack.closed.add(channel_id)
        if is_told:
            self.within(close_channel, self.notices, channel_id, "is_archived", self.now)

    @rule(channel_id=st.sampled_from(CHANNELS), is_open=st.booleans(), is_command=st.booleans())
    def bot_is_back(self, channel_id, is_open, is_command):
        if is_open:
            self.slack.closed.discard(channel_id)
        self.within(self.reopening.reopen if is_command else self.reopening.try_again, channel_id, self.now)

    @rule(channel_id=st.sampled_from(CHANNELS), hours=st.sampled_from([1, 100, None]))
    def pause(self, channel_id, hours):
        until = self.now + timedelta(hours=hours) if hours else None
        self.within(pause_channel, channel_id, until, self.now)

    @rule(channel_id=st.sampled_from(CHANNELS))
    def resume(self, channel_id):
        self.within(self.reopening.resume, channel_id, self.now)

    @rule(channel_id=st.sampled_from([*CHANNELS, None, None, None]))
    def unsubscribe_and_subscribe(self, channel_id):
        """Nobody wants the messages that wait for the channel; later messages are wanted. Seldom, to leave some."""
        if channel_id:
            self.within(backlog.drop, channel_id, self.now)

    # What holds always.

    @invariant()
    def nothing_is_undone_or_doubled(self):
        """Nothing leaves a final state, no delivery fails in fan-out, and no message stands twice."""
        rows, failed = self.within(
            lambda session: (session.execute(select(*_COLUMNS)).all(), session.execute(_FAILED).scalar_one())
        )
        for row in rows:
            self.first_kinds.setdefault(row.id, row.kind)
        states = {row.id: row.state for row in rows}
        assert {number: states.get(number) for number in self.final} == self.final
        self.final = {number: state for number, state in states.items() if state in FINAL}
        assert failed == 0
        self.repeats = {row.idempotency_key for row in rows if row.may_be_repeat}
        self.excused |= {
            row.idempotency_key
            for row in rows
            if row.state in {MessageState.FOLDED, MessageState.DEAD_LETTER, MessageState.IN_DOUBT}
        }
        for channel_id, here in self.slack.channels.items():
            keys = Counter(key for key, _, _ in here.values())
            assert {key for key, times in keys.items() if times > 1} <= self.repeats, channel_id

    # What holds in the end, once Slack is well.

    def teardown(self):
        try:
            self.crash(is_claimed=False)
            self.drain()
            self.check()
        finally:
            self.loop.close()

    def drain(self):
        for channel_id in CHANNELS:
            self.slack.closed.discard(channel_id)
        for _ in range(30):
            self.now += timedelta(seconds=40)
            for channel_id in CHANNELS:
                self.resume(channel_id)
                self.within(self.reopening.reopen, channel_id, self.now)
            self.fan_out(OK)
            self.send_all()
            self.nothing_is_undone_or_doubled()
            if not self._waiting():
                return
        raise AssertionError(f"stuck: {self._waiting()}")

    def _waiting(self):
        queues = select(ChannelQueue).where(col(ChannelQueue.state) != QueueState.OPEN)
        held = self.within(
            lambda session: [one.channel_id for one in session.execute(queues).scalars() if one.state != "on_trial"]
        )
        unsent = select(OutboxMessage).where(col(OutboxMessage.state).in_(UNSENT))
        left = self.within(lambda session: session.execute(unsent).scalars().all())
        return [*held, *((one.idempotency_key, one.state, one.detail) for one in left)]

    def check(self):
        rows, versions, muted = self.within(
            lambda session: (
                {row.id: row for row in session.execute(select(OutboxMessage)).scalars()},
                {row.id: row for row in session.execute(select(EventVersion)).scalars()},
                session.execute(select(MutedMeetingRow)).scalars().all(),
            )
        )
        newest: dict[str, EventVersion] = {}
        for version in versions.values():
            newest[version.event_key] = max(version, newest.get(version.event_key, version), key=lambda v: v.version)
        for channel_id in CHANNELS:
            here = [row for row in rows.values() if row.channel_id == channel_id]
            self._check_told(channel_id, here, rows, versions, newest)
            self._check_once(channel_id)
            self._check_order(channel_id, here, versions)
        assert all(row.state != MessageState.MUTED or muted for row in rows.values())

    def _check_told(self, channel_id, here, rows, versions, newest):
        """Each event stands in the channel by its newest version, or it is known why not."""
        told = {word for _, text, _ in self.slack.channels.get(channel_id, {}).values() for word in text[:-1].split()}
        for key, version in newest.items():
            said = [row for row in here if row.event_id and versions[row.event_id].event_key == key]
            ends = {bearer(row, rows) for row in said}
            excused = any(
                row.state in {MessageState.MUTED, MessageState.DEAD_LETTER} or row.kind == MessageKind.SUMMARY
                for row in map(rows.__getitem__, ends)
            )
            assert said, f"{channel_id} was never to be told of {key}"
            stands = told & {key, f"{key}#{version.version}"}
            assert stands or excused, (
                channel_id,
                key,
                version.version,
                told,
                [(row.id, row.kind, row.state) for row in said],
            )

    def _check_once(self, channel_id):
        """No two messages are posted for the same version of an event, repeats that are marked so left out.

        A message that was folded into a summary, and waits by itself again, is left out too: while the message was
        folded, an earlier message of the event may have been posted with the same version. So is a dead letter, which
        Slack may have: a correction of a dead letter is a message of its own. So is a message that was in doubt: which
        edits Slack has with the message is not known, so each of them is made, or becomes a message where refused.
        """
        here = [(key, text) for channel, key, text in self.slack.rung if channel == channel_id and "#" in key]
        tellings = Counter(text[:-1].split()[0] for key, text in here if key not in self.repeats | self.excused)
        assert {telling for telling, times in tellings.items() if times > 1} == set(), (channel_id, here)

    def _check_order(self, channel_id, here, versions):
        """Of two messages with the same urgency the earlier stands first."""
        ordered = [
            row
            for row in here
            if row.state == MessageState.SENT
            and row.kind == self.first_kinds[row.id] == MessageKind.EVENT
            and (row.priority == 0) == (versions[row.event_id].kind in ABANDONMENTS)
        ]
        for one, other in combinations(sorted(ordered, key=lambda row: row.id), 2):
            if one.priority == other.priority:
                assert float(one.message_ts) < float(other.message_ts), (channel_id, one, other)


_COLUMNS = (
    *(col(OutboxMessage.id), col(OutboxMessage.state), col(OutboxMessage.kind)),
    *(col(OutboxMessage.idempotency_key), col(OutboxMessage.may_be_repeat)),
)
_FAILED = select(func.count()).select_from(InboxDelivery).where(col(InboxDelivery.error).is_not(None))
ABANDONMENTS = (EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED)


def bearer(row, rows):
    """The number of the message that says what a row would have said."""
    while row.state == MessageState.FOLDED:
        row = rows[row.folded_into]
    return row.id


def _made(database: Database) -> Any:
    """Makes the machine. Hypothesis takes any callable here, and declares less."""
    return partial(Outbox, database)


@pytest.mark.timeout(900)
def test_outbox_holds_its_promise_whatever_happens(sqlite_database):
    run_state_machine_as_test(_made(sqlite_database), settings=settings(stateful_step_count=40))


@pytest.mark.timeout(900)
def test_outbox_holds_its_promise_on_postgresql(postgresql_database, monkeypatch):
    # By the machine's clock, as the claims of the test; there is one replica.
    monkeypatch.setattr(inbox, "take_turn", lambda _session, clock: clock())
    few = settings(max_examples=max(3, settings().max_examples // 8), stateful_step_count=20)
    run_state_machine_as_test(_made(postgresql_database), settings=few)
