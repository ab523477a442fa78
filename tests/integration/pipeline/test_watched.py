"""Watched names: who is told of which race, in one message, and at what cost."""

import json

import pytest

from bot.channels import subscriptions, watches
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import backlog, channel_move
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.steps import kinds, pause, reopen, watch, write
from tests.integration.pipeline.test_round_trips import counting
from tests.notice_levels import WARNING

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


async def end_watch(pipeline, channel_id):
    (row,) = await pipeline.database.read(lambda session: watches.of_channel(session, channel_id))
    await write(pipeline, lambda session: watches.end(session, session.merge(row)))


ALL_FOUR = ["Racecard", "Racecard", "ABANDONED", "Result"]

WATCHERS = [
    (HORSE, "golden melody", ALL_FOUR, "Golden Mélody (IRE) (position 2)"),
    (HORSE, "Golden Melody (GB)", [], ""),
    (HORSE, "Golden", [], ""),
    (HORSE, "Melody", [], ""),
    (HORSE, "Blue Moon", ["Result", "Racecard"], "Blue Moon (position 1)"),
    (JOCKEY, "R Moore", ALL_FOUR, "Golden Mélody (IRE) (position 2, jockey R. Moore)"),
    (JOCKEY, "r. moore", ALL_FOUR, "Golden Mélody (IRE) (position 2, jockey R. Moore)"),
    (JOCKEY, "R.Moore", ALL_FOUR, "Golden Mélody (IRE) (position 2, jockey R. Moore)"),
    (TRAINER, "a smith", ALL_FOUR, "Golden Mélody (IRE) (position 2, trainer A. Smith)"),
]


async def test_watched_names_are_told_when_declared_when_abandoned_and_with_the_result(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "CGB", "Golden Melody", "Blue Moon")
    await watch(pipeline, "CGB", "r. moore", kind=JOCKEY)
    for number, (kind, name, *_) in enumerate(WATCHERS):
        await watch(pipeline, f"C{number}", name, kind=kind)
    await tell(
        pipeline, card(), card("rc_2"), abandonment("rc_2"), result(placings=("Blue Moon", "Golden Mélody (IRE)"))
    )
    for number, (_, _, told, line) in enumerate(WATCHERS):
        texts = pipeline.texts(f"C{number}")
        assert kinds(pipeline, f"C{number}") == told
        assert all("Watched here: " in text for text in texts)
        assert not told or any(f"Watched here: {line}" in text for text in texts)
    both = "Watched here: Blue Moon (position 1), Golden Mélody (IRE) (position 2, jockey R. Moore)"
    assert kinds(pipeline, "CGB") == ALL_FOUR
    assert both in pipeline.texts("CGB")[-1]


OF_HORSE = {"name": "Golden Melody", "trainer": {"name": "A. Smith"}, "jockey": {"name": "R. Moore"}}


@pytest.mark.parametrize("runner", [{"horse": OF_HORSE}, {"runner": {"horse": OF_HORSE}}])
async def test_watched_person_is_found_in_the_object_of_the_horse(pipeline, runner):
    await watch(pipeline, "CTRAINER", "a smith", kind=TRAINER)
    await watch(pipeline, "CJOCKEY", "R Moore", kind=JOCKEY)
    await tell(pipeline, card(runners=[runner]), result("rc_1", placings=(), runners=[runner | {"position": 1}]))
    for channel_id in ("CTRAINER", "CJOCKEY"):
        declared, settled = pipeline.slack.messages(channel_id)
        assert "Watched here: Golden Melody" in declared.text
        assert all(name in shown(settled) for name in ("R. Moore", "A. Smith"))


