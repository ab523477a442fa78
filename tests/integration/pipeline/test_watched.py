"""Watched names: who is told of a race, in a single message, and at what cost."""

import json

import pytest

from bot.channels.watches import end, of_channel
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import channel_move
from tests.clock import DAY
from tests.integration.pipeline.steps import (
    abandonment,
    counting,
    kinds,
    meeting,
    pause,
    reopen,
    result,
    shown,
    tell,
    watch,
    write,
)
from tests.integration.pipeline.stories import (
    Story,
    does,
    goes_on,
    is_stored,
    passes,
    play,
    rows,
    so_far,
    subscribes,
    unsubscribes,
)
from tests.said import WARNING

HORSE, JOCKEY, TRAINER = WatchKind.HORSE, WatchKind.JOCKEY, WatchKind.TRAINER
RUN = [{"horse": "Golden Melody"}]
GOLDEN = {"number": "4", "horse": "Golden Mélody (IRE)", "jockey": "R. Moore", "trainer": "A. Smith"}
REPLACED = GOLDEN | {"jockey": "T. Marquand"}
OTHER = {"number": "5", "horse": "Red Sky", "jockey": "X"}
EVERY = frozenset(Topic)
GOLDEN_FIRST, GOLDEN_SECOND = {"placings": ("Golden Melody", "Blue Moon")}, {"placings": ("Blue Moon", "Golden Melody")}


def card(race_id="rc_1", runners=(GOLDEN,), sequence=None, **race):
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    numbered = {"sequence": sequence} if sequence else {}
    return {"event": "racecard.published", "race": race | {"runners": list(runners)}} | numbered


def meeting_card(*runners, **race):
    races = [{"race_id": "rc_1", "off_time": "14:30"} | ({"runners": runners} if runners else {}) | race]
    card = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": card}


def twice(first, second, sequence, **race):
    """A horse is often declared for two races, and runs in a single race."""
    card = meeting_card(first, **race)
    card["meeting"]["races"].append({"race_id": "rc_2", "off_time": "15:00", "runners": [second]})
    return card | {"sequence": sequence}


async def ends(pipeline):
    """CHERE watches nothing any more."""
    (row,) = await pipeline.database.read(lambda session: of_channel(session, "CHERE"))
    await write(pipeline, lambda session: end(session, session.merge(row)))


async def moves_person(pipeline):
    await write(pipeline, channel_move.move_person, "UALICE", "DALICE")


ALL_FOUR = ["Racecard", "Racecard", "ABANDONED", "Result"]

WATCHERS = [
    (HORSE, "golden melody", ALL_FOUR, "Golden Mélody (IRE) placed 2nd"),
    (HORSE, "Golden Melody (GB)", [], ""),
    (HORSE, "Golden", [], ""),
    (HORSE, "Melody", [], ""),
    (HORSE, "Blue Moon", ["Result", "Racecard"], "Blue Moon WON"),
    (JOCKEY, "R Moore", ALL_FOUR, "Golden Mélody (IRE) (jockey R. Moore) placed 2nd"),
    (JOCKEY, "r. moore", ALL_FOUR, "Golden Mélody (IRE) (jockey R. Moore) placed 2nd"),
    (JOCKEY, "R.Moore", ALL_FOUR, "Golden Mélody (IRE) (jockey R. Moore) placed 2nd"),
    (TRAINER, "a smith", ALL_FOUR, "Golden Mélody (IRE) (trainer A. Smith) placed 2nd"),
]


async def test_watched_names_are_told_when_declared_when_abandoned_and_with_the_result(gb):
    await watch(gb, "CGB", "Golden Melody", "Blue Moon")
    await watch(gb, "CGB", "r. moore", kind=JOCKEY)
    for number, (kind, name, *_) in enumerate(WATCHERS):
        await watch(gb, f"C{number}", name, kind=kind)
    await tell(gb, card(), card("rc_2"), abandonment("rc_2"), result(placings=("Blue Moon", "Golden Mélody (IRE)")))
    for number, (_, _, told, line) in enumerate(WATCHERS):
        texts = gb.texts(f"C{number}")
        assert kinds(gb, f"C{number}") == told
        assert all("⭐ " in text for text in texts)
        assert not told or any(f"⭐ {line}" in text for text in texts)
    both = ("⭐ Blue Moon WON", "⭐ Golden Mélody (IRE) (jockey R. Moore) placed 2nd")
    assert kinds(gb, "CGB") == ALL_FOUR
    assert all(line in gb.texts("CGB")[-1] for line in both)


