"""Whole deliveries in the shapes of public services: the events, each with place, time and order."""

import json
from typing import Any

import pytest

from bot.deliveries.payload import TOO_MANY, read_events
from bot.events.races import Course

DAY = "2026-11-20"
AT: dict[str, Any] = {"course": "York", "region": "GB", "date": DAY, "off": "13:00"}
ROWS = [{"number": 1, "name": "A", "position": 1}, {"number": 2, "name": "B", "position": 2}]
BARE = [{"number": 1, "name": "A"}, {"number": 2, "name": "B"}, {"number": 3, "name": "C"}]
YORK, ONE_B = "York 13:00: A 1, B 2", "York 13:00: B 1"


def said(payload: object) -> list[str]:
    """For example "York 13:00: A 1, B 2" of each event; of a meeting the day, of an unread payload the reason."""
    lines = []
    for event in read_events(json.dumps(payload).encode()):
        race = event.race
        count = f", {len(event.races)} races" if event.races else ""
        named = f"{race.course.name} {race.off.text or race.race_date}{count}"
        placed = [f"{one.horse} {one.position}" for one in race.runners if one.position]
        doubt = " in dispute" if race.disputed else ""
        unread = f" could not be read: {race.unread_order}" if race.unread_order else ""
        lines.append(event.unreadable_because or f"{named}: {', '.join(placed)}".removesuffix(": ") + doubt + unread)
    return lines


def shape(event: str = "result.received", **data: Any) -> object:
    return {"event": event, "data": data}


