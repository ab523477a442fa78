"""Names as people type them: countries, courses and near misses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX, WrongWord, likely, refusal, wrong_words

COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB", country="England"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia"),
    KnownCourse(course_id="cr_3", name="Down Royal", region="IRE", country="Northern Ireland"),
]
COUNTRIES = [
    KnownCountry(country_code="IRE", name="Ireland"),
    KnownCountry(country_code="SWE", name="Sweden"),
    KnownCountry(country_code="AUS", name="Land of Plenty"),
    KnownCountry(),
]
LEXICON = Lexicon(("AUS", "GB", "HK", "IRE", "NO", "USA"), COURSES, COUNTRIES)
# What is typed: the code that it names, the code that it is called by, the code that it means.
REGIONS = {
    **dict.fromkeys(("Ireland", "ireland", "IE"), ("IRE", "IRE", "IRE")),
    **dict.fromkeys(("UK", "u.k.", "Great Britain", "great britain"), ("GB", "GB", "GB")),
    "Hong-Kong": ("HK", "HK", "HK"),
    "land of plenty": ("AUS", "AUS", "AUS"),
    **dict.fromkeys(("GB", "gb"), (None, "GB", "GB")),
    **dict.fromkeys(("usa", "Usa"), (None, "USA", "USA")),
    "irl": (None, "IRE", "IRE"),
    "NO": (None, "NO", "NO"),
    "Norway": (None, None, None),
    "Sweden": (None, None, None),
    "England": (None, None, "GB"),
    "western australia": (None, None, "AUS"),
    **dict.fromkeys(("Ascot", "Nowhere", ""), (None, None, None)),
}


def test_name_of_a_country_and_of_a_part_of_it_is_a_code_that_is_published():
    found = {
        typed: (LEXICON.region_named(typed), LEXICON.region_called(typed), LEXICON.region_meant(typed))
        for typed in REGIONS
    }
    assert found == REGIONS


PARTS = {
    "western australia": "AUS",
    "Northern Ireland": "IRE",
    "England": "GB",
    "Scotland": "GB",
    "Ireland": "",
    "GB": "",
}


def test_label_of_courses_is_part_of_their_regions():
    assert {typed: " ".join(LEXICON.parts_of(typed)) for typed in PARTS} == PARTS


def test_country_with_two_published_codes_is_none_of_them():
    both = Lexicon(("IRE", "IE"))
    assert both.region_named("Ireland") is None
    assert both.is_country("Ireland")
    named = Lexicon(("IRE", "IE"), (), [KnownCountry(country_code="IE", name="Ireland")])
    assert named.region_named("Ireland") == "IE"


def test_codes_that_differ_in_letter_case_alone_are_told_apart_by_it():
    both = Lexicon(("GB", "Gb"))
    assert [both.region_called(typed) for typed in ("GB", "Gb", "gb")] == ["GB", "Gb", None]
    assert both.region_meant("gb") is None


def test_nothing_is_a_region_where_no_list_is_known():
    assert Lexicon().region_named("Ireland") is None
    assert [Lexicon().is_country(typed) for typed in ("Ireland", "UK", "USA", "IRE")] == [True, True, False, False]
    assert dict(Lexicon().names) == {}


@given(st.text(max_size=20) | st.sampled_from([*LEXICON.names]))
def test_any_text_is_a_published_code_or_none(typed):
    assert LEXICON.region_named(typed) in {None, *LEXICON.regions}


def test_course_that_is_published_with_curly_signs_is_found_by_plain_ones():
    published = Lexicon(("FR",), (KnownCourse(course_id="cr_1", name="Font\u2019s\u00a0End \u2013 Park", region="FR"),))
    assert published.course_in_any_case("Font's End - Park") == published.courses[0].name


# Near misses of typed words, and the refusals that name them

NEAR = {"gb": "GB", "IRL": "IRE", "good to firm": "Good to Firm", "Yuilding": "Yielding"}
VOCABULARY = {word: word for word in ("GB", "IRE", "Newcastle", "Ffos Las", "results")} | {
    "Goodwood": "course:Goodwood"
}


def test_near_miss_is_found_and_nothing_where_nothing_is_near():
    assert {typed: likely(typed, ["GB", "IRE", "Good to Firm", "Yielding", "FR"])[0] for typed in NEAR} == NEAR
    assert likely("zzzz", ["GB", "IRE"]) == []


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("gb goodwod", [WrongWord("gb", ("GB",)), WrongWord("goodwod", ("course:Goodwood",))]),
        ("ffos la", [WrongWord("ffos la", ("Ffos Las",))]),
        ("Newcastle gb", [WrongWord("gb", ("GB",))]),
        ("zzzzz reslts", [WrongWord("zzzzz"), WrongWord("reslts", ("results",))]),
        ("Goodwood", [WrongWord("Goodwood", ("course:Goodwood",))]),
        ("rests", [WrongWord("rests", ("results",))]),
    ],
)
def test_each_wrong_word_has_its_nearest_names_and_right_words_are_left_out(words, wrong):
    assert wrong_words(words.split(), VOCABULARY) == wrong


def test_likeness_is_as_strict_as_asked():
    assert wrong_words(["rests"], VOCABULARY, 0.9) == [WrongWord("rests")]


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
