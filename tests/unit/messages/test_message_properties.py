"""Whatever comes in a payload: no builder raises, every limit holds, and no data acts on Slack."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change
from bot.events.kinds import DECLARATIONS
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import WatchedRunner
from bot.outbox.message_view import AskedInView, Superseded
from bot.racedata.client.records import KnownCountry, KnownCourse
from bot.racedata.day_views import KnownName
from bot.racedata.month_quota import UsageRow
from bot.slack.commands.watch import NAMES_MAX
from bot.slack.messages import Corrected, MessageContext, render
from bot.slack.messages.answers.watch_answer import NowWatched, watched
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.native_blocks import CELL_MAX
from bot.slack.messages.kit.text import MESSAGE_MAX, TEXT_MAX, size
from sandbox.slack.block_rules import MESSAGE_BLOCKS, NEW_BLOCKS, block_problems
from tests.rows import over
from tests.said import as_posted
from tests.unit.messages import kept_values
from tests.unit.messages.kept_answers import ANSWERS, messages_of
from tests.unit.messages.kept_events import EVENTS

OUR_TOKENS = re.compile(
    r"<!date\^-?\d+\^\{time(?:_secs)?\}\|\d\d:\d\d(?::\d\d)? UTC>"
    r"|<https://[^<>|]+\|(?:earlier message|later message|see its message)>"
    r"|<@U7>|<!subteam\^S7>|<!here>"
)
OUR_TITLE = re.compile(r"\A\*(.*)\*\u2003", re.MULTILINE)
"""The race of a result in bold; the data is checked as all other data."""

OUR_FORMATTING = re.compile(r"calls it `[^`]+`\.|🛑 \*(?:ABANDONED|POSTPONED)\*")
ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")
UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x09\x0b-\x1f]")
NOW = datetime(2026, 11, 20, 14, 32, tzinfo=UTC)

HOSTILE = st.sampled_from(
    [
        "<!channel>",
        "<@U1>",
        "<#C1|general>",
        "<https://evil.example|Kempton>",
        "<!date^0^{date}|x>",
        "*x*",
        "_x_ ~y~ `z` ```w```",
        "> quoted",
        ":skull:",
        "\u202edlrow\u202c\u2066",
        "   \n\t",
        "line\nline\r\nline",
        "&" * 10_000,
        "<" * 10_000,
        "x" * 10_000,
        "🐎" * 10_000,
        '"\\' * 5_000,
        "Ünïcödé & Sons",
    ]
)
WORDS = HOSTILE | st.text(max_size=30).filter(lambda text: "None" not in text)
TEXTS, PLACES = st.none() | WORDS, st.none() | WORDS | st.sampled_from(["1", "2", "11"])
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))])
MOMENTS = st.none() | st.datetimes(timezones=ZONES)
NUMBERS = st.none() | st.integers() | st.just(10**5_000)
KINDS = st.none() | st.sampled_from(EventKind)


def built(model, **others):
    """With a stranger's words in each field of text."""
    return st.builds(model, **{name: TEXTS for name in model.model_fields if _may_be_text(model, name)} | others)


def _may_be_text(model, name):
    return model.model_fields[name].annotation == (str | None)


RUNNERS = built(Runner, position=st.sampled_from(["1", "2", "2=", "PU", "0", None]) | TEXTS)
HOW_MANY = st.sampled_from([0, 1, 3, 40, 500])


@st.composite
def many(draw, values):
    """A few of the values, again and again up to the number of a race or card."""
    few = draw(st.lists(values, min_size=1, max_size=3))
    return tuple(few[n % len(few)] for n in range(draw(HOW_MANY)))


def races(runners):
    off = built(OffTime, off_at=MOMENTS)
    return built(Race, course=built(Course), off=off, abandoned=st.booleans(), field_size=NUMBERS, runners=runners)


ANY_EVENTS = built(
    RacingEvent,
    key=HOSTILE,
    kind=KINDS,
    race=races(many(RUNNERS)),
    races=many(races(st.just(()))),
    occurred_at=MOMENTS | st.datetimes(),
    sequence=NUMBERS,
)
LOST = built(RacingEvent, key=HOSTILE, kind=st.just(EventKind.RACE_ABANDONED), race=races(st.just(())))
"""The abandonments of races in a meeting's message, without runners and further races."""

