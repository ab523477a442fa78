"""Whole deliveries in the shapes of public services: the events, each with place, time and order."""

import json
from pathlib import Path

from tests.rows import Answers, over
from tests.unit.events.shapes import ASCOT, AT, ROWS, said, shape, told

SHAPES = Answers(Path(__file__).with_name("shapes_of_services.yaml"), "shapes")
PLACED = "York 13:00: A 1, B 2"


@over(("payload", "lines"), SHAPES)
def test_delivery_is_read_in_the_shape_of_a_service(payload, lines):
    assert told(payload) == lines


@over(
    "name",
    [
        *(f"{of}_result" for of in ("official", "final", "amended", "new")),
        "official_order",
        "finishing_order",
        "final_order",
    ],
)
def test_each_race_of_a_list_has_an_order_of_its_own(name):
    order = ["A", "B"] if name.endswith("order") else {"winner": "A", "second": "B"}
    races = [{**AT, "race_id": off, "off": off, name: order} for off in ("13:00", "13:30")]
    assert said(shape(races=races)) == [PLACED, "York 13:30: A 1, B 2"]


def york(**data):
    """The race at York."""
    return shape(**AT | data)


def _in_text(payload):
    return json.dumps({"Message": json.dumps(payload)})


# What is too large for a row of the file, or text within text.
OTHERS = [
    ({"Type": "Notification", "Message": json.dumps(york(runners=ROWS))}, PLACED),
    ({"Records": [{"body": _in_text(york(runners=json.dumps(ROWS)))}]}, PLACED),
    (york(pages={**{f"b{number}": [1] for number in range(1_001)}, "a": []}, runners=ROWS), PLACED),
    (york(result="1  " * 60 + "Z", runners=ROWS), PLACED),
    (york(winner=" " * 500_000 + "Z", runners=[{"number": 1, "name": "A"}]), "York 13:00"),
    (york(placings={"9" * 5000: 1}), f"York 13:00 could not be read: {'9' * 80}"),
    (
        shape("meeting.abandoned", **ASCOT, meetings=[{"course": f"Bath {number}"} for number in range(31)]),
        "it has more than 30 events",
    ),
]


@over(("payload", "line"), OTHERS)
def test_delivery_of_any_size_and_of_texts_in_texts_is_read(payload, line):
    assert said(payload) == [line]
