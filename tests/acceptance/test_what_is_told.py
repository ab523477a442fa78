"""What a later version of an event does to what a channel shows: told, edited or superseded, and never hidden."""

import json
from datetime import timedelta
from itertools import count

import pytest

from tests.acceptance.conftest import settled
from tests.acceptance.payloads import abandoned, result
from tests.clock import DAY, now

NUMBERS = count(1)


def stamped(payload, *, minute):
    """The payload with its event's own time: so many minutes before now, fewer minutes being later."""
    moment = now() - timedelta(minutes=9) + timedelta(minutes=minute)
    return payload | {"occurred_at": moment.isoformat()}


def runners(*placings, **more):
    return [
        {"position": position, "horse": horse, "jockey": "A. Rider", "sp": "7/2"} | more.get(horse.split()[0], {})
        for horse, position in placings
    ]


FIELD = (("Golden Melody", 1), ("Second Sight", 2))


async def told(world, *versions, messages=1, channel="CGB"):
    """What stands in the channel, texts and blocks, after these versions of an event were delivered."""
    before = len(world.texts(channel))
    for version in versions:
        posted = len(world.slack.messages(channel))
        edited = {message.ts: message.edited for message in world.slack.messages(channel)}
        assert (await world.bot.deliver(version)).json() == {"status": "accepted"}

        def is_shown(posted=posted, edited=edited):
            now = {message.ts: message.edited for message in world.slack.messages(channel)}
            return len(now) > posted or now != edited

        await world.slack.wait_for(is_shown, timeout_s=60)
    await world.slack.wait_for(lambda: len(world.texts(channel)) >= before + messages, timeout_s=60)
    return lambda: [
        f"{one.text}\n{json.dumps(one.blocks, ensure_ascii=False)}" for one in world.slack.messages(channel)[before:]
    ]


async def until(world, stands):
    await world.slack.wait_for(stands, timeout_s=60)


def race_id():
    return f"rc_told{next(NUMBERS)}"


@pytest.fixture
async def desk(world):
    await world.subscribe("CGB", "GB results abandonments racecards")
    return world


async def test_whatever_a_result_shows_is_told_when_it_changes(desk):
    changes = {
        "starting price of Golden Melody was 7/2, now 99/1": {"runners": runners(*FIELD, Golden={"sp": "99/1"})},
        "jockey of Golden Melody was A. Rider, now W Buick": {"runners": runners(*FIELD, Golden={"jockey": "W Buick"})},
        "Third Man PU": {"runners": runners(*FIELD, ("Third Man", "PU"))},
        "going was Good to Soft, now Soft": {"going": "Soft"},
        "going was Good to Soft, now good to soft": {"going": "good to soft"},
        "winning time 2m 3.4s": {"winning_time": "2m 3.4s"},
    }
    for said, change in changes.items():
        race = {"race_id": race_id(), "runners": runners(*FIELD), "going": "Good to Soft"}
        first, second = result(**race), result(**(race | change))
        shown = await told(desk, stamped(first, minute=0), stamped(second, minute=1))
        await until(desk, lambda said=said, shown=shown: said in shown()[0])
        assert len(shown()) == 1


async def test_changed_price_stands_in_channel_and_full_result_alike(desk):
    race = {"race_id": race_id(), "runners": runners(*FIELD)}
    cheap = runners(*FIELD, Golden={"sp": "99/1", "beaten_distance": "won by 2L"})
    shown = await told(
        desk, stamped(result(**race), minute=0), stamped(result(**(race | {"runners": cheap})), minute=1)
    )
    await until(desk, lambda: "99/1" in shown()[0])
    full = await settled(await desk.person().clicks("Full result", channel="CGB"))
    assert "Full result, corrected: Ascot 14:30" in full.text
    whole = json.dumps(full.blocks)
    assert "starting price of Golden Melody was 7/2, now 99/1" in whole
    assert "won by 2L" in whole


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({"position": None, "status": "Disqualified"}, "Golden Melody is now Disqualified (was 1st)"),
        ({"position": "DSQ"}, "Golden Melody is now DSQ (was 1st)"),
        (
            {"position": "DSQ", "disqualification_reason": "Weighed in light"},
            "Golden Melody is now DSQ (was 1st), because: Weighed in light",
        ),
        ({"position": None}, "1st was Golden Melody, now Second Sight"),
    ],
)
async def test_lost_place_is_named(desk, lost, said):
    race = {"race_id": race_id(), "runners": runners(*FIELD)}
    after = [{"position": 1, "horse": "Second Sight"}, {"horse": "Golden Melody"} | lost]
    shown = await told(
        desk, stamped(result(**race), minute=0), stamped(result(**(race | {"runners": after})), minute=1), messages=2
    )
    correction = shown()[1]
    # A disqualification is said before the places that it moved.
    assert correction.startswith(f"CORRECTION: Ascot 14:30 (GB): {said}")
    assert "1st was Golden Melody, now Second Sight" in correction