OF_HORSE = {"name": "Golden Melody", "trainer": {"name": "A. Smith"}, "jockey": {"name": "R. Moore"}}


@pytest.mark.parametrize("runner", [{"horse": OF_HORSE}, {"runner": {"horse": OF_HORSE}}])
async def test_watched_person_is_found_in_the_object_of_the_horse(pipeline, runner):
    await watch(pipeline, "CTRAINER", "a smith", kind=TRAINER)
    await watch(pipeline, "CJOCKEY", "R Moore", kind=JOCKEY)
    await tell(pipeline, card(runners=[runner]), result("rc_1", placings=(), runners=[runner | {"position": 1}]))
    for channel_id in ("CTRAINER", "CJOCKEY"):
        declared, settled = pipeline.slack.messages(channel_id)
        assert "⭐ Golden Melody" in declared.text
        assert all(name in shown(settled) for name in ("R. Moore", "A. Smith"))


NOW = "⭐ Golden Mélody (IRE) declared: 14:30 Ascot"
RIDDEN = "⭐ Golden Mélody (IRE) (jockey R. Moore) declared"
LOST = "⭐ Golden Mélody (IRE) is no longer with jockey R. Moore"
GONE = "⭐ Golden Mélody (IRE) is no longer declared: 14:30 Ascot"
FIELD = [{"number": str(number), "horse": f"Horse {number}"} for number in range(5, 9)]
RIDE = [card(sequence=1), card(runners=[REPLACED], sequence=2)]
ABSENT = GOLDEN | {"status": "Non-runner"}
DECLARED, BACK = GOLDEN | {"status": "Declared"}, "⭐ Golden Mélody (IRE) declared again: 14:30 Ascot"
WITHDRAWN = [card(sequence=1), card(runners=[ABSENT], sequence=2)]
SOFT = [*RIDE, card(runners=[REPLACED], going="Soft", sequence=3)]
WINS = "⭐ Golden Melody WON"
IS, UNTOLD = NOW, so_far(CHERE=[])
CARD_OF_OTHER = card("rc_2", [OTHER], meeting_id="mt_1", off_time="13:55")

HERE = does(watch, "CHERE", "Golden Melody")
RIDER = does(watch, "CHERE", "R. Moore", kind=JOCKEY)
ALICE = does(watch, "UALICE", "Golden Melody", person_id="UALICE")
ALL = subscribes("CGB", "GB", *Topic)
AT_ASCOT, LATER = NOW, passes(7_200)