NOW = "Watched here: Golden Mélody (IRE) "
LOST = "Watched here before: Golden Mélody (IRE) (jockey R. Moore). Corrected"
FIELD = [{"number": str(number), "horse": f"Horse {number}"} for number in range(5, 9)]
RIDE = [card(sequence=1), card(runners=[REPLACED], sequence=2)]
ABSENT = GOLDEN | {"status": "Non-runner"}
WITHDRAWN = [card(sequence=1), card(runners=[ABSENT], sequence=2)]
SOFT = [*RIDE, card(runners=[REPLACED], going="Soft", sequence=3)]
SWAPPED = [GOLDEN | {"jockey": "X"}, OTHER | {"jockey": "R. Moore"}]
MEDLEY = {"placings": ("Golden Medley", "Blue Moon")}
WON = [result(**GOLDEN_FIRST) | {"sequence": 1}, result(**MEDLEY) | {"sequence": 2}]
WON_AND_SOFT = [*WON, result(**MEDLEY, going="Soft") | {"sequence": 3}]

CHANGES = {
    "ride lost": (JOCKEY, RIDE, [LOST]),
    "ride lost, then another change": (JOCKEY, SOFT, [LOST]),
    "ride lost and back": (JOCKEY, [*SOFT, card(going="Soft", sequence=4)], [f"{NOW}(jockey R. Moore). Added"]),
    "another ride": (
        JOCKEY,
        [card(runners=[GOLDEN, OTHER], sequence=1), card(runners=SWAPPED, sequence=2)],
        [f"Watched here: Red Sky (jockey R. Moore). {LOST}"],
    ),
    "taken off the card": (
        HORSE,
        [card(runners=[GOLDEN, *FIELD], sequence=1), card(runners=FIELD, sequence=2)],
        ["Watched here before: Golden Mélody (IRE). Corrected"],
    ),
    "non-runner": (HORSE, WITHDRAWN, [NOW.strip(), f"{NOW}(position NR)"]),
    "non-runner, then another change": (
        HORSE,
        [*WITHDRAWN, card(runners=[ABSENT], going="Soft", sequence=3)],
        [NOW.strip(), f"{NOW}(position NR)"],
    ),
    "rider of a non-runner": (JOCKEY, WITHDRAWN, [f"{NOW}(jockey R. Moore)", f"{NOW}(position NR, jockey R. Moore)"]),
    "no winner": (
        HORSE,
        WON,
        ["Watched here: Golden Melody (position 1)", "Watched here before: Golden Melody (position 1)"],
    ),
    "no winner, then another change": (
        HORSE,
        WON_AND_SOFT,
        ["Watched here: Golden Melody (position 1)", "Watched here before: Golden Melody (position 1). Added"],
    ),
    "runners later": (HORSE, [card(runners=[]), 600, card()], [f"1 runner declared. {NOW.strip()}"]),
    "runners days later": (HORSE, [card(runners=[]), 259_200, card()], [f"1 runner declared. {NOW.strip()}"]),
    "runners of a meeting later": (HORSE, [meeting_card(), 600, meeting_card(GOLDEN)], [f"{NOW}(14:30)"]),
    "runners of a meeting hours later": (HORSE, [meeting_card(), 7_200, meeting_card(GOLDEN)], [f"{NOW}(14:30)"]),
    "runners of a race without an id later": (
        HORSE,
        [meeting_card(race_id=None), 7_200, meeting_card(GOLDEN, race_id=None)],
        [f"{NOW}(14:30)"],
    ),
    "jockeys later": (
        JOCKEY,
        [meeting_card({"number": "4", "horse": "Golden Mélody (IRE)"}), 7_200, meeting_card(GOLDEN)],
        [f"{NOW}(14:30, jockey R. Moore)"],
    ),
}
"""Kind, deliveries with seconds in between, and what the messages say in the end."""


@pytest.mark.parametrize(("kind", "day", "said"), CHANGES.values(), ids=CHANGES)
async def test_change_of_what_is_watched_is_told(pipeline, kind, day, said):
    await watch(pipeline, "CHERE", "R. Moore" if kind is JOCKEY else "Golden Melody", kind=kind)
    for step in day:
        if isinstance(step, int):
            assert pipeline.texts("CHERE") == []
            pipeline.clock.forward(step)
        else:
            await tell(pipeline, step)
    for text, line in zip(pipeline.texts("CHERE"), said, strict=True):
        assert line in text
        assert text.count("Watched here") == line.count("Watched here")


