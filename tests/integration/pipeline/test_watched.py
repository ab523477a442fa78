"""Watched names: who is told of which race, in one message, and at what cost."""

import json

import pytest

from bot.channels import subscriptions, watches
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import backlog, channel_move
from bot.outbox.channel_closing import pause_channel
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.test_round_trips import counting
from tests.notice_levels import WARNING

RUN = [{"horse": "Golden Melody"}]
GOLDEN = [{"number": "4", "horse": "Golden Mélody (IRE)", "jockey": "R. Moore", "trainer": "A. Smith"}]


async def watch(pipeline, channel_id, *names, kind=WatchKind.HORSE, person_id=None):
    def add(session):
        chosen = [WatchedName(kind, name) for name in names]
        watches.add(session, channel_id, chosen, user_id="U1", now=pipeline.clock(), person_id=person_id)

    if channel_id not in pipeline.slack.channels and person_id is None:
        pipeline.slack.add_channel(channel_id, channel_id.lower())
    await pipeline.database.write(add)
    pipeline.clock.forward(1)


def card(race_id="rc_1", runners=GOLDEN, **race):
    race = {"race_id": race_id, "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"} | race
    return {"event": "racecard.published", "race": race | {"runners": runners}}


async def test_watched_horse_is_told_when_declared_when_abandoned_and_with_its_result(pipeline):
    await watch(pipeline, "CHORSE", "golden melody")
    await tell(
        pipeline, card(), card("rc_2"), abandonment("rc_2"), result("rc_1", placings=("Blue Moon", "Golden Melody"))
    )
    one, two, lost, settled = pipeline.texts("CHORSE")
    assert one.startswith("Racecard: ")
    assert two.startswith("Racecard: ")
    assert lost.startswith("ABANDONED: ")
    assert settled.startswith("Result: ")
    assert all("Watched here: Golden M" in text for text in (one, two, lost, settled))
    assert "Watched here: Golden Melody (position 2)" in settled


async def test_channel_with_subscription_and_several_watches_gets_one_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "CGB", "Golden Melody (IRE)", "Blue Moon")
    await watch(pipeline, "CGB", "r. moore", kind=WatchKind.JOCKEY)
    await tell(pipeline, card(), result("rc_1", placings=("Blue Moon", "Golden Mélody")))
    _, text = pipeline.texts("CGB")
    assert "Watched here: Blue Moon (position 1), Golden Mélody (position 2, jockey R. Moore)" in text


OF_HORSE = {"name": "Golden Melody", "trainer": {"name": "A. Smith"}, "jockey": {"name": "R. Moore"}}


@pytest.mark.parametrize("runner", [{"horse": OF_HORSE}, {"runner": {"horse": OF_HORSE}}])
@pytest.mark.parametrize(("kind", "name"), [(WatchKind.TRAINER, "a smith"), (WatchKind.JOCKEY, "R Moore")])
async def test_watched_person_is_found_in_the_object_of_the_horse(pipeline, runner, kind, name):
    await watch(pipeline, "CPEOPLE", name, kind=kind)
    await tell(pipeline, card(runners=[runner]), result("rc_1", placings=(), runners=[runner | {"position": 1}]))
    declared, settled = pipeline.slack.messages("CPEOPLE")
    assert "Watched here: Golden Melody" in declared.text
    assert "R. Moore" in shown(settled)
    assert "A. Smith" in shown(settled)


@pytest.mark.parametrize("typed", ["Golden Melody (GB)", "Golden", "Melody"])
async def test_other_names_match_nothing(pipeline, typed):
    await watch(pipeline, "CHORSE", typed)
    await tell(pipeline, card(), result("rc_1", placings=("Golden Melody (IRE)",)))
    assert pipeline.texts("CHORSE") == []