STORIES = {
    "ride lost, then another change": Story(RIDER, *SOFT, CHERE=[LOST]),
    "ride lost after the watch ended": Story(
        *(RIDER, card(sequence=1), ends, subscribes("CHERE", "GB", *Topic), card(going="Soft", sequence=2)),
        *(so_far(CHERE=[RIDDEN]), card(runners=[REPLACED], going="Soft", sequence=3)),
        CHERE=[LOST],
    ),
    "taken off the card": Story(
        *(HERE, ALL, card(runners=[GOLDEN, *FIELD], sequence=1), card(runners=FIELD, sequence=2)),
        *(so_far(CHERE=["Superseded", GONE]), card(runners=FIELD, going="Soft", sequence=3)),
        CHERE=["Superseded", f"{GONE} | Added"],
        CGB=["no longer declared | !⭐"],
    ),
    "taken off a meeting's card, and put back": Story(
        *(HERE, meeting_card(GOLDEN, *FIELD) | {"sequence": 1}, meeting_card(*FIELD) | {"sequence": 2}),
        *(so_far(CHERE=["Superseded", GONE]), meeting_card(GOLDEN, *FIELD) | {"sequence": 3}),
        CHERE=["Superseded", "Superseded", BACK],
    ),
    "taken off one of two races": Story(
        *(HERE, twice(GOLDEN, GOLDEN, 1), twice(OTHER, GOLDEN, 2)),
        CHERE=["Superseded", f"⭐ Golden Mélody (IRE) declared: 15:00 Ascot | {GONE}"],
    ),
    "left out of a card without runners, and of a part": Story(
        *(HERE, card(runners=[GOLDEN, *FIELD], sequence=1), card(runners=[], sequence=2)),
        card(runners=FIELD[:2], field_size=5, sequence=3),
        CHERE=[f"{NOW} | !no longer"],
    ),
    "jockey of a meeting's card": Story(
        *(HERE, does(watch, "CRUN", "R. Moore", kind=JOCKEY), meeting_card(GOLDEN) | {"sequence": 1}),
        meeting_card(REPLACED) | {"sequence": 2},
        CHERE=[f"{NOW}, T. Marquand | +was R. Moore, now T. Marquand"],
        CRUN=[LOST],
    ),
    "another draw on a meeting's card": Story(
        *(HERE, meeting_card(GOLDEN | {"draw": "4"}) | {"sequence": 1}),
        meeting_card(GOLDEN | {"draw": "5"}) | {"sequence": 2},
        CHERE=[f"{NOW}, R. Moore, draw 5 | +was 4, now 5"],
    ),
    "days later": Story(HERE, card(runners=[]), UNTOLD, passes(259_200), card(), CHERE=[f"1 runner declared | {IS}"]),
    "hours later": Story(HERE, meeting_card(), UNTOLD, LATER, meeting_card(GOLDEN), CHERE=[AT_ASCOT]),
    "no id": Story(
        *(HERE, meeting_card(race_id=None), UNTOLD, LATER, meeting_card(GOLDEN, race_id=None)), CHERE=[AT_ASCOT]
    ),
    "jockeys later": Story(
        *(RIDER, meeting_card({"number": "4", "horse": "Golden Mélody (IRE)"}), UNTOLD, LATER, meeting_card(GOLDEN)),
        CHERE=[RIDDEN],
    ),
    "second runner later": Story(
        *(HERE, does(watch, "CHERE", "Red Sky"), abandonment(runners=[OTHER]), card(runners=[GOLDEN, OTHER])),
        CHERE=["Golden Mélody | Red Sky", "Racecard: "],
    ),
    # A horse whose race was run has lost nothing.
    "meeting abandoned": Story(
        *(HERE, does(watch, "CRUN", "Red Sky"), card(meeting_id="mt_1"), CARD_OF_OTHER),
        *(result("rc_2", placings=("Red Sky",), meeting_id="mt_1"), meeting(meeting_id="mt_1")),
        CHERE=["", "^ABANDONED | ⭐ Golden Mélody (IRE), race abandoned: 14:30"],
        CRUN=["Racecard: ", "^⭐ Red Sky WON"],
    ),
    # Events that the watch has brought are followed, and the watch brings no further event.
    "ended": Story(
        *(HERE, abandonment(runners=RUN), ends, card("rc_2"), result(placings=("Golden Melody",))),
        CHERE=["Contradicted"],
    ),
    # A watch takes events received after the watch was made.
    "declared after": Story(
        *(HERE, abandonment(), UNTOLD, does(watch, "CLATE", "Golden Melody"), card()),
        CHERE=["^ABANDONED", "Racecard: "],
        CLATE=["Racecard: "],
    ),
    # The same card in other bodies.
    "watched between two deliveries": Story(
        *(ALL, card(), HERE, UNTOLD, LATER, card() | {"delivered": 2}, card() | {"delivered": 3}),
        edits=0,
        CHERE=[IS],
        CGB=["!⭐"],
    ),
    "watched between two deliveries that are fanned out together": Story(
        is_stored(card()), goes_on(1), HERE, card() | {"delivered": 2}, CHERE=[IS]
    ),
    "watched since, told before": Story(
        *(ALL, meeting_card(), does(watch, "CGB", "Golden Melody"), LATER, meeting_card(GOLDEN)), CGB=[AT_ASCOT]
    ),
    "non-runner, told before the watch": Story(
        *(ALL, card(sequence=1), does(watch, "CGB", "Golden Melody"), card(runners=[ABSENT], sequence=2)),
        CGB=["Superseded", "^⭐ Golden Mélody (IRE) is a non-runner: 14:30 Ascot"],
    ),
    "non-runner declared again": Story(
        *(ALL, does(watch, "CGB", "Golden Melody"), *WITHDRAWN, card(runners=[DECLARED], sequence=3)),
        *(so_far(CGB=["Superseded", "Superseded", BACK]), LATER, card(runners=[GOLDEN], going="Soft", sequence=4)),
        CGB=["", "", f"{BACK} | no longer a non-runner | Added"],
    ),
    "non-runner declared again in an unknown order": Story(
        *(HERE, card(), card(runners=[ABSENT]), card(runners=[DECLARED])),
        CHERE=["", "", "^Two versions disagree | ⭐ Golden Mélody (IRE), reported declared again, check: 14:30 Ascot"],
    ),
    "older declaration of a non-runner": Story(
        *(HERE, *WITHDRAWN, card(runners=[DECLARED], sequence=1) | {"delivered": 2}),
        CHERE=["", "^⭐ Golden Mélody (IRE) is a non-runner"],
    ),
    "non-runner told of without the status": Story(
        *(HERE, *WITHDRAWN, card(runners=[GOLDEN], going="Soft", sequence=3)),
        CHERE=["Superseded", "^⭐ Golden Mélody (IRE) is a non-runner: 14:30 Ascot | Added"],
    ),
    "non-runner of two declarations": Story(
        *(HERE, twice(GOLDEN, GOLDEN, 1), twice(ABSENT, GOLDEN, 2), twice(ABSENT, GOLDEN, 3, title="The Cup")),
        CHERE=["Superseded", "^CORRECTION | ⭐ Golden Mélody (IRE) is a non-runner: 14:30 Ascot | Added"],
    ),
    "person": Story(
        *(ALICE, result(**GOLDEN_FIRST), so_far(DALICE=[WINS], CGB=["!⭐"]), result(**GOLDEN_SECOND)),
        DALICE=["Superseded", "⭐ Golden Melody, reported 2nd"],
        CGB=["", ""],
    ),
    "person, known late": Story(
        *(ALICE, abandonment(runners=RUN), moves_person, card(), so_far(DALICE=["^ABANDONED", "Racecard: "])),
        result(placings=("Golden Melody",)),
        DALICE=["Contradicted", "", ""],
    ),
    "person who subscribes too": Story(
        *(ALICE, card("rc_0"), subscribes("DALICE", "GB"), abandonment(runners=RUN)),
        DALICE=["Racecard: ", "^ABANDONED"],
    ),
    # Once a day.
    "person without direct messages": Story(
        *(does(watch, "UGONE", "Golden Melody", person_id="UGONE"), card(), result(placings=("Golden Melody",))),
        waiting={"dead_letter": 2},
        CADMIN=[f"^{WARNING} | <@UGONE>"],
    ),
    "unsubscribed": Story(
        *(
            subscribes("CGB"),
            does(watch, "CGB", "Golden Melody"),
            pause,
            result(placings=("Golden Melody",)),
            unsubscribes,
        ),
        CGB=["⭐ Golden Melody"],
    ),
}