async def test_superseded_message_links_its_correction_and_the_other_way_round(desk):
    race = {"race_id": race_id(), "runners": runners(*FIELD)}
    swapped = {"runners": runners(("Second Sight", 1), ("Golden Melody", 2))}
    shown = await told(
        desk, stamped(result(**race), minute=0), stamped(result(**(race | swapped)), minute=1), messages=2
    )
    await until(desk, lambda: shown()[0].startswith("Superseded "))
    await until(desk, lambda: "|later message>" in shown()[0])
    first, second = desk.slack.messages("CGB")
    assert f"p{second.ts.replace('.', '')}|later message>" in first.text
    assert "1 Golden Melody" in first.text
    assert "Superseded <!date^" in json.dumps(first.blocks[0])
    assert f"p{first.ts.replace('.', '')}|earlier message>" in second.text
    full = await settled(await desk.person().clicks("Full result", channel="CGB"))
    assert "Full result, corrected" in full.text
    assert "1st was Golden Melody, now Second Sight" in json.dumps(full.blocks)


@pytest.mark.parametrize("is_lost_first", [True, False])
async def test_contradiction_and_what_it_contradicts_link_one_another(desk, is_lost_first):
    number = race_id()
    events = [abandoned(number, course="Ascot"), result(number)]
    shown = await told(desk, *(events if is_lost_first else reversed(events)), messages=2)
    await until(desk, lambda: shown()[0].startswith("Contradicted ") and "|later message>" in shown()[0])
    assert "|earlier message>" in shown()[1]
    assert ("ABANDONED: " if is_lost_first else "Result: ") in shown()[0]


async def test_versions_of_unknown_order_disagree(desk):
    race = {"race_id": race_id(), "runners": runners(*FIELD)}
    swapped = {"runners": runners(("Second Sight", 1), ("Golden Melody", 2))}
    shown = await told(desk, result(**race), result(**(race | swapped)), messages=2)
    assert shown()[1].startswith(
        "Two versions disagree: Ascot 14:30 (GB): 1st is Golden Melody in one, Second Sight in the other"
    )
    assert " was Golden Melody, now" not in shown()[1]
    full = await settled(await desk.person().clicks("Full result", channel="CGB"))
    assert full.text.startswith("Full result, two versions disagree: Ascot 14:30")
    assert "orrected" not in f"{full.text} {full.blocks} {shown()[1]}"


@pytest.mark.parametrize("minutes", [(0, 1), None])
async def test_race_that_becomes_void_is_told_anew_and_has_no_winner(desk, minutes):
    number = race_id()
    course = f"Void{number}"
    race = {"race_id": number, "course": course, "runners": runners(*FIELD)}
    versions = [result(**race), result(**(race | {"status": "Void"}))]
    if minutes:
        versions = [stamped(one, minute=minute) for one, minute in zip(versions, minutes, strict=True)]
    shown = await told(desk, *versions, messages=2)
    assert shown()[1].startswith(f"VOID: {course} 14:30 (GB). Race declared void")
    assert ("the earlier result no longer stands" in shown()[1]) == bool(minutes)
    await until(desk, lambda: shown()[0].startswith("Superseded "))
    assert "Golden Melody" not in shown()[1]
    full = await settled(await desk.person().clicks("Full result", channel="CGB"))
    assert full.text.endswith("Race declared void")
    answer = await settled(await desk.person().types(f"/racing results GB {DAY} {course}", channel="CGB"))
    assert "1 void" in answer.text
    assert "🚫 *VOID*" in json.dumps(answer.blocks, ensure_ascii=False)
    assert "Golden Melody" not in json.dumps(answer.blocks)


