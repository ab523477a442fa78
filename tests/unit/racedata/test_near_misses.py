"""Near misses of typed words, and the refusals that name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.near_misses import LOOKED_UP_MAX, WrongWord, refusal, wrong_words

VOCABULARY = {word: word for word in ("GB", "IRE", "Newcastle", "Ffos Las", "results")} | {
    "Goodwood": "course:Goodwood"
}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["gb", "goodwod"], [WrongWord("gb", ("GB",)), WrongWord("goodwod", ("course:Goodwood",))]),
        (["ffos", "la"], [WrongWord("ffos la", ("Ffos Las",))]),
        (["Newcastle", "gb"], [WrongWord("gb", ("GB",))]),
        (["zzzzz", "reslts"], [WrongWord("zzzzz"), WrongWord("reslts", ("results",))]),
        (["Goodwood"], [WrongWord("Goodwood", ("course:Goodwood",))]),
    ],
)
def test_each_wrong_word_has_its_nearest_names_and_right_words_are_left_out(words, wrong):
    assert wrong_words(words, VOCABULARY) == wrong


def test_likeness_is_as_strict_as_asked():
    assert wrong_words(["rests"], VOCABULARY, 0.9) == [WrongWord("rests")]
    assert wrong_words(["rests"], VOCABULARY) == [WrongWord("rests", ("results",))]


def test_words_after_so_many_are_wrong_and_not_looked_up():
    wrong = [f"reslts{number}" for number in range(LOOKED_UP_MAX)]
    found = wrong_words(["GB", *wrong, "resltsx", "IRE"], VOCABULARY)
    assert [one.typed for one in found] == [*wrong, "resltsx"]
    assert [bool(one.meant) for one in found] == [True] * LOOKED_UP_MAX + [False]


def test_single_wrong_word_has_buttons_and_several_have_none():
    single = refusal("Wrong.", [WrongWord("goodwod", ("course:Goodwood",))])
    assert (str(single), single.offers) == (
        "Wrong. Did you mean Goodwood?",
        {"Goodwood": {"goodwod": "course:Goodwood"}},
    )
    several = refusal("Wrong.", [WrongWord("gb", ("GB",)), WrongWord("zzzzz")], after="Regions: GB.")
    assert (str(several), several.offers) == ('Wrong. Did you mean GB for "gb"? Regions: GB.', {})


WORDS = st.sampled_from([*VOCABULARY, "gb", "ffos", "las", "goodwod"]) | st.text(min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=9))
def test_every_wrong_word_is_told_and_only_understood_words_are_meant(words):
    found = wrong_words(words, VOCABULARY)
    wrong = dict.fromkeys(word for word in words if VOCABULARY.get(word) != word)
    assert " ".join(one.typed for one in found) == " ".join(wrong)
    assert {meant for one in found for meant in one.meant} <= set(VOCABULARY.values())
