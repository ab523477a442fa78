"""Whatever the order of a meeting's deliveries, the last state of every message is the same."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.events.event import Topic
from bot.racedata.client.records import KnownCourse
from tests.clock import START
from tests.databases import empty
from tests.integration.conftest import Moment
from tests.integration.pipeline.stories import knows, listed, read_list, subscribes

DAY = START.date().isoformat()
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


def lost(number, **said):
    return {"event": "race.abandoned", "race_id": IDS[number]} | said


DELIVERIES = st.tuples(
    st.sampled_from([CARD, BOOK]),
    MEETINGS,
    st.sampled_from([lost(0, reason="Fog"), lost(0, **SHARED, off_time="10:30"), lost(0, reason="frost")]),
    st.sampled_from([lost(1, reason="A loose horse", title="Title 1"), lost(1)]),
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
    others = [lost(0, reason="frost"), {"event": "result.received", "race_id": IDS[2], **PLACED}]
    name = f"meeting.abandoned:meeting=mt_1#1@{CHANNEL}"
    first, other = [(await last_states([whole, *order], [True] * 3))[name] for order in (others, others[::-1])]
    assert first == other
    assert "from the bot's records" not in "\n".join(first)


async def test_list_that_is_read_last_completes_what_was_posted_before(last_states):
    order = [BOOK, lost(1), {"event": "meeting.abandoned", "reason": "Frost", **NAMED[0]}]
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
