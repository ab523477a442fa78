"""An abandoned meeting is "rest of the meeting" everywhere once a race was run; and losses told twice or taken back."""

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
from bot.slack.commands.button_commands import ACKNOWLEDGE_BUTTON
from bot.slack.commands.invocation import Invocation
from bot.slack.listeners.app_home import HomePage, home_view
from bot.slack.messages.alerts.alert_notes import untaken_named
from bot.slack.messages.answers.day_answer import losses_of
from bot.slack.messages.answers.subscription_answers import subscribed
from tests.clock import DAY, START
from tests.integration.pipeline.steps import abandonment, meeting, pause, result
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

GB = ChannelFilter(region="GB", topics=frozenset(Topic))
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
        recent = day_views.recent(session, [GB], now, None)
        card = Card(day, "GB", None, known_day(session, day, "GB").outcomes(), Coverage.COMPLETE)
        untaken = untaken_named(acknowledgements.untaken(session, long_ago))
        return [alert.text, str(losses_of(card, now)), subscribed(all_well(GB, recent=recent)).text, untaken]

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


BACK = abandonment(status="Reinstated")
NOT_LOST = BACK | {"sequence": 2}


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
        recent = day_views.recent(session, [GB], now, None)
        untaken = acknowledgements.untaken(session, now - timedelta(days=1)).count
        return [outcome.value for _, outcome in outcomes.each], outcomes.lost, recent.abandoned, untaken

    assert await pipeline.database.read(read) == (["open"], (), (), 0)


