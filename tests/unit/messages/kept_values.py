"""The values of the answers, notices, summaries and forms of kept_answers.py."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.channels.filters import Meeting as MutedMeeting
from bot.channels.watches import WatchedName
from bot.db.tables import (
    AuditEntry,
    ChannelSubscriptionRow,
    EventVersion,
    InboxDelivery,
    InboxState,
    MessageKind,
    MutedMeetingRow,
    OutboxMessage,
    WatchKind,
    WatchRow,
)
from bot.deliveries.inbox import FirstWaiting
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.facts import VersionRemarks
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.fanout.drills import KeptDrill
from bot.operations.drill_run import DrillReport, Stop
from bot.operations.jobs.job import Job
from bot.operations.public_url import AddressAnswer
from bot.operations.status_figures import Status
from bot.outbox.acknowledgements import Escalation, Untaken
from bot.outbox.held_channels import Backlog
from bot.outbox.held_queues import Held
from bot.outbox.ledger import LedgerLine, Sent, Trace, TracedVersion, WaitingChannel
from bot.outbox.ledger import LedgerOutcome as Became
from bot.outbox.message_view import AskedInView, Beside, MessageView
from bot.outbox.said_anew import DeadLetter
from bot.racedata.client.records import KnownCountry
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes
from bot.racedata.day_views import KnownName, Recent
from bot.racedata.month_quota import QuotaReading, QuotaSource, UsageRow, forecast
from bot.slack.messages.answers.subscription_answers import Said
from bot.slack.messages.answers.watch_answer import NowWatched
from tests.unit.messages import kept_events
from tests.unit.messages.kept_events import ABANDONED, MEETING, RACE, RACES, RECEIVED_AT, RESULT

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TODAY = date(2026, 11, 20)
NO_REMARKS = VersionRemarks()

GB = ChannelFilter(region="GB", topics=frozenset({Topic.RESULTS, Topic.ABANDONMENTS}), mentions=("U7", "S7", "here"))
ALL = ChannelFilter(region=ALL_REGIONS, topics=frozenset(Topic), not_courses=(Course(name="Ascot"),))

KEMPTON = MeetingCard(
    course=Course(course_id="cr_1", name="Kempton"),
    region="GB",
    each=(
        (RACE, RaceOutcome.SETTLED),
        (RACES[0], RaceOutcome.ABANDONED),
        (RACES[1], RaceOutcome.BOTH),
        (RACES[2], RaceOutcome.OPEN),
    ),
)
CARD = Card(
    TODAY,
    "GB",
    None,
    kept_events.OF_THE_DAY,
    Coverage.COMPLETE,
    read_at=kept_events.LIST_READ_AT,
    data_as_of="2026-11-20T14:36:00+00:00",
)
SIX_MEETINGS = replace(CARD, region=None, outcomes=kept_events.OF_SIX_MEETINGS)
ONE_COURSE = Card(
    TODAY,
    "GB",
    Course(name="Kempton"),
    kept_events.OF_KEMPTON,
    Coverage.PARTIAL,
    latest_at=RECEIVED_AT,
    reached="2026-11-19",
)
DECLARED = RACE.model_copy(
    update={
        "status": None,
        "winning_time": None,
        "runners": (
            Runner(number="1", draw="4", horse="Horse A", jockey="L Dettori", official_rating="104"),
            Runner(number="2", draw="1", horse="Horse B", jockey="R Moore", trainer="A O'Brien", official_rating="101"),
            Runner(number="3", draw="2", horse="Horse C", trainer="J Gosden", position="NR"),
        ),
    }
)
FROZEN = DECLARED.model_copy(update={"off": OffTime(text="15:00"), "abandoned": True, "reason": "frozen track"})
TO_COME = Card(
    TODAY,
    "GB",
    KEMPTON.course,
    Outcomes((replace(KEMPTON, each=((DECLARED, RaceOutcome.OPEN), (FROZEN, RaceOutcome.ABANDONED))),)),
    Coverage.COMPLETE,
    read_at=NOON,
)
ITALY = KnownCountry(country_code="ITY", name="Italy", full_result_order=False, position_pct=0.612)

READING = QuotaReading(
    taken_at=NOON,
    month="2026-11",
    used=10_000,
    certain=True,
    source=QuotaSource.ROWS,
    limit=15_000,
    plan="free",
    published=UsageRow(errors=3, refusals=0),
    rows=tuple(UsageRow(label=f"2026-11-{day:02}", requests=500, errors=day % 2) for day in range(1, 21)),
)
BY_ENDPOINT = READING.model_copy(
    update={
        "rows": (UsageRow(label="/races/search", requests=9_900), UsageRow(label="/courses", requests=100)),
        "grouped_by": "endpoint",
        "certain": False,
        "source": QuotaSource.OWN_COUNT,
        "limit": None,
    }
)

USE = {date(2026, 11, day): 450 + day % 3 * 50 for day in range(1, 20)}


def expected_by(limit: int | None) -> QuotaReading:
    return READING.model_copy(update={"expected": forecast(READING.used, limit, NOON, USE)})


EXPECTED = expected_by(READING.limit)

CURRAGH = Course(course_id="cr_3", name="Curragh", country="Ireland")
IRELAND = GB.model_copy(update={"region": "IRE", "not_courses": (CURRAGH,)})
JERSEY = ChannelFilter(region="JER", topics=frozenset({Topic.RESULTS}))


def row_of(number: int, chosen: ChannelFilter) -> ChannelSubscriptionRow:
    """In a channel with two pages of subscriptions, the first to all regions."""
    return ChannelSubscriptionRow(
        id=number, channel_id="C1", region=chosen.region, filter="{}", created_by="U1", created_at=NOON, updated_at=NOON
    )


CHANGE = AuditEntry(
    id=1,
    at=NOON,
    user_id="U1",
    channel_id="C1",
    action="subscribe",
    before=None,
    after="results from GB",
    reference="cmd-01234567",
)
GOLDEN = WatchedName(WatchKind.HORSE, "Golden Melody")
NOW_WATCHED = NowWatched(
    GOLDEN, KnownName(is_known=True, coming=[(RACE, RaceOutcome.OPEN), (RESULT.race, RaceOutcome.SETTLED)])
)
MISSPELT = NowWatched(
    WatchedName(WatchKind.JOCKEY, "R Mooore"),
    KnownName(near=("R Moore",)),
    near={"R Moore": 'watch jockey:"R Moore" instead of jockey:"R Mooore"'},
)
WATCH = WatchRow(
    id=7,
    channel_id="C1",
    kind="horse",
    name="Golden Melody",
    name_key="golden melody",
    created_by="U1",
    created_at=NOON,
)
OWN_WATCH = WatchRow(**WATCH.model_dump() | {"id": 8, "channel_id": "D1", "person_id": "U1", "kind": "trainer"})
ASCOT = MutedMeeting(course=Course(name="Ascot"), race_date="2026-11-21")
MUTE = MutedMeetingRow(id=7, channel_id="C1", meeting="{}", muted_by="U1", muted_at=NOON)
RECENT = Recent(results=12, abandonments=1, is_whole=True, abandoned=(ABANDONED,))
NONE_LOST = replace(RECENT, abandonments=0, abandoned=())
SAID = Said(
    filters=(GB,),
    unchecked=("Kemton",),
    uncovered=("abandoned races from GB",),
    recent=RECENT,
    is_member=False,
    is_paused=True,
    bot_name="racing-bot",
)


def all_well(*filters: ChannelFilter, recent: Recent = RECENT) -> Said:
    """The parts of an answer in a channel with the bot, and without warnings."""
    return replace(SAID, filters=filters, unchecked=(), uncovered=(), recent=recent, is_member=True, is_paused=False)


BESIDE_ALL = [(ALL.model_copy(update={"not_courses": ()}), [IRELAND.region])]


def _stored(event_key, version, inbox_id, posts):
    kind, _, _ = event_key.partition(":")
    told = {"version": version, "inbox_id": inbox_id, "posts": posts, "received_at": RECEIVED_AT}
    return EventVersion(event_key=event_key, kind=kind, data="{}", **told)


VERSION = TracedVersion(
    _stored("race.abandoned:rc_1", version=2, inbox_id=17, posts=3),
    told=(
        LedgerLine("C3", Became.DEAD_LETTER, 5, RECEIVED_AT, why="invalid_arguments"),
        LedgerLine("C2", Became.MUTED, 0, RECEIVED_AT, muted_by="U1"),
        LedgerLine("C1", Became.SENT, 1, RECEIVED_AT, sent_at=RECEIVED_AT, message_ts="1795185131.000100"),
    ),
)
TRACE = Trace(
    versions=(VERSION,),
    deliveries=(
        InboxDelivery(
            id=18,
            event_key="race.abandoned:rc_1",
            body_sha256="",
            received_at=RECEIVED_AT,
            state=InboxState.DONE,
            attempts=1,
        ),
    ),
    more=1,
    kept_since=NOON,
)
LOST_TRACE = Trace(
    versions=(
        TracedVersion(
            _stored("meeting.abandoned:meeting=mt_1", version=1, inbox_id=19, posts=1),
            told=(
                LedgerLine(
                    "D1",
                    Became.SENT,
                    1,
                    RECEIVED_AT,
                    sent_at=RECEIVED_AT,
                    message_ts="1795185131.000200",
                    person_id="U1",
                ),
            ),
            race=MEETING.race,
        ),
    ),
    deliveries=(),
    more=0,
    kept_since=NOON,
)
DRILL = Drill(drill_id="0123456789abcdef", begun_by="U1", is_open=True)
KEPT_DRILL = KeptDrill(drill=DRILL, begun_at=RECEIVED_AT)
ANSWERED = AddressAnswer("https://bot.example.com/webhooks/racing", 0.123)
DRILL_REPORT = DrillReport(
    KEPT_DRILL,
    ANSWERED,
    Stop.TOLD,
    (
        LedgerLine(
            "C1", Became.SENT, 1, NOON, sent_at=RECEIVED_AT + timedelta(seconds=1.4), message_ts="1795185131.000100"
        ),
        LedgerLine("C2", Became.WAITING, 0, NOON, why="the channel is paused", is_held=True),
        LedgerLine("C3", Became.WAITING, 1, NOON, why="is_archived", is_held=True),
        LedgerLine("C4", Became.DEAD_LETTER, 1, NOON, why="invalid_arguments"),
        LedgerLine("C5", Became.IN_DOUBT, 1, NOON, why="Slack has not confirmed the message"),
    ),
    ("C6",),
)


async def no_run() -> None:
    raise AssertionError


JOBS = tuple(
    Job(name, words, 60, no_run)
    for name, words in (
        ("check_quota", "Quota read"),
        ("repair", "Failed deliveries looked up"),
        ("prune_bodies", "Bodies of old deliveries forgotten"),
    )
)
STATUS = Status(
    at=NOON,
    deliveries={"result.received": 1_280, "race.abandoned": 12, "": 1},
    sent=Sent(2_400, p50_s=0.42, p95_s=13.6),
    waiting_deliveries=1,
    first_waiting=FirstWaiting(17, "ZeroDivisionError"),
    waiting_posts=9,
    waiting_channels=(
        WaitingChannel("C1", 5, RECEIVED_AT, Became.WAITING, "is_archived"),
        WaitingChannel("C2", 3, RECEIVED_AT, Became.IN_DOUBT, None),
    ),
    missing=2,
    without_result=140,
    untaken=Untaken(5, (ABANDONED, MEETING, ABANDONED.model_copy(update={"race": FROZEN}))),
    untaken_here=Untaken(1, (ABANDONED,)),
    reading=EXPECTED,
    jobs=JOBS,
    done={"check_quota": NOON, "repair": NOON},
    replicas=2,
    schema="0010",
    version="0.1.0",
)
WELL = replace(
    STATUS,
    deliveries={},
    sent=Sent(0),
    waiting_deliveries=0,
    first_waiting=None,
    waiting_posts=0,
    waiting_channels=(),
    missing=0,
    without_result=0,
    untaken=Untaken(),
    untaken_here=Untaken(),
    reading=None,
    done={"check_quota": NOON},
    replicas=1,
)
DEGRADED = {"slack": "auth.test: token_revoked <!channel>", "job check_quota": "the data service did not answer"}


def address(channel_id: str, message_ts: str) -> str | None:
    return f"https://example.slack.com/archives/{channel_id}/p{message_ts.replace('.', '')}"


def held_back(because: str, remarks: VersionRemarks = NO_REMARKS) -> Backlog:
    counts: dict[str | None, int] = {EventKind.RESULT_RECEIVED: 12, None: 1}
    return Backlog(Held(because, NOON), ((ABANDONED, remarks), (MEETING, remarks)), ((RESULT, remarks),), counts, 2)


LIVE = OutboxMessage(channel_id="C1", idempotency_key="live", kind=MessageKind.LIVE, priority=2, received_at=NOON)


def escalated(channel_id: str = "C2", asked: AskedInView | None = None, *, is_replaced: bool = False) -> Escalation:
    """The escalation of an alert in C1, told in a channel."""
    post, alert = (
        OutboxMessage(
            channel_id=where,
            idempotency_key="race.abandoned:rc_1#1@C1",
            kind=MessageKind.EVENT,
            priority=0,
            received_at=NOON,
        )
        for where in (channel_id, "C1")
    )
    own = EventVersion(event_key="race.abandoned:rc_1", version=1, data="{}", inbox_id=1, received_at=NOON)
    lost = RacingEvent(key=own.event_key, kind=EventKind.RACE_ABANDONED)
    view = MessageView(alert, own, own, lost, beside=Beside(asked=asked))
    return Escalation(post, view, ("U1", "S1"), 10, is_replaced)


ALERT = "ABANDONED: Kempton 14:30 (GB), frozen track"

LOST_ALERT = DeadLetter(
    7,
    "C1",
    RacingEvent(
        key="k",
        kind=EventKind.RACE_ABANDONED,
        race=Race(course=Course(name="Kempton"), off=OffTime(text="14:30")),
        reason="frozen track",
    ),
    "msg_too_long",
    NOON,
)