CHANGES = st.lists(
    st.builds(
        Change,
        field=st.sampled_from(sorted({path for declared in DECLARATIONS.values() for path in declared.fields})) | WORDS,
        of=TEXTS,
        before=PLACES,
        now=PLACES,
        rings=st.booleans(),
    ),
    max_size=4,
).map(tuple)
CORRECTED = st.none() | st.builds(Corrected, at=st.just(NOW), changes=CHANGES, order_unknown=st.booleans())
SUPERSEDED = st.builds(Superseded, at=st.just(NOW), message_ts=st.none(), by=KINDS, disagrees=st.booleans())
LINKS = st.sampled_from([None, "https://x.slack.com/p1?a=1&b=2", "https://x|<!channel>", "x" * 10_000])
CONTEXTS = st.builds(
    MessageContext,
    received_at=st.just(NOW),
    now=st.datetimes(timezones=st.just(UTC)),
    late_after_s=st.sampled_from([0.0, 600.0, float("nan")]),
    changes=CHANGES,
    previous_link=LINKS,
    order_unknown=st.booleans(),
    may_be_repeat=st.booleans(),
    contradicts=KINDS,
    corrected=CORRECTED,
    repeated=CORRECTED,
    superseded=st.none() | SUPERSEDED,
    later_link=LINKS,
    in_meeting=st.booleans(),
    meeting_link=LINKS,
    lost=st.lists(LOST, max_size=2).map(tuple),
    settled=st.frozensets(HOSTILE, max_size=2),
    partly_run=st.booleans(),
    others=st.lists(races(st.just(())), max_size=3).map(tuple),
    disputed=st.frozensets(HOSTILE, max_size=2),
    watched=many(
        st.builds(
            WatchedRunner,
            horse=TEXTS,
            by=st.lists(HOSTILE, max_size=3).map(tuple),
            off=TEXTS,
            position=TEXTS | st.sampled_from(["1", "2=", "PU"]),
            is_lost=st.booleans(),
        )
    ),
    country=st.none() | st.builds(KnownCountry, country_code=TEXTS, name=TEXTS, full_result_order=st.just(False)),
    asked=st.sampled_from([None, AskedInView("k"), AskedInView("k", "U7", NOW)]),
    mentions=st.lists(HOSTILE | st.sampled_from(["U7", "S7", "here", "channel", "U7>", "everyone"]), max_size=4).map(
        tuple
    ),
)

WORST = Race(
    **dict.fromkeys(("race_id", "region", "race_date", "title", "number", "race_class", "race_type"), "&" * 10_000),
    **dict.fromkeys(("distance", "going", "surface", "status", "reason"), "🐎" * 10_000),
    course=Course(name="<!channel>" * 1_000),
    off=OffTime(text="<" * 10_000, off_at=NOW),
    runners=tuple(
        Runner(horse="<" * 10_000, position=f"{n}>", jockey="&" * 999, trainer="*" * 999) for n in range(500)
    ),
)
WORST_CONTEXT = MessageContext(
    received_at=NOW,
    now=NOW + timedelta(days=400),
    late_after_s=0,
    changes=tuple(Change(field="&" * 500, of="*" * 500, before="<" * 500, now=">" * 500) for _ in range(40)),
    previous_link="https://" + "&" * 480,
    order_unknown=True,
    may_be_repeat=True,
    contradicts=EventKind.MEETING_ABANDONED,
)