def card(*races, number, day):
    return {
        "event": "racecard.published",
        "data": {
            "meeting": {"meeting_id": f"mt_{number}", "course": "Ascot", "region": "GB", "date": day},
            "races": list(races),
        },
    }


def race_of_card(race, off, horses=("A", "B", "C")):
    return {
        "race_id": race,
        "off_time": off,
        "title": f"Race {race}",
        "runners": [{"horse": horse} for horse in horses],
    }


async def test_racecard_that_changes_is_told(desk):
    number = next(NUMBERS)
    this = {"number": number, "day": DAY}
    first, second = race_of_card("rc_a", "11:30"), race_of_card("rc_b", "12:00")
    before = stamped(card(first, second, **this), minute=0)
    fewer = stamped(card(race_of_card("rc_a", "11:30", ("A", "B")), second, **this), minute=1)
    shown = await told(desk, before, fewer)
    await until(desk, lambda: "C in the 11:30 Race rc_a is no longer declared" in shown()[0])
    moved = stamped(card(race_of_card("rc_a", "11:45", ("A", "B")), second, **this), minute=2)
    await told(desk, moved)
    await until(desk, lambda: len(shown()) == 2)
    assert "off time of 11:30 Race rc_a was 11:30, now 11:45" in shown()[1]
    gone = stamped(card(race_of_card("rc_a", "11:45", ("A", "B")), **this), minute=3)
    await told(desk, gone)
    await until(desk, lambda: len(shown()) == 3)
    assert "12:00 Race rc_b is no longer on the card" in shown()[2]


async def test_non_runner_leaves_the_field(desk):
    number = next(NUMBERS)
    names, course, day = f"rc_field{number}", f"Field{number}", DAY

    def named(minute, *horses):
        payload = card(race_of_card(names, "23:30", horses), number=f"field{number}", day=day)
        payload["data"]["meeting"]["course"] = course
        return stamped(payload, minute=minute)

    shown = await told(desk, named(0, "Able", "Bold", "Charlie"), named(1, "Able", "Bold"))
    await until(desk, lambda: f"Charlie in the 23:30 Race {names} is no longer declared" in shown()[0])
    assert "2 runners" in shown()[0]
    assert "3 runners" not in shown()[0]
    answer = await settled(await desk.person().types(f"/racing racecard GB {day} {course}", channel="CGB"))
    assert "Bold" in json.dumps(answer.blocks)
    assert "Charlie" not in json.dumps(answer.blocks)
    await told(desk, named(2, "Able", "Bold", "Delta"), messages=0)
    await until(desk, lambda: "Delta" in shown()[0])
    assert f"Charlie in the 23:30 Race {names} is no longer declared" in shown()[0]
    assert "3 runners" in shown()[0]


async def test_late_is_measured_from_when_the_service_had_it(desk):
    at = now()
    off_at = (at - timedelta(hours=4)).isoformat()
    race = {"off_time": off_at, "runners": runners(*FIELD)}
    number = race_id()
    settled_at = {"settled_at": (at - timedelta(minutes=2)).isoformat()}
    swapped = {"runners": runners(("Second Sight", 1), ("Golden Melody", 2))}
    in_time = result(number, **race) | settled_at
    shown = await told(desk, in_time, result(number, **(race | swapped)) | settled_at | {"sequence": 2}, messages=2)
    assert not any("min late" in text for text in shown())
    late = result(race_id(), **race) | {"settled_at": (at - timedelta(minutes=42)).isoformat()}
    shown = await told(desk, late)
    assert "(alert 42 min late)" in shown()[0] or "(alert 43 min late)" in shown()[0]
    tried = result(race_id(), **race) | {"delivery": {"first_attempt_at": (at - timedelta(minutes=62)).isoformat()}}
    shown = await told(desk, tried)
    assert "(alert 62 min late)" in shown()[0] or "(alert 63 min late)" in shown()[0]
