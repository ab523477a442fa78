"""Deliveries as the service might send them."""

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