@rows(STORIES, "declared after", "unsubscribed")
async def test_watched_names_are_told(pipeline, story):
    await play(pipeline, story)


async def statements(pipeline, payload):
    with counting(pipeline.database) as counted:
        await tell(pipeline, payload)
    return len(counted.statements)


async def test_watches_add_no_statement_to_an_event_or_to_a_delivery_without_news(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERY)
    await tell(pipeline, result("rc_0"), card(), card() | {"delivered": 2})
    before = [await statements(pipeline, one) for one in (result("rc_2"), card() | {"delivered": 3})]
    await watch(pipeline, "CGB", "Blue Moon")
    await watch(pipeline, "CHORSE", "Grey Dawn")
    await tell(pipeline, result("rc_3"), card() | {"delivered": 4})
    after = [await statements(pipeline, one) for one in (result("rc_4"), card() | {"delivered": 5})]
    assert "⭐ Blue Moon WON" in pipeline.texts("CGB")[-1]
    assert after == before


async def test_later_process_edits_the_message_in_the_direct_message(pipeline, make_pipeline):
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, abandonment("rc_1", runners=RUN))
    await tell(make_pipeline(clock=pipeline.clock), abandonment("rc_1", runners=RUN, title="The Cup"))
    (told,) = pipeline.slack.messages("DALICE")
    assert told.edited
    assert "The Cup" in json.dumps(told.blocks)
    assert pipeline.texts("CADMIN") == []


async def test_closed_channel_with_watches_alone_is_announced_and_gets_what_waited(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await pipeline.slack.archive("CHORSE")
    await tell(pipeline, card(), result("rc_1", **GOLDEN_SECOND))
    await pipeline.post_all()
    (closed,) = pipeline.texts("CADMIN")
    assert "<#CHORSE>" in closed
    pipeline.clock.forward(4 * 3_600)
    await pipeline.slack.unarchive("CHORSE")
    await reopen(pipeline, "CHORSE")
    assert len(pipeline.texts("CADMIN")) == 2
    lines = ("2 Golden Melody", NOW, "⭐ Golden Melody placed 2nd")
    (told,) = pipeline.slack.messages("CHORSE")
    for said in (told.text, json.dumps(told.blocks, ensure_ascii=False)):
        assert all(line in said for line in lines)
