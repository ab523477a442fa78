"""Reading one result of 2 KB into an event with a race and runners, beside the decoding of the JSON alone."""

import json
import time
from collections.abc import Callable, Sequence
from statistics import median

from bench.common import AtMost, Measure, Plan, paired_ratio
from bench.payloads import Results
from bot.deliveries.payload import read_events

BODIES = 100


async def measure(plan: Plan) -> list[Measure]:
    """Microseconds of processor time of a body, in turns with json.loads; their ratio."""
    results = Results("reading")
    bodies = [results.body(number) for number in range(BODIES)]
    turns = [(_body_s(read_events, bodies), _body_s(json.loads, bodies)) for _ in range(1 + plan.batches)][1:]
    reading, decoding = zip(*turns, strict=True)
    return [
        Measure("reading a result: json.loads alone", median(decoding) * 1e6, "µs"),
        Measure("reading a result: event, race and runners", median(reading) * 1e6, "µs"),
        Measure("reading a result: / json.loads", paired_ratio(reading, decoding), "ratio", AtMost(30)),
    ]


def _body_s(read: Callable[[bytes], object], bodies: Sequence[bytes]) -> float:
    started = time.process_time()
    for body in bodies:
        read(body)
    return (time.process_time() - started) / len(bodies)
