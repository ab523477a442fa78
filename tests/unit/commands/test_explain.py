import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.slack.commands.error_answers import explain, retyped
from bot.slack.commands.tokens import join, split


def offers(message):
    return [
        (button["text"]["text"], button["value"])
        for block in message.blocks
        if block["type"] == "actions"
        for button in block["elements"]
    ]


@pytest.mark.parametrize(
    ("line", "typed", "value", "right"),
    [
        ("racecard gb today", "gb", "GB", "racecard GB today"),
        ("racecard today Ascto  Heath", "Ascto Heath", "Ascot Heath", 'racecard today "Ascot Heath"'),
        ('subscribe GB course:"Ascto"', "Ascto", "Ascot Heath", 'subscribe GB course:"Ascot Heath"'),
        ("subscribe course:'Ascto Heth'", "Ascto Heth", "Ascot Heath", 'subscribe course:"Ascot Heath"'),
        ("racecard 'Ascto Heth' GB", "Ascto Heth", "Ascot Heath", 'racecard "Ascot Heath" GB'),
        ("subscribe course:'gb  end' gb", "gb", "GB", 'subscribe course:"gb end" GB'),
        ("subscirbe GB", "subscirbe", "subscribe", "subscribe GB"),
        ("subscribe GB goodwood", "goodwood", "course:Ffos Las", 'subscribe GB course:"Ffos Las"'),
        ("subscribe -course:Ascto", "Ascto", "Ascot", "subscribe -course:Ascot"),
        ("subscribe GBB,IRE", "GBB", "GB", "subscribe GB IRE"),
        ("racecard ffos gb la", "ffos la", "Ffos Las", 'racecard "Ffos Las" gb'),
        ("subscribe course:ffos GB la", "ffos la", "Ffos Las", 'subscribe course:"Ffos Las" GB'),
        ("racecard ffos gb", "ffos la", "Ffos Las", None),
        ("racecard gbx", "gb", "GB", None),
        ("racecard gb", "", "GB", None),
        ("racecard " + "x" * 3_000 + " gb", "gb", "GB", None),
        ("racecard " + " " * 3_000 + " gb", "gb", "GB", None),
        ("subscribe course:GBB GBB", "GBB", "GB", "subscribe course:GBB GB"),
        ("subscribe course: GBB GBB", "GBB", "GB", "subscribe course: GBB GB"),
        ("subscribe gb course:gb", "course:gb", "Goodwood", "subscribe gb course:Goodwood"),
        ("subscribe course:Ascto -course:Ascto", "course:Ascto", "Ascot", "subscribe course:Ascot -course:Ascot"),
        ("racecard Ascto", "course:Ascto", "Ascot", "racecard Ascot"),
        ("racecard course:gb", "gb", "GB", "racecard course:GB"),
        ("subscribe gb,ire gb", "gb", "GB", "subscribe GB ire GB"),
        ("subscribe course:gb,ire gb", "gb", "GB", "subscribe course:gb,ire GB"),
        ("subscribe region:Ascto", "Ascto", "course:Ascot", "subscribe course:Ascot"),
    ],
)
def test_line_is_typed_anew_with_the_right_word(line, typed, value, right):
    assert retyped(line, {typed: value}) == right


def test_near_miss_has_a_button_for_each_thing_it_may_have_meant():
    error = CommandError("No region.", typed="gb", meant={"GB": "GB", "Ascot (GB)": "cr_1"})
    message = explain(error, "cmd-1", "racecard gb today")
    assert message.text == "No region."
    assert offers(message) == [("GB", "racecard GB today"), ("Ascot (GB)", "racecard cr_1 today")]


@pytest.mark.parametrize("line", ["unsubscribe gb", "unsubscirbe GB"])
def test_button_that_ends_something_asks_first(line):
    error = CommandError("No.", offers={"right": {"gb": "GB"}, "unsubscribe": {"unsubscirbe": "unsubscribe"}})
    (button,) = explain(error, "cmd-1", line).blocks[-1]["elements"]
    assert button["value"] == "unsubscribe GB"
    assert button["confirm"]["text"]["text"] == "This channel would no longer receive it: /racing unsubscribe GB."


def test_button_that_ends_nothing_asks_nothing():
    error = CommandError("No.", typed="gb", meant={"GB": "GB"})
    (button,) = explain(error, "cmd-1", "subscribe gb").blocks[-1]["elements"]
    assert "confirm" not in button


def test_refusal_without_a_likely_word_has_no_button():
    assert offers(explain(CommandError("No."), "cmd-1", "racecard gb")) == []
    assert offers(explain(CommandError("No.", typed="x", meant={"y": "y"}), "cmd-1", "")) == []


@given(line=st.text(max_size=80), typed=st.text(max_size=10), value=st.text(max_size=10))
def test_any_line_is_typed_anew_or_left(line, typed, value):
    right = retyped(line, {typed: value})
    assert right is None or value in right


NAMES = st.from_regex(r"[A-Za-z][a-z']{0,5}[a-z]( [A-Z][a-z']{0,4}[a-z])?", fullmatch=True)
QUOTES = st.sampled_from(['""', "''"])
SPACES = st.sampled_from([" ", "  ", "\t"])


@given(
    words=st.lists(st.tuples(st.sampled_from(["", "course:", "-course:"]), NAMES, QUOTES), min_size=1, max_size=5),
    spaces=SPACES,
    right=NAMES,
    data=st.data(),
)
def test_button_runs_what_was_typed_with_the_right_word_whatever_the_quotes_and_spaces(words, spaces, right, data):
    line = spaces.join(["subscribe", *(f"{name}{quotes[0]}{word}{quotes[1]}" for name, word, quotes in words)])
    wrong = data.draw(st.sampled_from([word for _, word, _ in words]))
    runs = retyped(line, {wrong: right})
    assert runs is not None
    # What is wrong as a word by itself is right as the name of a course, for all we know.
    is_bare = any(word == wrong and not name for name, word, _ in words)
    mended = [right if word == wrong and not (name and is_bare) else word for name, word, _ in words]
    assert split(runs) == ["subscribe", *(name + word for (name, _, _), word in zip(words, mended, strict=True))]
    assert retyped(runs, {right: right}) == runs


@given(st.text(max_size=60) | st.text(alphabet="a'\"“\u2018: ", max_size=30))
def test_words_that_were_split_are_joined_to_a_text_of_the_same_words(text):
    words = split(text)
    assert split(join(words)) == words


def test_word_that_is_wrong_as_a_region_and_as_a_course_is_mended_as_each():
    right = {"Ascto": "course:Ascot", "course:Ascto": "Ascot"}
    assert retyped("subscribe Ascto -course:Ascto", right) == "subscribe course:Ascot -course:Ascot"


def test_several_wrong_words_are_one_button():
    error = CommandError("No.", offers={"GB IRE": {"gb": "GB", "ire": "IRE"}})
    assert offers(explain(error, "cmd-1", "subscribe gb,ire results")) == [("GB IRE", "subscribe GB IRE results")]
