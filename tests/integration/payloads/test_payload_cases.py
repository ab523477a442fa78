"""Race data in the shapes of public services: what a delivery or a record of the list has to tell, through the door.

Each file of `cases` is a kind, and begins with the kind's rule. A new case is one entry:

    deliveries   event and data, posted one after the other
    records      races in the data service's list, from the start
    told         what the messages say in a channel of the region; `course` is always to be said
    asked        what the answer to a command says

`contains`: of a list, one is enough. `placed`: horses in the order of their places; a list within is a dead heat.
"""

from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from tests.clock import START, now
from tests.integration.payloads.door import Lists, faults_of, filled, open_door, words_of

CASES = {
    f"{file.stem} {case['case']}": filled(case, START)
    for file in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.load(file.read_bytes(), yaml.CSafeLoader)
}


def place_of(case):
    region, _, course = case["course"].partition(" ")
    return region, course


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory):
    """One bot for all cases: each has a course and ids of its own."""
    places = [place_of(case) for case in CASES.values()]
    races = {
        region: [race for case in CASES.values() if place_of(case)[0] == region for race in case.get("records", ())]
        for region, _ in places
    }
    async with open_door(tmp_path_factory.mktemp("payloads"), Lists(races, places), now) as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CASES)
async def test_shape_is_told_by_its_meaning(door, name):
    case = CASES[name]
    region, course = place_of(case)
    before = door.shown(region)
    for delivery in case.get("deliveries", ()):
        for event, data in delivery.items():
            await door.deliver({"event": event, "data": data})
    if rules := case.get("told"):
        new = [message for ts, message in door.shown(region).items() if before.get(ts) != message]
        assert not faults_of(rules | {"contains": [course, *rules.get("contains", ())]}, new), words_of(new)
    for asked in case.get("asked", ()):
        answer = await door.ask(asked["command"])
        assert not faults_of(asked, [answer]), words_of([answer])


def test_every_case_has_a_course_of_its_own_and_something_to_tell():
    places = [place_of(case) for case in CASES.values()]
    assert len(set(places)) == len(places)
    for case in CASES.values():
        assert case.keys() <= {"case", "source", "course", "deliveries", "records", "told", "asked"}
        assert ("told" in case) == ("deliveries" in case)
        assert "told" in case or ("records" in case and "asked" in case)