async def test_abandoned_meeting_is_told_to_watchers_of_a_horse_declared_there(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await watch(pipeline, "CRUN", "Red Sky")
    other = [{"number": "1", "horse": "Red Sky"}]
    await tell(pipeline, card(meeting_id="mt_1"), card("rc_2", other, meeting_id="mt_1", off_time="13:55"))
    await tell(pipeline, result("rc_2", placings=("Red Sky",), meeting_id="mt_1"), meeting(meeting_id="mt_1"))
    *_, lost = pipeline.texts("CHORSE")
    assert lost.startswith("ABANDONED: ")
    assert "Watched here: Golden Mélody (IRE) (14:30)" in lost
    # A horse whose race was run has lost nothing.
    assert [text.split(":")[0] for text in pipeline.texts("CRUN")] == ["Racecard", "Result"]


async def test_correction_reaches_a_watcher_whose_jockey_was_replaced(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=WatchKind.JOCKEY)
    await tell(pipeline, card())
    await tell(pipeline, card(runners=[GOLDEN[0] | {"jockey": "T. Marquand"}]))
    (message,) = pipeline.slack.messages("CJOCKEY")[-1:]
    assert "T. Marquand" in shown(message)


LOST_RIDE = "Watched here before: Golden Mélody (IRE) (jockey R. Moore). Corrected"


async def test_lost_ride_is_told_as_lost(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=WatchKind.JOCKEY)
    await tell(pipeline, card() | {"sequence": 1})
    await tell(pipeline, card(runners=[GOLDEN[0] | {"jockey": "T. Marquand"}]) | {"sequence": 2})
    (told,) = pipeline.texts("CJOCKEY")
    assert LOST_RIDE in told
    assert "was R. Moore, now T. Marquand" in told
    assert "Watched here: " not in told
    # Later versions repeat the line, and a returning jockey ends it.
    await tell(pipeline, card(runners=[GOLDEN[0] | {"jockey": "T. Marquand"}], going="Soft") | {"sequence": 3})
    assert LOST_RIDE in pipeline.texts("CJOCKEY")[0]
    await tell(pipeline, card(going="Soft") | {"sequence": 4})
    assert "Watched here: Golden Mélody (IRE) (jockey R. Moore). Added" in pipeline.texts("CJOCKEY")[0]
    assert "before" not in pipeline.texts("CJOCKEY")[0]


async def test_jockey_who_changes_horses_is_told_with_both(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=WatchKind.JOCKEY)
    other = {"number": "5", "horse": "Red Sky", "jockey": "X"}
    await tell(pipeline, card(runners=[GOLDEN[0], other]) | {"sequence": 1})
    moved = [GOLDEN[0] | {"jockey": "X"}, other | {"jockey": "R. Moore"}]
    await tell(pipeline, card(runners=moved) | {"sequence": 2})
    (told,) = pipeline.texts("CJOCKEY")
    assert "Watched here: Red Sky (jockey R. Moore). " + LOST_RIDE in told


async def test_horse_taken_off_the_card_is_told_as_lost(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    others = [{"number": str(number), "horse": f"Horse {number}"} for number in range(5, 9)]
    await tell(pipeline, card(runners=[*GOLDEN, *others]) | {"sequence": 1}, card(runners=others) | {"sequence": 2})
    (told,) = pipeline.texts("CHORSE")
    assert "Watched here before: Golden Mélody (IRE). Corrected" in told


async def test_correction_of_a_winners_name_is_told_to_the_watcher_as_lost(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, result(placings=("Golden Melody", "Blue Moon")) | {"sequence": 1})
    await tell(pipeline, result(placings=("Golden Medley", "Blue Moon")) | {"sequence": 2})
    first, corrected = pipeline.texts("CHORSE")
    assert first.startswith("Superseded")
    assert "Watched here: Golden Melody (position 1)" in first
    assert corrected.startswith("CORRECTION: ")
    assert corrected.endswith("Watched here before: Golden Melody (position 1)")
    await tell(pipeline, result(placings=("Golden Medley", "Blue Moon"), going="Soft") | {"sequence": 3})
    assert "Watched here before: Golden Melody (position 1). Added" in pipeline.texts("CHORSE")[1]


async def test_message_of_an_ended_watch_shows_what_is_lost_since(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=WatchKind.JOCKEY)
    await tell(pipeline, card() | {"sequence": 1})

    def end(session):
        (row,) = watches.of_channel(session, "CJOCKEY")
        watches.end(session, row)

    await pipeline.database.write(end)
    await pipeline.subscribe("CJOCKEY", "GB", frozenset(Topic))
    await tell(pipeline, card(going="Soft") | {"sequence": 2})
    assert "Watched here: Golden Mélody (IRE) (jockey R. Moore). Added" in pipeline.texts("CJOCKEY")[0]
    await tell(pipeline, card(runners=[GOLDEN[0] | {"jockey": "T. Marquand"}], going="Soft") | {"sequence": 3})
    assert LOST_RIDE in pipeline.texts("CJOCKEY")[0]


@on_both
async def test_declaration_that_becomes_known_later_brings_the_message(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, abandonment("rc_1"))
    assert pipeline.texts("CHORSE") == []
    await watch(pipeline, "CLATE", "Golden Melody")
    await tell(pipeline, card())
    assert sorted(text.split(":")[0] for text in pipeline.texts("CHORSE")) == ["ABANDONED", "Racecard"]
    # A watch takes what is received after the watch was made.
    assert [text.split(":")[0] for text in pipeline.texts("CLATE")] == ["Racecard"]


@pytest.mark.parametrize("gap_s", [600, 7_200, 3 * 86_400])
async def test_runners_of_a_later_delivery_of_the_card_are_told(pipeline, gap_s):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, card(runners=[]))
    assert pipeline.texts("CHORSE") == []
    pipeline.clock.forward(gap_s)
    await tell(pipeline, card())
    (told,) = pipeline.texts("CHORSE")
    assert told.startswith("Racecard: ")
    assert "1 runner declared. Watched here: Golden Mélody (IRE)" in told


def meeting_card(runners=(), **race):
    races = [{"race_id": "rc_1", "off_time": "14:30"} | ({"runners": runners} if runners else {}) | race]
    card = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": card}


@pytest.mark.parametrize("gap_s", [600, 7_200])
@pytest.mark.parametrize("race_id", ["rc_1", None])
async def test_runners_of_a_later_delivery_of_the_meeting_card_are_told(pipeline, gap_s, race_id):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, meeting_card(race_id=race_id))
    pipeline.clock.forward(gap_s)
    await tell(pipeline, meeting_card(GOLDEN, race_id=race_id))
    (told,) = pipeline.texts("CHORSE")
    assert "Watched here: Golden Mélody (IRE) (14:30)" in told


