"""An abandoned meeting is "rest of the meeting" everywhere once a race was run; and a loss told twice."""

import json
import re
from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.events.races import Runner
from bot.outbox import acknowledgements
from bot.racedata import day_views
from bot.racedata.client.records import KnownCourse
from bot.racedata.day import known_day
from bot.racedata.day_card import Card, Coverage
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.message_buttons import ACKNOWLEDGE_BUTTON
from bot.slack.listeners.app_home import HomePage, home_view
from bot.slack.messages.alerts.alert_notes import untaken_named
from bot.slack.messages.answers.day_answer import losses_of
from bot.slack.messages.answers.subscription_answers import subscribed
from tests.clock import DAY, START
from tests.databases import empty
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import abandonment, meeting, pause, result
from tests.integration.pipeline.stories import (
    Story,
    knows,
    links,
    listed,
    lists,
    play,
    read_list,
    resumes,
    rows,
    so_far,
    subscribes,
    take,
)
from tests.unit.messages.kept_values import all_well

REST, WHOLE = "rest of the meeting", "whole meeting"
AT_1300 = {"meeting_id": "mt_1", "off_time": "13:00"}
RUN, LOST = result("rc_0", **AT_1300), meeting("rc_1", "rc_2")
IN_BOOK = lists(listed("rc_0", meeting_id="mt_1", runners=(Runner(horse="Blue Moon", position="1"),)))
NEWCASTLE = {"course": "Newcastle", "date": DAY}
CARD_OF_NEWCASTLE = {
    "event": "racecard.published",
    "meeting": {"meeting_id": "mt_n", "region": "GB", **NEWCASTLE},
    "races": [{"race_id": "rc_5", "off_time": "18:00"}],
}


async def parts_said(pipeline):
    """The lost part, by the alert, `/results`, subscribe, the untaken alerts, a press, and App Home."""
    alert = next(message for message in pipeline.slack.messages("CGB") if " meeting, " in message.text)
    key, now = alert.metadata["event_payload"]["post"], pipeline.clock()
    day, long_ago = date.fromisoformat(DAY), now - timedelta(days=1)

    def read(session):
        gb = ChannelFilter(region="GB", topics=frozenset(Topic))
        recent = day_views.recent(session, [gb], now, None)
        card = Card(day, "GB", None, known_day(session, day, "GB").outcomes(), Coverage.COMPLETE)
        untaken = untaken_named(acknowledgements.untaken(session, long_ago))
        return [alert.text, str(losses_of(card)), subscribed(all_well(gb, recent=recent)).text, untaken]

    texts = await pipeline.database.read(read)
    pressed = await pipeline.database.write(lambda session: acknowledgements.take(session, key, "UALICE", now))
    own = await pipeline.database.read(lambda session: acknowledgements.of_person(session, "UALICE", long_ago, 5))
    answered = await ACKNOWLEDGE_BUTTON.answer(None, Invocation(key, "CGB", "UALICE", "cmd-1"), pressed)  # type: ignore[arg-type]  # the answer asks the desk nothing
    assert answered
    home = home_view(HomePage([], 0, is_admin=False, abandonments=own))
    return [_parts(text) for text in (*texts, answered.text, json.dumps(home))]


def _parts(words):
    return [part for part in (REST, WHOLE) if part in words]


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        pytest.param([RUN, LOST], REST, id="run before"),
        pytest.param([IN_BOOK, LOST], REST, id="run by the race book alone"),
        pytest.param([LOST], WHOLE, id="none run"),
    ],
)
async def test_part_of_the_meeting_that_is_lost(pipeline, steps, part):
    await take(pipeline, subscribes("CGB", ack=("10m",)), *steps)
    assert await parts_said(pipeline) == [[part]] * 6


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        pytest.param([RUN, pause, LOST, resumes], REST, id="summary, one run"),
        pytest.param([pause, LOST, resumes], WHOLE, id="summary, none run"),
        pytest.param(
            [
                result("rc_2", course="Newcastle", region="AUS"),
                CARD_OF_NEWCASTLE,
                {"event": "meeting.abandoned", "meeting": NEWCASTLE, "reason": "frost"},
            ],
            WHOLE,
            id="no region, run in another",
        ),
    ],
)
async def test_part_by_the_last_message(pipeline, steps, part):
    await take(pipeline, subscribes("CGB", "GB", *Topic), *steps)
    assert _parts(pipeline.texts("CGB")[-1]) == [part]


