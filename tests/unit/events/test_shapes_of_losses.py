"""Whole deliveries of abandonments, in the shapes of public services: each lost race or meeting, with place and day."""

import pytest

from tests.unit.events.shapes import AT, DAY, PAST, UNTIMED, said, shape

SHAPES: dict[str, tuple[object, list[str]]] = {
    "lost race with a final result": (
        shape("race.abandoned", races=[{"race_id": "rc_1", **AT, "final_result": "Abandoned"}]),
        ["York 13:00"],
    ),
    **{
        f"another race in a list of one under {name}": (shape("race.abandoned", **AT, **{name: [PAST]}), ["York 13:00"])
        for name in ("results", "status", "outcome")
    },
    **{
        f"races in items by name beside {place}": (
            shape(kind, course=place, date=DAY, items=[{"name": "York", "races": [{"off": "13:00", "winner": "A"}]}]),
            [line],
        )
        for kind, place, line in (
            ("race.abandoned", "Ayr", "York 13:00: A 1 and lost"),
            ("race.abandoned", "York", "York 13:00: A 1 and lost"),
            ("result.received", "York", "York 13:00: A 1"),
        )
    },
    "courses with times": (
        shape(
            "race.abandoned", date=DAY, courses=[{"name": "York", "time": "13:00"}, {"name": "Ayr", "time": "13:10"}]
        ),
        ["York 13:00", "Ayr 13:10"],
    ),
    "another race in place of the lost race": (
        shape("race.abandoned", **AT, rescheduled_to={"course": "Ayr", "date": "2026-11-25", "off": "14:00"}),
        ["York 13:00"],
    ),
    **{
        f"meeting lost on two days, as {name}": (
            shape("meeting.abandoned", meeting_id="m_1", course="York", **{name: days}),
            [f"York {DAY}", "York 2026-11-21"],
        )
        for name, days in (
            ("dates", [DAY, "2026-11-21"]),
            ("days", [{"date": DAY}, {"date": "2026-11-21"}]),
            ("date", [DAY, "2026-11-21"]),
        )
    },
    **{
        f"race lost on two days, {name}": (
            shape("race.abandoned", course="York", dates=[DAY, "2026-11-21"], **more),
            days,
        )
        for name, more, days in (
            ("without a name", {}, [f"York {DAY}", "York 2026-11-21"]),
            ("with an id", {"race_id": "rc_1"}, ["York None"]),
        )
    },
    "abandonment from a race on": (
        shape("race.abandoned", **UNTIMED, abandonment={"from": "race 4"}),
        [f"York {DAY}"],
    ),
    **{
        f"race called {called}": (shape("race.abandoned", race=called, date=DAY), [told])
        for called, told in (
            ("13:00 York", "York 13:00"),
            ("Market Rasen 1.30pm", "Market Rasen 1:30pm"),
            ("Ebor Handicap", f"None {DAY}"),
            ("Race 13:00", f"None {DAY}"),
            ("Monday 13:00", f"None {DAY}"),
        )
    },
    **{
        f"meetings by region, under {name}": (
            shape("meeting.abandoned", date=DAY, **{name: {"GB": ["York"], "IRE": ["Naas"]}}),
            [f"York {DAY}", f"Naas {DAY}"],
        )
        for name in ("regions", "countries")
    },
    "regions of a meeting": (shape("meeting.abandoned", **UNTIMED, regions=["GB", "IRE"]), [f"York {DAY}"]),
    "meeting moved to another day": (shape("meeting.abandoned", **UNTIMED, dates=[DAY, "2026-12-01"]), [f"York {DAY}"]),
    "meeting lost on a day, as dates": (shape("meeting.abandoned", course="York", dates=[DAY]), [f"York {DAY}"]),
}


@pytest.mark.parametrize(("payload", "lines"), SHAPES.values(), ids=SHAPES)
def test_loss_is_read_in_the_shape_of_a_service(payload, lines):
    assert said(payload) == lines