async def test_jockeys_of_a_later_delivery_of_the_meeting_card_are_told(pipeline):
    await watch(pipeline, "CJOCKEY", "R. Moore", kind=WatchKind.JOCKEY)
    await tell(pipeline, meeting_card([{"number": "4", "horse": "Golden Mélody (IRE)"}]))
    pipeline.clock.forward(7_200)
    await tell(pipeline, meeting_card(GOLDEN))
    (told,) = pipeline.texts("CJOCKEY")
    assert "Watched here: Golden Mélody (IRE) (14:30, jockey R. Moore)" in told


async def test_watch_made_between_two_deliveries_of_a_card_is_told_of_the_second_alone(pipeline):
    await pipeline.subscribe("CALL", "GB", frozenset(Topic))
    await tell(pipeline, card())
    await watch(pipeline, "CHORSE", "Golden Melody")
    assert pipeline.texts("CHORSE") == []
    pipeline.clock.forward(7_200)
    # The same card in another body.
    await tell(pipeline, card() | {"delivered": 2}, card() | {"delivered": 3})
    (told,) = pipeline.texts("CHORSE")
    assert "Watched here: Golden Mélody (IRE)" in told
    (unwatched,) = pipeline.slack.messages("CALL")
    assert not unwatched.edited


async def test_watch_made_between_two_deliveries_is_told_when_fan_out_has_both_at_once(pipeline):
    await pipeline.deliver(card())
    pipeline.clock.forward(1)
    await watch(pipeline, "CHORSE", "Golden Melody")
    await pipeline.deliver(card() | {"delivered": 2})
    await pipeline.post_all()
    (told,) = pipeline.texts("CHORSE")
    assert "Watched here: Golden Mélody (IRE)" in told


async def test_old_card_that_was_told_shows_a_runner_who_is_watched_since(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic))
    await tell(pipeline, meeting_card())
    await watch(pipeline, "CGB", "Golden Melody")
    pipeline.clock.forward(7_200)
    await tell(pipeline, meeting_card(GOLDEN))
    (told,) = pipeline.texts("CGB")
    assert "Watched here: Golden Mélody (IRE) (14:30)" in told


async def test_delivery_without_news_costs_no_statement_for_watches(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic))
    await tell(pipeline, card(), card() | {"delivered": 2})
    with counting(pipeline.database) as before:
        await tell(pipeline, card() | {"delivered": 3})
    await watch(pipeline, "CHORSE", "Red Sky")
    await tell(pipeline, card() | {"delivered": 4})
    with counting(pipeline.database) as after:
        await tell(pipeline, card() | {"delivered": 5})
    assert len(after.statements) == len(before.statements), str(after)


@pytest.mark.parametrize("typed", ["R Moore", "r. moore", "R.Moore"])
async def test_dots_of_initials_hide_nobody(pipeline, typed):
    await watch(pipeline, "CHORSE", typed, kind=WatchKind.JOCKEY)
    await tell(pipeline, card("rc_1"), abandonment("rc_1"))
    assert sorted(text.split(":")[0] for text in pipeline.texts("CHORSE")) == ["ABANDONED", "Racecard"]