def texts_of(value):
    """The text objects of blocks, at any depth."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from texts_of(inner)
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value


def check_text(text):
    left = OUR_TOKENS.sub("", text)
    assert not set("<>") & set(left)
    assert not ENTITY.search(left)
    assert not UNSEEN.search(left)
    assert "None" not in left


def check_formatting(text):
    data = OUR_FORMATTING.sub("", OUR_TOKENS.sub("", OUR_TITLE.sub(r"\1", text)))
    assert not set("*~`") & set(data)
    assert not re.search(r"(?<!\w)_|_(?!\w)", data)
    assert not any(line.startswith("&gt;") for line in data.splitlines())


def check_shown(shown):
    """Slack reads no markup in raw cells of a table, so a raw cell shows the published letters without escapes."""
    text = shown["text"]
    if shown["type"] == "raw_text":
        assert 1 <= size(text) <= CELL_MAX
        assert not UNSEEN.search(text)
        assert "None" not in text
        return
    check_text(text)
    assert shown.get("verbatim") is True if shown["type"] == "mrkdwn" else shown["emoji"] is False
    if shown["type"] == "mrkdwn":
        check_formatting(text)


def says_lost(event, context):
    race = event.race
    match event.kind:
        case EventKind.RESULT_RECEIVED:
            return race.outcome() is RaceOutcome.ABANDONED and not race.is_void
        case EventKind.RACECARD_PUBLISHED:
            lost = any(one.abandoned for one in event.races)
            is_news = not context.changes or any(one.marks_lost for one in context.changes)
            is_whole = bool(event.races) and all(one.abandoned for one in event.races)
            is_of_meeting = context.in_meeting and (event.is_of_meeting or not context.partly_run)
            return bool(race.abandoned) or is_of_meeting or is_whole or (lost and is_news)
    return event.is_abandonment


def check(event, context):
    message = render(event, context)
    assert as_posted(message.text).startswith("ABANDONED: ") is says_lost(event, context)
    for form in message.forms:
        check_form(event, form)
        for newer in NEW_BLOCKS & form.kinds:
            assert event.kind in {EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED}
            assert form.plainer, newer


def check_form(event, message):
    assert 1 <= size(message.text) <= TEXT_MAX
    assert "\n" not in message.text
    check_text(message.text)
    check_formatting(message.text)
    assert block_problems(list(message.blocks), most=MESSAGE_BLOCKS) == []
    assert weight(message.blocks) <= MESSAGE_MAX
    assert [block["type"] for block in message.blocks if block["type"] != "actions"][-1] == "context"
    for shown in texts_of(message.blocks):
        check_shown(shown)
    json.dumps(message.blocks).encode()


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY_EVENTS, CONTEXTS)
@example(RacingEvent(key=""), WORST_CONTEXT)
def test_message_holds_every_limit_and_data_does_nothing(event, context):
    check(event, context)


LISTING = (EventKind.RACECARD_PUBLISHED, EventKind.MEETING_ABANDONED)


@over(
    ("kind", "listed"),
    [*((kind, 500) for kind in (*EventKind, None)), *((kind, listed) for kind in LISTING for listed in (0, 1, 40))],
)
def test_message_of_the_longest_fields_holds_every_limit(kind, listed):
    event = RacingEvent(key="k", kind=kind, name="<" * 999, race=WORST, races=(WORST,) * listed)
    event = event.model_copy(update={"reason": "&" * 10_000, "data_as_of": "&" * 5_000})
    check(event, WORST_CONTEXT)


# Every kept message again, with a stranger's words in the place of all data: the words do nothing


OF_STRANGERS = (Race, Runner, Course, OffTime, UsageRow, KnownCourse, KnownCountry, RacingEvent, WatchedRunner)
"""Values made of the data service's words. An event's key is of our own making. People type names to watch."""

OURS = {"key"}

STRANGE = [
    "<!channel>",
    "<@U666>",
    "<https://evil.example|Kempton>",
    "*bold* _leaning_ ~gone~ `code`",
    r"{name} {} \g<9> %s",
    "\u202edlrow\u202c \u200b\x07",
    *("&" * 10_000, "<" * 10_000, "🐎" * 10_000, ""),
]
ACTS = re.compile("<!channel>|<@U666>|<https://evil|[\u202a-\u202e\u2066-\u2069\u200b\x07]")


def with_words(value, words, times=1):
    """The value with other words in place of a stranger's words, and in each text field that is empty.

    Each list comes `times` times over, and a list within the list an eighth of that. A pair of two kinds stays a pair.
    """
    if isinstance(value, OF_STRANGERS):
        said = {name: getattr(value, name) for name in type(value).model_fields if name not in OURS}
        missing = {name: words for name, one in said.items() if one is None and _may_be_text(type(value), name)}
        return value.model_copy(update={**{name: _said(one, words, times) for name, one in said.items()}, **missing})
    if isinstance(value, WatchedName):
        return replace(value, name=words)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: with_words(getattr(value, one.name), words, times) for one in fields(value)})
    if isinstance(value, tuple | list):
        are_alike = len({type(one) for one in value}) == 1 and any(one is not None for one in value)
        inner = max(1, times // 8) if are_alike else times
        return type(value)([with_words(one, words, inner) for one in value] * (times if are_alike else 1))
    return value


def _said(value, words, times):
    return words if type(value) is str else with_words(value, words, times)


def shown_words(blocks):
    """The words of the blocks, without raw cells, where Slack reads no markup, and without the bot's own values."""
    texts, waiting = [], [blocks]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            hidden = {"value", "action_id"} | ({"text"} if value.get("type") == "raw_text" else set())
            waiting += [inner for name, inner in value.items() if name not in hidden]
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, str):
            texts.append(value)
    return "\n".join(texts)


def test_answer_on_as_many_names_as_a_line_takes_holds_every_limit_and_names_each():
    lost = KnownName(True, [(one, RaceOutcome.ABANDONED) for one, _ in kept_values.NOW_WATCHED.known.coming] * 20)
    jockeys = [WatchedName(WatchKind.JOCKEY, f"Jockey {number}") for number in range(NAMES_MAX)]
    answer = watched([NowWatched(one, lost) for one in jockeys], NOW, is_own=False)
    assert block_problems(list(answer.blocks), most=MESSAGE_BLOCKS) == []
    assert weight(answer.blocks) <= MESSAGE_MAX
    for name, block in zip(jockeys, answer.blocks[1:], strict=False):
        assert block["text"]["text"].startswith(name.name)


@over("name", EVENTS | ANSWERS)
def test_message_of_a_strangers_words_holds_every_limit_and_they_do_nothing(name):
    for words in STRANGE:
        check_kept((EVENTS | ANSWERS)[name], words)


BOUNDED = {"subscription_list", "watched"}
"""A page of few subscriptions, and as many names as a line takes."""


@over("name", sorted((EVENTS | ANSWERS).keys() - BOUNDED))
def test_message_of_the_longest_lists_holds_every_limit(name):
    """Some hundred races, runners, rows and filters."""
    check_kept((EVENTS | ANSWERS)[name], "&" * 200, times=24)


def check_kept(kept, words, times=1):
    made = kept.func(*(with_words(one, words, times) for one in kept.args), **kept.keywords)
    for message in messages_of(made):
        assert 1 <= size(message.text) <= TEXT_MAX
        for form in message.forms:
            assert block_problems(list(form.blocks), most=MESSAGE_BLOCKS) == []
            assert weight(form.blocks) <= MESSAGE_MAX
            assert not ACTS.search(shown_words(form.blocks))
        assert not ACTS.search(message.text)
