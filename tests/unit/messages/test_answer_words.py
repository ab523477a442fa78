"""Answers on subscriptions, with the words in words.txt; within Slack's limits.

After a wanted change, write the words anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/messages/test_answer_words.py
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot.channels.audit_log import ENTRIES_PER_PAGE, AuditPage
from bot.channels.filters import ALL_REGIONS, Abandonments, ChannelFilter, Meeting
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, MutedMeetingRow
from bot.events.event import DEFAULT_TOPICS, EventKind, RacingEvent, Topic
from bot.events.races import Course, OffTime, Race, Runner
from bot.outbox.message import Message
from bot.racedata.day_views import Recent
from bot.slack.listeners.app_home import CHANGES_MAX, HomeChannel, HomePage, home_view, said_of
from bot.slack.messages.alerts.alert_notes import alert_buttons
from bot.slack.messages.alerts.event_alerts import full_result
from bot.slack.messages.answers.filter_words import in_words
from bot.slack.messages.answers.listings import audit_page
from bot.slack.messages.answers.pause_and_mute import muted, resumed_by
from bot.slack.messages.answers.subscription_answers import (
    PER_PAGE,
    Listed,
    ListPage,
    Unsubscribed,
    paused_since,
    subscribed,
    subscription_list,
    unsubscribed,
)
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.result_line import CHECK_PLACES
from bot.slack.messages.kit.text import MESSAGE_MAX, TEXT_MAX, size
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems
from tests.rows import over
from tests.unit.kept_text import as_read, check
from tests.unit.messages.kept_events import ON_TIME
from tests.unit.messages.kept_values import all_well

KEPT = Path(__file__).parent / "words.txt"
NOW = datetime(2026, 11, 20, 14, 32, tzinfo=UTC)
GB = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)
NOTHING = Recent(results=0, abandonments=0, is_whole=False, abandoned=())
LONGEST = ChannelFilter(
    region="<!channel>" * 99,
    topics=frozenset(Topic),
    courses=tuple(Course(name=f"{number}" + "&" * 90) for number in range(50)),
    not_courses=tuple(Course(name=f"{number}" + "🐎" * 90) for number in range(50)),
    mentions=tuple(f"U{number:010}" for number in range(20)) + tuple(f"S{number:010}" for number in range(10)),
)
ASCOT_TODAY = Meeting(course=Course(name="Ascot"), race_date="2026-11-20")
ANOTHER = LONGEST.model_copy(update={"region": ALL_REGIONS, "courses": ()})


def within_limits(message):
    """Slack takes the message, with room to spare; its words, in which a stranger's mention does nothing."""
    assert 1 <= size(message.text) <= TEXT_MAX
    assert block_problems(list(message.blocks), most=MESSAGE_BLOCKS) == []
    assert weight(message.blocks) <= MESSAGE_MAX
    shown = as_read(message)
    # A button's value is for us alone.
    assert "<!channel>" not in re.sub(r"^\[.*\] .*$", "", shown, flags=re.MULTILINE)
    return shown


def takes(*topics, **fields):
    return GB.model_copy(update={"topics": frozenset(topics) or DEFAULT_TOPICS, **fields})


def said(*filters, recent=NOTHING, **changes):
    return subscribed(replace(all_well(*(filters or (GB,)), recent=recent), **changes))


def whole(results, abandonments, *lost, disputed=()):
    return Recent(results=results, abandonments=abandonments, is_whole=True, abandoned=lost, disputed=tuple(disputed))


def lost(*names, kind=EventKind.RACE_ABANDONED, reason=None, **fields):
    return [
        RacingEvent(key=name, kind=kind, race=Race(course=Course(name=name), **fields), reason=reason) for name in names
    ]


def courses(count, name="Course"):
    return tuple(Course(name=f"{name} {number}") for number in range(1, count + 1))


# Subscribed and unsubscribed