async def test_runner_that_becomes_known_later_is_added_to_the_message(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody", "Red Sky")
    await tell(pipeline, abandonment("rc_1", runners=[{"horse": "Red Sky"}]))
    await tell(pipeline, card("rc_1", [*GOLDEN, {"horse": "Red Sky"}]))
    lost, _ = pipeline.slack.messages("CHORSE")
    assert "Golden Mélody" in lost.text
    assert "Red Sky" in lost.text


async def test_message_of_an_ended_watch_is_marked_once_it_proves_wrong(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await tell(pipeline, abandonment("rc_1", runners=RUN))

    def end(session):
        (row,) = watches.of_channel(session, "CHORSE")
        watches.end(session, row)

    await pipeline.database.write(end)
    await tell(pipeline, result("rc_1", placings=("Golden Melody",)))
    (told,) = pipeline.texts("CHORSE")
    assert told.startswith("Contradicted")


async def test_ended_watch_is_told_nothing_more(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")

    def end(session):
        (row,) = watches.of_channel(session, "CHORSE")
        watches.end(session, row)

    await tell(pipeline, result("rc_0"))
    await pipeline.database.write(end)
    await tell(pipeline, card())
    assert pipeline.texts("CHORSE") == []


async def test_person_is_told_in_the_direct_message_once_also_of_a_correction(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, result("rc_1", placings=("Golden Melody", "Blue Moon")))
    (told,) = pipeline.texts("DALICE")
    assert "Watched here: Golden Melody (position 1)" in told
    assert ["Watched here" in text for text in pipeline.texts("CGB")] == [False]
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Golden Melody")))
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
    await pipeline.database.write(lambda session: channel_move.move_person(session, "UALICE", "DALICE"))
    await tell(pipeline, card("rc_1"))
    assert [text.split(":")[0] for text in pipeline.texts("DALICE")] == ["ABANDONED", "Racecard"]
    await tell(pipeline, result("rc_1", placings=("Golden Melody",)))
    assert pipeline.texts("DALICE")[0].startswith("Contradicted")


async def test_direct_message_that_watches_and_subscribes_is_told_once(pipeline):
    await watch(pipeline, "UALICE", "Golden Melody", person_id="UALICE")
    await tell(pipeline, card("rc_0"))
    await pipeline.subscribe("DALICE", "GB")
    await tell(pipeline, abandonment("rc_1", runners=RUN))
    assert [text.split(":")[0] for text in pipeline.texts("DALICE")] == ["Racecard", "ABANDONED"]


async def test_watches_add_no_statement_to_an_event(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_0"))
    with counting(pipeline.database) as before:
        await tell(pipeline, result("rc_1"))
    await watch(pipeline, "CGB", "Blue Moon", "Golden Melody")
    await tell(pipeline, result("rc_2"))
    with counting(pipeline.database) as after:
        await tell(pipeline, result("rc_3"))
    assert "Watched here: Blue Moon" in pipeline.texts("CGB")[-1]
    assert len(after.statements) == len(before.statements), str(after)


async def test_closed_channel_with_watches_alone_is_announced_and_gets_its_message_later(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await pipeline.slack.archive("CHORSE")
    await tell(pipeline, card())
    await pipeline.post_all()
    (told,) = pipeline.texts("CADMIN")
    assert "CHORSE" in told
    await pipeline.slack.unarchive("CHORSE")
    await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CHORSE", pipeline.clock()))
    await pipeline.post_all()
    assert "Watched here: Golden" in pipeline.texts("CHORSE")[0]
    assert "lets me post in channel" in pipeline.texts("CADMIN")[1]


async def test_summary_of_what_waited_names_the_watched(pipeline):
    await watch(pipeline, "CHORSE", "Golden Melody")
    await pipeline.slack.archive("CHORSE")
    await tell(pipeline, card(), result("rc_1", placings=("Blue Moon", "Golden Melody")))
    pipeline.clock.forward(4 * 3600)
    await pipeline.slack.unarchive("CHORSE")
    await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CHORSE", pipeline.clock()))
    await pipeline.post_all()
    (told,) = pipeline.slack.messages("CHORSE")
    for said in (told.text, json.dumps(told.blocks, ensure_ascii=False)):
        assert "1 Blue Moon, 2 Golden Melody" in said
        assert "Watched here: Golden Melody (position 2)" in said
        assert "Watched here: Golden Mélody (IRE)" in said


async def test_person_without_direct_messages_is_told_to_admins_once_a_day(pipeline):
    await watch(pipeline, "UGONE", "Golden Melody", person_id="UGONE")
    await tell(pipeline, card(), result("rc_1", placings=("Golden Melody",)))
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{WARNING}A message for channel <@UGONE> was not posted")


@on_both
async def test_unsubscribing_channel_keeps_waiting_messages_while_it_watches(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await watch(pipeline, "CGB", "Golden Melody")
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await tell(pipeline, result("rc_1", placings=("Golden Melody",)))

    def unsubscribe(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", pipeline.clock())
        pipeline.reopening.resume(session, "CGB", pipeline.clock())

    await pipeline.database.write(unsubscribe)
    await pipeline.post_all()
    assert "Watched here: Golden Melody" in pipeline.texts("CGB")[0]
