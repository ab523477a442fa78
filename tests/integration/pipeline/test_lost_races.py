"""An abandoned meeting is "rest of the meeting" everywhere once a race was run; and a loss told twice."""

import json
from datetime import date, timedelta

import pytest

from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.events.races import Runner
from bot.outbox import acknowledgements
from bot.racedata import day_views
from bot.racedata.day import known_day
from bot.racedata.day_card import Card, Coverage
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.message_buttons import ACKNOWLEDGE_BUTTON
from bot.slack.forms.home_view import HomePage, home_view
from bot.slack.messages.alerts.acknowledge_words import untaken_named
from bot.slack.messages.answers.day_answer import losses_of
from bot.slack.messages.answers.subscription_answers import subscribed
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result
from tests.integration.pipeline.steps import pause
from tests.integration.pipeline.stories import (
    Story,
    links,
    listed,
    lists,
    play,
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
        return [alert.text, losses_of(card).in_text, subscribed(all_well(gb, recent=recent)).text, untaken]

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
        CGB=["Superseded", "", "Superseded | no longer marked abandoned", "^ABANDONED: Ascot 14:30"],
    ),
    "put back by the card, then lost by the result": Story(
        *(ALL, card(1), abandonment(), MARKED, card(3, "Declared"), lost()), CGB=["Superseded", "", "", FROM_RESULT]
    ),
    "run, then lost by the card": Story(
        *(ALL, card(1), abandonment(), RUN_AFTER_ALL, MARKED),
        CGB=["Superseded", "Contradicted", "^CONFLICT", "^ABANDONED: Ascot 14:30"],
    ),
    "without an id": Story(abandonment(None), lost(None), so_far(CGB=[ALERT, FROM_RESULT]), CGB=["", ""]),
}


@rows(STORIES)
async def test_loss_rings_once(pipeline, story):
    await play(pipeline, story)