LOST_TODAY = [
    *lost("Kempton", reason="frozen track", off=OffTime(text="14:30")),
    *lost("Ascot", kind=EventKind.MEETING_ABANDONED),
]
MANY_COURSES = takes(courses=courses(40), not_courses=courses(30, "Exclusion"))
SAID: dict[str, Callable[[], Message]] = {
    "Subscribed to all regions": lambda: said(takes(region=ALL_REGIONS)),
    "Subscribed with mentions": lambda: said(takes(mentions=("U7", "S7", "here"))),
    "Subscribed to two courses": lambda: said(takes(courses=courses(2))),
    "Subscribed to many courses": lambda: said(MANY_COURSES),
    "Subscribed with a note": lambda: said(notes=("Its courses stay.",)),
    "Subscribed after 12 results and 1 abandonment": lambda: said(recent=whole(12, 1)),
    **{
        f"Subscribed after {results} and {abandonments}": partial(said, recent=whole(results, abandonments))
        for results, abandonments in ((0, 0), (1, 0), (1, 2), (2, 1))
    },
    **{f"Subscribed to {topic} alone": partial(said, takes(topic), recent=whole(12, 0)) for topic in Topic},
    "Subscribed on a day of abandonments": lambda: said(recent=whole(0, 2, *LOST_TODAY)),
    "Subscribed to results on a day of abandonments": lambda: said(
        takes(Topic.RESULTS), recent=whole(0, 2, *LOST_TODAY)
    ),
    "Subscribed on a day of an abandonment and a conflict": lambda: said(
        recent=whole(0, 1, *lost("York"), disputed=lost("Bath"))
    ),
    "Subscribed on a day of conflicts": lambda: said(
        recent=replace(NOTHING, disputed=tuple(lost(*(f"Course {n}" for n in range(7)))))
    ),
    "Subscribed while a result waits for an hour": lambda: said(takes(digest=("18:00",)), waiting=[NOW]),
    "Subscribed while results wait for two hours": lambda: said(
        takes(digest=("18:00",)), waiting=[NOW, NOW, NOW + timedelta(hours=1)]
    ),
    "Subscribed to results alone, for an hour": lambda: said(takes(Topic.RESULTS, digest=("18:00",))),
    "Unsubscribed 4": lambda: unsubscribed(Unsubscribed(4, 0, [])),
    "Unsubscribed 1 and changed 2": lambda: unsubscribed(Unsubscribed(1, 2, [GB])),
    "Unsubscribed beside many courses": lambda: unsubscribed(Unsubscribed(1, 0, [MANY_COURSES])),
    "Muted where no meeting is": lambda: muted(ASCOT_TODAY, 7, Abandonments.POSTED, is_missing=True),
    "Resumed where nothing waited": lambda: resumed_by("U1", 0),
}


@over("name", SAID)
def test_answer_reads_as_kept(name):
    check(KEPT, name, within_limits(SAID[name]()))


def test_filter_in_words_names_everything():
    assert (
        in_words(takes(mentions=("U7", "S7", "here"))) == "results and abandonments from GB, mentioning U7, S7 and here"
    )
    assert in_words(MANY_COURSES).endswith("Exclusion 29 and Exclusion 30")


@over(("filters", "command"), [((GB,), "`/results GB abandonments`"), ((GB, LONGEST), "`/results all abandonments`")])
def test_subscribe_says_how_to_see_the_abandonments_that_it_does_not_name(filters, command):
    named = [f"Course {number:02}" for number in range(31)]
    shown = within_limits(said(*filters, recent=whole(0, 31, *lost(*(f"{one} {'x' * 200}" for one in named)))))
    assert [one in shown for one in named] == [True] * 20 + [False] * 11
    assert f"\nand 11 more: {command} lists them all" in shown


