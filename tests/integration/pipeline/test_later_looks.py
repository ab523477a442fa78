"""Later looks at events: where our code fails on events, where a job learns more meanwhile, and in each order."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from bot.deliveries import inbox
from bot.events import touched
from bot.events.event import Topic
from bot.events.meeting_parts import shows_the_same
from bot.events.touched import LOOKS_MAX, What
from bot.racedata.client.records import KnownCourse
from tests.clock import DAY, START
from tests.databases import empty, on_both, on_postgresql
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import fan_out, result, tell, wait, write
from tests.integration.pipeline.stories import bare, knows, listed, read_list, subscribes
from tests.logged import capture_logs


async def names(pipeline):
    now = pipeline.clock()
    return [
        one.name
        for one in await pipeline.database.read(lambda session: touched.first(session, now, inbox.far_from(now)))
    ]


async def test_lists_of_long_ago_are_no_news_for_messages(pipeline):
    await read_list(pipeline, listed(race_date="2019-11-20"), listed("rc_2"))
    assert await names(pipeline) == ["rc_2"]


REFUSED = OperationalError("SELECT", {}, ValueError("too many variables"))


@pytest.fixture(params=[RuntimeError(), REFUSED], ids=["our code", "database"])
def fails_on_the_first(request, monkeypatch):
    """The later look fails on the first race."""

    def fails(event, other):
        if event.race.race_id == "rc_1":
            raise request.param
        return shows_the_same(event, other)

    monkeypatch.setattr("bot.fanout.completion_edits.shows_the_same", fails)


async def two_are_listed_after_their_messages(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, bare("race.abandoned", "rc_1"), bare("race.abandoned", "rc_2"))
    await read_list(pipeline, listed(), listed("rc_2"))
    await pipeline.post_all()


def filled_in(pipeline):
    return ["Ascot" in text for text in pipeline.texts("CGB")]


async def test_failing_race_is_looked_at_later_and_holds_up_no_other(pipeline, fails_on_the_first, monkeypatch):
    with capture_logs() as lines:
        await two_are_listed_after_their_messages(pipeline)
    failed = [line for line in lines if line["event"] == "later_values_not_told"]
    assert [(line["reference"], line["attempts"]) for line in failed] == [("race:rc_1", 1)]
    assert filled_in(pipeline) == [False, True]
    monkeypatch.undo()
    await pipeline.post_all()
    assert filled_in(pipeline) == [False, True]
    await wait(pipeline, 6)
    await pipeline.post_all()
    assert filled_in(pipeline) == [True, True]
    assert await names(pipeline) == []


@on_both
@pytest.mark.parametrize("fails_on_the_first", [RuntimeError()], ids=["our code"], indirect=True)
async def test_failing_race_is_dropped_after_an_hour(pipeline, fails_on_the_first):
    with capture_logs() as lines:
        await two_are_listed_after_their_messages(pipeline)
        waits = [5, 10, 20, 40, 80, 160, 320, *[600] * 6]
        for wait_s in waits:
            await wait(pipeline, wait_s + 1)
            await pipeline.fanout.run_once()
    assert sum(line["event"] == "later_values_not_told" for line in lines) == LOOKS_MAX < len(waits)
    assert await names(pipeline) == []


async def test_delivery_without_news_is_done_though_our_code_fails_on_its_watched_runners(pipeline, monkeypatch):
    def fails(*_what, **_how):
        raise RuntimeError

    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    monkeypatch.setattr("bot.fanout.transaction.repeated", fails)
    with capture_logs() as lines:
        await fan_out(pipeline, result("rc_1") | {"attempt": 2}, result("rc_2"))
        assert await names(pipeline) == ["result.received:rc_1"]
        await pipeline.post_all()
    failed = [line["reference"] for line in lines if line["event"] == "later_values_not_told"]
    assert (failed, await pipeline.database.read(inbox.count_waiting)) == (["inbox-2"], 0)
    assert (len(pipeline.texts("CGB")), await names(pipeline)) == (2, [])


@on_postgresql
async def test_race_learned_by_a_job_during_a_look_is_looked_at_again(pipeline):
    await write(pipeline, touched.note, What.RACE, ["rc_1"])
    engine = create_engine(pipeline.database.url)
    with Session(engine) as job:
        touched.note(job, What.RACE, ["rc_1"])
        await pipeline.fanout.run_once()
        job.commit()
    engine.dispose()
    assert await names(pipeline) == ["rc_1"]


# Whatever the order of a meeting's deliveries, the last state of every message is the same


CHANNEL = "CGB"
SHARED = {"meeting_id": "mt_1", "region": "GB", "course": "Ascot", "date": DAY}
IDS = ("rc_1", "rc_2", "rc_3", "rc_4")
RACES = [{"race_id": race_id, "off_time": f"1{n}:30", "title": f"Title {n}"} for n, race_id in enumerate(IDS)]
PLACED = {"runners": [{"position": 1, "horse": "Blue Moon"}, {"position": 2, "horse": "Red Sky"}]}

CARD = {"event": "racecard.published", "meeting": SHARED, "races": RACES}
BOOK = "the list is read"
NAMED: list[dict[str, object]] = [
    {"meeting_id": "mt_1"},
    {"meeting_id": "mt_1", "races": list(IDS)},
    {"course": "Ascot", "date": DAY},
    {"course": "Ascot", "date": DAY, "region": "GB", "races": [race["off_time"] for race in RACES]},
    {**SHARED, "races": RACES},
    {**SHARED, "races": [RACES[0] | {"reason": "FOG"}, *RACES[1:]]},
]
MEETINGS = st.sampled_from(NAMED).map(lambda card: {"event": "meeting.abandoned", "reason": "Frost", **card})


def lost_by_id(number, **said):
    return {"event": "race.abandoned", "race_id": IDS[number]} | said


DELIVERIES = st.tuples(
    st.sampled_from([CARD, BOOK]),
    MEETINGS,
    st.sampled_from(
        [lost_by_id(0, reason="Fog"), lost_by_id(0, **SHARED, off_time="10:30"), lost_by_id(0, reason="frost")]
    ),
    st.sampled_from([lost_by_id(1, reason="A loose horse", title="Title 1"), lost_by_id(1)]),
    st.sampled_from(
        [
            {"event": "result.received", "race_id": IDS[2], **PLACED},
            {"event": "result.received", "race_id": IDS[2], "course": "Ascot", **PLACED},
        ]
    ),
)


async def happens(pipeline, delivery):
    pipeline.clock.forward(1)
    if delivery == BOOK:
        offs = [(race["race_id"], race["off_time"], race["title"]) for race in RACES]
        races = [listed(one, off=off, title=title, race_class=None, meeting_id="mt_1") for one, off, title in offs]
        await read_list(pipeline, *races)
    else:
        await pipeline.deliver(delivery)


BY_ORDER = re.compile(
    r"<!date[^>]*>|, on [0-9-]{10}"
    r"|(\. |\n)?(Part of the abandoned meeting|CONFLICT: reported as run too"
    r"|(CONFLICT: )?[Cc]heck before you act: [a-z ]*)"
)
"""Words on the time of a message, and on earlier messages."""


CONFLICT = re.compile("(?:\N{WARNING SIGN}\N{VARIATION SELECTOR-16} )?CONFLICT: (.*) reported abandoned and run")
"""The header, and the text, of a result after an abandonment."""

NO_TEXT = {"type", "action_id", "value", "style"}


def plainly(message):
    """The words of a message, without words on its time."""
    # A conflict has the race in a header, a result in bold before the order.
    parts = [text.replace("*\N{EM SPACE}", "\n") for text in [message.text, *texts(list(message.blocks))]]
    lines = [line.strip("*") for text in parts for line in text.split("\n")]
    shown = [CONFLICT.sub(r"Result: \1", re.sub(f"^{CONFLICT.pattern}$", r"\1", line)) for line in lines]
    return [said for text in shown if (said := BY_ORDER.sub("", text))]


def texts(shown):
    if isinstance(shown, list):
        return [text for inner in shown for text in texts(inner)]
    if isinstance(shown, dict):
        return [text for name, inner in shown.items() if name not in NO_TEXT for text in texts(inner)]
    return [shown] if isinstance(shown, str) else []


@pytest.fixture
def last_states(database, slack, make_pipeline):
    """The messages of a channel that subscribed at first, by their keys."""

    async def play(deliveries, pauses):
        empty(database)
        pipeline = make_pipeline(clock=Moment(START))
        await subscribes(CHANNEL, "GB", *Topic)(pipeline)
        await knows(KnownCourse(name="Ascot", region="GB"), regions=())(pipeline)
        before = len(slack.messages(CHANNEL))
        with capture_logs():
            for delivery, is_posted in zip(deliveries, pauses, strict=True):
                await happens(pipeline, delivery)
                if is_posted:
                    await pipeline.post_all()
            await pipeline.post_all()
        said = slack.messages(CHANNEL)[before:]
        return {one.metadata["event_payload"]["post"]: plainly(one) for one in said}

    return play


async def test_reason_that_no_line_shows_is_not_said_to_be_from_the_race_book_in_any_order(last_states):
    whole = {"event": "meeting.abandoned", "reason": "Frost", **SHARED, "races": RACES}
    # A result edits the meeting's message; an abandonment without news edits nothing.
    others = [lost_by_id(0, reason="frost"), {"event": "result.received", "race_id": IDS[2], **PLACED}]
    name = f"meeting.abandoned:meeting=mt_1#1@{CHANNEL}"
    first, other = [(await last_states([whole, *order], [True] * 3))[name] for order in (others, others[::-1])]
    assert first == other
    assert "from the bot's records" not in "\n".join(first)


async def test_list_that_is_read_last_completes_what_was_posted_before(last_states):
    order = [BOOK, lost_by_id(1), {"event": "meeting.abandoned", "reason": "Frost", **NAMED[0]}]
    assert await last_states(order, [True] * 3) == await last_states(order[::-1], [True] * 3)


@pytest.mark.long
@pytest.mark.timeout(900)
@settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries=DELIVERIES, data=st.data())
async def test_last_state_of_every_message_is_the_same_in_any_order(last_states, deliveries, data):
    order = data.draw(st.permutations(deliveries))
    pauses = data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    first = await last_states(deliveries, [True] * len(deliveries))
    other = await last_states(order, pauses)
    for name in first.keys() & other.keys():
        assert other[name] == first[name], name
    whole = "\n".join(next(said for name, said in other.items() if name.startswith("meeting.abandoned")))
    for number in (0, 1, 3):
        assert f"1{number}:30" in whole, whole
    assert "12:30" not in whole
    assert "1 race was run" in whole or "1 run" in whole
