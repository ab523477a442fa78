"""Whatever the order of a meeting's deliveries, the last state of every message is the same. On a SQLite file."""

import hashlib
import json
import re
from datetime import datetime, timedelta
from functools import partial
from secrets import token_hex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import Session
from structlog.testing import capture_logs

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.payload import Payload, read_events
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race
from bot.fanout.completion_edits import look_again
from bot.fanout.fanout import Fanout
from bot.outbox import channel_queues
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.claim_outcomes import Posted, Recording
from bot.outbox.notices import Notices
from bot.racedata import lexicon, race_book_store
from bot.racedata.client.records import KnownCourse
from bot.slack.bot_identity import BotIdentity
from bot.slack.event_messages import PostRenderer
from bot.slack.messages.alerts.bot_notices import admin_notice
from tests.clock import START
from tests.databases import empty
from tests.front import intake_on

DAY = START.date().isoformat()
CHANNEL = "CGB"
SHARED = {"meeting_id": "mt_1", "region": "GB", "course": "Ascot", "date": DAY}
IDS = ("rc_1", "rc_2", "rc_3", "rc_4")
RACES = [{"race_id": race_id, "off_time": f"1{n}:30", "title": f"Title {n}"} for n, race_id in enumerate(IDS)]
PLACED = {"runners": [{"position": 1, "horse": "Blue Moon"}, {"position": 2, "horse": "Red Sky"}]}

CARD = {"event": "racecard.published", "meeting": SHARED, "races": RACES}
BOOK = "the list is read"
NAMED: list[dict[str, object]] = [
    {"meeting_id": "mt_1"},
    {"meeting_id": "mt_1", "races": list(IDS)},
    {"course": "Ascot", "date": DAY},
    {"course": "Ascot", "date": DAY, "region": "GB", "races": [race["off_time"] for race in RACES]},
    {**SHARED, "races": RACES},
    {**SHARED, "races": [RACES[0] | {"reason": "FOG"}, *RACES[1:]]},
]
MEETINGS = st.sampled_from(NAMED).map(lambda card: {"event": "meeting.abandoned", "reason": "Frost", **card})


def lost(number, **said):
    return {"event": "race.abandoned", "race_id": IDS[number]} | said


DELIVERIES = st.tuples(
    st.sampled_from([CARD, BOOK]),
    MEETINGS,
    st.sampled_from([lost(0, reason="Fog"), lost(0, **SHARED, off_time="10:30"), lost(0, reason="frost")]),
    st.sampled_from([lost(1, reason="A loose horse", title="Title 1"), lost(1)]),
    st.sampled_from(
        [
            {"event": "result.received", "race_id": IDS[2], **PLACED},
            {"event": "result.received", "race_id": IDS[2], "course": "Ascot", **PLACED},
        ]
    ),
)


class Channel:
    """A channel of a bot without sockets: a claimed message is rendered, and taken for posted."""

    def __init__(self, database: Database) -> None:
        self.now = START
        self.said: dict[str, list[str]] = {}
        self._database = database
        self._count = 0
        self.notices = Notices(None, admin_notice, clock=self.clock)
        intake = intake_on(database)
        self._fanout = Fanout(
            database,
            read_events,
            arrivals=intake,
            outbox=QueuedOnly(),
            notices=self.notices,
            clock=self.clock,
            wake=intake.stored,
            monotonic=lambda: 0.0,
        )
        self._render = PostRenderer(BotIdentity("xoxb-test"), 600)

    def clock(self) -> datetime:
        return self.now

    def within(self, work):
        with Session(self._database.writer, expire_on_commit=False) as session:
            done = work(session)
            session.commit()
            return done

    def subscribe(self) -> None:
        chosen = ChannelFilter(region="GB", topics=frozenset(Topic))
        ascot = KnownCourse(name="Ascot", region="GB")
        self.within(lambda session: subscriptions.save(session, CHANNEL, chosen, user_id="U", now=self.now))
        self.within(lambda session: lexicon.COURSES.put(session, [ascot], self.now))

    def happens(self, delivery) -> None:
        self.now += timedelta(seconds=1)
        if delivery == BOOK:
            self.within(lambda session: race_book_store.put(session, listed(), self.now, region="GB"))
            return
        body = json.dumps(delivery).encode()
        key, name = Payload(body).identity
        arrival = inbox.Arrival(key, name, hashlib.sha256(body).hexdigest(), body, self.now)
        self.within(lambda session: inbox.store(session, [arrival]))

    def fan_out(self) -> None:
        read, again = self.within(self._fanout._read_inbox)
        if again:
            self.within(partial(look_again, clock=self.clock, names=again))
        if read:
            self.within(lambda session: self._fanout.transactions.together(session, read))

    def post_all(self) -> None:
        while claims := self.within(
            lambda session: channel_queues.claim(session, self.now, token=token_hex(8), limit=9)
        ):
            for claim in claims:
                self._post(claim)

    def _post(self, claim) -> None:
        message = self._render(claim, self.now)
        self._count += 1
        message_ts = claim.post.message_ts or f"{self._count}.0"
        self.said[claim.post.idempotency_key] = plainly(message)
        outcome = Posted(claim, message_ts, claim.rev)
        self.within(lambda session: outcome.record(Recording(session, self.now, self.notices, timedelta(0))))


