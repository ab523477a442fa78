"""Text as phones, keyboards and copied answers write text, in plain characters."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.typed_text import folded, tidy

# Code points, in hexadecimal, between characters; the text, {} for the character; and the plain text.
SIGNS = {
    "dropped": ("{}li{}st{}", "list", """
        AD 34F 61C 200B 200C 200D 200E 200F 202A 202E 2060 2066 FE0F FEFF 0 115F 180E 3164 E0020 E0101"""),
    "a space": ("GB{}results", "GB results", "9 A A0 1680 2002 2009 2028 202F 2800 3000"),
    "a hyphen": ("{}course:York", "-course:York", "2010 2011 2012 2013 2014 2015 2212 FE63 FF0D"),
    "a single quote": ("Fairyhouse{}s End", "Fairyhouse's End", "2018 2019 201B 2BC 2032 FF07 60 B4"),
    "a double quote": ("{}Ascot Heath{}", '"Ascot Heath"', "201C 201D 201E AB BB 2039 203A 301D 301E FF02 2033"),
}  # fmt: skip


@pytest.mark.parametrize("plain", SIGNS)
def test_signs_of_every_kind_are_plain(plain):
    text, expected, codes = SIGNS[plain]
    found = {code: tidy(text.replace("{}", chr(int(code, 16)))) for code in codes.split()}
    assert found == dict.fromkeys(codes.split(), expected)


@pytest.mark.parametrize(
    ("text", "plain"), [("14\u223630", "14:30"), ("\uff11\uff14\uff1a\uff13\uff10", "14:30"), ("Cafe\u0301", "Café")]
)
def test_copied_colons_wide_letters_and_accents_by_themselves_are_plain(text, plain):
    assert tidy(text) == plain


@given(st.text(max_size=60))
def test_tidy_text_stays_as_it_is_and_shows_all_its_characters(text):
    plain = tidy(text)
    assert tidy(plain) == plain
    assert not {unicodedata.category(one) for one in plain.replace("-", "")} & {"Cf", "Cc", "Cs", "Pd"}


def test_published_name_and_typed_name_are_the_same_whatever_their_signs():
    assert folded("Fontwell\u2019s\u00a0End \u2013 Park") == folded("fontwell's end - park")
