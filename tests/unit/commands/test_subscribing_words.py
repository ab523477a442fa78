"""What follows /racing subscribe, list and audit: any text is read, or answered with what would have been right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.filters import HERE, is_mention
from bot.errors import CommandError
from bot.events.event import Topic
from bot.slack.commands.audit import read_target
from bot.slack.commands.filter_words_typed import TOPIC_WORDS, read_typed_filter

TYPED = st.text() | st.sampled_from(
    ["<@U1|alice>", "<#C1|gb>", "all", "ALL", "@alice", 'course:"', '-course:""', "x" * 10_000]
)


@given(st.lists(TYPED, max_size=5).map(" ".join))
def test_subscribe_reads_any_text(text):
    try:
        wanted = read_typed_filter(text)
    except CommandError:
        return
    assert all(wanted.courses)
    assert all(wanted.not_courses)
    assert all(wanted.regions)
    assert wanted.topics <= set(Topic)


@given(st.permutations(["GB", "IRE", "results", 'course:"Ascot Heath"', "-course:York", '"cards"']))
def test_subscribe_takes_its_words_in_any_order(words):
    wanted = read_typed_filter("  ".join(words))
    assert set(wanted.regions) == {"GB", "IRE"}
    assert wanted.topics == {Topic.RESULTS, Topic.RACECARDS}
    assert (wanted.courses, wanted.not_courses) == (("Ascot Heath",), ("York",))


@pytest.mark.parametrize("text", ["course:", 'GB course:""', "GB course: -course:York", "results -course: "])
def test_subscribe_takes_no_course_without_a_name(text):
    with pytest.raises(CommandError, match=r"Nothing follows .-?course:"):
        read_typed_filter(text)


@pytest.mark.parametrize(
    ("text", "regions", "topics", "courses"),
    [
        ("GB,results", ("GB",), {Topic.RESULTS}, ()),
        ("GB,IRE, cards", ("GB", "IRE"), {Topic.RACECARDS}, ()),
        ('GB course: "Ascot Heath"', ("GB",), set(), ("Ascot Heath",)),
        ("course:'Ascot Heath' region:GB", ("GB",), set(), ("Ascot Heath",)),
        ("'GB' course:'Ascot Heath'", ("GB",), set(), ("Ascot Heath",)),
        ("course:Fairyhouse's GB", ("GB",), set(), ("Fairyhouse's",)),
    ],
)
def test_subscribe_reads_commas_quotes_and_spaces_as_they_are_typed(text, regions, topics, courses):
    wanted = read_typed_filter(text)
    assert (wanted.regions, wanted.topics, wanted.courses) == (regions, topics, courses)


def test_every_topic_has_a_word_of_its_own():
    assert set(TOPIC_WORDS.values()) == set(Topic)


@given(TYPED)
def test_audit_reads_any_text_or_says_what_would_be_right(text):
    try:
        channel_id, user_id, words = read_target(text)
    except CommandError:
        return
    assert not (channel_id and user_id)
    assert words


def test_audit_of_a_name_says_that_ids_are_taken():
    with pytest.raises(CommandError, match="/racing audit all"):
        read_target("@alice")


def test_audit_takes_ids_bare_and_as_slack_writes_them():
    assert read_target("C1A")[:2] == read_target("<#C1A|gb-racing>")[:2] == ("C1A", None)
    assert read_target("U1A")[:2] == read_target("<@U1A>")[:2] == (None, "U1A")
    assert read_target("All")[:2] == (None, None)


@given(
    st.text()
    | st.sampled_from(
        ["here", "U1", "S1", "W1", "channel", "everyone", "U1>", "<!here>", "u1", "U\N{ARABIC-INDIC DIGIT ONE}"]
    )
)
def test_mention_is_an_id_or_here_and_nothing_else(text):
    if is_mention(text):
        assert text == HERE or (text[0] in "USW" and text.isascii() and text.isalnum() and text.isupper())
