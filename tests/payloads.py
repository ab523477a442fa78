"""Deliveries as the service might send them."""

from random import Random
from typing import Any

from tests.clock import DAY


def result(race_id="rc_1", region="GB", **changes):
    race = {
        "race_id": race_id,
        "course": {"course_id": "cr_asc", "name": "Ascot"},
        "region": region,
        "date": DAY,
        "off_time": "14:30",
        "runners": [
            {"position": 1, "horse": "Blue Moon", "jockey": "A. Rider", "sp": "5/2"},
            {"position": 2, "horse": "Red Sky", "jockey": "B. Rider", "sp": "7/1"},
        ],
    }
    return {"event": "result.received", "data": {"race": race | changes}}


def abandoned(race_id="rc_9", region: str | None = "GB", **changes):
    race = {"race_id": race_id, "course": "Nowhere Park", "date": DAY, "off_time": "15:05"}
    if region is not None:
        race["region"] = region
    return {"event": "race.abandoned", "data": {"race": race | changes, "reason": "Frozen track"}}


# The same JSON, with the fields of each object in another order


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    items = [(name, shuffled(item, random)) for name, item in value.items()]
    random.shuffle(items)
    return dict(items)