def test_text_has_every_abandonment_that_is_named_whatever_else_there_is_to_say():
    overrides = [(LONGEST, [LONGEST.region])] * 9
    recent = whole(0, 20, *lost(*["x" * 70] * 20), disputed=lost(*["y" * 70] * 5))
    message = said(*[LONGEST] * 12, recent=recent, notes=["&" * 999] * 9, overriding=overrides)
    within_limits(message)
    assert (message.text.count("x" * 70), message.text.count("y" * 70)) == (20, 5)


def test_long_lists_of_courses_are_counted_in_each_of_many_subscriptions():
    several = [takes(courses=courses(40, f"{n}" + "C" * 60), not_courses=courses(20, "E" * 60)) for n in range(12)]
    shown = str(unsubscribed(Unsubscribed(2, 0, several)).blocks)
    assert shown.count("only 40 courses: ") == shown.count("without 20 courses: ") == 12


def test_longest_answers_hold_every_limit():
    many = whole(10**9, 10**9, *lost(*["<" * 999] * 99, title="<" * 999))
    within_limits(said(*[LONGEST] * 12, recent=many, unchecked=["&" * 999] * 9, uncovered=["*" * 999], is_member=None))
    within_limits(unsubscribed(Unsubscribed(3, 0, [LONGEST] * 12)))


# The list, and the audit


def row(number=1, chosen=GB, **changes):
    given = {"state": "live", "created_by": "U1", "created_at": NOW, "updated_at": NOW}
    fields = {"id": number, "channel_id": "C1", "region": chosen.region, "filter": "{}"} | given | changes
    return ChannelSubscriptionRow(**fields)


def page(*listed, total=None, number=1, mutes=(), change=None, **more):
    total = len(listed) if total is None else total
    return subscription_list(ListPage(listed, number, total, mutes, change, **more))


def entry(**changes):
    given: dict[str, Any] = {"id": 1, "at": NOW, "user_id": "U1", "channel_id": "C1", "action": "subscribe"}
    return AuditEntry(**given | {"reference": "cmd-1", "before": None, "after": "results from GB"} | changes)


IN_A_PAUSE = Listed(row(state="paused"), GB), Listed(row(2, state="paused"), GB)
LISTS = {
    "of a subscription with a post": lambda: page(Listed(row(), GB, NOW, "https://x.slack.com/p1"), total=12, number=2),
    "of two": lambda: page(Listed(row(), GB), Listed(row(2), takes(region="IRE", courses=courses(2)))),
    "of a subscription without abandonments": lambda: page(
        Listed(row(state="waiting"), takes(Topic.RESULTS), has_abandonments=False)
    ),
    "of many courses": lambda: page(Listed(row(), MANY_COURSES)),
    "of a subscription that waits": lambda: page(Listed(row(state="waiting"), GB)),
    "of a subscription in a pause": lambda: page(Listed(row(state="paused", paused_until=NOW), GB)),
    "of a suspended subscription": lambda: page(Listed(row(state="suspended", state_reason="is_archived"), GB)),
    "of an older subscription": lambda: page(Listed(row(), GB), today=date(2027, 1, 2)),
    "in a pause": lambda: page(*IN_A_PAUSE, pause=paused_since(NOW + timedelta(hours=2), NOW, "U7")),
    "in a pause without end": lambda: page(*IN_A_PAUSE, pause=paused_since(datetime(9999, 1, 1, tzinfo=UTC))),
    "of changes": lambda: audit_page(AuditPage([entry()], 1, 1), "in C1", "audit C1"),
    "of no changes": lambda: audit_page(AuditPage([], 1, 0), "in C1", "audit C1"),
}


@over("name", LISTS)
def test_list_reads_as_kept(name):
    check(KEPT, f"List {name}", within_limits(LISTS[name]()))


