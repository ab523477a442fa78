"""Whole deliveries in the shapes of public services: the events, each with place, time and order."""

import json

import pytest

from tests.unit.events.shapes import ASCOT, AT, BATH, DAY, PAST, ROWS, UNTIMED, said, shape

BARE = [{"number": 1, "name": "A"}, {"number": 2, "name": "B"}, {"number": 3, "name": "C"}]
YORK, ONE_B = "York 13:00: A 1, B 2", "York 13:00: B 1"
MEETING = {"name": "York", "region": "GB", "date": DAY}
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
    "places of some runners": (shape(**AT, positions=[2, 1], runners=BARE), ["York 13:00 could not be read: 2, 1"]),
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
    "cards of festivals": (
        shape("racecard.published", date=DAY, races=[{"off": "13:00", "course": f"{one} Festival"} for one in "XY"]),
        [f"X Festival {DAY}, 1 races", f"Y Festival {DAY}, 1 races"],
    ),
    "past races of each horse": (
        shape(
            **UNTIMED,
            title="Ebor Handicap",
            results=[{"horse": name, "position": 1 + place, "races": [PAST]} for place, name in enumerate("AB")],
        ),
        [f"York {DAY}: A 1, B 2"],
    ),
    "other races, and other times, beside a number on the card": (
        shape(
            "race.abandoned",
            **UNTIMED,
            race_number=3,
            off_times=["13:00", "13:02"],
            items=[PAST],
            series=[{"name": "Dante", "races": [PAST]}],
        ),
        [f"York {DAY}"],
    ),
    "past races of each horse without a place": (
        shape(**UNTIMED, title="Ebor Handicap", results=[{"name": name, "races": [PAST]} for name in "AB"]),
        [f"York {DAY}"],
    ),
    **{
        f"winner of another market under {name}, {place}": (
            shape(**AT | {name: [{key: place, "winner": "B"}]}, runners=BARE),
            [f"York 13:00 could not be read: {key}: {place}, winner: B" if name == "result" else "York 13:00"],
        )
        for name in ("result", "results", "outcome", "settlement")
        for key, place in (("market", "Place"), ("betType", "Match bet"), ("product", "each-way"))
    },
    "results of several races with times": (
        shape(meetings=[{**UNTIMED, "results": [{"time": "13:00", "winner": "A"}, {"time": "13:30", "winner": "B"}]}]),
        ["York 13:00: A 1", "York 13:30: B 1"],
    ),
    **{
        f"opinion with {said} in {name}": (shape(**AT | {name: told}, runners=BARE), ["York 13:00"])
        for name in ("ai", "virtual_race", "draft", "pundit", "simulated_result")
        for said, told in (("a result", {"result": {"winner": "B"}}), ("runners", {"runners": ROWS}))
    },
    "race in an unknown object": (shape(**UNTIMED, entity={"race": {"off": "13:00", "runners": ROWS}}), [YORK]),
    **{
        f"a horse by the name of {name}": (
            shape(**AT, winner={"name": name}, second={"name": "B"}),
            [f"York 13:00: {name} 1, B 2"],
        )
        for name in ("Result", "Void", "Abandoned", "Washed Out", "No Race")
    },
    "a superseded result": (shape(**AT, winner="A", supersedes={"winner": "B"}), ["York 13:00: A 1"]),
    "an earlier race beside": (shape(**AT, runners=ROWS, earlier_race={"off": "12:30", "winner": "Z"}), [YORK]),
    "results by the ids of horses in another list": (
        shape(
            race=AT,
            horses=[{"id": 1, "name": "A"}, {"id": 2, "name": "B"}],
            results=[{"horse_id": 2, "position": 2}, {"horse_id": 1, "position": 1}],
        ),
        [YORK],
    ),
    "winner of the market": (shape(**AT, result=[{"market": "Win", "winner": "B"}], runners=BARE), [ONE_B]),
    "a market of the race itself": (shape(**AT, market="UK", winner="B", runners=BARE), [ONE_B]),
    **{
        f"winners of other races under {name}": (shape(**AT | {name: {"winner": "Z"}}, runners=ROWS), [YORK])
        for name in ("pastResults", "historic_results", "tote_results", "previous_running")
    },
    "places by the Equibase": (
        shape(**AT, entry=[{"NAME": name, "OFFICIAL_FIN": str(place)} for place, name in enumerate("AB", 1)]),
        [YORK],
    ),
    **{
        f"horses under {name}": (
            shape(**AT | {name: [{"animalName": "A", "officialResult": "1"}]}),
            ["York 13:00: A 1"],
        )
        for name in ("race_result", "top_horses", "performances")
    },
    "other races of a trainer": (
        shape("race.abandoned", **UNTIMED, trainers=[{"name": "T", "races": [PAST]}]),
        [f"York {DAY}"],
    ),
    "bets that won": (shape(**AT, runners=[{**one, "outcome": "WIN"} for one in ROWS]), [YORK]),
    "bets that lost": (shape(**UNTIMED, lost=["A", "B"], runners=ROWS), [f"York {DAY}: A 1, B 2"]),
    **{
        f"pairs of a name and a number, {rows}": (shape(**AT, placings=rows), [line])
        for rows, line in (
            ([["A", 1], ["B", 2], ["C", "PU"]], f"{YORK}, C PU"),
            ([["A", "1"], ["B", "1"], ["C", "3"]], "York 13:00: A 1=, B 1=, C 3"),
            ([["A", 4], ["B", 1]], "York 13:00 could not be read: A, 4, B, 1"),
            ([["A", 1, 2.5], ["B", 2, 3]], YORK),
            ([["A", "2/1"], ["B", "5/1"]], "York 13:00 could not be read: A, 2/1, B, 5/1"),
        )
    },
    "pairs of a place and a number": (
        shape(**AT, placings=[[1, 4], [2, 7]], runners=[{"number": 4, "name": "A"}, {"number": 7, "name": "B"}]),
        [YORK],
    ),
    "winner of another bet": (shape(**AT, result=[{"market": "Place", "winner": "Z"}], runners=ROWS), [YORK]),
    "winner of the bet to win": (shape(**AT, result=[{"market": "WIN", "winner": "A"}]), ["York 13:00: A 1"]),
    **{
        f"winner called as a lost race is, in the {name}": (
            shape(**AT, **{name: "Washed Out wins"}, runners=[{"horse": "Washed Out", "position": 1}]),
            ["York 13:00: Washed Out 1"],
        )
        for name in ("status", "headline")
    },
    "several results, each with its standing": (
        shape(**AT, results=[{"status": "unofficial", "winner": "Z"}, {"status": "official", "runners": ROWS}]),
        [YORK],
    ),
    "several results of one standing": (
        shape(**AT, results=[{"winner": "A"}, {"winner": "B"}]),
        ["York 13:00: A 1?, B 1? in dispute"],
    ),
    "nothing of a race": (shape(blob="x", marketBook={"status": "CLOSED"}), ["the payload names no race"]),
}


@pytest.mark.parametrize(("payload", "lines"), SHAPES.values(), ids=SHAPES)
def test_delivery_is_read_in_the_shape_of_a_service(payload, lines):
    assert said(payload) == lines
