"""Messages and forms compared, to the letter, with the files in snapshots/, which `.ci/check-blocks` gives to `tsc`.

After a wanted change, write the files anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest tests/unit/messages/test_message_snapshots.py
"""

import inspect
import json
import os
import pkgutil
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path

import bot.slack.messages
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race
from bot.racedata.day_card import Card, Coverage, Outcomes
from bot.slack import subscribe_form
from bot.slack.listeners import app_home
from bot.slack.listeners.command_runner import explain
from bot.slack.messages import render
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.filter_words import described, in_markup, in_plain_words, in_words
from bot.slack.messages.answers.races_of_day import racecard, results_of_day
from bot.slack.messages.answers.subscription_answers import Unsubscribed, lost_by, unsubscribed, welcome
from bot.slack.messages.kit.layout import spoken, words_of
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, VOIDED, without_marks
from docs.pictures.draw import FOLDER, PAGE, WIDTHS, names
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems, view_problems
from tests.rows import over
from tests.unit.kept_text import as_read
from tests.unit.messages.kept_answers import ANSWERS, VIEWS, messages_of
from tests.unit.messages.kept_events import EVENTS
from tests.unit.messages.kept_values import KEMPTON, NOON, TO_COME

FILES = Path(__file__).parent / "snapshots"
MESSAGES = EVENTS | ANSWERS

PARTS = {"alert", "framed", "headed", "message", "paged", "told", "listing", "render"}
"""Helpers of builders: no message by themselves."""


def as_kept(message):
    newest, *between = message.forms
    plainest = [("plain_blocks", between.pop())] if between else []
    forms = [("blocks", newest), *(("plainer_blocks", form) for form in between), *plainest]
    return {"text": message.text} | {name: form.blocks for name, form in forms}


def check(name, value):
    rendered = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    file = FILES / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(rendered, encoding="utf-8")
    assert rendered == file.read_text(encoding="utf-8")


@over("name", MESSAGES)
def test_message_is_as_kept(name):
    messages = messages_of(MESSAGES[name]())
    for message in messages:
        for form in message.forms:
            assert block_problems(list(form.blocks), most=MESSAGE_BLOCKS) == []
    assert len(messages) == 1
    check(name, as_kept(messages[0]))


@over("name", ["card", "results_of_day", "abandonments_of_day", "next_off", "status", "usage_by_endpoint"])
def test_text_of_an_answer_has_all_words_for_a_screen_reader(name):
    (message,) = messages_of(ANSWERS[name]())
    assert message.text == spoken(words_of(message.in_sections().blocks))


@over("name", VIEWS)
def test_form_is_as_kept(name):
    view = VIEWS[name]()
    assert view_problems(view, view["type"]) == []
    check(name, {"view": view})