def test_list_of_a_full_page_of_the_longest_subscriptions_holds_every_limit():
    gone = [f"The data service no longer publishes the course {'&' * 90}." for _ in range(100)]
    listed = [
        Listed(
            row(n, LONGEST, state="suspended", state_reason="<" * 999),
            LONGEST,
            NOW,
            f"https://x.slack.com/p{n}",
            gone,
            [(one, [LONGEST.region]) for one in (ANOTHER, GB)],
        )
        for n in range(PER_PAGE)
    ]
    muting: dict[str, Any] = {"channel_id": "C1", "meeting": "{}", "muted_by": "U1", "muted_at": NOW}
    mutes = [
        (MutedMeetingRow(id=n, **muting), Meeting(meeting_id="&" * 999), Abandonments.DEPENDS_ON_REGION)
        for n in range(30)
    ]
    shown = within_limits(page(*listed, total=40, number=3, mutes=mutes, change=entry()))
    assert "and 26 more muted meetings" in shown


def test_audit_of_the_longest_changes_holds_every_limit():
    long = entry(before="<!channel>" * 999, after="&" * 9_999, action="*" * 99)
    shown = within_limits(audit_page(AuditPage([long] * ENTRIES_PER_PAGE, 2, 99), "anywhere", "audit all"))
    assert "audit all page:3" in shown


def test_subscriptions_of_the_home_beyond_the_buttons_are_counted():
    filters = [takes(region=f"R{number}") for number in range(CHANGES_MAX + 2)]
    channel = HomeChannel("C1", filters, "live", is_paused=False, last_post_at=None)
    _, words, buttons = home_view(HomePage([channel], 1, is_admin=False))["blocks"]
    assert "2 subscriptions without a button" in words["text"]["text"]
    labels = [button["text"]["text"] for button in buttons["elements"]]
    assert labels == ["Pause", *(f"Change R{number}" for number in range(CHANGES_MAX)), "Add"]
    assert [said_of(place, "PAUSED.") for place in ("C1", "D1")] == ["<#C1>: PAUSED.", "PAUSED."]


# Buttons of an alert, and the full result

RESULT = RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=Race(meeting_id="mt_1"))


@over(
    ("changes", "labels"),
    [
        ({}, ["Mute this meeting", "Who was told"]),
        ({"race": Race(race_id="rc_1")}, ["Who was told"]),
        ({"kind": EventKind.RACE_ABANDONED}, ["Who was told"]),
    ],
)
def test_event_has_the_buttons_that_can_carry_it(changes, labels):
    buttons = alert_buttons(RESULT.model_copy(update=changes), ON_TIME)
    assert buttons
    assert [one["text"]["text"] for one in buttons["elements"]] == labels


RUNNERS = (
    Runner(horse="B", position="PU"),
    Runner(horse="A", position="1", number="4", draw="2", official_rating="99"),
)
RAN = Race(runners=RUNNERS, course=Course(name="Ascot"), race_date="2026-11-20", winning_time="2m 3.4s")
FULL = {
    " of a race that the book lacks": (RESULT.model_copy(update={"race": RAN}), None),
    " of a void race": (RESULT, Race(runners=RUNNERS, status="Void")),
    " of a race without runners": (RESULT.model_copy(update={"race": Race(race_id="rc_1")}), None),
}


@over("name", FULL)
def test_full_result_reads_as_kept(name):
    message = full_result(*FULL[name], NOW)
    check(KEPT, f"Full result{name}", f"{within_limits(message)}\nin sections:\n{as_read(message.in_sections())}")


def test_full_result_of_very_many_runners_says_how_many_its_table_leaves_out():
    many = RESULT.model_copy(update={"race": Race(runners=(Runner(horse="<" * 999, position="1"),) * 500)})
    message = full_result(many, None, NOW)
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    assert f"\nand {501 - len(table['rows'])} more\n" in within_limits(message)


@over(("race", "said"), [({"status": "Photo"}, "Status: Photo"), ({"disputed": "Plum Heron 1 or 2"}, CHECK_PLACES)])
def test_full_result_says_what_is_not_official_or_not_certain(race, said):
    told = full_result(RESULT.model_copy(update={"race": RAN.model_copy(update=race)}), None, NOW)
    for form in told.forms:
        assert said in str(form.blocks)
    assert said in told.text
