"""An abandoned meeting is "rest of the meeting" everywhere once one of its races was run."""

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
from tests.integration.pipeline.stories import listed, lists, resumes, subscribes, take
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
    """The part that is lost, by the alert, `/results`, subscribe, the untaken alerts, a press, and App Home."""
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
        pytest.param([LOST, RUN], REST, id="run after"),
        pytest.param([IN_BOOK, LOST], REST, id="run by the race book alone"),
        pytest.param([LOST], WHOLE, id="none run"),
        pytest.param([result("rc_1", status="Void", **AT_1300), LOST], WHOLE, id="void"),
        pytest.param([result("rc_1", **AT_1300), abandonment("rc_1", **AT_1300), LOST], WHOLE, id="contradicted"),
        pytest.param([result("rc_1", placings=(), abandoned=True, **AT_1300), LOST], WHOLE, id="marked abandoned"),
        pytest.param([result("rc_9", meeting_id="mt_9", course="Ayr"), LOST], WHOLE, id="run elsewhere"),
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
