"""Runners and their places, read from possible shapes of the service."""

from typing import Any

from bot.events.races import Race, Runner
from bot.events.reading.race_record import read_race
from tests.rows import over

NR_SHAPES: list[dict[str, Any]] = [
    *({"non_runner": True}, {"starting": False}, {"participation": "OUT"}, {"status": "Struken"}),
    *({"nr": "Y"}, {"nr": True}, {"nr": "yes"}, {"is_nr": True}, {"sp": "NR"}, {"reason": "Non-runner"}),
    *({name: "NR"} for name in ("position", "number", "cloth_number", "draw", "stall", "jockey", "status", "result")),
    *({"pos": "N.R."}, {"official_position": "NR"}, {"result": {"position": "NR"}}, {"position": {"text": "NR"}}),
]
PLACED_ANEW = (
    "placed_by_stewards moved_to corrected_position new_position updated_place position_revised adjusted_finish"
)


IDS_AGAINST_NUMBERS = {"runners": [{"id": 1, "number": 2, "horse": "A"}, {"id": 2, "number": 1, "horse": "B"}]}


def said(record):
    """The runners of a race, as "A=1, B": B is without a position."""
    runners = read_race(record).runners
    return ", ".join(f"{one.horse}" if one.position is None else f"{one.horse}={one.position}" for one in runners)


def runners(horses, **fields):
    """A race whose horses have the same fields."""
    return {"runners": [{"horse": horse, **fields} for horse in horses]}


def a(**fields):
    return runners("A", **fields)


def test_runner_is_read_from_objects_numbers_and_other_names():
    runner = {
        "horse": {"horse_id": "hs_1", "name": "Frankel"},
        "finishing_position": 1.0,
        "cloth_number": 4,
        "stall": "2",
        "jockey": {"jockey_name": "T Queally"},
        "trainerName": "H Cecil",
        "sp": {"fractional": "1/4", "decimal": 1.25},
        "or": 140,
    }
    (read,) = read_race({"results": [runner]}).runners
    assert (read.horse, read.position, read.number, read.draw) == ("Frankel", "1", "4", "2")
    assert (read.jockey, read.trainer, read.starting_price) == ("T Queally", "H Cecil", "1/4")
    assert read.official_rating == "140"
    (read,) = read_race({"results": [{"horse": "Frankel", "cloth_number": "04"}]}).runners
    assert read.number == "4"


@over(
    ("runner", "price"),
    [
        ({"sp": {"numerator": 5, "denominator": 2}}, "5/2"),
        ({"sp_dec": 3.5, "sp_frac": "5/2"}, "5/2"),
        ({"starting_odds": "5/2"}, "5/2"),
        ({"odds": {"sp": {"fractional": "5/2"}, "place": 2, "current": "3"}}, "5/2"),
        ({"prices": {"starting_price": "5/2"}, "position": 4}, "5/2"),
        ({"odds": {"current": "3"}}, None),
        ({"sp": "5/2", "favourite": True}, "5/2F"),
        ({"sp": "5/2", "favouriteStatus": "JF"}, "5/2JF"),
        ({"sp": "5/2F", "is_favourite": "Y"}, "5/2F"),
        ({"sp": "5/2", "favourite": False}, "5/2"),
        ({"sp": "Evens"}, "Evens"),
        *(({"sp": unpriced}, None) for unpriced in ("-", "0", 0, "SP")),
    ],
)
def test_starting_price_is_a_price_with_the_mark_of_a_favourite(runner, price):
    (read,) = read_race(a(**runner)).runners
    assert read.starting_price == price


