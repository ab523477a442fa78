"""Whole deliveries in the shapes of public services: the events, each with place, time and order."""

import json

from tests.rows import over
from tests.unit.events.shapes import ASCOT, AT, BATH, DAY, PAST, ROWS, UNTIMED, said, shape

BARE = [{"number": 1, "name": "A"}, {"number": 2, "name": "B"}, {"number": 3, "name": "C"}]
YORK, ONE_B = "York 13:00: A 1, B 2", "York 13:00: B 1"
UNREAD = "York 13:00 could not be read:"
MEETING = {"name": "York", "region": "GB", "date": DAY}


def york(event="result.received", **data):
    """The race at York."""
    return shape(event, **AT | data)


def ran(**data):
    """The race at York of A, B and C, whose places stand nowhere but in the data."""
    return york(**data, runners=BARE)


def race(number, off="13:00", **data):
    return {"race_id": f"rc_{number}", **AT, "off": off, **data}


def _resource(kind, number, **attributes):
    return {"type": kind, "id": str(number), **({"attributes": attributes} if attributes else {})}


def _linked(kind, number):
    return {"data": _resource(kind, number)}


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
    "JSON:API": (
        {
            "data": {"type": "result.received", "id": "evt_1", "relationships": {"race": _linked("race", 1)}},
            "included": [
                {
                    **_resource("race", 1, off="13:00", date=DAY),
                    "relationships": {
                        "meeting": _linked("meeting", 2),
                        "runners": {"data": [_resource("runner", 1), _resource("runner", 2)]},
                        "winner": _linked("runner", 2),
                        "self": {"links": {}},
                    },
                },
                {
                    **_resource("meeting", 2),
                    "relationships": {"course": _linked("course", 3), "races": _linked("race", 1)},
                },
                _resource("course", 3, name="York"),
                *(_resource("runner", number, horse=name) for number, name in enumerate("AB", 1)),
            ],
        },
        [ONE_B],
    ),
    "JSON:API without the resources": (
        york(relationships={"course": _linked("course", "cr_1"), "winner": {"data": "A"}}, included=3, runners=ROWS),
        [YORK],
    ),
    "JSON in a text": ({"Type": "Notification", "Message": json.dumps(york(runners=ROWS))}, [YORK]),
    "JSON in texts of a list": (
        {"Records": [{"body": json.dumps({"Message": json.dumps(york(runners=json.dumps(ROWS)))})}]},
        [YORK],
    ),
    "text in brackets": (york(title="[Class 2]", runners=ROWS), [YORK]),
    "names of events": (
        {"event": "webhook.test", "subscription": {"events": [{"name": "race.abandoned"}]}},
        ["The event webhook.test is unknown."],
    ),
    "an empty list under the first of many keys": (
        york(pages={**{f"b{number}": [1] for number in range(1_001)}, "a": []}, runners=ROWS),
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
                race(1, runners=ROWS),
                race(2, "13:30", abandoned=False, status="Declared", runners=BARE),
                race(3, "14:00", runners=BARE),
                race(4, "14:30", status="Void", runners=BARE),
            ]
        ),
        [YORK, "York 14:30"],
    ),
    "lost races among the races of a card": (
        shape(
            "race.abandoned",
            races=[
                race(1, abandoned=False),
                race(2, "13:30", abandoned=True),
                race(3, "14:00"),
                race(4, "14:30", status="Abandoned"),
            ],
        ),
        ["York 13:30", "York 14:30"],
    ),
    "a race that was run among lost races": (
        shape("race.abandoned", races=[race(1, status="Result"), race(2)]),
        ["York 13:00"],
    ),
    "lost races without and with the word": (
        shape("race.abandoned", races=[race(1), race(2, abandoned=True)]),
        ["York 13:00", "York 13:00"],
    ),
    "results without placings": (shape(races=[race(1), race(2, "13:30")]), ["York 13:00", "York 13:30"]),
    "horses beside two races": (
        shape(winner="A", runners=ROWS, races=[race(1), race(2, "13:30")]),
        ["York 13:00", "York 13:30"],
    ),
    "places in the order of the runners": (ran(positions=[2, 1, 3]), ["York 13:00: A 2, B 1, C 3"]),
    "places of some runners": (ran(positions=[2, 1]), [f"{UNREAD} 2, 1"]),
    "non-runners with reasons": (ran(non_runners={"2": "Lame"}), ["York 13:00: B NR"]),
    "horses beside a race": (shape(runners=ROWS, races=[race(1)]), [YORK]),
    "races under a name for rows": (shape("race.abandoned", events=[race(1)]), ["York 13:00"]),
    "numbers of the placed": (ran(winner=2, second=3, third="1"), ["York 13:00: A 3, B 1, C 2"]),
    "a time of the second": (ran(first="B", second=3), [ONE_B]),
    "number of the winner": (ran(result={"winningSaddleCloth": 2}), [ONE_B]),
    "placed horses": (york(placedHorses=ROWS), [YORK]),
    "winner beside no runner of the name": (ran(winner="Awaiting the judge"), [f"{UNREAD} winner Awaiting the judge"]),
    "winner of an unlisted number": (ran(winner=9), ["York 13:00"]),
    "winner of another name than the first": (
        york(winner="Z", runners=ROWS),
        ["York 13:00: A 1?, B 2, Z 1? in dispute"],
    ),
    "winners in a text": (ran(winner="A & C (dead heat)"), ["York 13:00: A 1=, C 1="]),
    "winner behind far too many spaces": (ran(winner=" " * 500_000 + "Z"), ["York 13:00"]),
    "order with two spaces": (york(result="1  " * 60 + "Z", runners=ROWS), [YORK]),
    "names in an opinion": (york(top_three=["B", "A"], runners=ROWS), [YORK]),
    "words for no winner": (york(winner="TBC - stewards enquiry"), [f"{UNREAD} winner TBC - stewards enquiry"]),
    "margins beside the winner": (ran(result={"winner": "B", "distances": "1, nk"}), [ONE_B]),
    "opinions on the winner": (ran(analysis={"winner": "A"}, preview={"first": "A"}), ["York 13:00"]),
    "places by number": (ran(positions={"3": 1, "1": 2, "2": "PU"}), ["York 13:00: A 2, B PU, C 1"]),
    "places by number, two in one": (ran(positions={"3": 1, "1": 1, "2": 3}), ["York 13:00: A 1=, B 3, C 1="]),
    "numbers by place or places by number": (ran(placings={"1": 3, "2": 1, "3": 2}), [f"{UNREAD} 1: 3, 2: 1, 3: 2"]),
    "the same places both ways": (ran(placings={"1": "2", "2": "1"}), ["York 13:00: A 2, B 1"]),
    "a key beyond numbers": (york(placings={"9" * 5000: 1}), [f"{UNREAD} {'9' * 80}"]),
    "status in the place of an order": (ran(result={"status": "Official"}), ["York 13:00"]),
    "order of unlisted numbers": (ran(result="7-8-9"), [f"{UNREAD} 7-8-9"]),
    "dividend of the first four": (ran(first_four="$1,123"), ["York 13:00"]),
    "dividends of the first four": (ran(first_4={"pays": "€123,40"}), ["York 13:00"]),
    "first three with the dividend": (ran(first_three="3-1-2 ($123.40)"), ["York 13:00: A 2, B 3, C 1"]),
    "first three": (ran(first_three=[3, 1, 2]), ["York 13:00: A 2, B 3, C 1"]),
    "course by an object of names": (
        york(course={"id": 7, "names": {"en": "York"}}, off={"hours": 13, "minutes": 0}, runners=ROWS),
        [YORK],
    ),
    "course by a slug": (york(course={"id": 7, "slug": "York"}, runners=ROWS), [YORK]),
    "horses that do not run": (
        york(runners=[{"name": "A", "np": True}, {"name": "B", "取消": 1}, {"name": "C", "also_eligible": 1}]),
        ["York 13:00: A NR, B NR, C Reserve"],
    ),
    "order in an object of any name": (york(summary={"podium": ["B", "A"]}), ["York 13:00: B 1, A 2"]),
    "horses under keys have no order": (
        york(finishing_order={"b7": {"name": "B"}, "a3": {"name": "A"}}),
        ["York 13:00"],
    ),
    "horses under keys with jockeys have no order": (
        york(result={"B": {"jockey": "J"}, "A": {"jockey": "K"}}),
        [f"{UNREAD} A: jockey: K, B: jockey: J"],
    ),
    "winner in details of the outcome": (ran(raceOutcomeDetails={"winner": "B"}), [ONE_B]),
    "course in English": (york(course=None, racecourse_en="York", runners=ROWS), [YORK]),
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
    "start in UTC": (york(off=None, startTimeUTC=f"{DAY}T13:00:00Z", runners=ROWS), [YORK]),
    "numbers before names of one letter": (
        york(placings=["1. A Plus Tard", "2. D'Or", "3. I Am"]),
        ["York 13:00: A Plus Tard 1, D'Or 2, I Am 3"],
    ),
    "places before names": (
        york(placings=["1st: A Plus Tard", "2nd - D'Or", "3rd. I Am"]),
        ["York 13:00: A Plus Tard 1, D'Or 2, I Am 3"],
    ),
    **{
        f"races with {name}": (
            shape(races=[race(1, **{name: told}), race(2, "13:30", **{name: told})]),
            ["York 13:00: A 1, B 2", "York 13:30: A 1, B 2"],
        )
        for name, told in (
            *((f"{of}_result", {"winner": "A", "second": "B"}) for of in ("official", "final", "amended", "new")),
            *((f"{of}_order", ["A", "B"]) for of in ("official", "finishing", "final")),
        )
    },
    "a card as a table": (
        shape(
            "racecard.published",
            course="York",
            date=DAY,
            races={"columns": ["off", "title"], "rows": [["13:00", "Cup"]]},
        ),
        [f"York {DAY}, 1 races"],
    ),
    "a table without known columns": (
        york(runners={"columns": ["c1", "c2"], "rows": [["A", 1]]}),
        [f"{UNREAD} columns: c1, c2, rows: A, 1"],
    ),
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
            ran(**{name: [{key: place, "winner": "B"}]}),
            [f"{UNREAD} {key}: {place}, winner: B" if name == "result" else "York 13:00"],
        )
        for name in ("result", "results", "outcome", "settlement")
        for key, place in (("market", "Place"), ("betType", "Match bet"), ("product", "each-way"))
    },
    **{
        f"an id beside {name}": ({"event": "result.received", "race_id": "rc_1", name: listed}, lines)
        for name, listed, lines in (
            ("results", [race(1, runners=ROWS)], [YORK]),
            ("races", [{**AT, "runners": ROWS}], [YORK]),
            ("items", [race(1, runners=ROWS), race(2, "13:30", runners=ROWS)], [YORK, "York 13:30: A 1, B 2"]),
            ("runners", ROWS, ["None None: A 1, B 2"]),
        )
    },
    "an id beside a list with the lost race": (
        shape("race.abandoned", race_id="rc_2", races=[race(1), race(2, "13:30")]),
        ["York 13:30"],
    ),
    "results of several races with times": (
        shape(meetings=[{**UNTIMED, "results": [{"time": "13:00", "winner": "A"}, {"time": "13:30", "winner": "B"}]}]),
        ["York 13:00: A 1", "York 13:30: B 1"],
    ),
    **{
        f"opinion with {said} in {name}": (ran(**{name: told}), ["York 13:00"])
        for name in ("ai", "virtual_race", "draft", "pundit", "simulated_result")
        for said, told in (("a result", {"result": {"winner": "B"}}), ("runners", {"runners": ROWS}))
    },
    "race in an unknown object": (shape(**UNTIMED, entity={"race": {"off": "13:00", "runners": ROWS}}), [YORK]),
    **{
        f"a horse by the name of {name}": (
            york(winner={"name": name}, second={"name": "B"}),
            [f"York 13:00: {name} 1, B 2"],
        )
        for name in ("Result", "Void", "Abandoned", "Washed Out", "No Race")
    },
    "a superseded result": (york(winner="A", supersedes={"winner": "B"}), ["York 13:00: A 1"]),
    "an earlier race beside": (york(runners=ROWS, earlier_race={"off": "12:30", "winner": "Z"}), [YORK]),
    "results by the ids of horses in another list": (
        shape(
            race=AT,
            horses=[{"id": 1, "name": "A"}, {"id": 2, "name": "B"}],
            results=[{"horse_id": 2, "position": 2}, {"horse_id": 1, "position": 1}],
        ),
        [YORK],
    ),
    "winner of the market": (ran(result=[{"market": "Win", "winner": "B"}]), [ONE_B]),
    "a market of the race itself": (ran(market="UK", winner="B"), [ONE_B]),
    **{
        f"winners of other races under {name}": (york(**{name: {"winner": "Z"}}, runners=ROWS), [YORK])
        for name in ("pastResults", "historic_results", "tote_results", "previous_running")
    },
    "places by the Equibase": (
        york(entry=[{"NAME": name, "OFFICIAL_FIN": str(place)} for place, name in enumerate("AB", 1)]),
        [YORK],
    ),
    **{
        f"horses under {name}": (york(**{name: [{"animalName": "A", "officialResult": "1"}]}), ["York 13:00: A 1"])
        for name in ("race_result", "top_horses", "performances")
    },
    "other races of a trainer": (
        shape("race.abandoned", **UNTIMED, trainers=[{"name": "T", "races": [PAST]}]),
        [f"York {DAY}"],
    ),
    "bets that won": (york(runners=[{**one, "outcome": "WIN"} for one in ROWS]), [YORK]),
    "bets that lost": (shape(**UNTIMED, lost=["A", "B"], runners=ROWS), [f"York {DAY}: A 1, B 2"]),
    **{
        f"pairs of a name and a number, {rows}": (york(placings=rows), [line])
        for rows, line in (
            ([["A", 1], ["B", 2], ["C", "PU"]], f"{YORK}, C PU"),
            ([["A", "1"], ["B", "1"], ["C", "3"]], "York 13:00: A 1=, B 1=, C 3"),
            ([["A", 4], ["B", 1]], f"{UNREAD} A, 4, B, 1"),
            ([["A", 1, 2.5], ["B", 2, 3]], YORK),
            ([["A", "2/1"], ["B", "5/1"]], f"{UNREAD} A, 2/1, B, 5/1"),
        )
    },
    "pairs of a place and a number": (
        york(placings=[[1, 4], [2, 7]], runners=[{"number": 4, "name": "A"}, {"number": 7, "name": "B"}]),
        [YORK],
    ),
    "winner of another bet": (york(result=[{"market": "Place", "winner": "Z"}], runners=ROWS), [YORK]),
    "winner of the bet to win": (york(result=[{"market": "WIN", "winner": "A"}]), ["York 13:00: A 1"]),
    **{
        f"winner called as a lost race is, in the {name}": (
            york(**{name: "Washed Out wins"}, runners=[{"horse": "Washed Out", "position": 1}]),
            ["York 13:00: Washed Out 1"],
        )
        for name in ("status", "headline")
    },
    "several results, each with its standing": (
        york(results=[{"status": "unofficial", "winner": "Z"}, {"status": "official", "runners": ROWS}]),
        [YORK],
    ),
    "several results of one standing": (
        york(results=[{"winner": "A"}, {"winner": "B"}]),
        ["York 13:00: A 1?, B 1? in dispute"],
    ),
    "nothing of a race": (shape(blob="x", marketBook={"status": "CLOSED"}), ["the payload names no race"]),
}


@over(("payload", "lines"), SHAPES.values(), ids=SHAPES)
def test_delivery_is_read_in_the_shape_of_a_service(payload, lines):
    assert said(payload) == lines