NOT_LOST = abandonment(status="Reinstated") | {"sequence": 2}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([abandonment() | {"sequence": 1}, NOT_LOST], id="status"),
        pytest.param(
            [abandonment() | {"sequence": 1}, NOT_LOST, abandonment() | {"sequence": 1, "attempt": 2}], id="late repeat"
        ),
        pytest.param([abandonment() | {"sequence": 1}, abandonment(abandoned=False) | {"sequence": 2}], id="flag"),
        pytest.param(
            [
                meeting() | {"sequence": 1, "races": [{"race_id": "rc_1", "off_time": "14:30", "abandoned": True}]},
                meeting("rc_1", status="Reinstated") | {"sequence": 2},
            ],
            id="meeting",
        ),
    ],
)
async def test_loss_that_was_taken_back_is_no_outcome_of_the_day(pipeline, steps):
    await take(pipeline, subscribes("CGB", ack=("10m",)), *steps)
    now = pipeline.clock()

    def read(session):
        outcomes = known_day(session, date.fromisoformat(DAY), "GB").outcomes()
        recent = day_views.recent(session, [ChannelFilter(region="GB", topics=frozenset(Topic))], now, None)
        untaken = untaken_named(acknowledgements.untaken(session, now - timedelta(days=1)))
        return [outcome.value for _, outcome in outcomes.each], outcomes.lost, recent.abandoned, "reinstated" in untaken

    assert await pipeline.database.read(read) == (["open"], (), (), True)


@pytest.mark.parametrize(
    ("later", "doubt"),
    [
        pytest.param(abandonment(status="Reinstated"), ", reported reinstated too", id="reinstated"),
        pytest.param(result(), ", reported run too", id="run"),
        pytest.param(result(placings=(), status="Abandoned"), "", id="lost by the result too"),
    ],
)
async def test_loss_in_doubt_that_nobody_took_is_named_with_the_doubt(pipeline, later, doubt):
    await take(pipeline, subscribes("CGB", ack=("10m",)), abandonment(), later)
    untaken = await pipeline.database.read(lambda session: acknowledgements.untaken(session, START - timedelta(days=1)))
    assert untaken_named(untaken) == f"Ascot 14:30{doubt}"


async def test_answer_to_a_subscription_says_that_the_region_of_a_loss_is_unknown(pipeline):
    await take(pipeline, subscribes("CGB"), abandonment(region=None))
    gb, now = ChannelFilter(region="GB", topics=frozenset(Topic)), pipeline.clock()
    recent = await pipeline.database.read(lambda session: day_views.recent(session, [gb], now, None))
    assert "Ascot 14:30 (region unknown), frost" in subscribed(all_well(gb, recent=recent)).text


# A loss told twice rings once. An abandonment and another fact ring


ALL = subscribes("CGB", "GB", *Topic)


def lost(race_id="rc_1", status="Abandoned", **race):
    return result(race_id, placings=(), status=status, **race)


def card(sequence, status=None, race_id="rc_1", **race):
    races = [
        {"race_id": race_id, "off_time": "14:30", **race} | ({"status": status} if status else {}),
        {"race_id": "rc_2", "off_time": "15:05"},
    ]
    card = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": card, "sequence": sequence}


ALERT, FROM_RESULT = "^ABANDONED: Ascot 14:30 (GB), frost", "^ABANDONED: Ascot 14:30 (GB)"
RUN_AFTER_ALL = result("rc_1", placings=("Blue Moon",))
MARKED = card(2, "Abandoned")

