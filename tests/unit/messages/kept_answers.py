"""Answers, notices, summaries and forms as kept in snapshots/: each is a builder with arguments."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from bot.channels.audit_log import AuditPage
from bot.channels.conditions.choices import MEETINGS
from bot.channels.filters import Abandonments
from bot.errors import CommandError, StorageUnavailable
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.operations.drill_run import DrillReport, Stop
from bot.operations.public_url import Problem
from bot.outbox.acknowledgements import PersonsAbandonment, Untaken
from bot.outbox.held_channels import Backlog
from bot.outbox.held_queues import CARDS, CHOICE_ENDED, DIGEST, PAUSED, QUIET, UNDELIVERED, Held
from bot.outbox.ledger import Trace
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Message
from bot.outbox.message_view import AskedInView
from bot.outbox.notices import Urgency
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.day_card import at_off
from bot.racedata.day_views import KnownName
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.table import COMMAND_GROUPS, HELPED
from bot.slack.listeners.app_home import HomeChannel, HomePage, home_view
from bot.slack.listeners.command_runner import explain
from bot.slack.messages.alerts.alert_notes import admin_notice, drill, escalation
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.messages.alerts.event_alerts import full_result
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.help_answer import command_help, usage_of
from bot.slack.messages.answers.listings import audit_page, courses, coverage, status_answer, usage
from bot.slack.messages.answers.outcome_words import live_meeting
from bot.slack.messages.answers.pause_and_mute import (
    muted,
    muted_by,
    paused,
    paused_by,
    resumed,
    resumed_by,
    unmuted,
    unmuted_by,
)
from bot.slack.messages.answers.races_of_day import next_off, racecard, results_of_day
from bot.slack.messages.answers.subscription_answers import (
    Listed,
    ListPage,
    Unsubscribed,
    lost_by,
    paused_since,
    subscribed,
    subscription_list,
    unsubscribed,
    welcome,
)
from bot.slack.messages.answers.trace_answer import TraceView, drill_report, trace_answer
from bot.slack.messages.answers.watch_answer import unwatched, unwatched_by, watched, watching
from bot.slack.messages.kit.layout import sentence
from bot.slack.subscribe_form import FormOf, outdated, saved, subscribe_form
from tests.unit.messages import kept_events
from tests.unit.messages import kept_values as kept
from tests.unit.messages.kept_events import ABANDONED, ON_TIME, PARTLY, RACE, RACECARD, RECEIVED_AT, RESULT


def live(standing):
    meeting = LiveMeeting(kept.LIVE, kept_events.AT_PLUMPTON, standing)
    return partial(live_meeting, meeting, kept.NOON + timedelta(hours=2))


def held(why, kind=EventKind.RESULT_RECEIVED, number=12, *, results=((RESULT, kept.NO_REMARKS),), **more):
    told = {"abandonments": (), "results": results, "counts": {kind: number}, "given_up": 0} | more
    return partial(waited, Backlog(Held(why, kept.NOON), **told))


VIEW = TraceView(kept.address)


def traced(trace, wanted="rc_1", view=VIEW, **more):
    return partial(trace_answer, trace, wanted, view, **more)


def home(*channels, total=1, is_admin=False, **more):
    return partial(home_view, HomePage([*channels], total, is_admin=is_admin, **more))


def gb(**more):
    return kept.GB.model_copy(update=more)


SOON = kept.NOON + timedelta(hours=2)
OF_ITS_RACE = replace(kept.VERSION, race=RACE)
CONFLICT = replace(OF_ITS_RACE, contradicts=EventKind.RESULT_RECEIVED)
UNTOLD_TRACE = replace(kept.LOST_TRACE, untold=("C1", "C4", "C5"))
WITHOUT_IDS = TraceView(kept.address, has_ids=False, only_channel="C1")
GREAT_BRITAIN = KnownCountry(
    country_code="GB", name="Great Britain", races=98_765, full_result_order=True, position_pct=0.987
)
MANY_COURSES = [
    KnownCourse(course_id=f"cr_{n}", name=f"Course {n}", region="GB", meetings=n * 900) for n in range(1, 60)
]
GROUPS = {title: [HELPED[one.name] for one in group] for title, group in COMMAND_GROUPS.items()}
IN_IRELAND = kept.all_well(kept.IRELAND, recent=kept.NONE_LOST)
CARDS_OF_THE_EVE, LOST_CARDS = ((RACECARD, kept.NO_REMARKS),), frozenset({RACECARD.key})
MUTES = [(kept.MUTE, kept.ASCOT, Abandonments.POSTED)]
POSTED = kept.NOON, "https://example.slack.com/p1"
LISTED = [
    Listed(kept.row_of(6, kept.IRELAND), kept.IRELAND, *POSTED, overriding=kept.BESIDE_ALL),
    Listed(kept.row_of(7, kept.JERSEY), kept.JERSEY, orphaned=["JER is no longer published."]),
]
NO_SUCH_PATH = Problem("PUBLIC_URL answered 404: it knows no such path.", "Have the proxy pass.")
NOT_DELIVERED = DrillReport(kept.KEPT_DRILL, replace(kept.ANSWERED, problem=NO_SUCH_PATH), Stop.NOT_DELIVERED)
ANSWERS: dict[str, partial[Any]] = {
    "escalation": partial(escalation, kept.escalated(), kept.ALERT, kept.address("C1", "1.2")),
    "escalation_there": partial(escalation, kept.escalated("C1"), kept.ALERT, kept.address("C1", "1.2")),
    "escalation_taken": partial(escalation, kept.escalated(asked=AskedInView("", "U2", kept.NOON)), kept.ALERT, None),
    "escalation_replaced": partial(escalation, kept.escalated(is_replaced=True), kept.ALERT, kept.address("C1", "1.2")),
    "live_meeting": live(kept_events.LIVE_MEETING),
    "live_meeting_abandoned": live(kept_events.LIVE_MEETING_ABANDONED),
    "live_meeting_void": live(kept_events.LIVE_MEETING_VOID),
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
        "Slack no longer lets me post in channel C1 (archived). The channel's subscriptions are suspended. Nothing is "
        "deleted, and waiting messages are kept. Unarchive the channel, and invite me back if I am gone, and the "
        "subscriptions go on. Subscribed by U1.",
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
        "Slack lets me post in channel C1 again. Its subscriptions go on. Waiting messages are posted.",
        ["C1"],
    ),
    "error_with_buttons": partial(
        explain,
        CommandError("I don't know the region gb. Did you mean GB?", lines={"GB": "racecard GB today"}),
        "cmd-01234567",
    ),
    "error_with_the_form_of_what_is_in_the_way": partial(
        explain, CommandError("From GB this channel receives abandonments of all courses.", edits="GB"), "cmd-01234567"
    ),
    "error_with_reference": partial(explain, StorageUnavailable("locked"), "cmd-01234567"),
    "welcome": partial(welcome, [kept.GB, kept.ALL], is_paused=True),
    "welcome_without_subscriptions": partial(welcome, [], is_paused=False),
    "waited": partial(waited, kept.held_back("is_archived")),
    "waited_in_a_pause": partial(waited, kept.held_back(PAUSED)),
    "waited_with_one_abandonment": held("is_archived", abandonments=((ABANDONED, kept.NO_REMARKS),)),
    "waited_for_a_digest": held(DIGEST, number=1),
    "waited_for_the_eve": held(
        CARDS, EventKind.RACECARD_PUBLISHED, 1, results=(), cards=CARDS_OF_THE_EVE, lost=LOST_CARDS
    ),
    "waited_in_quiet_hours": held(QUIET),
    "waited_until_a_choice_ended": held(CHOICE_ENDED),
    "waited_undelivered": partial(waited, kept.held_back(UNDELIVERED, VersionRemarks(had_at=kept.NOON))),
    "full_result": partial(full_result, RESULT, None, RECEIVED_AT, (kept.ITALY, PARTLY)),
    "card": partial(racecard, kept.SIX_MEETINGS, DayQuestion(kept_events.NOW, first_regions=("GB", "IRE"))),
    "card_of_a_course": partial(racecard, kept.ONE_COURSE, DayQuestion(kept_events.NOW, ["Kempton"])),
    "card_of_a_course_to_come": partial(racecard, kept.TO_COME, DayQuestion(kept.NOON)),
    "card_of_an_abandoned_race": partial(racecard, at_off(kept.TO_COME, "15:00"), DayQuestion(kept.NOON)),
    "card_at_a_time_without_a_race": partial(racecard, at_off(kept.TO_COME, "3:10"), DayQuestion(kept.NOON)),
    "next_off": partial(next_off, [kept.TO_COME], "next kept.GB", DayQuestion(kept.NOON)),
    "results_of_day": partial(results_of_day, kept.CARD, DayQuestion(kept_events.NOW, countries=(kept.ITALY,))),
    "results_of_a_course": partial(results_of_day, kept.ONE_COURSE, DayQuestion(kept_events.NOW)),
    "abandonments_of_day": partial(results_of_day, kept.CARD, DayQuestion(kept_events.NOW, only_abandonments=True)),
    "coverage": partial(coverage, [GREAT_BRITAIN], None, 1),
    "courses": partial(courses, MANY_COURSES, "course", 2),
    "usage": partial(usage, kept.EXPECTED),
    "usage_that_may_not_last": partial(usage, kept.expected_by(14_900)),
    "usage_by_endpoint": partial(usage, kept.BY_ENDPOINT),
    "usage_read_before": partial(usage, kept.READING.model_copy(update={"rows": ()}), "The service failed."),
    "help": partial(command_help, GROUPS, ["/racecard", "/results", "/usage"]),
    "help_on_a_command": partial(usage_of, HELPED["racecard"]),
    "subscribed": partial(subscribed, kept.SAID),
    "subscribed_with_nobody_told_further": partial(
        subscribed, replace(kept.all_well(gb(ack=("10m",))), minutes_alone=10)
    ),
    "subscribed_beside_all_regions": partial(subscribed, replace(IN_IRELAND, overriding=kept.BESIDE_ALL)),
    "unsubscribed": partial(unsubscribed, Unsubscribed(1, 0, [kept.ALL])),
    "subscription_list": partial(subscription_list, ListPage(LISTED, 2, 7, MUTES, kept.CHANGE)),
    "subscription_list_of_nothing": partial(subscription_list, ListPage([], 1, 0, [])),
    "subscription_list_of_watches_in_a_pause": partial(
        subscription_list, ListPage([], 1, 0, [], pause=paused_since(SOON, kept.NOON, "U1"), watched=4)
    ),
    "audit_page": partial(audit_page, AuditPage([kept.CHANGE], 1, 9), "in <#C1>", "audit C1"),
    "drill": partial(drill, RacingEvent(key="drill:0123456789abcdef", drill=kept.DRILL), ON_TIME),
    "drill_report": partial(drill_report, kept.DRILL_REPORT, kept.address, "racing-bot"),
    "drill_that_was_not_delivered": partial(drill_report, NOT_DELIVERED, kept.address, "racing-bot"),
    "muted": partial(muted, kept.ASCOT, 7, Abandonments.POSTED),
    "muted_where_no_abandonment_comes": partial(muted, kept.ASCOT, 7, Abandonments.NOT_ASKED_FOR),
    "unmuted": partial(unmuted, kept.ASCOT),
    "watched": partial(watched, [kept.NOW_WATCHED, kept.MISSPELT], kept.NOON, is_own=False),
    "watched_for_oneself": partial(
        watched, [replace(kept.NOW_WATCHED, known=KnownName(True), is_new=False)], kept.NOON, is_own=True
    ),
    "watching": partial(watching, [kept.WATCH], [kept.OWN_WATCH], 1, is_direct=False),
    "watching_nothing": partial(watching, [], [], 1, is_direct=False),
    "unwatched": partial(unwatched, kept.GOLDEN, 'watch horse:"Golden Melody"', is_own=False),
    "unwatched_by": partial(unwatched_by, "U1", kept.GOLDEN),
    "paused": partial(paused, (kept.NOON + timedelta(days=4), None), kept.NOON, 72),
    "paused_until_a_time_of_day": partial(paused, (kept.NOON + timedelta(hours=2), "Europe/London"), kept.NOON, 72),
    "resumed": partial(resumed, 1, 4, 1),
    "paused_until_resumed": partial(
        paused, (None, None), kept.NOON, 72, asks=True, untaken=Untaken(1, (kept.LOST_ALERT.event,))
    ),
    "paused_by": partial(paused_by, "U1", [kept.GB, kept.ALL], kept.NOON + timedelta(hours=2)),
    "resumed_by": partial(resumed_by, "U1", 1),
    "muted_by": partial(muted_by, "U1", kept.ASCOT, Abandonments.AFTER_THE_PAUSE),
    "unmuted_by": partial(unmuted_by, "U1", kept.ASCOT),
    "ended_by": partial(lost_by, "U1", [kept.GB], [kept.ALL]),
    "ended_by_where_names_are_watched": partial(lost_by, "U1", [kept.GB], [], watched=4),
    "unsubscribed_where_names_are_watched": partial(unsubscribed, Unsubscribed(1, 0, [], watched=1)),
    "narrowed_by_quiet_hours": partial(lost_by, "U1", [kept.GB], [gb(quiet=("22:00-07:00",), zone=("Europe/London",))]),
    "narrowed_by_two_choices": partial(lost_by, "U1", [kept.GB], [gb(digest=("18:30",), show=(MEETINGS,))]),
    "narrowed_by": partial(lost_by, "U1", [kept.GB, kept.ALL], [kept.GB]),
    "status": partial(status_answer, kept.STATUS, kept.DEGRADED),
    "status_for_anybody": partial(status_answer, replace(kept.STATUS, untaken_here=None), kept.DEGRADED, "C1"),
    "status_where_all_is_well": partial(status_answer, kept.WELL, {}),
    "trace": traced(kept.TRACE),
    "trace_of_a_race_on_the_card": traced(Trace((), (), 0, kept.NOON), race=kept.DECLARED, here="C1"),
    "trace_of_a_race_of_an_abandoned_meeting": traced(UNTOLD_TRACE, race=kept.DECLARED, here="C1"),
    "trace_of_a_conflict": traced(replace(kept.TRACE, versions=(CONFLICT,)), race=RACE),
    "who_was_told": traced(replace(kept.TRACE, versions=(OF_ITS_RACE,)), "race.abandoned:rc_1", WITHOUT_IDS, race=RACE),
    "trace_of_nothing": traced(Trace((), (), 0, kept.NOON), "rc_2"),
}

LISTS = Lexicon(("GB", "IRE"), [KnownCourse(name="York")])
HOME_LIVE = HomeChannel("C1", [kept.GB], "live", is_paused=False, last_post_at=kept.NOON)
HOME_PAUSED = HomeChannel("C2", [kept.ALL], "paused", is_paused=True, last_post_at=None, muted=2)
VIEWS: dict[str, partial[Any]] = {
    "form": partial(subscribe_form, FormOf(channel_id="C1"), None, LISTS),
    "form_of_a_subscription": partial(subscribe_form, FormOf(channel_id="C1", editing="GB"), kept.GB, LISTS),
    "form_before_the_lists_are_read": partial(subscribe_form, FormOf(channel_id="D1"), None, Lexicon()),
    "form_outdated": partial(outdated),
    "form_saved": partial(saved, subscribed(kept.SAID).blocks),
    "home": home(HOME_LIVE, HOME_PAUSED, total=2, watches=[kept.OWN_WATCH], said="PAUSED until 14:00.", at=kept.NOON),
    "home_of_nobody": home(total=0, at=kept.NOON),
    "home_of_a_person_who_was_told_of_abandonments": home(
        replace(HOME_LIVE, watched=3),
        abandonments=[
            PersonsAbandonment(kept.LOST_ALERT.event, "C1", None),
            PersonsAbandonment(kept.LOST_ALERT.event, "C2", kept.NOON),
        ],
    ),
    "home_of_an_admin": home(
        HOME_LIVE,
        total=21,
        is_admin=True,
        status=status_answer(replace(kept.STATUS, untaken_here=None), kept.DEGRADED),
        dead_letters=[kept.LOST_ALERT],
        at=kept.NOON,
    ),
}


def messages_of(made: Any) -> list[Message]:
    """The messages of a builder. A summary can be several messages, each with the number of named events."""
    return [made] if isinstance(made, Message) else [message for message, _named in made]