def builders(package, gives):
    """The public functions of the package, at any depth, with a given return type."""
    modules = [import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            returned = str(inspect.signature(function).return_annotation)
            if function.__module__ == module.__name__ and not name.startswith("_") and gives in returned:
                yield function


def test_every_builder_and_every_form_has_a_snapshot_and_each_snapshot_is_compared():
    assert {file.stem for file in FILES.glob("*.json")} == {*MESSAGES, *VIEWS}
    kept = {made.func for made in MESSAGES.values()} - {render}
    built = {one for one in builders(bot.slack.messages, "Message") if one.__name__ not in PARTS}
    assert kept == built | {explain}
    forms = {
        function
        for module in (app_home, subscribe_form)
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and re.search(r'"type": "(modal|home)"', inspect.getsource(function))
    }
    assert forms == {made.func for made in VIEWS.values()}


# Each builder of a message or a form has a picture at both widths, and docs/pictures/README.md shows the picture


MOST_BYTES = 3_000_000


def test_every_builder_has_a_small_picture_at_both_widths_and_each_is_shown_and_linked():
    for kind in names():
        for width in WIDTHS:
            path = FOLDER / f"{kind}-{width}.png"
            assert path.read_bytes().startswith(b"\x89PNG"), path
    assert {path.stem.rpartition("-")[0] for path in FOLDER.iterdir()} == set(names())
    assert len(names()) == len(set(names()))
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
    kept = EVENTS | ANSWERS | VIEWS
    assert {made.func for made in kept.values()} == {kept[name].func for name in names()}
    phone, desktop = WIDTHS
    linked = [f"[![](messages/{name}-{phone}.png)](messages/{name}-{desktop}.png)" for name in names()]
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\[!\[.+$", page, re.MULTILINE) == linked
    assert page.count(".png") == 2 * len(linked)


TALLEST = {
    150: "result result_late result_edited result_of_a_walkover result_superseded result_watched",
    220: "result_corrected result_in_two_versions result_after_abandonment result_with_places_marked_abandoned "
    "result_declared_void result_marked_abandoned racecard_corrected racecard_of_an_abandoned_meeting "
    "racecard_with_an_abandoned_race "
    "race_abandoned race_abandoned_of_another_day race_abandoned_bare race_abandoned_after_result "
    "race_abandoned_contradicted race_abandoned_corrected race_abandoned_of_a_meeting "
    "race_abandoned_to_be_acknowledged race_abandoned_acknowledged meeting_abandoned "
    "meeting_abandoned_with_races_of_its_own",
    800: "card card_of_a_course card_of_a_course_to_come next_off results_of_day results_of_a_course "
    "abandonments_of_day",
}
"""By pixels on a phone: a result, other news of a race or a meeting, and an answer of a screen."""


@over(("name", "most"), [(name, most) for most, kinds in TALLEST.items() for name in kinds.split()])
def test_message_is_short_on_a_phone(name, most):
    picture = (FOLDER / f"{name}-{WIDTHS[0]}.png").read_bytes()
    assert int.from_bytes(picture[20:24], "big") <= most


def test_every_alert_on_a_result_or_an_abandonment_is_measured():
    measured = " ".join(TALLEST.values()).split()
    assert {name for name in names() if name.startswith(("result", "race_", "meeting_"))} <= set(measured)


# Kept answers read aloud: lists of regions, counts of one, loud words behind their marks


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
    assert lost_by("U1", chosen, []).text.startswith(f"<@U1> ended {words} here.")


def test_regions_with_other_filters_are_named_apart_and_no_filter_gives_no_words():
    chosen = [*filters("AUS", "GB"), *filters("FR", topics=frozenset({Topic.RACECARDS})), *filters("IRE")]
    assert in_markup(*chosen) == "results and abandonments from AUS, GB and IRE; racecards from FR"
    courses = filters("GB", "IRE", courses=(Course(name="Ascot"),))
    assert in_markup(*courses, *filters("FR")).startswith("results and abandonments from GB and IRE, only Ascot; ")
    assert (in_markup(), described([]), in_plain_words([]), in_words()) == ("", "", "", "")
    # A region is escaped once.
    told = lost_by("U1", filters("A & B"), filters("A & B", topics=frozenset({Topic.RESULTS}))).text
    assert told.endswith("Abandonments from A &amp; B will not be posted here.")


OPEN = Outcomes(meetings=(replace(KEMPTON, each=tuple((race, RaceOutcome.OPEN) for race in KEMPTON.races)),))

PLACES = [
    (None, None, "in any region"),
    ("GB", None, "for GB"),
    ("GB", KEMPTON.course, "for Kempton (GB)"),
    (None, KEMPTON.course, "for Kempton (all regions)"),
]


@over(("region", "course", "where"), PLACES)
def test_none_is_said_of_a_place(region, course, where):
    empty = Card(DAY, region, course, Outcomes(), Coverage.COMPLETE)
    listed = f"No racing: the data service lists no races {where} on Fri 20 Nov."
    assert listed in results_of_day(empty, DayQuestion(AT_NOON)).text
    coming = f"No card has been published yet {where} on Fri 20 Nov."
    assert coming in results_of_day(empty, DayQuestion(datetime(2026, 11, 19, 12, tzinfo=UTC))).text
    races = Card(DAY, region, course, OPEN, Coverage.COMPLETE)
    lost = f"No abandonment is known {where} on Fri 20 Nov."
    assert lost in results_of_day(races, DayQuestion(AT_NOON, only_abandonments=True)).text


@over(("now", "is_named"), [(NOON, True), (NOON - timedelta(days=1), False)])
def test_next_off_of_a_meeting_is_named_on_the_day_alone(now, is_named):
    off = OffTime(text="14:30", off_at=NOON.replace(hour=14, minute=30))
    race = Race(off=off, race_date=f"{NOON:%Y-%m-%d}")
    outcomes = Outcomes(meetings=(replace(KEMPTON, each=((race, RaceOutcome.OPEN),)),))
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
    # Only the marks of our own words are taken off.
    line = f"15:00  {ABANDONED} *ABANDONED*, {ABANDONED} frost · {CONFLICTING} *1 CONFLICT*"
    assert without_marks(line) == f"15:00  ABANDONED, {ABANDONED} frost · 1 CONFLICT"


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
    assert {*EVENTS, "live_meeting", "waited", "waited_for_a_digest", "results_of_day"} <= set(SPOKEN)
    for sentence in (sentence for name in SPOKEN for sentence in sentences(name)):
        assert not ID.search(sentence), sentence
        assert not TECHNICAL.search(sentence), sentence
        assert all(len(NEGATIVE.findall(clause)) < 2 for clause in sentence.split(", ")), sentence
        assert len(sentence.split()) <= WORDS_MOST, sentence