STORIES = {
    "result after the abandonment": Story(abandonment(), lost(), edits=0, CGB=[ALERT]),
    "abandonment after the result": Story(lost(), abandonment(), CGB=[FROM_RESULT, f"{ALERT} | !CONFLICT"]),
    "all three": Story(
        *(ALL, card(1), abandonment(), MARKED, lost()),
        CGB=["^ABANDONED: Ascot 14:30 | Corrected", f"{ALERT} | !Contradicted"],
    ),
    "card first": Story(
        *(ALL, card(1), MARKED, lost(), abandonment()),
        CGB=["Superseded", "^ABANDONED: Ascot 14:30", f"{ALERT} | !CONFLICT"],
    ),
    "in a channel that takes no cards": Story(card(1), abandonment(), MARKED, CGB=[ALERT]),
    "result after the meeting's abandonment": Story(meeting("rc_1", "rc_2"), lost(), CGB=["^ABANDONED: Ascot, whole"]),
    "result with another reason, told again": Story(
        *(abandonment(), lost(), lost(going="Heavy"), lost(going="Heavy", reason="fog")), CGB=[ALERT]
    ),
    "in a summary": Story(pause, abandonment(), resumes, lost(), CGB=["^ABANDONED: Ascot 14:30"]),
    # Other facts.
    "run after a loss of the result alone": Story(
        *(lost() | {"sequence": 1}, RUN_AFTER_ALL | {"sequence": 2}),
        CGB=["Superseded", "^CORRECTION: | no longer reported abandoned. Now 1 Blue Moon | !Status"],
    ),
    "run after it was void": Story(
        *(lost(status="Void") | {"sequence": 1}, RUN_AFTER_ALL | {"sequence": 2}),
        CGB=["Superseded", "^CORRECTION: | no longer void. Now 1 Blue Moon | !VOID"],
    ),
    "postponed after the abandonment": Story(abandonment(), lost(status="Postponed"), CGB=[ALERT, "^POSTPONED: Ascot"]),
    "void after the abandonment": Story(abandonment(), lost(status="Void"), CGB=[ALERT, "^VOID: Ascot | !CONFLICT"]),
    "run after both": Story(
        *(links, abandonment(), lost(), RUN_AFTER_ALL), CGB=["Contradicted | >2", "^CONFLICT: | >1"]
    ),
    "another race of the card": Story(
        *(ALL, card(1), abandonment("rc_2", off_time="15:05"), MARKED),
        CGB=["Superseded", "", "^ABANDONED: Ascot 14:30"],
    ),
    "put back by the card, then lost": Story(
        *(ALL, card(1), abandonment(), MARKED, card(3, "Declared"), card(4, "Abandoned")),
        CGB=[
            *("Superseded", "Superseded", "^CONFLICT: Ascot 14:30"),
            *("Superseded | no longer marked abandoned", "^ABANDONED: Ascot 14:30"),
        ],
    ),
    "put back by the card, then lost by the result": Story(
        *(ALL, card(1), abandonment(), MARKED, card(3, "Declared"), lost()),
        CGB=["Superseded", "Superseded", "^CONFLICT: Ascot 14:30", "", FROM_RESULT],
    ),
    "run, then lost by the card": Story(
        *(ALL, card(1), abandonment(), RUN_AFTER_ALL, MARKED),
        CGB=[
            "Superseded",
            "Contradicted",
            "^CONFLICT",
            "^ABANDONED: Ascot 14:30 | CONFLICT: 14:30 reported as run too",
        ],
    ),
    "run, then lost by the card, put back by the card": Story(
        *(links, ALL, RUN_AFTER_ALL, MARKED, so_far(CGB=["^Contradicted | the racecard marked | >2", "+CONFLICT"])),
        card(3, "Declared"),
        CGB=["^Superseded | >3", "^Superseded", "14:30 is no longer marked abandoned"],
    ),
    "run, then lost by its own card": Story(
        *(ALL, RUN_AFTER_ALL, lost() | {"event": "racecard.published"}),
        CGB=["^Contradicted", "^ABANDONED: Ascot 14:30 | CONFLICT: 14:30 reported as run too"],
    ),
    "lost by the result, then by the card": Story(
        *(ALL, lost(), MARKED), CGB=["^ABANDONED: Ascot 14:30", "^ABANDONED: Ascot 14:30, | !CONFLICT"]
    ),
    "taken back after the result": Story(
        *(links, abandonment(sequence=1), RUN_AFTER_ALL, abandonment(status="Reinstated", sequence=2)),
        CGB=["Superseded | >3", "Superseded | CONFLICT | >3", "^RUN AFTER ALL: Ascot 14:30"],
    ),
    "meeting taken back after the result": Story(
        *(links, meeting("rc_1", "rc_2", sequence=1), RUN_AFTER_ALL),
        meeting("rc_1", "rc_2", status="Reinstated", sequence=2),
        CGB=["Superseded | >3", "Superseded | CONFLICT | >3", "^GOING AHEAD: Ascot"],
    ),
    "taken back, then lost by the card": Story(
        *(links, ALL, card(1), abandonment(sequence=1), abandonment(status="Reinstated", sequence=2), MARKED),
        CGB=["Superseded", "Superseded | >3", "Superseded | GOING AHEAD | >4", "^ABANDONED: Ascot 14:30"],
    ),
    "without an id": Story(abandonment(None), lost(None), so_far(CGB=[ALERT, FROM_RESULT]), CGB=["", ""]),
}


@rows(STORIES)
async def test_loss_rings_once(pipeline, story):
    await play(pipeline, story)


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