MEETING = {"name": "York", "region": "GB", "date": DAY}
ASCOT, BATH = {"course": "Ascot", "region": "GB", "date": DAY}, {"course": "Bath"}
SHAPES: dict[str, tuple[object, list[str]]] = {
    "XML of attributes": (
        shape(
            Meeting={
                "@attributes": {"id": "7", "course": "York", "country": "GB", "date": "20261120"},
                "Race": {
                    "@attributes": {"id": "1", "time": "1300+0000", "status": "WeighedIn"},
                    "Horse": [
                        {
                            "@attributes": {"id": str(number), "name": name},
                            "Cloth": {"@attributes": {"number": str(number)}},
                            "Result": {"@attributes": {"finishPos": str(number)}},
                        }
                        for number, name in enumerate("AB", 1)
                    ],
                },
            }
        ),
        [YORK],
    ),
    "XML of dollars": (
        shape(race=[{"$": {"id": "rc_1", **AT}, "runners": [{"runner": [{"$": one} for one in ROWS]}]}]),
        [YORK],
    ),
    "JSON in a text": ({"Type": "Notification", "Message": json.dumps(shape(**AT, runners=ROWS))}, [YORK]),
    "JSON in texts of a list": (
        {"Records": [{"body": json.dumps({"Message": json.dumps(shape(**AT, runners=json.dumps(ROWS)))})}]},
        [YORK],
    ),
    "text in brackets": (shape(**AT, title="[Class 2]", runners=ROWS), [YORK]),
    "names of events": (
        {"event": "webhook.test", "subscription": {"events": [{"name": "race.abandoned"}]}},
        ["The event webhook.test is unknown."],
    ),
    "an empty list under the first of many keys": (
        shape(**AT, pages={**{f"b{number}": [1] for number in range(1_001)}, "a": []}, runners=ROWS),
        [YORK],
    ),
    "race in a list of meetings": (shape(raceMeetings=[{**MEETING, "races": [{**AT, "runners": ROWS}]}]), [YORK]),
    "races in lists of meetings": (
        shape(
            "race.abandoned",
            meetings=[
                {**MEETING, "races": [{"race_id": "rc_1", "off": "13:00"}, {"race_id": "rc_2", "off": "13:30"}]},
                {**MEETING, "name": "Bath", "races": [{"race_id": "rc_3", "off": "13:10"}]},
            ],
        ),
        ["York 13:00", "York 13:30", "Bath 13:10"],
    ),
    "place and day beside meetings with others": (
        shape(
            **{**AT, "off": None, "meeting_id": "m_1"},
            meetings=[
                {**MEETING, "races": [{"race_id": "rc_1"}]},
                {
                    "course": "Bath",
                    "date": "2026-11-21",
                    "races": [{"race_id": "rc_2"}, {"id": "rc_3", "venue": "Ayr"}],
                },
                {"races": [{"race_id": "rc_4"}]},
            ],
        ),
        [f"York {DAY}", "Bath 2026-11-21", "Ayr 2026-11-21", f"York {DAY}"],
    ),
    "meetings without races": (
        shape("meeting.abandoned", meetings=[{"id": "m_1", **MEETING}, {"id": "m_2", **MEETING, "name": "Bath"}]),
        [f"York {DAY}", f"Bath {DAY}"],
    ),
    "meetings in a list of data": (
        {
            "event": "meeting.abandoned",
            "data": [{**MEETING, "id": "m_1"}, {**MEETING, "id": "m_2", "name": "Bath", "races": ["13:00", "13:30"]}],
        },
        [f"York {DAY}", f"Bath {DAY}, 2 races"],
    ),
    "a course beside meetings of others": (
        shape("meeting.abandoned", **ASCOT, meetings=[{**BATH, "races": ["13:00"]}, {"id": "m_2", "name": "York"}]),
        [f"Bath {DAY}, 1 races", f"York {DAY}"],
    ),
    "a meeting beside meetings of others": (
        shape("racecard.published", meeting={"name": "Ascot"}, date=DAY, cards=[{**BATH, "races": ["13:00"]}]),
        [f"Bath {DAY}, 1 races"],
    ),
    "a course beside its meeting": (
        shape("meeting.abandoned", **ASCOT, meetings=[{"course": "Ascot", "races": ["13:00", "13:30"]}]),
        [f"Ascot {DAY}, 2 races"],
    ),
    "a course beside two meetings of the course": (
        shape("meeting.abandoned", **ASCOT, meetings=[{"id": "m_1"}, {"id": "m_2"}]),
        [f"Ascot {DAY}", f"Ascot {DAY}"],
    ),
    "a meeting that is run among meetings": (
        shape("meeting.abandoned", **ASCOT, meetings=[{**BATH, "status": "Abandoned"}, {**BATH, "course": "York"}]),
        [f"Bath {DAY}"],
    ),
    "a course beside races of others": (
        shape("meeting.abandoned", **ASCOT, meeting_id="m_1", races=[BATH, {"off": "13:00"}, {**BATH, "off": "14:00"}]),
        [f"Bath {DAY}, 2 races", f"Ascot {DAY}, 1 races"],
    ),
    "a course beside too many meetings of others": (
        shape("meeting.abandoned", **ASCOT, meetings=[{**BATH, "course": f"Bath {number}"} for number in range(31)]),
        ["it has more than 30 events"],
    ),
    "races to come beside a result": (
        shape(
            races=[
                {"race_id": "rc_1", **AT, "runners": ROWS},
                {"race_id": "rc_2", **AT, "off": "13:30", "abandoned": False, "status": "Declared", "runners": BARE},
                {"race_id": "rc_3", **AT, "off": "14:00", "runners": BARE},
                {"race_id": "rc_4", **AT, "off": "14:30", "status": "Void", "runners": BARE},
            ]
        ),
        [YORK, "York 14:30"],
    ),
    "lost races among the races of a card": (
        shape(
            "race.abandoned",
            races=[
                {"race_id": "rc_1", **AT, "abandoned": False},
                {"race_id": "rc_2", **AT, "off": "13:30", "abandoned": True},
                {"race_id": "rc_3", **AT, "off": "14:00"},
                {"race_id": "rc_4", **AT, "off": "14:30", "status": "Abandoned"},
            ],
        ),
        ["York 13:30", "York 14:30"],
    ),
    "a race that was run among lost races": (
        shape("race.abandoned", races=[{"race_id": "rc_1", **AT, "status": "Result"}, {"race_id": "rc_2", **AT}]),
        ["York 13:00"],
    ),
    "lost races without and with the word": (
        shape("race.abandoned", races=[{"race_id": "rc_1", **AT}, {"race_id": "rc_2", **AT, "abandoned": True}]),
        ["York 13:00", "York 13:00"],
    ),
    "results without placings": (
        shape(races=[{"race_id": "rc_1", **AT}, {"race_id": "rc_2", **AT, "off": "13:30"}]),
        ["York 13:00", "York 13:30"],
    ),
    "horses beside two races": (
        shape(winner="A", runners=ROWS, races=[{"race_id": "rc_1", **AT}, {"race_id": "rc_2", **AT, "off": "13:30"}]),
        ["York 13:00", "York 13:30"],
    ),
    "places in the order of the runners": (
        shape(**AT, positions=[2, 1, 3], runners=BARE),
        ["York 13:00: A 2, B 1, C 3"],
    ),
    "places of some runners": (
        shape(**AT, positions=[2, 1], runners=BARE),
        ["York 13:00 could not be read: 2, 1"],
    ),
    "non-runners with reasons": (shape(**AT, non_runners={"2": "Lame"}, runners=BARE), ["York 13:00: B NR"]),
    "horses beside a race": (shape(runners=ROWS, races=[{"race_id": "rc_1", **AT}]), [YORK]),
    "races under a name for rows": (shape("race.abandoned", events=[{"race_id": "rc_1", **AT}]), ["York 13:00"]),
    "numbers of the placed": (shape(**AT, winner=2, second=3, third="1", runners=BARE), ["York 13:00: A 3, B 1, C 2"]),
    "a time of the second": (shape(**AT, first="B", second=3, runners=BARE), [ONE_B]),
    "number of the winner": (shape(**AT, result={"winningSaddleCloth": 2}, runners=BARE), [ONE_B]),
    "placed horses": (shape(**AT, placedHorses=ROWS), [YORK]),
    "winner beside no runner of the name": (
        shape(**AT, winner="Awaiting the judge", runners=BARE),
        ["York 13:00 could not be read: winner Awaiting the judge"],
    ),
    "winner of an unlisted number": (shape(**AT, winner=9, runners=BARE), ["York 13:00"]),
    "winner of another name than the first": (
        shape(**AT, winner="Z", runners=ROWS),
        ["York 13:00: A 1?, B 2, Z 1? in dispute"],
    ),
    "winners in a text": (shape(**AT, winner="A & C (dead heat)", runners=BARE), ["York 13:00: A 1=, C 1="]),
    "winner behind far too many spaces": (shape(**AT, winner=" " * 500_000 + "Z", runners=BARE), ["York 13:00"]),
    "order with two spaces": (shape(**AT, result="1  " * 60 + "Z", runners=ROWS), [YORK]),
    "names in an opinion": (shape(**AT, top_three=["B", "A"], runners=ROWS), [YORK]),
    "words for no winner": (
        shape(**AT, winner="TBC - stewards enquiry"),
        ["York 13:00 could not be read: winner TBC - stewards enquiry"],
    ),
    "margins beside the winner": (shape(**AT, result={"winner": "B", "distances": "1, nk"}, runners=BARE), [ONE_B]),
    "opinions on the winner": (
        shape(**AT, analysis={"winner": "A"}, preview={"first": "A"}, runners=BARE),
        ["York 13:00"],
    ),
    "places by number": (
        shape(**AT, positions={"3": 1, "1": 2, "2": "PU"}, runners=BARE),
        ["York 13:00: A 2, B PU, C 1"],
    ),
    "places by number, two in one": (
        shape(**AT, positions={"3": 1, "1": 1, "2": 3}, runners=BARE),
        ["York 13:00: A 1=, B 3, C 1="],
    ),
    "numbers by place or places by number": (
        shape(**AT, placings={"1": 3, "2": 1, "3": 2}, runners=BARE),
        ["York 13:00 could not be read: 1: 3, 2: 1, 3: 2"],
    ),
    "the same places both ways": (shape(**AT, placings={"1": "2", "2": "1"}, runners=BARE), ["York 13:00: A 2, B 1"]),
    "a key beyond numbers": (shape(**AT, placings={"9" * 5000: 1}), [f"York 13:00 could not be read: {'9' * 80}"]),
    "order of unlisted numbers": (shape(**AT, result="7-8-9", runners=BARE), ["York 13:00 could not be read: 7-8-9"]),
    "dividend of the first four": (shape(**AT, first_four="$1,123", runners=BARE), ["York 13:00"]),
    "dividends of the first four": (shape(**AT, first_4={"pays": "€123,40"}, runners=BARE), ["York 13:00"]),
    "first three with the dividend": (
        shape(**AT, first_three="3-1-2 ($123.40)", runners=BARE),
        ["York 13:00: A 2, B 3, C 1"],
    ),
    "first three": (shape(**AT, first_three=[3, 1, 2], runners=BARE), ["York 13:00: A 2, B 3, C 1"]),
    "course by an object of names": (
        shape(**AT | {"course": {"id": 7, "names": {"en": "York"}}, "off": {"hours": 13, "minutes": 0}}, runners=ROWS),
        [YORK],
    ),
    "course by a slug": (shape(**AT | {"course": {"id": 7, "slug": "York"}}, runners=ROWS), [YORK]),
    "horses that do not run": (
        shape(**AT, runners=[{"name": "A", "np": True}, {"name": "B", "取消": 1}, {"name": "C", "also_eligible": 1}]),
        ["York 13:00: A NR, B NR, C Reserve"],
    ),
    "order in an object of any name": (shape(**AT, summary={"podium": ["B", "A"]}), ["York 13:00: B 1, A 2"]),
    "horses under keys have no order": (
        shape(**AT, finishing_order={"b7": {"name": "B"}, "a3": {"name": "A"}}),
        ["York 13:00"],
    ),
    "horses under keys with jockeys have no order": (
        shape(**AT, result={"B": {"jockey": "J"}, "A": {"jockey": "K"}}),
        ["York 13:00 could not be read: A: jockey: K, B: jockey: J"],
    ),
    "winner in details of the outcome": (shape(**AT, raceOutcomeDetails={"winner": "B"}, runners=BARE), [ONE_B]),
    "course in English": (shape(**AT | {"course": None, "racecourse_en": "York"}, runners=ROWS), [YORK]),
    "Swedish": (
        shape(
            bana="York",
            datum=DAY,
            starttid="13:00",
            resultat=[{"placering": 1, "häst": {"namn": "A"}}, {"placering": 2, "häst": {"namn": "B"}}],
        ),
        [YORK],
    ),
    "Japanese": (
        shape(
            開催日="2026年11月20日", 競馬場="東京", 発走時刻="15:40", 結果=[{"着順": "1", "馬番": "5", "馬名": "ア"}]
        ),
        ["東京 15:40: ア 1"],
    ),
    "French": (
        shape(
            hippodrome="York",
            jour="20/11/2026",
            heure="13h00",
            arrivee="2 - 1",
            partants=[{"numero": 1, "cheval": "A"}, {"numero": 2, "cheval": "B"}],
        ),
        ["York 13:00: A 2, B 1"],
    ),
    "Spanish": (
        shape(hipódromo="York", fecha=DAY, hora="13:00", resultados=[], runners=[{"caballo": "A", "puesto": 1}]),
        ["York 13:00: A 1"],
    ),
    "start in UTC": (shape(**AT | {"off": None}, startTimeUTC=f"{DAY}T13:00:00Z", runners=ROWS), [YORK]),
    "numbers before names of one letter": (
        shape(**AT, placings=["1. A Plus Tard", "2. D'Or", "3. I Am"]),
        ["York 13:00: A Plus Tard 1, D'Or 2, I Am 3"],
    ),
    **{
        f"races with {name}": (
            shape(races=[{"race_id": "rc_1", **AT, name: told}, {"race_id": "rc_2", **AT, "off": "13:30", name: told}]),
            ["York 13:00: A 1, B 2", "York 13:30: A 1, B 2"],
        )
        for name, told in (
            *((f"{of}_result", {"winner": "A", "second": "B"}) for of in ("official", "final", "amended", "new")),
            *((f"{of}_order", ["A", "B"]) for of in ("official", "finishing", "final")),
        )
    },
    "lost race with a final result": (
        shape("race.abandoned", races=[{"race_id": "rc_1", **AT, "final_result": "Abandoned"}]),
        ["York 13:00"],
    ),
    "cards of festivals": (
        shape("racecard.published", date=DAY, races=[{"off": "13:00", "course": f"{one} Festival"} for one in "XY"]),
        [f"X Festival {DAY}, 1 races", f"Y Festival {DAY}, 1 races"],
    ),
    "nothing of a race": (shape(blob="x", marketBook={"status": "CLOSED"}), ["the payload names no race"]),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("race.abandoned", "races"),
        *((kind, name) for kind in ("meeting.abandoned", "racecard.published") for name in ("races", "meetings")),
    ],
)
def test_too_many_events_are_told_of_no_single_course(kind, name):
    elsewhere = [
        {**BATH, "course": f"Bath {number}"} | ({"off": "13:00"} if name == "races" else {}) for number in range(31)
    ]
    (event,) = read_events(json.dumps(shape(kind, **ASCOT, **{name: elsewhere})).encode())
    assert (event.race.course, event.race.region, event.unreadable_because) == (Course(), None, TOO_MANY)