@pytest.mark.parametrize(
    ("later", "doubt"),
    [
        pytest.param(BACK, ", reported reinstated too", id="reinstated"),
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
    now = pipeline.clock()
    recent = await pipeline.database.read(lambda session: day_views.recent(session, [GB], now, None))
    assert "Ascot 14:30 (region unknown), frost" in subscribed(all_well(GB, recent=recent)).text


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


def at(hour, delivery):
    return delivery | {"occurred_at": f"{DAY}T{hour:02}:00:00Z"}


ALERT, FROM_RESULT = "^ABANDONED: Ascot 14:30 (GB), frost", "^ABANDONED: Ascot 14:30 (GB)"
RUN_AFTER_ALL = result("rc_1", placings=("Blue Moon",))
MARKED = card(2, "Abandoned")
TWO_MARKED = card(2, "Abandoned")
TWO_MARKED["meeting"]["races"][1]["status"] = "Abandoned"

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
    "lost by the card, then reinstated by itself": Story(
        *(links, ALL, card(1), MARKED, abandonment(status="Reinstated", sequence=3)),
        CGB=["Superseded", "^Superseded | >3", "^GOING AHEAD: Ascot 14:30"],
    ),
    "two lost by the card, then one reinstated by itself": Story(
        *(links, ALL, card(1), TWO_MARKED, abandonment(status="Reinstated", sequence=3)),
        CGB=["Superseded", "^ABANDONED: Ascot 15:05 | +14:30  Status: Reinstated", "^GOING AHEAD: Ascot 14:30"],
    ),
    "two lost by the card, then one reinstated by itself, and lost again": Story(
        *(ALL, card(1), TWO_MARKED, abandonment(status="Reinstated", sequence=3), abandonment(sequence=4)),
        CGB=["Superseded", "^ABANDONED: Ascot meeting", "^Superseded", "^ABANDONED: Ascot 14:30"],
    ),
    "without an id": Story(abandonment(None), lost(None), so_far(CGB=[ALERT, FROM_RESULT]), CGB=["", ""]),
}


async def test_older_card_that_is_told_no_more_loses_no_race_in_the_answers(pipeline):
    await take(pipeline, ALL, card(3), MARKED)
    outcomes = await pipeline.database.read(
        lambda session: known_day(session, date.fromisoformat(DAY), "GB").outcomes()
    )
    assert [outcome.value for _, outcome in outcomes.each] == ["open", "open"]


UNEXPLAINED = meeting("rc_1", "rc_2", reason=None)
GOES_AHEAD = ["^GOING AHEAD: Ascot 14:30 | Reinstated | !Part of", f"^ABANDONED: Ascot, {REST} | 14:30 going ahead"]
LOST_AGAIN = ["^Superseded | GOING AHEAD: Ascot 14:30", "^ABANDONED: Ascot, whole meeting"]
BY_MOMENT = {
    "reinstated after the meeting's loss, by receipt": Story(LOST, BACK, CGB=GOES_AHEAD[::-1]),
    "reinstated after the meeting's loss, which is late": Story(at(9, BACK), at(8, LOST), CGB=GOES_AHEAD),
    "reinstated before the meeting's loss": Story(at(8, BACK), at(9, LOST), CGB=LOST_AGAIN),
    "reinstated before its card marked it lost, and received later": Story(
        *(ALL, at(9, TWO_MARKED), at(8, BACK)), CGB=["^ABANDONED: Ascot meeting", "^CONFLICT: Ascot 14:30"]
    ),
    "reinstated before the meeting's loss, by receipt": Story(BACK, LOST, CGB=LOST_AGAIN),
    "reinstated, with the meeting's card": Story(
        *(ALL, meeting("rc_1", "rc_2", "rc_3") | {"event": "racecard.published"}, at(8, LOST), at(9, BACK)),
        CGB=["^ABANDONED: Ascot 1 race, | Part of this meeting", *GOES_AHEAD[::-1]],
    ),
    "reinstated, lost with its meeting, and run": Story(
        at(8, BACK), at(9, LOST), result(), CGB=["", "", "^CONFLICT | this meeting was reported abandoned"]
    ),
    "reinstated, and the meeting lost again by a repeat": Story(
        at(8, LOST), at(9, BACK), at(10, LOST), CGB=["^Superseded", *LOST_AGAIN]
    ),
    "reinstated, and the meeting lost again with a reason": Story(
        at(8, UNEXPLAINED), at(9, BACK), at(10, LOST), CGB=["^Superseded", *LOST_AGAIN]
    ),
    "reinstated, and the meeting's loss with a reason, by receipt": Story(
        UNEXPLAINED, BACK, LOST, CGB=GOES_AHEAD[::-1]
    ),
    "reinstated before the meeting's loss, and late": Story(at(9, LOST), at(8, BACK), CGB=LOST_AGAIN[1:]),
    "lost, and reinstated before the meeting's loss, late": Story(
        *(at(7, abandonment()), at(9, LOST), at(8, BACK)), CGB=["^Superseded", "^ABANDONED", "^CONFLICT: Ascot 14:30"]
    ),
    "reinstated before the meeting's loss, then by a repeat": Story(
        at(8, BACK), at(9, LOST), at(10, BACK), CGB=[LOST_AGAIN[0], *GOES_AHEAD[::-1]]
    ),
    "reinstated before the meeting's loss, late, then by a repeat": Story(
        at(9, LOST), at(8, BACK), at(10, BACK), CGB=GOES_AHEAD[::-1]
    ),
    "reinstated, run, and the meeting lost again by a repeat": Story(
        *(at(8, LOST), at(9, BACK), result(), at(10, LOST)),
        CGB=["^ABANDONED: Ascot | 1 race lost, 1 run | !going ahead", "^GOING AHEAD", "^Result"],
    ),
    "reinstated in doubt, then for certain by a repeat": Story(
        *(abandonment(sequence=1), BACK, BACK | {"sequence": 5}),
        CGB=["^Superseded", "^Superseded | CONFLICT", "^GOING AHEAD"],
    ),
    "lost before the result, and late": Story(
        at(9, result()), at(8, abandonment()), CGB=["^Contradicted", "^CONFLICT: | reported abandoned, and run since"]
    ),
    "lost after the result": Story(
        at(8, result()), at(9, abandonment()), CGB=["^Contradicted", "^ABANDONED: | CONFLICT: reported as run too"]
    ),
    "lost before the card puts the race back, and late": Story(
        at(9, abandonment(status="Going ahead") | {"event": "racecard.published"}),
        at(8, abandonment()),
        CGB=["^Superseded | ABANDONED: Ascot 14:30", "^GOING AHEAD: Ascot 14:30"],
    ),
}

MARKED_AGAIN = {
    f"reinstated by itself, then marked by its unchanged card, {order}": Story(
        *(ALL, first, back, again), CGB=["^Superseded", "^Superseded | GOING AHEAD", "^ABANDONED: Ascot meeting"]
    )
    for order, first, back, again in (
        ("by moment", at(7, TWO_MARKED), at(8, BACK), at(9, TWO_MARKED)),
        ("by receipt", TWO_MARKED, BACK, TWO_MARKED | {"sequence": 5}),
    )
}

ONCE_MORE = (
    {
        f"{what} without a region, then with it": Story(
            *(links, first, then),
            CGB=["^Superseded | >2 | (region unknown)", "^ABANDONED: | (GB)"],
            CIRE=["!Superseded"],
        )
        for what, first, then in (
            ("race", abandonment(None, region=None), abandonment(None)),
            ("race by its id", abandonment(None, region=None), abandonment()),
            ("meeting", meeting(meeting_id=None, region=None), meeting(meeting_id=None)),
            ("meeting by its id", meeting(meeting_id=None, region=None), meeting()),
        )
    }
    | {
        f"{what} with its region, then without": Story(links, first, then, CGB=["^Superseded | >2", "^ABANDONED: "])
        for what, first, then in (
            ("race", abandonment(None), abandonment(None, region=None)),
            ("meeting", meeting(meeting_id=None), meeting(meeting_id=None, region=None)),
        )
    }
    | {
        "two meetings of one course name": Story(
            *(meeting(meeting_id="mt_2", region=None), meeting()), CGB=["!Superseded", "^ABANDONED"]
        )
    }
)


@rows(STORIES | BY_MOMENT | MARKED_AGAIN | ONCE_MORE)
async def test_loss_rings_once(pipeline, story):
    await play(pipeline, story)
