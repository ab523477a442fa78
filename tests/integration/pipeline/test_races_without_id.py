"""A race that comes once with an id and once without is one race, in any order. Two ids are two races."""

from functools import partial
from itertools import permutations
from typing import Any

from bot.outbox import ledger
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, result, tell
from tests.integration.pipeline.stories import Story, bare, listed, lists, passes, play, rows

KEY = f"region=gb|course=ascot|date={DAY}|off=14:30"
UNTIMED = {"off_time": None}
OTHER_HORSES = ("Alpha", "Bravo")
TWO_HOURS = passes(2 * 3_600)
HALVES = result(placings=("Red Sky", "Blue Moon"))


def without_id(delivery: dict[str, Any], **more: Any) -> dict[str, Any]:
    return delivery | {"race": delivery["race"] | {"race_id": None} | more}


NAMED = {
    "result": (result(), without_id(result())),
    "result without a time": (result(), without_id(result(), **UNTIMED)),
    "result by number": (result(race_number="5", **UNTIMED), without_id(result(race_number="5"))),
    "result with one horse in common": (result(), without_id(result(placings=("Blue Moon",)), **UNTIMED)),
    "loss": (abandonment(), without_id(abandonment())),
    "loss on a clock of twelve hours": (abandonment(), without_id(abandonment(), off_time="2:30")),
    "loss by number": (abandonment(race_number="5"), without_id(abandonment(race_number="5", **UNTIMED))),
}
APART = {
    "two ids": (result(), result("rc_2", placings=OTHER_HORSES)),
    "two ids beside none": (without_id(abandonment()), abandonment(), abandonment("rc_2")),
    "another time": (abandonment(), without_id(abandonment(), off_time="15:00")),
    "another day": (abandonment(), without_id(abandonment(), date="2026-11-21")),
    "another course": (abandonment(), without_id(abandonment(), course="York")),
    "another meeting": (abandonment(meeting_id="mt_1"), without_id(abandonment(), meeting_id="mt_2")),
    "another region": (abandonment(), without_id(abandonment(), region="IRE")),
    "other horses": (result(**UNTIMED), without_id(result(placings=OTHER_HORSES), **UNTIMED)),
    "no name in common": (abandonment(), without_id(abandonment(race_number="5", **UNTIMED))),
}
CONFLICTS = {
    "result and loss": (result(), without_id(abandonment())),
    "loss and result": (abandonment(), without_id(result())),
    "numbered": (result(race_number="5", **UNTIMED), without_id(abandonment(race_number="5", **UNTIMED))),
}

STORIES = {
    f"{name}, {'id first' if order[0] is pair[0] else 'id last'}{how}": Story(*steps, CALL=stands)
    for pairs, stands in ((NAMED, [""]), (CONFLICTS, ["^Contradicted", "CONFLICT"]))
    for name, pair in pairs.items()
    for order in (pair, pair[::-1])
    for how, steps in (("", order), (", at once", (order,)), (", late", (order[0], TWO_HOURS, order[1])))
} | {
    f"{name}, {number}": Story(*order, CALL=["!CONFLICT"] * (2 if "beside" in name else len(order)))
    for name, deliveries in APART.items()
    for number, order in enumerate(permutations(deliveries))
    if "beside" not in name or order[0] is deliveries[0]
}
STORIES |= {
    "known by its id from then on": Story(
        *(without_id(result()), result(), bare("race.abandoned", reason="frost")),
        CALL=["^Contradicted | Ascot 14:30", "^ABANDONED: Ascot 14:30 | CONFLICT"],
    ),
    "of the first id alone": Story(
        *(without_id(result()), abandonment(), abandonment("rc_2")),
        CALL=["^Contradicted", "^ABANDONED | CONFLICT", "^ABANDONED | !CONFLICT"],
    ),
    "known by the other kind's id": Story(
        *(without_id(result()), abandonment(), bare("result.received", runners=HALVES["race"]["runners"])),
        CALL=["^Superseded", "^Contradicted | ABANDONED", "^CONFLICT: Ascot 14:30"],
    ),
    "number in a list": Story(
        *(lists(listed(number="4")), bare(from_race=4, to_race=5, course="Ascot", region="GB", date=DAY)),
        CALL=["Ascot 14:30", "race 5"],
    ),
}


@rows(STORIES, "result, id last", "loss, id first, late")
async def test_race_with_and_without_an_id(pipeline, story):
    await play(pipeline, story)


async def test_trace_finds_the_race_by_its_id_and_by_each_delivery(pipeline):
    await tell(pipeline, without_id(result()), result(), abandonment())
    for asked, versions in (("rc_1", 2), ("inbox-1", 1), ("inbox-2", 1), ("inbox-3", 1)):
        found = await pipeline.database.read(partial(ledger.trace, wanted=asked, now=pipeline.clock()))
        assert {one.row.event_key.partition(":")[2] for one in found.versions} == {KEY}, asked
        assert len(found.versions) == versions