AROUND: dict[str, Any] = {"region": "GB", "date": DAY, "reason": "Frost"}
LOST_RACE = {"off": "13:00", "status": "Abandoned"}
BOTH, AYR_ANYWHERE = ["GB York Frost", "GB Ayr Frost"], ["GB York Frost", "None Ayr Frost"]


@pytest.mark.parametrize("beside", [{}, {"course": "York"}, {"meeting": {"id": "m_1", "name": "York"}}])
@pytest.mark.parametrize("listed", [["York", "Ayr"], [{"name": "York"}, {"name": "Ayr"}], ["York", {"name": "Ayr"}]])
@pytest.mark.parametrize(
    "name", ["meetings", "fixtures", "venues", "tracks", "courses", "racecourses", "affected_venues", "abandoned"]
)
def test_each_named_meeting_is_told_with_what_stands_beside_the_list(name, listed, beside):
    assert lost_meetings(**AROUND, **beside, **{name: listed}) == BOTH


@pytest.mark.parametrize(
    ("data", "meetings"),
    [
        *(({**AROUND, name: ["York", "Ayr"]}, BOTH) for name in ("course", "venue", "meeting", "course_names")),
        ({**AROUND, "meetings": "York, Ayr"}, BOTH),
        ({**AROUND, "courses": "York and Ayr"}, BOTH),
        ({**AROUND, "meetings": {"items": ["York", "Ayr"]}}, BOTH),
        ({**AROUND, "affected": {"venues": ["York", "Ayr"]}}, BOTH),
        ({**AROUND, "course": "York", "venues": ["Ayr"]}, BOTH),
        ({**AROUND, "course": "York", "meeting": {"Status": "Abandoned"}}, ["GB York Frost"]),
        ({**AROUND, "venues": {"York": True, "Bath": False}}, ["GB York Frost"]),
        ({**AROUND, "venues": {"York": "Fog", "Ayr": "Snow"}}, ["GB Ayr Snow", "GB York Fog"]),
        ({**AROUND, "courses": [{"id": "cr_1", "name": "York"}, {"id": "cr_2", "name": "Ayr"}]}, BOTH),
        ({"date": DAY, "meetings": {"GB": ["York"], "IE": ["Naas"]}}, ["GB York None", "IE Naas None"]),
        *(
            ({**AROUND, "course": "York", "meetings": said, "venues": [said]}, ["GB York Frost"])
            for said in ("see website", "TBC", "none", "All", "York", "YORK", "York (GB)", "Race 5")
        ),
        ({**AROUND, "meetings": {"Name": "York", "Region": "GB"}}, ["GB None Frost"]),
        (
            {
                **AROUND,
                "meetings": [{"name": "York", "status": "Abandoned"}, {"name": "Ayr", "reason": "Frost"}, "Bath"],
            },
            BOTH,
        ),
        (
            {**AROUND, "meetings": [{"name": "York", "abandoned": True}, {"name": "Ayr", "status": "Frozen"}]},
            ["GB York Frost", "GB Ayr Frozen, Frost"],
        ),
        (
            {**AROUND, "meetings": [{"name": "York", "status": "Abandoned"}, {"name": "Ayr", "status": "Declared"}]},
            ["GB York Frost"],
        ),
        (
            {**AROUND, "meetings": [{"name": "York", "abandoned": True}, {"name": "Ayr", "races": [LOST_RACE]}]},
            ["GB York Frost", "GB Ayr Frost, 1 races"],
        ),
        ({**AROUND, "venues": {"York": True, "Ayr": "Frost", "Bath": False}}, ["GB Ayr Frost", "GB York Frost"]),
        *(
            ({**AROUND, "course": "York", name: [{"number": 3, "name": "A Race"}]}, [f"GB York Frost{races}"])
            for name, races in (("cancelled", ", 1 races"), ("card", ", 1 races"), ("affected", ", 1 races"))
        ),
        *(
            ({**AROUND, "course": "York", name: said}, ["GB York Frost"])
            for name, said in (
                ("meetings", {"Status": "Abandoned"}),
                ("meetings", {"Total": "2"}),
                ("location", ["York", "England"]),
            )
        ),
        *(
            ({**AROUND, "course": "York", name: said}, [f"GB York Frost, {len(said)} races"])
            for name in ("cancelled", "abandoned", "affected", "lost")
            for said in (
                ["Ebor Handicap", "Gimcrack Stakes"],
                ["Ebor Handicap", "Juddmonte"],
                [{"name": "Ebor Handicap"}, {"name": "Juddmonte"}],
                *(["13:00", "13:30"], [3, 4, 5], ["rc_1", "rc_2"], ["Prix Foy"]),
            )
        ),
        ({**AROUND, "course": "York", "meetings": ["Ebor Handicap", "Gimcrack Stakes"]}, ["GB York Frost"]),
        ({**AROUND, "course": "York", "cancelled": "R4, R5 and R6"}, ["GB York Frost, 3 races"]),
        ({**AROUND, "course": "York", "abandoned_races": "4-7"}, ["GB York Frost, 4 races"]),
        ({**AROUND, "course": "York", "abandoned_races": "4"}, ["GB York Frost"]),
        ({**AROUND, "course": "York", "race_numbers": [4, 5]}, ["GB York Frost, 2 races"]),
        *(
            ({**AROUND, "course": "York", "meetings": [{"name": "Ebor Festival", **more}]}, [f"GB York Frost{races}"])
            for more, races in (
                *(({}, ""), ({"id": "m_1"}, ""), ({"status": "Abandoned"}, "")),
                ({"races": ["13:00", "13:30"]}, ", 2 races"),
            )
        ),
        ({**AROUND, "meetings": [{"name": "Ebor Festival"}]}, ["GB Ebor Festival Frost"]),
        ({**AROUND, "meetings": [{"name": "Ebor Festival", "course": "York"}, {"course": "Ayr"}]}, BOTH),
        *(
            ({**AROUND, "meetings": [{"name": "York", "status": "Abandoned"}, {"name": "Ayr", **part}]}, BOTH)
            for part in (
                *({"abandoned_from": 4}, {"abandoned_after": "race 3"}, {"partial": True}, {"abandoned_races": 3}),
                *({"races_run": 3}, {"note": "Remaining races lost"}, {"abandoned_from": "15:00"}),
            )
        ),
        *(
            (
                {**AROUND, "meetings": [{"name": "York", "status": "Abandoned"}, {"name": "Ayr", **on}]},
                ["GB York Frost"],
            )
            for on in (
                *({"status": "Going ahead"}, {"status": "Inspection 8am"}, {"status": "ON"}, {"status": "Active"}),
                *({"partial": False}, {"abandoned_races": 0}),
            )
        ),
        ({**AROUND, "meetings": {"York": "Abandoned", "Ayr": "Going ahead"}}, ["GB York Frost"]),
        ({**AROUND, "meetings": {"m_1": {"course": "York"}, "m_2": {"course": "Ayr"}}}, BOTH),
        ({"date": DAY, "cancelled": {"GB": ["York"], "IE": ["Naas"]}}, ["GB York None", "IE Naas None"]),
        ({**AROUND, "course": "York", "cancelled": {"Reason": {"text": "Fog"}}}, ["GB York Frost"]),
        ({**AROUND, "course": "York", "cancelled": {"by": {"name": "Clerk"}}}, ["GB York Frost"]),
        ({**AROUND, "countries": [{"name": "A", "meetings": ["York"]}, {"name": "B", "meetings": ["Ayr"]}]}, BOTH),
        ({**AROUND, "meetings": [{"number": 1, "name": "York"}, {"number": 2, "name": "Ayr"}]}, BOTH),
        ({**AROUND, "meeting_ids": ["m_1", 204]}, ["GB m_1 Frost", "GB 204 Frost"]),
        ({**AROUND, "course_ids": ["cr_1", "cr_2"]}, ["GB cr_1 Frost", "GB cr_2 Frost"]),
        (
            {**AROUND, "course": "York", "meetings": ["York", {"course": "Naas", "region": "IE"}, "Ayr"]},
            ["GB York Frost", "IE Naas Frost", "None Ayr Frost"],
        ),
        ({"reason": "Frost", "meetings": ["York", "Ayr"], "meeting": {"name": "York", "region": "GB"}}, AYR_ANYWHERE),
        ({"reason": "Frost", "meetings": ["York", "Ayr"], "course": {"name": "York", "region": "GB"}}, AYR_ANYWHERE),
        ({"date": DAY, "hippodrome": "Auteuil", "courses": ["Prix A", "Prix B"]}, ["None Auteuil None, 2 races"]),
        (
            {**AROUND, "meetings": ["York", "Ayr"], "races": [{"off": "13:00"}, {"course": "Ayr", "off": "13:10"}]},
            ["GB York Frost", "GB Ayr Frost, 1 races"],
        ),
        (
            {**AROUND, "course": "York", "tracks": ["Ayr"], "races": ["13:00", {"course": "Bath", "off": "13:10"}]},
            ["GB York Frost, 1 races", "GB Ayr Frost", "None Bath Frost, 1 races"],
        ),
    ],
)
def test_meetings_are_read_however_they_are_listed(data, meetings):
    assert lost_meetings(**data) == meetings


