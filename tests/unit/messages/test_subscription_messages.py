"""What people are shown of subscriptions: said back, listed in pages, and who changed them; within Slack's limits."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.audit_log import ENTRIES_PER_PAGE, AuditPage
from bot.channels.filters import ALL_REGIONS, Abandonments, ChannelFilter, Meeting, Overridden
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, MutedMeetingRow
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.recent_races import Recent
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.answers.audit_answer import audit_page
from bot.slack.messages.answers.filter_words import in_words
from bot.slack.messages.answers.full_result_answer import full_result
from bot.slack.messages.answers.mute_answer import muted
from bot.slack.messages.answers.subscription_answers import Said, subscribed, unsubscribed
from bot.slack.messages.answers.subscription_list import (
    PER_PAGE,
    ChannelPause,
    Listed,
    ListPage,
    page_of,
    subscription_list,
)
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import MESSAGE_MAX, TEXT_MAX, size
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems

NOW = datetime(2026, 11, 20, 14, 32, tzinfo=UTC)
GB = ChannelFilter(region="GB", topics=frozenset({Topic.RESULTS, Topic.ABANDONMENTS}))
NOTHING = Recent(results=0, abandonments=0, is_whole=False, abandoned=())
LONGEST = ChannelFilter(
    region="<!channel>" * 99,
    topics=frozenset(Topic),
    courses=tuple(Course(name=f"{number}" + "&" * 90) for number in range(50)),
    not_courses=tuple(Course(name=f"{number}" + "🐎" * 90) for number in range(50)),
    mentions=tuple(f"U{number:010}" for number in range(20)) + tuple(f"S{number:010}" for number in range(10)),
)

ANOTHER = LONGEST.model_copy(update={"region": ALL_REGIONS, "courses": ()})


def check(message):
    """Slack takes it, with room to spare."""
    assert 1 <= size(message.text) <= TEXT_MAX
    assert block_problems(list(message.blocks), most=MESSAGE_BLOCKS) == []
    assert weight(message.blocks) <= MESSAGE_MAX
    # A button's value is for us alone.
    return re.sub(
        r"'value': '[^']*'",
        lambda found: found[0].replace("<!", ""),
        str((message.text, message.blocks, message.plain_blocks)),
    )


def said(*filters, recent=NOTHING, **changes):
    usual = Said(
        filters=filters or (GB,),
        unchecked=(),
        uncovered=(),
        recent=recent,
        is_member=True,
        is_paused=False,
        bot_name="racing-bot",
    )
    return subscribed(replace(usual, **changes))


def row(number=1, chosen=GB, **changes):
    given = {"state": "live", "created_by": "U1", "created_at": NOW, "updated_at": NOW}
    fields = {"id": number, "channel_id": "C1", "region": chosen.region, "filter": "{}"} | given | changes
    return ChannelSubscriptionRow(**fields)


def page(*listed, total=None, number=1, mutes=(), change=None):
    total = len(listed) if total is None else total
    return subscription_list(ListPage(listed, number, max(1, -(-total // PER_PAGE)), total, mutes, change))


def test_subscribe_says_back_in_a_sentence_what_will_arrive():
    text = said().text
    assert text == "This channel receives results and abandonments from GB."


def test_subscribe_says_how_much_there_was_only_as_far_as_it_is_known():
    whole = Recent(results=12, abandonments=1, is_whole=True, abandoned=())
    assert "In the last 7 days there were 12 results and 1 abandonment of these." in said(recent=whole).text
    part = Recent(results=12, abandonments=0, is_whole=False, abandoned=())
    assert "of these" not in said(recent=part).text


@pytest.mark.parametrize(
    ("results", "abandonments", "told"),
    [
        (0, 0, "there were no results and no abandonments of these."),
        (1, 0, "there was 1 result and no abandonments of these."),
        (0, 1, "there were no results and 1 abandonment of these."),
        (1, 2, "there was 1 result and 2 abandonments of these."),
        (2, 1, "there were 2 results and 1 abandonment of these."),
    ],
)
def test_subscribe_counts_in_whole_sentences(results, abandonments, told):
    recent = Recent(results=results, abandonments=abandonments, is_whole=True, abandoned=())
    assert said(recent=recent).text.endswith(f"In the last 7 days {told}")


@pytest.mark.parametrize(
    ("topic", "told"),
    [
        (Topic.RESULTS, "there were 12 results of these."),
        (Topic.ABANDONMENTS, "there were no abandonments of these."),
        (Topic.RACECARDS, None),
    ],
)
def test_subscribe_says_how_much_there_was_of_what_arrives_alone(topic, told):
    whole = Recent(results=12, abandonments=0, is_whole=True, abandoned=())
    text = said(ChannelFilter(region="GB", topics=frozenset({topic})), recent=whole).text
    assert told in text if told else "there were" not in text


def test_unsubscribe_says_what_has_ended_and_what_has_changed():
    assert unsubscribed(4, []).text.startswith("Done: 4 subscriptions ended. ")
    assert unsubscribed(1, []).text.startswith("Done. ")
    some = unsubscribed(1, [GB], changed=2)
    assert some.text.startswith("Done: 1 subscription ended and 2 subscriptions changed. ")


def test_subscribe_names_what_is_abandoned_today_where_abandonments_are_taken():
    race = Race(course=Course(name="Kempton"), off=OffTime(text="14:30"))
    lost = (
        RacingEvent(key="a", kind=EventKind.RACE_ABANDONED, race=race, reason="frozen track"),
        RacingEvent(key="b", kind=EventKind.MEETING_ABANDONED, race=Race(course=Course(name="Ascot"))),
    )
    recent = Recent(results=0, abandonments=2, is_whole=True, abandoned=lost)
    message = said(recent=recent)
    assert "Already abandoned today: Ascot, whole meeting; Kempton 14:30, frozen track." in message.text
    assert "🛑 *Already abandoned today*\\nAscot, whole meeting\\nKempton 14:30, frozen track'" in check(message)
    results = GB.model_copy(update={"topics": frozenset({Topic.RESULTS})})
    assert "Already" not in check(said(results, recent=recent))


@pytest.mark.parametrize(
    ("filters", "command"),
    [((GB,), "`/results GB abandonments`"), ((GB, LONGEST), "`/results all abandonments`")],
)
def test_subscribe_says_how_to_see_the_abandonments_that_it_does_not_name(filters, command):
    races = [Race(course=Course(name=f"Course {number:02} {'x' * 200}")) for number in range(31)]
    lost = tuple(RacingEvent(key=f"{n}", kind=EventKind.RACE_ABANDONED, race=race) for n, race in enumerate(races))
    shown = check(said(*filters, recent=Recent(results=0, abandonments=31, is_whole=True, abandoned=lost)))
    assert [f"Course {number:02}" in shown for number in range(31)] == [True] * 20 + [False] * 11
    assert f"; and 11 more. {command} lists them all." in shown
    assert f"\\nand 11 more: {command} lists them all" in shown


def test_subscribe_names_what_is_in_conflict_today_apart_from_what_is_abandoned():
    disputed = tuple(
        RacingEvent(key=f"{n}", kind=EventKind.RACE_ABANDONED, race=Race(course=Course(name=f"Course {n}")))
        for n in range(7)
    )
    message = said(recent=replace(lost_today(1, "Lost"), disputed=disputed[:1]))
    assert "Already abandoned today: Lost 00. CONFLICT, reported abandoned and as run, check: Course 0." in message.text
    assert "⚠️ *CONFLICT*: reported abandoned and as run, check\\nCourse 0'" in check(message)
    alone = said(recent=replace(NOTHING, disputed=disputed))
    assert "lready abandoned" not in check(alone)
    assert "Course 4; and 2 more. `/results GB abandonments` lists them all." in alone.text


def lost_today(count, name):
    races = [Race(course=Course(name=f"{name} {number:02}")) for number in range(count)]
    lost = tuple(RacingEvent(key=f"{n}", kind=EventKind.RACE_ABANDONED, race=race) for n, race in enumerate(races))
    return Recent(results=0, abandonments=count, is_whole=True, abandoned=lost)


def test_text_has_what_is_abandoned_today_right_after_what_arrives():
    text = said(recent=lost_today(2, "Course")).text
    assert text.startswith(
        "This channel receives results and abandonments from GB. Already abandoned today: Course 00; Course 01. In "
    )


def test_text_has_every_abandonment_that_is_named_whatever_else_there_is_to_say():
    overrides = [Overridden(chosen=LONGEST, by=LONGEST, topics=frozenset(Topic), courses=LONGEST.courses)] * 9
    recent = replace(lost_today(20, "x" * 70), disputed=lost_today(5, "y" * 70).abandoned)
    message = said(*[LONGEST] * 12, recent=recent, notes=["&" * 999] * 9, overridden=overrides)
    shown = check(message)
    assert message.text.count("x" * 70) == 20
    assert message.text.count("y" * 70) == 5
    assert "<!channel>" not in shown


def test_mentions_are_shown_and_here_rings_nobody_in_an_answer():
    chosen = GB.model_copy(update={"mentions": ("U7", "S7", "here")})
    shown = check(said(chosen))
    assert "mentions <@U7> <!subteam^S7> @here" in shown
    assert "<!here>" not in shown
    assert in_words(chosen) == "results and abandonments from GB, mentioning U7, S7 and here"


def courses(count, name="Course"):
    return tuple(Course(name=f"{name} {number}") for number in range(1, count + 1))


def test_long_lists_of_courses_are_counted_and_exclusions_are_never_cut_off():
    chosen = GB.model_copy(update={"courses": courses(40), "not_courses": courses(30, "Exclusion")})
    for shown in (said(chosen).text, unsubscribed(1, [chosen]).text):
        found = re.search(
            r"only 40 courses: Course 1, .*, and (\d+) more, without 30 courses: .*, and (\d+) more", shown
        )
        assert found, shown
        assert (shown.count("Course ") + int(found[1]), shown.count("Exclusion ") + int(found[2])) == (40, 30)
        assert "Edit in `/racing list` shows all courses." in shown
        assert "…" not in shown
    assert "Edit shows all courses." in check(page(Listed(row(), chosen)))
    assert in_words(chosen).endswith("Exclusion 29 and Exclusion 30")
    few = GB.model_copy(update={"courses": courses(2)})
    assert said(few).text == "This channel receives results and abandonments from GB, only Course 1 and Course 2."
    assert "Edit shows" not in check(page(Listed(row(), few)))


def test_long_lists_of_courses_are_counted_in_each_of_many_subscriptions():
    excluded = courses(20, "E" * 60)
    several = [
        GB.model_copy(update={"courses": courses(40, f"{n}" + "C" * 60), "not_courses": excluded}) for n in range(12)
    ]
    shown = str(unsubscribed(2, several).blocks)
    assert shown.count("only 40 courses: ") == shown.count("without 20 courses: ") == 12


def test_what_stays_as_it_was_is_said_back():
    assert said(notes=("Its courses stay.",)).text.endswith("from GB. Its courses stay.")


def test_longest_answers_hold_every_limit():
    lost = tuple(
        RacingEvent(key=f"{n}", kind=EventKind.RACE_ABANDONED, race=Race(title="<" * 999 + f"{n}")) for n in range(99)
    )
    recent = Recent(results=10**9, abandonments=10**9, is_whole=True, abandoned=lost)
    shown = check(
        said(*[LONGEST] * 12, recent=recent, unchecked=["&" * 999] * 9, uncovered=["*" * 999], is_member=None)
    )
    assert "<!channel>" not in shown
    check(unsubscribed(3, [LONGEST] * 12))


def test_list_of_a_full_page_of_the_longest_subscriptions_holds_every_limit():
    gone = [f"The data service no longer publishes the course {'&' * 90}." for _ in range(100)]
    listed = [
        Listed(
            row(n, LONGEST, state="suspended", state_reason="<" * 999),
            LONGEST,
            NOW,
            f"https://x.slack.com/p{n}",
            gone,
            [Overridden(chosen=LONGEST, by=one, courses=LONGEST.courses[:n]) for one in (ANOTHER, GB)],
        )
        for n in range(PER_PAGE)
    ]
    mutes = [
        (
            MutedMeetingRow(id=n, channel_id="C1", meeting="{}", muted_by="U1", muted_at=NOW),
            Meeting(meeting_id="&" * 999),
            Abandonments.DEPENDS_ON_REGION,
        )
        for n in range(30)
    ]
    shown = check(page(*listed, total=40, number=3, mutes=mutes, change=entry()))
    assert "<!channel>" not in shown
    assert "and 26 more muted meetings" in shown


def test_list_shows_creator_state_last_post_and_turns_both_ways():
    shown = check(page(Listed(row(), GB, NOW, "https://x.slack.com/p1"), total=12, number=2))
    for words in (
        "live, subscribed by <@U1> on Fri 20 Nov",
        "last post <!date^1795185120^{date_short} {time}|2026-11-20 14:32 UTC> (<https://x.slack.com/p1|open>)",
        "page 2 of 3",
    ):
        assert words in shown
    for command in ("list page:1", "list page:3"):
        assert command in shown
    assert "no post of it lately" in check(page(Listed(row(), GB)))
    assert "page:" not in check(page(Listed(row(), GB)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "waiting"}, "waiting for me to be invited"),
        ({"state": "paused", "paused_until": NOW}, "paused, subscribed by <@U1>"),
        ({"state": "suspended", "state_reason": "is_archived"}, "suspended (archived)"),
    ],
)
def test_list_says_in_which_state_each_subscription_is(changes, words):
    shown = page(Listed(row(**changes), GB))
    assert words in check(shown)
    in_text = words.partition(",")[0]
    assert f"This channel has 1 subscription: results and abandonments from GB, {in_text}" in shown.text
    assert "<!date" not in shown.text


def test_list_says_a_pause_once_with_who_paused_and_one_button():
    lists = partial(ListPage, [Listed(row(state="paused"), GB), Listed(row(2, state="paused"), GB)], 1, 1, 2, [])
    shown = subscription_list(lists(pause=ChannelPause(NOW + timedelta(hours=2), NOW, "U7")))
    assert shown.text.startswith(
        "PAUSED since 2026-11-20 14:32 UTC by <@U7>, until 2026-11-20 16:32 UTC. This channel has 2 subscriptions"
    )
    assert check(shown).count("'value': 'resume'") == 1
    endless = subscription_list(lists(pause=ChannelPause(datetime(9999, 1, 1, tzinfo=UTC))))
    assert endless.text.startswith("PAUSED, until somebody resumes. This channel has 2 subscriptions")
    check(endless)


def test_list_of_watches_alone_says_the_pause_and_how_many_names_are_watched():
    shown = subscription_list(ListPage([], 1, 1, 0, [], pause=ChannelPause(NOW, NOW, "U7"), watched=4))
    assert shown.text == (
        "PAUSED since 2026-11-20 14:32 UTC by <@U7>, until 2026-11-20 14:32 UTC. This channel has no subscriptions. "
        "4 names watched here: `/racing watching` lists and ends them."
    )
    for words in ("'resume'", "'watching'", "PAUSED since"):
        assert words in check(shown)


def test_list_says_the_year_of_an_older_subscription():
    one = Listed(row(), GB)
    shown = check(subscription_list(ListPage([one], 1, 1, 1, [], today=date(2027, 1, 2))))
    assert "by <@U1> on Fri 20 Nov 2026" in shown


def test_list_flags_what_a_subscription_lacks_with_the_mark_itself():
    shown = check(page(Listed(row(), GB, orphaned=["GB is no longer published."])))
    assert "⚠️ GB is no longer published." in shown
    assert ":warning" not in shown


def test_list_of_live_subscriptions_does_not_say_so_of_each_in_its_text():
    shown = page(Listed(row(), GB), Listed(row(2, GB.model_copy(update={"region": "IRE"})), GB))
    assert shown.text.endswith("results and abandonments from GB; results and abandonments from GB")


def test_list_of_nothing_says_how_to_begin():
    assert "This channel has no subscriptions" in page().text


@given(st.text())
def test_page_is_read_of_any_text(typed):
    assert 1 <= page_of(typed) < 10**6


def entry(**changes):
    given: dict[str, Any] = {
        "id": 1,
        "at": NOW,
        "user_id": "U1",
        "channel_id": "C1",
        "action": "subscribe",
        "reference": "cmd-1",
    }
    return AuditEntry(**given | {"before": None, "after": "results from GB"} | changes)


def test_audit_shows_who_when_and_what_from_what_to_what():
    shown = check(audit_page(AuditPage([entry()], 1, 1), "in C1", "audit C1"))
    assert "<@U1> in <#C1>: *subscribe*, nothing → results from GB (`cmd-1`)" in shown
    assert "Nobody has changed anything in C1 yet." in audit_page(AuditPage([], 1, 0), "in C1", "audit C1").text


def test_audit_of_the_longest_changes_holds_every_limit():
    long = entry(before="<!channel>" * 999, after="&" * 9_999, action="*" * 99)
    shown = check(audit_page(AuditPage([long] * ENTRIES_PER_PAGE, 2, 99), "anywhere", "audit all"))
    assert "<!channel>" not in shown
    assert "audit all page:3" in shown


def test_event_with_a_key_that_no_button_can_carry_has_no_buttons():
    result = RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=Race(meeting_id="mt_1"))
    row_of = alert_buttons(result)
    assert row_of is not None
    assert [one["text"]["text"] for one in row_of["elements"]] == [
        "Full result",
        "Mute this meeting here",
        "Who was told",
    ]
    assert alert_buttons(result.model_copy(update={"key": "🐎" * 1_100})) is None
    nowhere = alert_buttons(result.model_copy(update={"race": Race(race_id="rc_1")}))
    assert "Mute this meeting here" not in str(nowhere)
    lost = alert_buttons(result.model_copy(update={"kind": EventKind.RACE_ABANDONED}))
    assert lost is not None
    assert [one["text"]["text"] for one in lost["elements"]] == ["Who was told"]


def test_muted_meeting_is_named_with_what_still_comes_and_the_way_back():
    shown = check(muted(Meeting(course=Course(name="Ascot"), race_date="2026-11-20"), 7, Abandonments.POSTED))
    for words in ("Ascot, Fri 20 Nov are", "Abandonments of it still are", "Undo", "'7'"):
        assert words in shown


def test_full_result_says_its_day_as_people_do():
    race = Race(course=Course(name="Ascot"), race_date="2026-11-20", winning_time="2m 3.4s")
    shown = check(full_result(RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=race), None, NOW))
    assert "Fri 20 Nov · winning time 2m 3.4s" in shown


def test_full_result_lists_every_runner_with_what_was_published():
    runners = (
        Runner(horse="B", position="PU"),
        Runner(horse="A", position="1", number="4", draw="2", official_rating="99"),
    )
    event = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=Race(runners=runners[:1]))
    shown = check(full_result(event, Race(runners=runners, course=Course(name="Ascot")), NOW))
    assert "1  A · no. 4, draw 2, OR 99\\nPU  B" in shown
    assert "None" not in full_result(event, None, NOW).text
    nothing = full_result(event.model_copy(update={"race": Race(race_id="rc_1")}), None, NOW)
    assert nothing.text == "Full result: race rc_1: Result in, placings not received"
    assert "placings not received" in str(nothing.blocks)
    void = full_result(event, Race(runners=runners, status="Void"), NOW)
    assert void.text == "Full result: race not named: Race declared void"
    assert "Runner" not in str(void.blocks)
    many = event.model_copy(update={"race": Race(runners=(Runner(horse="<" * 999, position="1"),) * 500)})
    assert "more" in check(full_result(many, None, NOW))


def test_all_regions_are_said_as_such():
    assert "from all regions" in said(GB.model_copy(update={"region": ALL_REGIONS})).text
