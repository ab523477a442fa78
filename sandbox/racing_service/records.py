"""The data of /countries, /courses and /reference; delivery records and subscription answers (Spec gaps G3 and G4)."""

from collections import Counter, defaultdict
from random import Random
from typing import Any

from sandbox.racing_day import CASUALTY_REASONS, COUNTRIES, REGION_CODES, REGIONS, Course, courses_of, in_utc
from sandbox.racing_service.delivery_queue import Delivery, Subscription
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import Switches

Record = dict[str, Any]


def delivery_record(delivery: Delivery) -> Record:
    if delivery.shape == "listed":
        return _listed(delivery)
    return _counted(delivery) | ({"payload": delivery.happening.payload} if delivery.shape == "counted" else {})


def _counted(delivery: Delivery) -> Record:
    happening, last = delivery.happening, delivery.attempts[-1] if delivery.attempts else None
    return {
        "delivery_id": delivery.delivery_id,
        "subscription_id": delivery.subscription.subscription_id,
        "event": happening.event,
        "race_id": happening.race_id,
        "meeting_id": happening.meeting_id,
        "region": happening.region,
        "status": delivery.status,
        "created_at": in_utc(delivery.created_at),
        "last_attempt_at": in_utc(last.at) if last else None,
        "next_attempt_at": in_utc(delivery.next_at) if delivery.next_at else None,
        "attempts": len(delivery.attempts),
        "response_status": last.status if last else None,
        "response_body": last.answer if last else None,
        "error": last.error if last else None,
    }


def _listed(delivery: Delivery) -> Record:
    return {
        "id": delivery.delivery_id,
        "state": delivery.status,
        "url": delivery.subscription.url,
        "sent": {"type": delivery.happening.event, "body": delivery.happening.payload},
        "attempts": [
            {"at": in_utc(each.at), "status_code": each.status, "body": each.answer, "error": each.error}
            for each in delivery.attempts
        ],
    }


def subscription_answer(subscription: Subscription, meta: Record, switches: Switches) -> Record:
    """The only answer with the secret. Spec gap G3: the secret's place is switched."""
    secret_name = "signing_secret" if switches.subscribe_answer == "signing_secret" else "secret"
    shown: Record = {
        "subscription_id": subscription.subscription_id,
        "url": subscription.url,
        "events": sorted(subscription.events),
        "region": subscription.region,
        secret_name: subscription.secret,
    }
    if switches.subscribe_answer == "flat":
        return {"meta": meta, **shown}
    return {"meta": meta, "data": {"subscription": shown} if switches.subscribe_answer == "subscription" else shown}


def country_records(racing: Racing) -> list[Record]:
    """Interface, Country."""
    seen = Counter(race.course.region for race in racing.races())
    return [
        country | {"races": _archived(country["country_code"], 2_000, 90_000) + seen[country["country_code"]]}
        for country in COUNTRIES
    ]


def course_records(racing: Racing) -> list[Record]:
    """Interface, Course."""
    days: dict[str, list[str]] = defaultdict(list)
    for race in racing.races():
        days[race.course.course_id].append(race.race_date.isoformat())
    courses = (course for region in REGIONS for course in courses_of(region.code))
    return [_course_record(course, days[course.course_id]) for course in courses]


def _course_record(course: Course, days: list[str]) -> Record:
    """`days`: of each race that the stand-in has, beside a made-up archive."""
    archived = _archived(course.course_id, 20, 300)
    return course._asdict() | {
        "races": 7 * archived + len(days),
        "meetings": archived + len(set(days)),
        "first_meeting": f"2017-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}",
        "last_meeting": max(days, default=f"2024-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}"),
    }


def reference_data(racing: Racing, switches: Switches) -> Record:
    """Every value that a race can have. Spec gap G6: beyond the categories the shape is switched."""
    races = racing.races()
    categories: dict[str, set[str]] = {
        "goings": {*(race.going for race in races), *(going for region in REGIONS for going in region.goings)},
        "classes": {race.race_class for race in races if race.race_class},
        "run_types": {race.run_type for race in races},
        "surfaces": {race.surface for race in races},
        "regions": set(REGION_CODES),
        "casualty_reasons": set(CASUALTY_REASONS),
    }
    if switches.reference == "names":
        return {name: sorted(values) for name, values in categories.items()}
    return {
        name: [
            {"value": value, ("runners" if name == "casualty_reasons" else "races"): _archived(value, 50, 9_000)}
            for value in sorted(values)
        ]
        for name, values in categories.items()
    }


def _archived(name: str, low: int, high: int) -> int:
    """A made-up count, always the same for a name."""
    return Random(f"archive:{name}").randint(low, high)