@over(
    "runner",
    [
        {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": "T Queally"},
        {"horse": {"name": "Frankel", "trainer": "H Cecil", "jockey": {"name": "T Queally"}}},
        {"runner": {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": {"name": "T Queally"}}},
        {"horse": {"runner_name": "Frankel", "jockey_name": "T Queally", "trainer_name": "H Cecil"}},
        {"horse": {"horse_name": "Frankel", "trainer": "An earlier one", "jockey": "T Queally"}, "trainer": "H Cecil"},
        {"horse": {"name": "Frankel", "trainer": "Earlier", "jockey": "T Queally"}, "trainerName": "H Cecil"},
        {
            "horse": {"name": "Frankel", "number": "UK-7"},
            "rider": {"name": "T Queally"},
            "trainer": {"name": "H Cecil"},
        },
    ],
)
def test_jockey_and_trainer_are_read_of_the_runner_or_else_of_the_horse(runner):
    assert read_race({"runners": [runner]}).runners == (Runner(horse="Frankel", jockey="T Queally", trainer="H Cecil"),)


def places(place, *positions):
    return [(position, place) for position in positions]


@over(
    ("position", "place"),
    [
        *places(1, "1", "1.0", "one"),
        *places(1, "1同着", "1着同着"),
        *places(2, " 2= ", "2nd", "dh 2", "DH2", "Dead heat 2"),
        *places(2, "2着", "Runner-up", "2º", "2 (disq. & placed 2nd)", "2nd (DHT)", "2(降)", "two"),
        *places(3, "=3", "= 3", "3=", "T3", "t-3", "P3", "pos 3"),
        *places(1, "1st (by 3L)", "Won by a short head", "1 by 3/4 lengths", "1st (btn 0)"),
        ("12", 12),
        *places(None, "3 (DSQ)", "DQ1", "1 or 2", "1st by stewards", "٣"),
        *places(None, "0", "0=", "00", "0th"),
        *places(None, None, "", "PU", "F", "=", "T", "TO 3", "-1", "DNF", "NR", "BD2"),
    ],
)
def test_place_is_read_however_a_dead_heat_is_written(position, place):
    assert Runner(horse="A", position=position).finishing_position == place


def test_two_horses_of_one_list_in_one_place_are_a_dead_heat():
    runners = [{"horse": "One", "position": 1}, {"horse": "Two", "position": 1}, {"horse": "Three", "position": 3}]
    race = read_race({"runners": runners})
    assert [runner.position for runner in race.runners] == ["1=", "1=", "3"]
    assert race.disputed is None


def test_placed_runners_stand_in_order_however_a_dead_heat_is_written():
    runners = [Runner(horse=horse, position=at) for horse, at in [("D", "4"), ("C", "=2"), ("B", "dh 2"), ("A", "1")]]
    assert [runner.horse for runner in Race(runners=tuple(runners)).placed()] == ["A", "C", "B", "D"]


@over(
    ("record", "expected"),
    [
        ({"finishing_order": ["A", "B"]}, "A=1, B=2"),
        ({"placings": [{"horse": "A"}, {"horse": "B"}]}, "A=1, B=2"),
        ({"runners": ["A", "B"]}, "A, B"),
        ({"runners": {"count": 2, "items": ["A", "B"]}}, "A, B"),
        ({"placings": {"data": ["A", "B"]}}, "A=1, B=2"),
        ({"result": {"runners": [{"name": "A", "pos": "2="}]}}, "A=2="),
        ({"runners": ["A", "B"], "winner": "b"}, "A, B=1"),
        ({"runners": [{"horse": "A"}], "winner": {"horse": "C"}}, "A, C=1"),
        ({"winner": "A", "runners": [{"horse": "B", "position": 1}]}, "B=1?, A=1?"),
        ({"runners": [{"runner": {"name": "A"}, "position": 3}]}, "A=3"),
        (a(position="1.0"), "A=1"),
        *((a(position=none), "A") for none in (0, "0.0", -1, "-1", "00")),
        (a(position="=10"), "A==10"),
        *(
            ({"runners": [{"horse": "A", "position": 1, again: 2}, {"horse": "B", "position": 2, anew: 1}]}, "A=2, B=1")
            for again, anew in (("demoted_to", "promoted_to"), *((name, name) for name in PLACED_ANEW.split()))
        ),
        *(
            ({"winner": "A", "runners": ["A", "B"], f"{new}_winner": "B"}, "A, B=1")
            for new in ("corrected", "new", "updated", "revised", "amended", "adjusted")
        ),
        *(
            ({"placings": [{inner: [{"name": "A"}, {"name": "B"}]}]}, "A=1, B=2")
            for inner in ("runner", "horses", "items")
        ),
        ({"placings": [{"position": 1, "runners": [{"name": "A"}, {"name": "B"}]}]}, "A=1=, B=1="),
        ({"placings": ["A", "B"], "corrected_placings": ["B", "A"]}, "B=1, A=2"),
        ({"runners": [{"horse": "A", "outcome": "lose"}, {"horse": "B", "outcome": "win"}]}, "A, B=1"),
        (a(outcome="place"), "A"),
        ({"result": [{"winner": "B", "second": "A"}], "runners": ["A", "B"]}, "A=2, B=1"),
        ({"results": [{"horse": "A", "position": 1}]}, "A=1"),
        ({"old": {"winner": "A"}, "new": {"winner": "B"}, "runners": ["A", "B"]}, "A, B=1"),
        (a(position="1st, placed 2nd"), "A=2nd"),
        (
            {
                "runners": [
                    {"horse": "A", "position": "1 (disq., placed 2nd)"},
                    {"horse": "B", "position": "2 (promoted to 1st)"},
                ]
            },
            "A=2nd, B=1st",
        ),
        (a(position=2, status="Promoted one place"), "A=2"),
        (a(position="P1"), "A=1"),
        *(({"runners": [{"horse": name, "position": 1}]}, "A=1") for name in ("1. A", "(1) A", "3) A")),
        ({"runners": [{"horseStyleName": "A", "position": 1}]}, "A=1"),
        (a(position=1, disqualified_to=4), "A=4"),
        (a(official_position=1, position_disqualified=True), "A=DSQ"),
        (a(win="3.40", place="1.30"), "A"),
        ({"runners": [{"horse": "A", "placed": 1, "won": 1}, {"horse": "B", "placed": 1, "won": 0}]}, "A=1?, B=1?"),
        ({**IDS_AGAINST_NUMBERS, "winner_id": 2}, "A, B=1"),
        ({**IDS_AGAINST_NUMBERS, "winner_id": 3}, "A, B"),
        *(({**IDS_AGAINST_NUMBERS, name: 2}, "A=1, B") for name in ("winner_number", "winning_cloth")),
        ({**IDS_AGAINST_NUMBERS, "winner": 2}, "A, B"),
        ({**IDS_AGAINST_NUMBERS, "finishing_order": [1, 2]}, "A, B"),
        ({**IDS_AGAINST_NUMBERS, "results": [{"id": 1, "number": 1, "position": 1}]}, "A, B=1"),
        ({**IDS_AGAINST_NUMBERS, "results": [{"horse_id": 1, "position": 1}]}, "A=1, B"),
        *(
            ({"runners": [{"horse": "A", "id": 12}], f"{winner}_id": 12}, "A=1")
            for winner in ("winner_horse", "winning_runner")
        ),
        ({"runners": [{"horse": "A", "position": 1, "status": "Disqualified, placed 2nd"}, "B"]}, "A=2nd, B"),
        (a(position=2, status="Promoted to 1st"), "A=1st"),
        (a(position=1, status="Disqualified and placed last"), "A=Disqualified and placed last"),
        (a(position=1, note="DQ - weighed in light"), "A=DQ - weighed in light"),
        *(
            (a(position=1, comment=comment), "A=1")
            for comment in ("Race won after B disqualified", "Disqualified last time, made all")
        ),
        (a(position=None, casualty="Pulled up"), "A=Pulled up"),
        (a(status="Pulled Up"), "A=Pulled Up"),
        *((a(status=status), "A") for status in ("weighed_in", "Unplaced", "Under review")),
        ({"runners": [{"horse": "A", "position": "1st"}, {"horse": "B", "position": 1}]}, "A=1=, B=1="),
        (a(position="OUT"), "A=OUT"),
        *((a(**nr), "A=NR") for nr in NR_SHAPES),
        (a(nr=4), "A"),
        (a(runs=0, wins=0), "A"),
        ({"runners": ["A", "B"], "non_runners": "b (IRE) (lame, vet), C (FR)"}, "A, B=NR, C (FR)=NR"),
        (a(withdrawal={"reason": None, "time": ""}), "A"),
        (a(withdrawal={"reason": "Lame"}), "A=NR"),
        (a(withdrawal={"is_final": False, "reason": "Lame"}), "A"),
        ({"runners": ["A", "B"], "results": [["1", "B"], ["NR", "A"]]}, "A=NR, B=1"),
        ({"runners": [{"horse": "A (NR)"}, {"horse": "B (IRE)"}]}, "A=NR, B (IRE)"),
        *(({name: [{"horse": "A", "position": 1}]}, "A=1") for name in ("entrants", "acceptors", "contestants", "uma")),
        ({"placings": {"1": "A", "2": "B", "PU": ["C", "D"]}}, "A=1, B=2, C=PU, D=PU"),
        (
            {"podium": ["hs_1", "hs_2"], "entries": [{"id": "hs_1", "name": "A"}, {"id": "hs_2", "name": "B"}]},
            "A=1, B=2",
        ),
        ({"interim_placings": ["B", "A"], "correct_weight_placings": ["A", "B"]}, "A=1, B=2"),
        (a(judge_placing=2, stewards_placing=1), "A=1"),
        (
            {"result": {"provisional": {"winner": "B", "time": "61.2"}, "final": {"winner": "A", "second": "B"}}},
            "A=1, B=2",
        ),
        *(({"result": {"winner": "A", "margin": 2, more: 8}}, "A=1") for more in ("ran", "runners_count", "fav")),
        ({"placings": {"A": 1, "B": 2, "C": "PU", "D": None}}, "A=1, B=2, C=PU, D"),
        ({"placings": {"ran": 8, "placed": 3}}, ""),
        ({"provisional_result": {"winner": "B"}, "official_result": {"placings": ["A", "B"]}}, "A=1, B=2"),
        (a(fin_pos=1), "A=1"),
        (a(positions={"provisional": 2, "official": 1}), "A=1"),
        ({"chart": {"race_id": "rc_1", "official_order": ["A", "B"]}}, "A=1, B=2"),
        ({"horses": {"1": "A", "2": "B", "5": "C"}, "placings": {"5": 1, "2": 2, "1": 3}}, "A=3, B=2, C=1"),
        ({"horses": {"1": "A", "2": "B", "5": "C"}, "placings": {"1": 5, "2": 2, "3": 1}}, "A=3, B=2, C=1"),
        *(
            ({"runners": [{"horse": {"name": "A", "position": 2}}, {"horse": {"name": "B"} | out}]}, "A=2, B=NR")
            for out in ({"non_runner": True}, {"position": "NR"})
        ),
        ({"runners": [{"horse": {"name": "B", "position": "NR"}}], "finishing_order": ["B", "A"]}, "B=NR, A=2"),
        ({"non_runners": ["A (self cert)", "B (IRE)"]}, "A=NR, B (IRE)=NR"),
        *(({name: {"name": "A", "position": "1"}}, "A=1") for name in ("runners", "starters", "results")),
        ({"runners": {"runner": {"name": "A", "position": "1"}}}, "A=1"),
        ({"entries": {"entry": {"name": "A", "jockey": "J"}}}, "A"),
        ({"results": {"name": "The Cup", "placed": [{"name": "A"}]}, "runners": {"count": 1, "name": "Cup"}}, "A"),
        ({"runners": [{"horse": ["A"], "position": ["1"]}, {"horse": ["B"], "placed": ["C"]}]}, "A=1, B"),
        *(
            ({name: table}, "A=2, B=1")
            for name in ("runners", "results", "result", "placings", "finishing_order")
            for table in (
                {"columns": ["horse", "position"], "rows": [["A", 2], ["B", 1]]},
                {"headers": ["No.", "Horse", "Odds", "Pos"], "data": [[4, "A", "5/2", "2"], [7, "B", "3/1", "1"]]},
                {"fields": [{"name": "name"}, {"name": "pos"}], "values": [["A", "2"], ["B", "1"]], "index": [0, 1]},
                {
                    "columns": ["horse", "position"],
                    "rows": [{"horse": "A", "position": 2}, {"horse": "B", "position": 1}],
                },
                [["Horse", "Finish Position"], ["A", 2], ["B", 1]],
                {"horse": ["A", "B"], "position": [2, 1]},
                {"rows": [["A", 2], ["B", 1]], "cols": ["horse", "position"]},
            )
        ),
        ({"result": {"runners": {"columns": ["horse", "position"], "rows": [["A", 2], ["B", 1]]}}}, "A=2, B=1"),
        ({"runners": [["horse"], ["A"], ["B"]], "finishing_order": ["B", "A"]}, "A=2, B=1"),
        ({"runners": {"columns": ["c1", "c2"], "rows": [["A", 1], ["B", 2]]}}, ""),
        ({"runners": {"all": ["A", "B"], "scratched": ["C"]}}, "A, B, C"),
        ({"result": {"winner": ["A"], "placed": ["B"]}}, "B, A=1"),
        *((a(着順=out), "A=NR") for out in ("取消", "除外", "WV-A", "TNP")),
        ({"runners": [{"horse": "A", "着順": "失格"}, {"horse": "B", "着順": "中止"}]}, "A=失格, B=中止"),
        (a(position="Runner-up"), "A=2"),
        ({"horses": {"1": "A", "2": "B", "3": "C"}, "places": {"1": 1, "2": 0, "3": 2}}, "A=1, B, C=2"),
        ({"runners": ["O&#39;Brien&#x27;s &amp; Co", "&lt;B&gt;", "C & D"]}, "O'Brien's & Co, <B>, C & D"),
        ({"runners": {"items": [{"name": "A", "number": 1}, {"number": 2}]}}, "A, None"),
        ({"runners": {"all": [{"name": "A", "pos": 1}], "withdrawn": [{"name": "B"}]}}, "A=1, B=NR"),
        ({"results": [{"name": {"name": "A"}}, {"name": {"name": "B"}}]}, "A, B"),
        ({"official_result": [{"name": {"name": "A"}}]}, "A=1"),
        (
            {"runners": {"1": {"name": "B", "tab_number": 2}, "2": {"name": "A", "tab_number": 1}}, "placings": [1, 2]},
            "B=2, A=1",
        ),
        ({"result": {"positions": {"1": "A", "2": "B"}}}, "A=1, B=2"),
        *(({"result": {name: ["A", "B"]}}, "A, B") for name in ("runners", "horses")),
        *(({name: {"runners": runners("AB")["runners"]}}, "A, B") for name in ("result", "results")),
        ({"result": {"runners": runners("AB")["runners"], "placings": ["B", "A"]}}, "A=2, B=1"),
        ({"placegetters": [{"position": "2", "horse": "B"}, {"position": "1", "horse": "A"}]}, "B=2, A=1"),
        ({"finishing_order": "1/1A-2"}, "None=1=, None=1=, None=3"),
        ({"finishing_order": [["1", "1A"], ["2"]]}, "None=1=, None=1=, None=3"),
        ({"finishing_order": "4-7-2 $123.40"}, "None=1, None=2, None=3"),
        *(
            (runners(horses, **mark), ", ".join(f"{one}=1?" for one in horses))
            for mark in ({"status": "WINNER"}, {"winner": True}, {"win": True}, {"result": "Won"})
            for horses in ("AB", "ABC")
        ),
        (runners("AB", status="WINNER", dead_heat=True), "A=1=, B=1="),
        (runners("ABC", status="WINNER", position=1), "A=1=, B=1=, C=1="),
        (runners("ABCD", official=1), "A=1?, B=1?, C=1?, D=1?"),
        (runners("ABCD", position=5), "A=5=, B=5=, C=5=, D=5="),
        *(
            ({"winners": [{"horse": "A", of: 1}, {"horse": "B", of: 2}]}, "")
            for of in ("race", "year", "race_id", "off_time", "race_number")
        ),
        ({"runners": [{"horse": "A", "number": 1}, "B"], "winner": 1.0}, "A=1, B"),
        (runners("AB", winner=True) | {"dead_heat": True}, "A=1=, B=1="),
        (runners("AB", status="WINNER") | {"dead_heat": "first"}, "A=1=, B=1="),
        *((runners("AB", winner=True) | {name: "Dead heat"}, "A=1=, B=1=") for name in ("status", "result")),
        (runners("ABC", winner=True) | {"dead_heat": True}, "A=1?, B=1?, C=1?"),
        (runners("AB", winner=True, status="Dead heat"), "A=1=, B=1="),
        *(({"horses": {"1": "A", "2": "B"}, "places": terms}, "A, B") for terms in ("1/5 1-2-3", "1/4 1,2", "1/5")),
        ({"winners": ["A", "B"], "runners": ["A", "B", "C"]}, "A=1=, B=1=, C"),
        ({"placings": ["A", "B"], "disqualified": ["A"]}, "A=DSQ, B=2"),
        ({"placings": ["A", "B"], "disqualified": "Nobody"}, "A=1, B=2"),
        *(({"disqualified": gone}, "A=DSQ") for gone in (["A"], [{"horse": "A"}], {"horses": [{"name": "A"}]})),
        ({"placings": ["B"], "disqualified": ["A"]}, "B=1, A=DSQ"),
        *(({"placings": ["A"], "disqualified": none}, "A=1") for none in (False, "No", None)),
        *(({"placings": ["A"], "disqualified": empty()}, "A=1") for empty in (list, dict)),
        ({"runners": ["A", "B"], "late_scratchings": ["B"]}, "A, B=NR"),
        ({"runners": ["A"], "form": {"results": [{"horse": "Z", "position": 1}]}}, "A"),
        ({"runners": ["A", "B"], "finishing_order": "B/Z, A"}, "A, B"),
        ({"results": [{"race_id": "rc_2", "name": "Another race"}]}, ""),
        ({"runners": 12}, ""),
        ({"runners": [None, "", [], {}]}, ""),
    ],
)
def test_runners_have_a_position_only_where_one_was_published(record, expected):
    assert said(record) == expected


@over(
    ("record", "status"),
    [
        ({"provisional_winner": {"name": "A"}}, "Provisional"),
        ({"provisional_placings": ["A", "B"]}, "Provisional"),
        ({"runners": [{"horse": "A", "unofficial_position": 1}, {"horse": "B"}]}, "Provisional"),
        ({"provisional_placings": ["B", "A"], "status": "Official"}, "Official"),
        ({"provisional_placings": ["B", "A"], "placings": ["A", "B"]}, None),
        *(({"placings": ["A", "B"], name: "Provisional"}, None) for name in ("draw_status", "going_stage", "entry")),
        ({"placings": ["A", "B"], "is_official": False}, "Provisional"),
        ({"winner": "A", "status": "RESULT", "provisional": "Y"}, "Provisional"),
        ({"winner": "A", "result": {"final": 0}}, "Provisional"),
        ({"winner": "A", "official": True, "provisional": None, "unofficial": "no"}, None),
        *(
            ({"winner": "A", **flag}, "Provisional")
            for flag in (
                *({"weighed_in": False}, {"official_result": False}, {"preliminary": True}, {"under_review": True}),
                *({"is_settled": False}, {"correct_weight": "N"}, {"result_pending": True}, {"unconfirmed": 1}),
                *({"inquiry": {"pending": True}}, {"certainty": "provisional"}, {"result_stage": "PRELIMINARY"}),
                *(
                    {"stewards_inquiry": True},
                    {"objection": "Y"},
                    {"result": {"isFinal": False}},
                    {"protest": "Lodged"},
                ),
                *(
                    {"objection": {"status": "pending"}},
                    {"inquiry": "In progress"},
                    {"stewards": {"inquiry": "pending"}},
                ),
            )
        ),
        *(({"winner": "A", "status": status}, "Provisional") for status in ("Under review", "Result under review")),
        *(
            ({"winner": "A", "status": status}, "Provisional")
            for status in ("Not yet official", "Awaiting confirmation", "Photograph", "First past the post")
        ),
        *(
            ({"winner": {"name": "B", **mark}, "runners": ["A", "B"]}, "Provisional")
            for mark in ({"provisional": True}, {"objection": "Y"}, {"official": False}, {"status": "Photo finish"})
        ),
        (
            {"runners": [{"horse": "A", "position": 1, "status": "Unofficial"}, {"horse": "B", "position": 2}]},
            "Provisional",
        ),
        ({"winner": "A", "status": ["Under review", "Official"]}, "Official"),
        ({"winner": "A", "stewards_inquiry": True, "status": "Official"}, "Official"),
        ({"winner": "A", "stewards_inquiry": True, "is_official": True}, None),
        ({"winner": "A", "stewards_inquiry": False, "photo_finish": True}, None),
        *(({"winner": "A", "objection": said}, None) for said in ("Overruled", {"status": "dismissed"}, {"by": "B"})),
        ({"winner": "A", "stewards": "Enquiry pending"}, "Enquiry pending"),
        ({"finish_order": ["A"], "provisional_placings": ["A", "B"]}, None),
        (a(finishing_order=1), None),
        ({"result": {"unofficial": {"winner": "B", "second": "A"}}}, "Provisional"),
        ({"provisional_result": a(position=1)}, "Provisional"),
        ({"result": {"provisional": {"winner": "B"}, "official": {"status": "To follow"}}}, "Provisional"),
        ({"provisional": a(position=1), "final": {"runners": []}}, "Provisional"),
        ({"provisional": a(position=1), "final": {"non_runners": ["B"]}}, "Provisional"),
        ({"result": {"provisional": {"status": "Interim", "winner": "B"}, "final": {"winner": "A"}}}, None),
    ],
)
def test_places_that_are_all_provisional_are_called_so(record, status):
    race = read_race(record)
    assert (race.status, race.has_places) == (status, True)


def test_runners_of_several_lists_are_put_together():
    declared = [{"number": 4, "horse": "A", "jockey": "J"}, {"number": 7, "horse": "B"}]
    runners = read_race({"runners": declared, "finishing_order": [7, 4]}).runners
    assert [(runner.horse, runner.jockey, runner.position) for runner in runners] == [("A", "J", "2"), ("B", None, "1")]