async def test_runner_that_becomes_known_later_is_added_to_the_message(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody", "Red Sky")
    await tell(pipeline, abandonment(runners=[OTHER]), card(runners=[GOLDEN, OTHER]))
    lost, _ = pipeline.texts("CHORSE")
    assert "Golden Mélody" in lost
    assert "Red Sky" in lost


async def test_abandoned_meeting_is_told_to_watchers_of_a_horse_declared_there(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await watch(pipeline, "CRUN", "Red Sky")
    await tell(pipeline, card(meeting_id="mt_1"), card("rc_2", [OTHER], meeting_id="mt_1", off_time="13:55"))
    await tell(pipeline, result("rc_2", placings=("Red Sky",), meeting_id="mt_1"), meeting(meeting_id="mt_1"))
    assert kinds(pipeline, "CHORSE")[1:] == ["ABANDONED"]
    assert f"{NOW}(14:30)" in pipeline.texts("CHORSE")[-1]
    # A horse whose race was run has lost nothing.
    assert kinds(pipeline, "CRUN") == ["Racecard", "Result"]


async def test_message_of_an_ended_watch_shows_what_is_lost_since(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=JOCKEY)
    await tell(pipeline, card(sequence=1))
    await end_watch(pipeline, "CJOCKEY")
    await pipeline.subscribe("CJOCKEY", "GB", EVERY)
    await tell(pipeline, card(going="Soft", sequence=2))
    assert f"{NOW}(jockey R. Moore). Added" in pipeline.texts("CJOCKEY")[0]
    await tell(pipeline, card(runners=[REPLACED], going="Soft", sequence=3))
    assert LOST in pipeline.texts("CJOCKEY")[0]


async def test_ended_watch_is_told_nothing_more_and_its_message_is_marked_once_wrong(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, abandonment(runners=RUN))
    await end_watch(pipeline, "CHORSE")
    await tell(pipeline, card("rc_2"), result(placings=("Golden Melody",)))
    (told,) = pipeline.texts("CHORSE")
    assert told.startswith("Contradicted")


@on_both
async def test_declaration_that_becomes_known_later_brings_the_message(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, abandonment("rc_1"))
    assert pipeline.texts("CHORSE") == []
    await watch(pipeline, "CLATE", "Golden Melody")
    await tell(pipeline, card())
    assert sorted(kinds(pipeline, "CHORSE")) == ["ABANDONED", "Racecard"]
    # A watch takes what is received after the watch was made.
    assert kinds(pipeline, "CLATE") == ["Racecard"]


async def test_watch_made_between_two_deliveries_of_a_card_is_told_of_the_second_alone(pipeline):
    await pipeline.subscribe("CALL", "GB", EVERY)
    await tell(pipeline, card())
    await watch(pipeline, "CHORSE", "Golden Melody")
    assert pipeline.texts("CHORSE") == []
    pipeline.clock.forward(7_200)
    # The same card in another body.
    await tell(pipeline, card() | {"delivered": 2}, card() | {"delivered": 3})
    (told,) = pipeline.texts("CHORSE")
    assert NOW.strip() in told
    (unwatched,) = pipeline.slack.messages("CALL")
    assert not unwatched.edited


async def test_watch_made_between_two_deliveries_is_told_when_fan_out_has_both_at_once(pipeline):
    await pipeline.deliver(card())
    pipeline.clock.forward(1)
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, card() | {"delivered": 2})
    (told,) = pipeline.texts("CHORSE")
    assert NOW.strip() in told


async def test_old_card_that_was_told_shows_a_runner_who_is_watched_since(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERY)
    await tell(pipeline, meeting_card())
    await watch(pipeline, "CGB", "Golden Melody")
    pipeline.clock.forward(7_200)
    await tell(pipeline, meeting_card(GOLDEN))
    (told,) = pipeline.texts("CGB")
    assert f"{NOW}(14:30)" in told


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
    assert "Watched here: Blue Moon" in pipeline.texts("CGB")[-1]
    assert after == before


async def test_person_is_told_in_the_direct_message_once_also_of_a_correction(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, result("rc_1", **GOLDEN_FIRST))
    (told,) = pipeline.texts("DALICE")
    assert "Watched here: Golden Melody (position 1)" in told
    assert ["Watched here" in text for text in pipeline.texts("CGB")] == [False]
    await tell(pipeline, result("rc_1", **GOLDEN_SECOND))
    first, corrected = pipeline.texts("DALICE")
    assert first.startswith("Superseded")
    assert "Watched here: Golden Melody (position 2)" in corrected


async def test_later_process_edits_the_message_in_the_direct_message(pipeline, make_pipeline):
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, abandonment("rc_1", runners=RUN))
    await tell(make_pipeline(clock=pipeline.clock), abandonment("rc_1", runners=RUN, title="The Cup"))
    (told,) = pipeline.slack.messages("DALICE")
    assert told.edited
    assert "The Cup" in json.dumps(told.blocks)
    assert pipeline.texts("CADMIN") == []