def listed():
    """The meeting's races as the service lists them."""
    return [
        Race(
            race_id=race["race_id"],
            meeting_id="mt_1",
            course=Course(name="Ascot"),
            race_date=DAY,
            off=OffTime(text=race["off_time"]),
            title=race["title"],
            region="GB",
        )
        for race in RACES
    ]


BY_ORDER = re.compile(
    r"<!date[^>]*>|, on [0-9-]{10}"
    r"|(\. |\n)?(Part of the abandoned meeting|CONFLICT: reported as run too"
    r"|(CONFLICT: )?[Cc]heck before you act: [a-z ]*)"
)
"""Words on the time of a message, and on earlier messages."""


CONFLICT = re.compile("(?:\N{WARNING SIGN}\N{VARIATION SELECTOR-16} )?CONFLICT: (.*) reported abandoned and run")
"""The header, and the text, of a result after an abandonment."""

NO_TEXT = {"type", "action_id", "value", "style"}


def plainly(message):
    """The words of a message, without words on its time."""
    # A conflict has the race in a header, a result in bold before the order.
    parts = [text.replace("*\N{EM SPACE}", "\n") for text in [message.text, *texts(list(message.blocks))]]
    lines = [line.strip("*") for text in parts for line in text.split("\n")]
    shown = [CONFLICT.sub(r"Result: \1", re.sub(f"^{CONFLICT.pattern}$", r"\1", line)) for line in lines]
    return [said for text in shown if (said := BY_ORDER.sub("", text))]


def texts(shown):
    if isinstance(shown, list):
        return [text for inner in shown for text in texts(inner)]
    if isinstance(shown, dict):
        return [text for name, inner in shown.items() if name not in NO_TEXT for text in texts(inner)]
    return [shown] if isinstance(shown, str) else []


@pytest.fixture(scope="module")
def channel_of(sqlite_database):
    def make():
        empty(sqlite_database)
        channel = Channel(sqlite_database)
        channel.subscribe()
        return channel

    return make


def last_states(channel, deliveries, pauses):
    with capture_logs():
        for delivery, is_posted in zip(deliveries, pauses, strict=True):
            channel.happens(delivery)
            if is_posted:
                channel.fan_out()
                channel.post_all()
        channel.fan_out()
        channel.fan_out()
        channel.post_all()
    return channel.said


def test_reason_that_no_line_shows_is_not_said_to_be_from_the_race_book_in_any_order(channel_of):
    whole = {"event": "meeting.abandoned", "reason": "Frost", **SHARED, "races": RACES}
    # A result edits the meeting's message; an abandonment without news edits nothing.
    others = [lost(0, reason="frost"), {"event": "result.received", "race_id": IDS[2], **PLACED}]
    name = f"meeting.abandoned:meeting=mt_1#1@{CHANNEL}"
    first, other = (last_states(channel_of(), [whole, *order], [True] * 3)[name] for order in (others, others[::-1]))
    assert first == other
    assert "from the bot's records" not in "\n".join(first)


@pytest.mark.long
@pytest.mark.timeout(900)
@given(deliveries=DELIVERIES, data=st.data())
def test_last_state_of_every_message_is_the_same_in_any_order(channel_of, deliveries, data):
    order = data.draw(st.permutations(deliveries))
    pauses = data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    first = last_states(channel_of(), deliveries, [True] * len(deliveries))
    other = last_states(channel_of(), order, pauses)
    for name in first.keys() & other.keys():
        assert other[name] == first[name], name
    whole = "\n".join(next(said for name, said in other.items() if name.startswith("meeting.abandoned")))
    for number in (0, 1, 3):
        assert f"1{number}:30" in whole, whole
    assert "12:30" not in whole
    assert "1 race of this meeting was run" in whole or "1 run" in whole
