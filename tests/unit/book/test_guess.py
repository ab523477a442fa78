"""What words that are wrong together may have meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.guess import GUESSED_MAX, guess

VOCABULARY = {word: word for word in ("GB", "IRE", "Newcastle", "Ffos Las", "results")} | {
    "Goodwood": "course:Goodwood"
}


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["gb", "goodwod"], {"GB Goodwood": {"gb": "GB", "goodwod": "course:Goodwood"}}),
        (["ffos", "la"], {"Ffos Las": {"ffos la": "Ffos Las"}}),
        (["ffos", "la", "gb"], {"Ffos Las GB": {"ffos la": "Ffos Las", "gb": "GB"}}),
        (["Newcastle", "gb"], {"GB": {"gb": "GB"}}),
        (["zzzzz", "reslts"], {"results": {"reslts": "results"}}),
        (["zzzzz", "yyyyy"], {}),
        (["Goodwood"], {"Goodwood": {"Goodwood": "course:Goodwood"}}),
        (
            ["gb", "ire", "GB", "goodwod", "zzzzz", "gb"],
            {"GB IRE Goodwood": {"gb": "GB", "ire": "IRE", "goodwod": "course:Goodwood"}},
        ),
    ],
)
def test_guess_mends_each_phrase_and_leaves_what_is_right_or_like_nothing(words, offers):
    assert guess(words, VOCABULARY).offers == offers


def test_guess_is_as_strict_as_it_is_asked_to_be():
    assert guess(["rests"], VOCABULARY, 0.9).offers == {}
    assert guess(["rests"], VOCABULARY).offers == {"results": {"rests": "results"}}


def test_words_after_so_many_are_wrong_and_not_guessed_at():
    wrong = [f"reslts{number}" for number in range(GUESSED_MAX)]
    found = guess(["GB", *wrong, "resltsx", "IRE"], VOCABULARY)
    assert [phrase.typed for phrase in found.wrong] == [*wrong, "resltsx"]
    assert [bool(phrase.meant) for phrase in found.wrong] == [True] * GUESSED_MAX + [False]


WORDS = st.sampled_from([*VOCABULARY, "gb", "ffos", "las", "goodwod"]) | st.text(min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=7))
def test_guess_accounts_for_every_word_and_offers_only_what_is_understood(words):
    found = guess(words, VOCABULARY)
    assert " ".join(phrase.typed for phrase in found.phrases) == " ".join(words)
    for right in found.offers.values():
        assert set(right) <= {phrase.typed for phrase in found.wrong}
        assert set(right.values()) <= set(VOCABULARY.values())