async def test_direct_message_that_becomes_known_late_is_told_nothing_twice(pipeline):
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, abandonment("rc_1", runners=RUN))
    await write(pipeline, channel_move.move_person, "UALICE", "DALICE")
    await tell(pipeline, card("rc_1"))
    assert kinds(pipeline, "DALICE") == ["ABANDONED", "Racecard"]
    await tell(pipeline, result("rc_1", placings=("Golden Melody",)))
    assert pipeline.texts("DALICE")[0].startswith("Contradicted")


async def test_direct_message_that_watches_and_subscribes_is_told_once(pipeline):
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, card("rc_0"))
    await pipeline.subscribe("DALICE", "GB")
    await tell(pipeline, abandonment("rc_1", runners=RUN))
    assert kinds(pipeline, "DALICE") == ["Racecard", "ABANDONED"]


async def test_person_without_direct_messages_is_told_to_admins_once_a_day(pipeline):
    await watch(pipeline, "UGONE", "Golden Melody", person_id="UGONE")
    await tell(pipeline, card(), result("rc_1", placings=("Golden Melody",)))
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(WARNING)
    assert "<@UGONE>" in told


@pytest.mark.parametrize("hours", [0, 4])
async def test_closed_channel_with_watches_alone_is_announced_and_gets_what_waited(pipeline, hours):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await pipeline.slack.archive("CHORSE")
    await tell(pipeline, card(), result("rc_1", **GOLDEN_SECOND))
    await pipeline.post_all()
    (closed,) = pipeline.texts("CADMIN")
    assert "<#CHORSE>" in closed
    pipeline.clock.forward(hours * 3_600)
    await pipeline.slack.unarchive("CHORSE")
    await reopen(pipeline, "CHORSE")
    assert len(pipeline.texts("CADMIN")) == 2
    lines = ("1 Blue Moon, 2 Golden Melody", NOW.strip(), "Watched here: Golden Melody (position 2)")
    told = pipeline.slack.messages("CHORSE")
    assert len(told) == (1 if hours else 2)
    for said in (
        "".join(one.text for one in told),
        "".join(json.dumps(one.blocks, ensure_ascii=False) for one in told),
    ):
        assert all(line in said for line in lines[hours == 0 :])


@on_both
async def test_unsubscribing_channel_keeps_waiting_messages_while_it_watches(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "CGB", "Golden Melody")
    await pause(pipeline)
    await tell(pipeline, result("rc_1", placings=("Golden Melody",)))

    def unsubscribe(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", pipeline.clock())
        pipeline.reopening.resume(session, "CGB", pipeline.clock())

    await write(pipeline, unsubscribe)
    await pipeline.post_all()
    assert "Watched here: Golden Melody" in pipeline.texts("CGB")[0]
