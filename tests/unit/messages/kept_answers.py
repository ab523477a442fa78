"""Answers, notices, summaries and forms as they are kept in snapshots/: each is its builder with what it is given."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from bot.channels.audit_log import AuditPage
from bot.channels.filters import ALL_REGIONS, Abandonments, ChannelFilter, Overridden
from bot.channels.filters import Meeting as MutedMeeting
from bot.channels.watches import WatchedName
from bot.db.tables import (
    AuditEntry,
    ChannelSubscriptionRow,
    MessageKind,
    MutedMeetingRow,
    OutboxMessage,
    WatchKind,
    WatchRow,
)
from bot.deliveries.inbox import FirstWaiting
from bot.errors import CommandError, StorageUnavailable
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.facts import VersionRemarks
from bot.events.races import Course, OffTime, Race, Runner
from bot.fanout.drill_records import KeptDrill
from bot.operations.drill_run import AddressAnswer, DrillReport, Problem, Stop
from bot.operations.status_figures import JobDone, Status
from bot.outbox.acknowledgements import PersonsAbandonment, Untaken
from bot.outbox.dead_letters import DeadLetter
from bot.outbox.held_queues import CARDS, DIGEST, PAUSED, QUIET, UNDELIVERED, Held
from bot.outbox.ledger import LedgerLine, Trace, TracedDelivery, TracedVersion
from bot.outbox.ledger import LedgerOutcome as Became
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.notices import Urgency
from bot.outbox.resume import Backlog
from bot.outbox.traffic import Sent, WaitingChannel
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, RaceOutcome, at_off
from bot.racedata.declared_names import KnownName
from bot.racedata.forecast import forecast
from bot.racedata.month_quota import QuotaReading, QuotaSource, UsageRow
from bot.racedata.recent_races import Recent
from bot.racedata.reference_store import KnownCountry, KnownCourse
from bot.slack.commands.error_answers import explain
from bot.slack.commands.table import RACING_COMMANDS
from bot.slack.forms.home_view import HomeChannel, HomePage, home_view
from bot.slack.forms.subscribe_form import FormOf, outdated, saved, subscribe_form
from bot.slack.messages.alerts.admin_notice import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.messages.alerts.drill_message import drill
from bot.slack.messages.alerts.escalation_message import escalation
from bot.slack.messages.answers.audit_answer import audit_page
from bot.slack.messages.answers.change_notice import (
    ended_by,
    muted_by,
    narrowed_by,
    paused_by,
    resumed_by,
    unmuted_by,
    unwatched_by,
)
from bot.slack.messages.answers.courses_answer import courses
from bot.slack.messages.answers.coverage_answer import coverage
from bot.slack.messages.answers.drill_report import drill_report
from bot.slack.messages.answers.full_result_answer import full_result
from bot.slack.messages.answers.help_answer import command_help, usage_of
from bot.slack.messages.answers.live_meeting import live_meeting
from bot.slack.messages.answers.mute_answer import muted, unmuted
from bot.slack.messages.answers.pause_answer import paused, resumed
from bot.slack.messages.answers.racecard_answer import racecard
from bot.slack.messages.answers.results_answer import ResultsQuestion, results_of_day
from bot.slack.messages.answers.status_answer import StatusScope, status_answer
from bot.slack.messages.answers.subscription_answers import Said, subscribed, unsubscribed
from bot.slack.messages.answers.subscription_list import ChannelPause, Listed, ListPage, subscription_list
from bot.slack.messages.answers.trace_answer import trace_answer
from bot.slack.messages.answers.usage_answer import usage
from bot.slack.messages.answers.watch_answer import NowWatched, unwatched, watched, watching
from bot.slack.messages.answers.welcome import welcome
from bot.slack.messages.conditions.condition_view import PublishedChoices
from bot.slack.messages.kit.sentences import sentence
from tests.unit.messages import kept_day
from tests.unit.messages.kept_events import (
    ABANDONED,
    MEETING,
    ON_TIME,
    PARTLY,
    RACE,
    RACECARD,
    RACES,
    RECEIVED_AT,
    RESULT,
)

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TODAY = date(2026, 11, 20)
NO_REMARKS = VersionRemarks()

GB = ChannelFilter(region="GB", topics=frozenset({Topic.RESULTS, Topic.ABANDONMENTS}), mentions=("U7", "S7", "here"))
ALL = ChannelFilter(region=ALL_REGIONS, topics=frozenset(Topic), not_courses=(Course(name="Ascot"),))

KEMPTON = MeetingCard(course=Course(course_id="cr_1", name="Kempton"), region="GB", races=(RACE, *RACES[:3]))
OUTCOMES = Outcomes(
    meetings=(KEMPTON,),
    of=dict(
        zip(
            [(0, n) for n in range(4)],
            [RaceOutcome.SETTLED, RaceOutcome.ABANDONED, RaceOutcome.BOTH, RaceOutcome.OPEN],
            strict=True,
        )
    ),
    lost=(MEETING,),
)
CARD = Card(
    TODAY,
    "GB",
    None,
    kept_day.OF_THE_DAY,
    Coverage.COMPLETE,
    read_at=kept_day.LIST_READ_AT,
    data_as_of="2026-11-20T14:36:00+00:00",
)
ONE_COURSE = Card(
    TODAY,
    "GB",
    Course(name="Kempton"),
    kept_day.OF_KEMPTON,
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
    Outcomes(
        meetings=(replace(KEMPTON, races=(DECLARED, FROZEN)),),
        of={(0, 0): RaceOutcome.OPEN, (0, 1): RaceOutcome.ABANDONED},
    ),
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
    errors=3,
    refusals=0,
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

CURRAGH = Course(course_id="cr_3", name="Curragh", country="Ireland")
IRELAND = GB.model_copy(update={"region": "IRE", "not_courses": (CURRAGH,)})
JERSEY = ChannelFilter(region="JER", topics=frozenset({Topic.RESULTS}))


def _subscribed(number: int, chosen: ChannelFilter) -> ChannelSubscriptionRow:
    """In a channel with two pages of subscriptions, of which the first is to all regions."""
    return ChannelSubscriptionRow(
        id=number,
        channel_id="C1",
        region=chosen.region,
        filter="{}",
        created_by="U1",
        created_at=NOON,
        updated_at=NOON,
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
    uncovered=("race.abandoned",),
    recent=RECENT,
    is_member=False,
    is_paused=True,
    bot_name="racing-bot",
)
BESIDE_ALL = [
    Overridden(
        chosen=IRELAND,
        by=ALL.model_copy(update={"not_courses": ()}),
        courses=(CURRAGH,),
        topics=frozenset({Topic.RACECARDS}),
    )
]

VERSION = TracedVersion(
    event_key="race.abandoned:rc_1",
    version=2,
    kind="race.abandoned",
    race_id="rc_1",
    received_at=RECEIVED_AT,
    inbox_id=17,
    posts=3,
    told=(
        LedgerLine("C3", Became.DEAD_LETTER, 5, RECEIVED_AT, why="invalid_arguments"),
        LedgerLine("C2", Became.MUTED, 0, RECEIVED_AT, muted_by="U1"),
        LedgerLine("C1", Became.SENT, 1, RECEIVED_AT, sent_at=RECEIVED_AT, message_ts="1795185131.000100"),
    ),
)
TRACE = Trace(
    versions=(VERSION,),
    deliveries=(
        TracedDelivery(18, "race.abandoned:rc_1", RECEIVED_AT, waits=False, attempts=1, not_before=None, error=None),
    ),
    more=1,
    kept_since=NOON,
)
LOST_TRACE = Trace(
    versions=(
        TracedVersion(
            event_key="meeting.abandoned:meeting=mt_1",
            version=1,
            kind="meeting.abandoned",
            race_id=None,
            received_at=RECEIVED_AT,
            inbox_id=19,
            posts=1,
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
        LedgerLine("C5", Became.IN_DOUBT, 1, NOON, why="Slack has not said whether it has it"),
    ),
    ("C6",),
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
    missing={"race": 2, "day": 1},
    untaken=Untaken(5, (ABANDONED, MEETING, ABANDONED.model_copy(update={"race": FROZEN}))),
    untaken_here=Untaken(1, (ABANDONED,)),
    reading=READING,
    expected=forecast(READING.used, READING.limit, NOON, USE),
    jobs=(JobDone("check_quota", NOON), JobDone("repair", NOON), JobDone("prune_bodies", None)),
    repaired_at=NOON,
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
    missing={},
    untaken=Untaken(),
    untaken_here=Untaken(),
    reading=None,
    expected=None,
    repaired_at=None,
    replicas=1,
)
DEGRADED = {"slack": "auth.test: token_revoked <!channel>", "job check_quota": "the data service did not answer"}


def _address(channel_id: str, message_ts: str) -> str | None:
    return f"https://example.slack.com/archives/{channel_id}/p{message_ts.replace('.', '')}"


def _waited(because: str, remarks: VersionRemarks = NO_REMARKS) -> Backlog:
    counts: dict[str | None, int] = {EventKind.RESULT_RECEIVED: 12, None: 1}
    return Backlog(Held(because, NOON), ((ABANDONED, remarks), (MEETING, remarks)), ((RESULT, remarks),), counts, 2)


_LIVE = OutboxMessage(channel_id="C1", idempotency_key="live", kind=MessageKind.LIVE, priority=2, received_at=NOON)
_PLUMPTON = Course(course_id="cr_plu", name="Plumpton", country="England")
_AT_PLUMPTON = MutedMeeting(course=_PLUMPTON, race_date=TODAY.isoformat(), region="GB")


def _at_plumpton(number: int, off: str, title: str, distance: str, field: int, **fields: Any) -> Race:
    return Race(
        race_id=f"rc_plu_{number}",
        region="GB",
        course=_PLUMPTON,
        race_date=TODAY.isoformat(),
        off=OffTime(text=off, off_at=datetime.fromisoformat(f"{TODAY}T{off}:00+00:00")),
        title=title,
        number=str(number),
        race_class="4",
        distance=distance,
        field_size=field,
        **fields,
    )


_WON = (Runner(horse="Harbour Lights", position="1"), Runner(horse="Miller's Lane", position="2"))
_WON_OR_LOST = (Runner(horse="Copper Beech", position="1"), Runner(horse="Sea Fret", position="2"))
_PLUMPTON_RACES = (
    _at_plumpton(1, "12:30", "Juvenile Hurdle", "2m", 9, runners=_WON),
    _at_plumpton(2, "13:05", "Mares' Novices' Hurdle", "2m 4f", 7, reason="Unsafe ground on the bend", abandoned=True),
    _at_plumpton(3, "13:40", "Novices' Handicap Chase", "2m 1f", 6, reason="Low sun", runners=_WON_OR_LOST),
    _at_plumpton(4, "14:15", "Southdown Handicap Hurdle", "3m 1f", 12),
    _at_plumpton(5, "14:50", "Sussex Handicap Chase", "3m 2f", 8),
    _at_plumpton(6, "15:30", "Maiden Open National Hunt Flat Race", "2m 1f", 14),
)
_FIRST_OUTCOMES = (RaceOutcome.SETTLED, RaceOutcome.ABANDONED, RaceOutcome.BOTH)


def _outcomes_at_plumpton(races: tuple[Race, ...], rest: RaceOutcome, **lost: Any) -> Outcomes:
    outcomes = (*_FIRST_OUTCOMES, rest, rest, rest)
    meetings = (MeetingCard(course=_PLUMPTON, region="GB", races=races),)
    return Outcomes(meetings, {(0, number): outcome for number, outcome in enumerate(outcomes)}, **lost)


_LOST_AT_PLUMPTON = RacingEvent(
    key="meeting.abandoned:mt_plu",
    kind=EventKind.MEETING_ABANDONED,
    race=Race(meeting_id="mt_plu", region="GB", course=_PLUMPTON, race_date=TODAY.isoformat()),
    reason="Waterlogged",
)
_LIVE_MEETING = _outcomes_at_plumpton(_PLUMPTON_RACES, RaceOutcome.OPEN)
_LIVE_MEETING_ABANDONED = _outcomes_at_plumpton(
    tuple(race.model_copy(update={"reason": race.reason or "Waterlogged"}) for race in _PLUMPTON_RACES),
    RaceOutcome.ABANDONED,
    lost=(_LOST_AT_PLUMPTON,),
)

_ESCALATION: dict[str, Any] = {
    "key": "race.abandoned:rc_1#1@C1",
    "minutes": 10,
    "people": ("U1", "S1"),
    "is_there": False,
}
_ALERT = "ABANDONED: Kempton 14:30 (GB), frozen track"

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

ANSWERS: dict[str, partial[Any]] = {
    "escalation": partial(escalation, _ALERT, "C1", _address("C1", "1.2"), **_ESCALATION, taken=None),
    "escalation_there": partial(
        escalation, _ALERT, "C1", _address("C1", "1.2"), **(_ESCALATION | {"is_there": True}), taken=None
    ),
    "escalation_taken": partial(escalation, _ALERT, "C1", None, **_ESCALATION, taken=("U2", NOON)),
    "escalation_replaced": partial(
        escalation, _ALERT, "C1", _address("C1", "1.2"), **_ESCALATION, taken=None, is_replaced=True
    ),
    "live_meeting": partial(live_meeting, LiveMeeting(_LIVE, _AT_PLUMPTON, _LIVE_MEETING), NOON + timedelta(hours=2)),
    "live_meeting_abandoned": partial(
        live_meeting, LiveMeeting(_LIVE, _AT_PLUMPTON, _LIVE_MEETING_ABANDONED), NOON + timedelta(hours=2)
    ),
    "answer_in_a_sentence": partial(sentence, "The message goes to C1 now.", ["C1"]),
    "notice": partial(
        admin_notice,
        Urgency.CRITICAL,
        "For 30 minutes or longer no delivery had a right signature. 13 deliveries in a row were refused with 401: the "
        "signature matches none of my signing secrets. The data service tries each delivery again for about a day. "
        "Most likely RACING_WEBHOOK_SECRETS lacks the subscription's secret.",
    ),
    "notice_of_a_channel": partial(
        admin_notice,
        Urgency.WARNING,
        "Slack no longer lets me post in channel C1 (archived). Its subscriptions are suspended, nothing is deleted, "
        "and what waits is kept. Unarchive the channel, and invite me back if I am gone, and it goes on. Subscribed by "
        "U1.",
        ["C1", "U1"],
    ),
    "notice_to_know": partial(
        admin_notice,
        Urgency.NOTE,
        "The data service now serves us under the plan live (window 2025); before it was free (window 2026).",
    ),
    "notice_of_the_end": partial(
        admin_notice,
        Urgency.ALL_CLEAR,
        "Slack lets me post in channel C1 again. Its subscriptions go on, and what waited is posted.",
        ["C1"],
    ),
    "error_with_buttons": partial(
        explain,
        CommandError("I don't know the region gb. Did you mean GB?", typed="gb", meant={"GB": "GB"}),
        "cmd-01234567",
        "racecard gb today",
    ),
    "error_with_the_form_of_what_is_in_the_way": partial(
        explain,
        CommandError("From GB this channel receives abandonments of all courses.", edits="GB"),
        "cmd-01234567",
        "subscribe GB results course:Ascot",
    ),
    "error_with_reference": partial(explain, StorageUnavailable("locked"), "cmd-01234567"),
    "welcome": partial(welcome, [GB, ALL], is_paused=True),
    "welcome_without_subscriptions": partial(welcome, [], is_paused=False),
    "waited": partial(waited, _waited("is_archived")),
    "waited_in_a_pause": partial(waited, _waited(PAUSED)),
    "waited_with_one_abandonment": partial(
        waited,
        Backlog(
            Held("is_archived", NOON),
            ((ABANDONED, NO_REMARKS),),
            ((RESULT, NO_REMARKS),),
            {EventKind.RESULT_RECEIVED: 12},
            0,
        ),
    ),
    "waited_for_a_digest": partial(
        waited, Backlog(Held(DIGEST, NOON), (), ((RESULT, NO_REMARKS),), {EventKind.RESULT_RECEIVED: 1}, 0)
    ),
    "waited_for_the_eve": partial(
        waited,
        Backlog(
            Held(CARDS, NOON),
            (),
            (),
            {EventKind.RACECARD_PUBLISHED: 1},
            0,
            cards=((RACECARD, NO_REMARKS),),
            lost=frozenset({RACECARD.key}),
        ),
    ),
    "waited_in_quiet_hours": partial(
        waited, Backlog(Held(QUIET, NOON), (), ((RESULT, NO_REMARKS),), {EventKind.RESULT_RECEIVED: 12}, 0)
    ),
    "waited_undelivered": partial(waited, _waited(UNDELIVERED, VersionRemarks(had_at=NOON))),
    "full_result": partial(full_result, RESULT, None, RECEIVED_AT, (ITALY, PARTLY)),
    "card": partial(racecard, CARD, kept_day.NOW),
    "card_of_a_course": partial(racecard, ONE_COURSE, kept_day.NOW, ["Kempton"]),
    "card_of_a_course_to_come": partial(racecard, TO_COME, NOON),
    "card_of_an_abandoned_race": partial(racecard, at_off(TO_COME, "15:00"), NOON),
    "card_at_a_time_without_a_race": partial(racecard, at_off(TO_COME, "3:10"), NOON),
    "results_of_day": partial(results_of_day, CARD, ResultsQuestion(kept_day.NOW, countries=(ITALY,))),
    "results_of_a_course": partial(results_of_day, ONE_COURSE, ResultsQuestion(kept_day.NOW)),
    "abandonments_of_day": partial(results_of_day, CARD, ResultsQuestion(kept_day.NOW, only_abandonments=True)),
    "coverage": partial(
        coverage,
        [
            KnownCountry(
                country_code="GB", name="Great Britain", races=98_765, full_result_order=True, position_pct=0.987
            )
        ],
        None,
        1,
    ),
    "courses": partial(
        courses,
        [KnownCourse(course_id=f"cr_{n}", name=f"Course {n}", region="GB", meetings=n * 900) for n in range(1, 60)],
        "course",
        2,
    ),
    "usage": partial(usage, READING, forecast(READING.used, READING.limit, NOON, USE)),
    "usage_that_may_not_last": partial(usage, READING, forecast(READING.used, 14_900, NOON, USE)),
    "usage_by_endpoint": partial(usage, BY_ENDPOINT, None),
    "usage_read_before": partial(usage, READING.model_copy(update={"rows": ()}), None, "The service failed."),
    "help": partial(command_help, list(RACING_COMMANDS.values()), ["/racecard", "/results", "/usage"]),
    "help_on_a_command": partial(usage_of, RACING_COMMANDS["racecard"]),
    "subscribed": partial(subscribed, SAID),
    "subscribed_with_nobody_told_further": partial(
        subscribed,
        replace(
            SAID,
            filters=(GB.model_copy(update={"ack": ("10m",)}),),
            minutes_alone=10,
            is_member=True,
            is_paused=False,
            unchecked=(),
            uncovered=(),
        ),
    ),
    "subscribed_beside_all_regions": partial(
        subscribed,
        replace(
            SAID,
            filters=(IRELAND,),
            unchecked=(),
            recent=NONE_LOST,
            overridden=BESIDE_ALL,
            is_member=True,
            is_paused=False,
            uncovered=(),
        ),
    ),
    "unsubscribed": partial(unsubscribed, 1, [ALL]),
    "subscription_list": partial(
        subscription_list,
        ListPage(
            [
                Listed(_subscribed(6, IRELAND), IRELAND, NOON, "https://example.slack.com/p1", overridden=BESIDE_ALL),
                Listed(_subscribed(7, JERSEY), JERSEY, orphaned=["JER is no longer published."]),
            ],
            2,
            2,
            7,
            [(MUTE, ASCOT, Abandonments.POSTED)],
            CHANGE,
        ),
    ),
    "subscription_list_of_nothing": partial(subscription_list, ListPage([], 1, 1, 0, [])),
    "subscription_list_of_watches_in_a_pause": partial(
        subscription_list,
        ListPage([], 1, 1, 0, [], pause=ChannelPause(NOON + timedelta(hours=2), NOON, "U1"), watched=4),
    ),
    "audit_page": partial(audit_page, AuditPage([CHANGE], 1, 9), "in <#C1>", "audit C1"),
    "drill": partial(drill, RacingEvent(key="drill:0123456789abcdef", drill=DRILL), ON_TIME),
    "drill_report": partial(drill_report, DRILL_REPORT, _address, "racing-bot"),
    "drill_that_was_not_delivered": partial(
        drill_report,
        DrillReport(
            KEPT_DRILL,
            replace(
                ANSWERED, problem=Problem("PUBLIC_URL answered 404: it knows no such path.", "Have the proxy pass.")
            ),
            Stop.NOT_DELIVERED,
        ),
        _address,
        "racing-bot",
    ),
    "muted": partial(muted, ASCOT, 7, Abandonments.POSTED),
    "muted_where_no_abandonment_comes": partial(muted, ASCOT, 7, Abandonments.NOT_ASKED_FOR),
    "unmuted": partial(unmuted, ASCOT),
    "watched": partial(watched, [NOW_WATCHED, MISSPELT], is_own=False),
    "watched_for_oneself": partial(watched, [replace(NOW_WATCHED, known=KnownName(True), is_new=False)], is_own=True),
    "watching": partial(watching, [WATCH], [OWN_WATCH], 1, is_direct=False),
    "watching_nothing": partial(watching, [], [], 1, is_direct=False),
    "unwatched": partial(unwatched, GOLDEN, 'watch horse:"Golden Melody"', is_own=False),
    "unwatched_by": partial(unwatched_by, "U1", GOLDEN),
    "paused": partial(paused, NOON + timedelta(days=4), NOON, 72),
    "paused_until_a_time_of_day": partial(paused, NOON + timedelta(hours=2), NOON, 72, "Europe/London"),
    "resumed": partial(resumed, 1, 4, 1),
    "paused_until_resumed": partial(paused, None, NOON, 72, asks=True, untaken=Untaken(1, (LOST_ALERT.event,))),
    "paused_by": partial(paused_by, "U1", [GB, ALL], NOON + timedelta(hours=2)),
    "resumed_by": partial(resumed_by, "U1"),
    "muted_by": partial(muted_by, "U1", ASCOT, Abandonments.AFTER_THE_PAUSE),
    "unmuted_by": partial(unmuted_by, "U1", ASCOT),
    "ended_by": partial(ended_by, "U1", [GB], [ALL]),
    "ended_by_where_names_are_watched": partial(ended_by, "U1", [GB], [], watched=4),
    "unsubscribed_where_names_are_watched": partial(unsubscribed, 1, [], watched=1),
    "narrowed_by_quiet_hours": partial(
        narrowed_by, "U1", [GB], [GB.model_copy(update={"quiet": ("22:00-07:00",), "zone": ("Europe/London",)})]
    ),
    "narrowed_by": partial(narrowed_by, "U1", [GB, ALL], [GB]),
    "status": partial(status_answer, STATUS, StatusScope(DEGRADED)),
    "status_for_anybody": partial(status_answer, replace(STATUS, untaken_here=None), StatusScope(DEGRADED, "C1")),
    "status_where_all_is_well": partial(status_answer, WELL, StatusScope({})),
    "trace": partial(trace_answer, TRACE, "rc_1", _address, None),
    "trace_of_a_race_on_the_card": partial(
        trace_answer, Trace((), (), 0, NOON), "rc_1", _address, None, race=DECLARED, here="C1"
    ),
    "trace_of_a_race_of_an_abandoned_meeting": partial(
        trace_answer, replace(LOST_TRACE, untold=("C1", "C4", "C5")), "rc_1", _address, None, race=DECLARED, here="C1"
    ),
    "trace_of_a_conflict": partial(
        trace_answer,
        replace(TRACE, versions=(replace(VERSION, race=RACE, contradicts=EventKind.RESULT_RECEIVED),)),
        "rc_1",
        _address,
        None,
        race=RACE,
    ),
    "trace_of_nothing": partial(trace_answer, Trace((), (), 0, NOON), "rc_2", _address, None),
}

HOME_LIVE = HomeChannel("C1", [GB], "live", is_paused=False, last_post_at=NOON)
HOME_PAUSED = HomeChannel("C2", [ALL], "paused", is_paused=True, last_post_at=None, muted=2)
VIEWS: dict[str, partial[Any]] = {
    "form": partial(subscribe_form, FormOf(channel_id="C1"), None, PublishedChoices(("GB", "IRE"), courses=True)),
    "form_of_a_subscription": partial(
        subscribe_form, FormOf(channel_id="C1", editing="GB"), GB, PublishedChoices(("GB", "IRE"), courses=True)
    ),
    "form_before_the_lists_are_read": partial(
        subscribe_form, FormOf(channel_id="D1"), None, PublishedChoices(None, courses=False)
    ),
    "form_outdated": partial(outdated),
    "form_saved": partial(saved, subscribed(SAID).blocks),
    "home": partial(
        home_view,
        HomePage([HOME_LIVE, HOME_PAUSED], 2, is_admin=False, watches=[OWN_WATCH], said="PAUSED until 14:00.", at=NOON),
    ),
    "home_of_nobody": partial(home_view, HomePage([], 0, is_admin=False, at=NOON)),
    "home_of_a_person_who_was_told_of_abandonments": partial(
        home_view,
        HomePage(
            [replace(HOME_LIVE, watched=3)],
            1,
            is_admin=False,
            abandonments=[
                PersonsAbandonment(LOST_ALERT.event, "C1", None),
                PersonsAbandonment(LOST_ALERT.event, "C2", NOON),
            ],
        ),
    ),
    "home_of_an_admin": partial(
        home_view,
        HomePage(
            [HOME_LIVE],
            21,
            is_admin=True,
            status=status_answer(replace(STATUS, untaken_here=None), StatusScope(DEGRADED)),
            dead_letters=[LOST_ALERT],
            at=NOON,
        ),
    ),
}