@pytest.mark.parametrize("kind", ["meeting.abandoned", "racecard.published", "race.abandoned", "result.received"])
@pytest.mark.parametrize("name", ["Ascot", "ASCOT", "Ascot (GB)", "Royal Ascot"])
def test_region_and_id_stand_beside_a_meeting_of_another_name_than_its_course(kind, name):
    races = [{"course": "Ascot", "off": "13:00", "winner": "A"}, {"course": "Ascot", "off": "13:30", "winner": "B"}]
    payload = shape(kind, meeting={"id": "m_1", "name": name, "region": "GB"}, date=DAY, races=races)
    told = [one for event in read_events(json.dumps(payload).encode()) for one in (event.race, *event.races)]
    assert {(one.region, one.meeting_id, one.race_date) for one in told} == {("GB", "m_1", DAY)}


LISTED = [{"course": "York", "date": DAY, "off": "13:00"}, {"course": "Ayr", "date": DAY, "off": "14:00"}]


@pytest.mark.parametrize(
    "beside", [{"position": 1}, {"place": "North"}, {"rank": 2}, {"fin": False}, {"placed": ["A"]}]
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("meeting.abandoned", name) for name in ("meetings", "data")),
        *(("race.abandoned", name) for name in ("races", "data", "cancelled")),
    ],
)
def test_meeting_or_race_with_a_place_in_the_list_is_no_horse(kind, name, beside):
    events = read_events(json.dumps({"event": kind, name: [{**one, **beside} for one in LISTED]}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@pytest.mark.parametrize("kind", ["race.abandoned", "meeting.abandoned"])
@pytest.mark.parametrize("name", ["entities", "value", "details", "objects"])
def test_entries_with_a_race_are_the_events_of_a_delivery_that_names_no_other(kind, name):
    events = read_events(json.dumps({"event": kind, name: LISTED}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@pytest.mark.parametrize("kind", ["race.abandoned", "meeting.abandoned", "racecard.published", "result.received"])
def test_races_in_days_have_the_day(kind):
    days = [{"date": day, "races": [{"course": "York", "off": "13:00"}]} for day in (DAY, "2026-11-21")]
    events = read_events(json.dumps(shape(kind, days=days)).encode())
    assert [(one.race.course.name, one.race.race_date) for one in events] == [("York", DAY), ("York", "2026-11-21")]


@pytest.mark.parametrize("name", ["next_races", "related", "previous", "odds", "history"])
def test_entries_about_other_races_are_no_events(name):
    assert said({"event": "race.abandoned", name: LISTED}) == ["the payload names no race"]


@pytest.mark.parametrize(
    ("payload", "lines"),
    [
        *(
            (shape("race.abandoned", **AT | {"off": None}, races={"13:00": one, "13:30": other}), ["York 13:00", *rest])
            for one, other, rest in (("Fog", "Fog", ["York 13:30"]), ("Abandoned", "Open", []))
        ),
        (
            shape("race.abandoned", date=DAY, meetings={"York": ["13:00", "13:30"], "Ayr": ["14:00"]}),
            ["Ayr 14:00", "York 13:00", "York 13:30"],
        ),
        (shape("race.abandoned", **AT | {"off": None}, race_id=["r1", "r2"]), [f"York {DAY}"] * 2),
        (
            shape(
                "race.abandoned", before={"id": "r1", **AT, "status": "Open"}, after={"id": "r1", **AT, "status": "Off"}
            ),
            ["York 13:00"],
        ),
        ({"detail-type": "race.abandoned", "detail": AT}, ["York 13:00"]),
        ({"event": "price.moved", "beside": "race.abandoned", **AT}, ["The event price.moved is unknown."]),
    ],
)
def test_lost_races_are_read_under_keys_and_the_event_by_its_value(payload, lines):
    assert said(payload) == lines


def test_meetings_in_groups_have_the_day_of_the_group():
    days = [{"date": DAY, "meetings": ["York"]}, {"date": "2026-11-21", "meetings": [{"course": "Ayr"}]}]
    events = read_events(json.dumps(shape("meeting.abandoned", reason="Frost", days=days)).encode())
    told = [(one.race.course.name, one.race.race_date, one.reason) for one in events]
    assert told == [("York", DAY, "Frost"), ("Ayr", "2026-11-21", "Frost")]


@pytest.mark.parametrize(
    ("races", "numbers"),
    [
        *(({name: "4-7"}, ["4", "5", "6", "7"]) for name in ("races", "race", "race_number", "race_numbers")),
        *(({name: "R4, 5 & 6"}, ["4", "5", "6"]) for name in ("races", "race", "race_nos", "cancelled")),
        *(({name: [4, 5]}, ["4", "5"]) for name in ("race_number", "race_numbers", "abandoned")),
        *(({name: [4]}, ["4"]) for name in ("race_number", "races")),
        *(({name: "4"}, ["4"]) for name in ("race", "race_number")),
    ],
)
def test_each_numbered_race_that_is_lost_is_an_event(races, numbers):
    events = read_events(json.dumps(shape("race.abandoned", course="York", date=DAY, **races)).encode())
    assert [(one.race.course.name, one.race.number, one.races) for one in events] == [("York", n, ()) for n in numbers]


@pytest.mark.parametrize("name", ["off", "off_times", "race_times"])
def test_each_off_time_of_a_lost_race_is_an_event_and_two_times_of_a_result_are_one(name):
    times = {**AT, "off": None, name: ["13:00", "13:30"]}
    assert said(shape("race.abandoned", **times)) == ["York 13:00", "York 13:30"]
    assert len(said(shape(**times, runners=ROWS))) == 1


def test_nearest_value_beside_a_list_counts():
    far = {"event": "meeting.abandoned", "region": "IE", "date": "2026-11-21", "reason": "Fog"}
    events = read_events(json.dumps({**far, "data": {**AROUND, "meetings": ["York", "Ayr"]}}).encode())
    assert [(one.race.region, one.race.race_date, one.reason) for one in events] == [("GB", DAY, "Frost")] * 2


def lost_meetings(**data: Any) -> list[str]:
    told = []
    for event in read_events(json.dumps(shape("meeting.abandoned", **data)).encode()):
        course = event.race.course.name or event.race.course.course_id or event.race.meeting_id
        count = f", {len(event.races)} races" if event.races else ""
        told.append(event.unreadable_because or f"{event.race.region} {course} {event.reason}{count}")
    return told


@pytest.mark.parametrize(("payload", "lines"), SHAPES.values(), ids=SHAPES)
def test_delivery_is_read_in_the_shape_of_a_service(payload, lines):
    assert said(payload) == lines
