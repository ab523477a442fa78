"""Kept answers read aloud: lists of regions, counts of one, loud words behind their marks."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race
from bot.racedata.day_card import Card, Coverage, Outcomes
from bot.slack.messages.answers.change_notice import ended_by, welcome
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.filter_words import described, in_markup, in_plain_words, in_words
from bot.slack.messages.answers.races_of_day import racecard, results_of_day
from bot.slack.messages.answers.subscription_answers import Unsubscribed, unsubscribed
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, VOIDED, without_marks
from tests.rows import over
from tests.unit.kept_text import as_read
from tests.unit.messages.kept_answers import ANSWERS, VIEWS, messages_of
from tests.unit.messages.kept_events import EVENTS
from tests.unit.messages.kept_values import KEMPTON, NOON, TO_COME

EIGHTEEN = ["AUS", "BHR", "FR", "GB", "GER", "HK", "IRE", "ITY", "JPN", "KSA", "NOR", "NZ", "QAT", "SAF", "SIN", "SWE"]
EIGHTEEN += ["UAE", "USA"]
DAY = date(2026, 11, 20)
AT_NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def filters(*regions, topics=DEFAULT_TOPICS, **fields):
    return [ChannelFilter(region=region, topics=topics, **fields) for region in regions]


@over(
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


OPEN = Outcomes(meetings=(replace(KEMPTON, outcomes=(RaceOutcome.OPEN,) * 4),))

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
    races = (Race(off=off, race_date=f"{NOON:%Y-%m-%d}"),)
    outcomes = Outcomes(meetings=(replace(KEMPTON, races=races, outcomes=(RaceOutcome.OPEN,)),))
    told = racecard(replace(TO_COME, course=None, outcomes=outcomes), DayQuestion(now))
    assert ("next 14:30" in str(told.blocks)) is is_named


NOUNS = "abandonment|attempt|change|course|error|hour|meeting|message|race|refusal|request|result|runner|subscription"


STUMBLING = re.compile(
    rf"(?<![\d,.:])1 (?:{NOUNS}|time|version|page|delivery)s\b|(?<![\d,.:])(?:[02-9]|\d\d+) (?:{NOUNS}|version|page)\b"
    r"| ,|\.\.|:\.|  \.| and and |for all regions on"
)


def test_kept_answers_have_no_stumbling_block():
    for name, kept in ANSWERS.items():
        said = " ".join(f"{one.text} {one.blocks}" for one in messages_of(kept()))
        assert not STUMBLING.search(said), name


# In lists each loud word stands behind its mark; in `text` the word stands alone (docs/messages.md, Looks)


MARK_OF = {"ABANDONED": ABANDONED, "CONFLICT": CONFLICTING, "VOID": VOIDED}


def texts(block):
    """The words for people. The value of a button is for the bot alone."""
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


def test_loud_word_of_an_answer_stands_behind_its_mark_and_in_the_text_alone():
    for name, kept in (ANSWERS | VIEWS).items():
        made = kept()
        forms = [made["blocks"]] if name in VIEWS else [form.blocks for one in messages_of(made) for form in one.forms]
        assert [where for text in texts(forms) for where in unmarked(text)] == [], name
        said = [] if name in VIEWS else [one.text for one in messages_of(made)]
        assert not any(mark in text for text in said for mark in MARK_OF.values()), name


def test_only_the_marks_of_our_own_words_are_taken_off():
    said = f"15:00  {ABANDONED} *ABANDONED*, {ABANDONED} frost · {CONFLICTING} *1 CONFLICT*"
    assert without_marks(said) == f"15:00  ABANDONED, {ABANDONED} frost · 1 CONFLICT"


# The words in a channel: no id, no technical name, no double negative, no long sentence

ABOUT_THE_BOT = re.compile(
    "^(audit|coverage|courses|drill|error|form|help|home|notice|status|trace|usage|answer|subscri|paused|resumed|welcome|watching)"
)
"""Answers about the bot itself, its subscriptions and its deliveries: commands, ids and settings are their subject."""

SPOKEN = [name for name in EVENTS | ANSWERS if not ABOUT_THE_BOT.search(name)]
ID = re.compile(r"\b(?:rc|mt|cr|cmd|inbox|drl)[_-]\w|[0-9a-f]{16}")
TECHNICAL = re.compile(r"\b\w+_\w+\b|\b(?:null|None|JSON|payload|webhook|inbox|ts)\b")
NEGATIVE = re.compile(r"\b(?:not|no|never|nobody|none|without|nothing|neither|nor|cannot|\w+n't)\b", re.IGNORECASE)
SENTENCE = re.compile(r"[.;:!?·] +|\N{EM SPACE}|, (?=[0-9])")
DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
LINK = re.compile(r"<https[^|>]*\|([^>]*)>")
WORDS_MOST = 18


def sentences(name):
    for message in messages_of((EVENTS | ANSWERS)[name]()):
        for form in message.forms:
            read = LINK.sub(r"\1", DATE.sub(r"\1", as_read(form, {"actions"})))
            spoken = [line for line in read.split("\n") if not line.startswith(("[", "    ["))]
            yield from (one for line in spoken for one in SENTENCE.split(re.sub("`[^`]*`", "", line)))


def test_message_is_spoken_as_people_speak():
    for sentence in (sentence for name in SPOKEN for sentence in sentences(name)):
        assert not ID.search(sentence), sentence
        assert not TECHNICAL.search(sentence), sentence
        assert all(len(NEGATIVE.findall(clause)) < 2 for clause in sentence.split(", ")), sentence
        assert len(sentence.split()) <= WORDS_MOST, sentence


def test_every_alert_and_summary_is_counted():
    assert {*EVENTS, "live_meeting", "waited", "waited_for_a_digest", "results_of_day"} <= set(SPOKEN)
