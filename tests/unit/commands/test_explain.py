import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.slack.commands.explain import explain, retyped


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
        ('subscribe GB course:"the Ascto"', "Ascto", "Ascot Heath", 'subscribe GB course:"the Ascot Heath"'),
        ("subscribe -course:Ascto", "Ascto", "Ascot", "subscribe -course:Ascot"),
        ("subscribe GBB,IRE", "GBB", "GB", "subscribe GB,IRE"),
        ("racecard gbx", "gb", "GB", None),
        ("racecard gb", "", "GB", None),
        ("racecard " + "x" * 3_000 + " gb", "gb", "GB", None),
    ],
)
def test_line_is_typed_anew_with_the_right_word(line, typed, value, right):
    assert retyped(line, typed, value) == right


def test_near_miss_has_a_button_for_each_thing_it_may_have_meant():
    error = CommandError("No region.", typed="gb", meant={"GB": "GB", "Ascot (GB)": "cr_1"})
    message = explain(error, "cmd-1", "racecard gb today")
    assert message.text == "No region."
    assert offers(message) == [("GB", "racecard GB today"), ("Ascot (GB)", "racecard cr_1 today")]


def test_refusal_without_a_likely_word_has_no_button():
    assert offers(explain(CommandError("No."), "cmd-1", "racecard gb")) == []
    assert offers(explain(CommandError("No.", typed="x", meant={"y": "y"}), "cmd-1", "")) == []


@given(line=st.text(max_size=80), typed=st.text(max_size=10), value=st.text(max_size=10))
def test_any_line_is_typed_anew_or_left(line, typed, value):
    right = retyped(line, typed, value)
    assert right is None or value in right
