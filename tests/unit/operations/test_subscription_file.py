"""A file of subscriptions: a written file is read back, and a mistake is told with the place."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.filters import ALL_REGIONS, ChannelFilter, meaningful
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.errors import SubscriptionFileWrong
from bot.events.event import Topic
from bot.events.races import Course
from bot.operations.subscription_file import LONGEST_WORD, as_data, as_json, as_yaml, read
from tests.rows import over

WORDS = st.text(
    st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" :#-[]{}'\"&*!|>%@`,?"), min_size=1, max_size=30
).filter(lambda word: word.strip() == word and word not in {"all", ALL_REGIONS} and word.isprintable())
COURSES = st.builds(Course, name=WORDS, course_id=st.none() | WORDS, country=st.none() | WORDS)
IDS = st.from_regex(r"[CGD][A-Z0-9]{1,10}", fullmatch=True)


@st.composite
def filters(draw):
    names = draw(st.lists(COURSES, max_size=4, unique_by=(lambda one: one.name, lambda one: one.course_id or one.name)))
    cut = draw(st.integers(0, len(names)))
    chosen = ChannelFilter(
        region=draw(WORDS | st.sampled_from([ALL_REGIONS, "NO", "yes", "1", "null", "~", "2026-11-22"])),
        topics=draw(st.frozensets(st.sampled_from(Topic), min_size=1)),
        courses=tuple(names[:cut]),
        not_courses=tuple(names[cut:]),
        mentions=draw(st.sampled_from([(), ("here",), ("U1", "S1", "here")])),
    )
    return meaningful(chosen)


@given(st.dictionaries(IDS, st.lists(filters(), min_size=1, max_size=3, unique_by=lambda one: one.region), max_size=4))
def test_what_is_written_is_read_back(channels):
    there = [(channel_id, chosen) for channel_id, some in channels.items() for chosen in some]
    for text in (as_yaml(as_data(there)), as_json(as_data(there))):
        found = {(channel_id, chosen.region): chosen for channel_id, chosen in read(text).subscriptions}
        assert found == {(channel_id, chosen.region): chosen for channel_id, chosen in there}


def problems(text):
    with pytest.raises(SubscriptionFileWrong) as refused:
        read(text)
    return refused.value.problems


GOOD = """version: 1
channels:
  C1:
  - region: NO
    topics: [results]
"""


def test_norway_is_no_truth_value():
    ((_, chosen),) = read(GOOD).subscriptions
    assert chosen.region == "NO"


def test_all_problems_are_told_at_once_with_their_places():
    text = """version: 2
chanels: {}
channels:
  gb-racing:
  - region: GB
    topics: [result, abandonments]
    only: [Ascot, {country: GB}, {town: York}]
    mentions: ["@here"]
  C1:
  - topics: results
    region: [GB]
  - region: IRE
    topics: []
  - {region: GB, topics: [results], only: [Ascot], except: [Ascot]}
  C2:
  - {region: all, topics: [results]}
  - {region: all, topics: [racecards]}
watches:
  C1: {horse: ["()", .], hors: [x]}
"""
    assert problems(text) == (
        "version: must be 1",
        "channels.gb-racing: gb-racing is no channel id, such as C0123456789",
        "channels.gb-racing.0.topics.0: result is no topic; topics are results, abandonments, racecards",
        "channels.gb-racing.0.only.1: a course needs a name or an id",
        "channels.gb-racing.0.only.2: town is unknown; known are name, id, country",
        "channels.gb-racing.0.mentions.0: @here is no mention: give here, or the id of a person or of a user group",
        "channels.C1.0.region: must be a word",
        "channels.C1.0.topics: must be a list",
        "channels.C1.1: topics are missing",
        "channels.C1.2: Ascot is in `only` and in `except`",
        "channels.C2: the region all stands twice",
        "watches.C1.horse.1: . is no name",
        "watches.C1.hors: must be horse, trainer or jockey",
        "chanels: is unknown; known are version, channels, watches",
    )


@over(
    ("text", "told"),
    [
        ("", "must have names"),
        ("- 1", "must have names"),
        ("version: 1\nchannels: [", "line 2: no YAML"),
        ("version: 1\nchannels: {}\n---\nversion: 1", "line 3: no YAML"),
        ("channels: {}", "version: is missing"),
        ("version: 1", "channels: is missing"),
        ("version: 1\nchannels:\n  C1: {region: GB}", "C1: must be a list"),
        ("version: 1\nchannels: {C1: [], C1: []}", "a name stands twice"),
        ("version: 1\nchannels: *nowhere", "line 2: no YAML"),
        (GOOD + '  - {region: "a\\0b", topics: [results]}', "C1.1.region: is too long, or has characters"),
        (GOOD + f"  - {{region: {'x' * (LONGEST_WORD + 1)}, topics: [results]}}", "C1.1.region: is too long"),
        (GOOD + "  - {region: GB, topics: [results], paused: yes}", "C1.1.paused: is unknown; known are region"),
        ("\x00", "no YAML"),
        ("[" * 1_000, "no YAML"),
    ],
)
def test_file_that_is_wrong_is_refused_with_the_place(text, told):
    assert told in problems(text)[0]


def test_aliases_cost_nothing():
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))]
    assert len(problems("\n".join(lines))) > 1


def test_empty_channels_are_no_subscriptions():
    assert read("version: 1\nchannels:\n").subscriptions == []
    assert read("version: 1\nchannels: {C1: [], C2: }\n").subscriptions == []


def test_watches_are_read_as_written_and_a_file_may_say_nothing_of_watches():
    there = [("C1", WatchedName(WatchKind.HORSE, "No (IRE)")), ("C1", WatchedName(WatchKind.JOCKEY, "R. Moore"))]
    for text in (as_yaml(as_data([], there)), as_json(as_data([], there))):
        assert read(text).watches == there
    assert read("version: 1\nchannels: {}").watches is None


def test_exported_yaml_is_plain_to_read():
    chosen = ChannelFilter(
        region="GB",
        topics=frozenset({Topic.RESULTS}),
        courses=(Course(name="York"), Course(name="Ascot", course_id="cr_1")),
    )
    text = as_yaml(as_data([("C2", chosen), ("C1", chosen.model_copy(update={"region": ALL_REGIONS, "courses": ()}))]))
    assert list(yaml.safe_load(text)["channels"]) == ["C1", "C2"]
    assert "topics: [results]" in text
    assert "{name: Ascot, id: cr_1}" in text
    assert "region: all" in text
