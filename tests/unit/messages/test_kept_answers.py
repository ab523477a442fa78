"""Kept answers read aloud: lists of regions, counts of one, loud words behind their marks."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course, OffTime, Race
from bot.outbox.message import Message
from bot.racedata.day_card import Card, Coverage, Outcomes, RaceOutcome
from bot.slack.messages.answers.change_notice import ended_by, welcome
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.filter_words import described, in_markup, in_plain_words, in_words
from bot.slack.messages.answers.races_of_day import racecard, results_of_day
from bot.slack.messages.answers.subscription_answers import Unsubscribed, unsubscribed
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, VOIDED, without_marks
from tests.unit.messages.kept_answers import ANSWERS, VIEWS
from tests.unit.messages.kept_values import KEMPTON, NOON, TO_COME

EIGHTEEN = ["AUS", "BHR", "FR", "GB", "GER", "HK", "IRE", "ITY", "JPN", "KSA", "NOR", "NZ", "QAT", "SAF", "SIN", "SWE"]
EIGHTEEN += ["UAE", "USA"]
DAY = date(2026, 11, 20)
AT_NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def filters(*regions, topics=DEFAULT_TOPICS, **fields):
    return [ChannelFilter(region=region, topics=topics, **fields) for region in regions]


@pytest.mark.parametrize(
    ("regions", "words"),
    [
        (["GB"], "results and abandonments from GB"),
        (["GB", "IRE"], "results and abandonments from GB and IRE"),
        (["AUS", "GB", "IRE"], "results and abandonments from AUS, GB and IRE"),
        (EIGHTEEN, f"results and abandonments from {', '.join(EIGHTEEN[:-1])} and USA"),
        ([ALL_REGIONS], "results and abandonments from all regions"),
        ([ALL_REGIONS, "GB"], "results and abandonments from all regions; results and abandonments from GB"),
    ],
)
def test_regions_with_equal_filters_are_one_list(regions, words):
    chosen = filters(*regions)
    assert in_markup(*chosen) == described(chosen) == in_plain_words(chosen) == in_words(*chosen) == words
    assert f"This channel receives {words}." in welcome(chosen, is_paused=False).text
    assert unsubscribed(Unsubscribed(1, 0, chosen)).text == f"Done. This channel still receives {words}."
    assert ended_by("U1", chosen, []).text.startswith(f"<@U1> ended {words} here.")


def test_regions_with_other_filters_are_said_by_themselves():
    chosen = [*filters("AUS", "GB"), *filters("FR", topics=frozenset({Topic.RACECARDS})), *filters("IRE")]
    assert in_markup(*chosen) == "results and abandonments from AUS, GB and IRE; racecards from FR"
    courses = filters("GB", "IRE", courses=(Course(name="Ascot"),))
    assert in_markup(*courses, *filters("FR")).startswith("results and abandonments from GB and IRE, only Ascot; ")


def test_no_filter_is_no_word():
    assert (in_markup(), described([]), in_plain_words([]), in_words()) == ("", "", "", "")


OPEN = Outcomes(meetings=(KEMPTON,), of={(0, number): RaceOutcome.OPEN for number in range(4)})

PLACES = [
    (None, None, "in any region"),
    ("GB", None, "for GB"),
    ("GB", KEMPTON.course, "for Kempton (GB)"),
    (None, KEMPTON.course, "for Kempton (all regions)"),
]


@pytest.mark.parametrize(("region", "course", "where"), PLACES)
def test_none_is_said_of_a_place(region, course, where):
    empty = Card(DAY, region, course, Outcomes(), Coverage.COMPLETE)
    listed = f"No racing: the data service lists no races {where} on Fri 20 Nov."
    assert listed in results_of_day(empty, DayQuestion(AT_NOON)).text
    coming = f"No card has been published yet {where} on Fri 20 Nov."
    assert coming in results_of_day(empty, DayQuestion(datetime(2026, 11, 19, 12, tzinfo=UTC))).text
    races = Card(DAY, region, course, OPEN, Coverage.COMPLETE)
    lost = f"No abandonment is known {where} on Fri 20 Nov."
    assert lost in results_of_day(races, DayQuestion(AT_NOON, only_abandonments=True)).text


@pytest.mark.parametrize(("now", "is_named"), [(NOON, True), (NOON - timedelta(days=1), False)])
def test_next_off_of_a_meeting_is_named_on_the_day_alone(now, is_named):
    off = OffTime(text="14:30", off_at=NOON.replace(hour=14, minute=30))
    meeting = replace(KEMPTON, races=(Race(off=off, race_date=f"{NOON:%Y-%m-%d}"),))
    outcomes = Outcomes(meetings=(meeting,), of={(0, 0): RaceOutcome.OPEN})
    told = racecard(replace(TO_COME, course=None, outcomes=outcomes), DayQuestion(now))
    assert ("next 14:30" in str(told.blocks)) is is_named


NOUNS = "abandonment|attempt|change|course|error|hour|meeting|message|race|refusal|request|result|runner|subscription"


@pytest.mark.parametrize("name", ANSWERS)
def test_kept_answers_have_no_stumbling_block(name):
    built = ANSWERS[name]()
    messages = [one for one, _ in built] if isinstance(built, list) else [built]
    said = " ".join(f"{one.text} {one.blocks}" for one in messages)
    assert not re.search(rf"(?<![\d,.:])1 (?:{NOUNS}|time|version|page|delivery)s\b", said)
    assert not re.search(rf"(?<![\d,.:])(?:[02-9]|\d\d+) (?:{NOUNS}|version|page)\b", said)
    for block in (" ,", "..", ":.", "  .", " and and ", "for all regions on"):
        assert block not in said


# In lists each loud word stands behind its mark; in `text` the word stands alone (docs/messages.md, Looks)


MARK_OF = {"ABANDONED": ABANDONED, "CONFLICT": CONFLICTING, "VOID": VOIDED}


def texts(block):
    """What people read. The value of a button is for the bot alone."""
    if isinstance(block, dict):
        return [one for key, inner in block.items() if key not in {"value", "type"} for one in texts(inner)]
    if isinstance(block, list | tuple):
        return [one for inner in block for one in texts(inner)]
    return [block] if isinstance(block, str) else []


def unmarked(text):
    return [
        text[max(0, found.start() - 30) : found.end()]
        for found in re.finditer(r"\b(?:ABANDONED|CONFLICT|VOID)\b", text)
        if not re.search(rf"{MARK_OF[found[0]]} \*?(?:\d+ |(?:REST OF THE )?MEETING )?$", text[: found.start()])
    ]


def built(name):
    """The messages of a builder. A summary is several, each with a number."""
    built = (ANSWERS | VIEWS)[name]()
    return built if isinstance(built, list) else [(built, 0)]


@pytest.mark.parametrize("name", [*ANSWERS, *VIEWS])
def test_loud_word_of_an_answer_stands_behind_its_mark(name):
    for message, _ in built(name):
        forms = [form.blocks for form in message.forms] if isinstance(message, Message) else message["blocks"]
        assert [where for text in texts(forms) for where in unmarked(text)] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_text_of_an_answer_has_the_word_alone(name):
    for message, _ in built(name):
        assert not any(mark in message.text for mark in MARK_OF.values())


def test_only_the_marks_of_our_own_words_are_taken_off():
    said = f"15:00  {ABANDONED} *ABANDONED*, {ABANDONED} frost · {CONFLICTING} *1 CONFLICT*"
    assert without_marks(said) == f"15:00  ABANDONED, {ABANDONED} frost · 1 CONFLICT"
