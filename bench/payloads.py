"""Deliveries as the data service sends them: 2 KB each, signed, no two alike, as the bytes of a whole request."""

import hmac
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

SECRET = "whsec-bench-0123456789"
PATH = "/webhooks/racing"
BODY_BYTES = 2048
RUNNERS = 8
RACES_OF_A_COURSE = 8
"""A course has no more races in a day, and what is known of a course is looked through for each of its races."""


def get(path: str) -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


def post(body: bytes) -> bytes:
    """A signed delivery."""
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-SVC-Signature: {hmac.digest(SECRET.encode(), body, 'sha256').hex()}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(frozen=True)
class Results:
    """The results of many races of one day. `prefix` keeps one run's races and courses apart from another's.

    Regions take turns. With `one_course` all races are of one course, as on no real day.
    """

    prefix: str
    regions: tuple[str, ...] = ("GB",)
    one_course: bool = False

    def race_id(self, number: int) -> str:
        return f"rc_{self.prefix}{number:07}"

    def region(self, number: int) -> str:
        return self.regions[number % len(self.regions)]

    def course(self, number: int) -> str:
        """What names the race's course: a course is of one region, and has RACES_OF_A_COURSE."""
        if self.one_course:
            number = 0
        turn, of_region = divmod(number, len(self.regions))
        return f"{self.prefix}{of_region:02}-{turn // RACES_OF_A_COURSE:05}"

    def off_time(self, number: int) -> str:
        """When the race is off: an hour after the race before."""
        return f"{12 + number // len(self.regions) % RACES_OF_A_COURSE}:30"

    def body(self, number: int) -> bytes:
        """A result of 2 KB."""
        payload = _result(self.race_id(number), self.region(number), self.course(number), self.off_time(number))
        short = BODY_BYTES - len(json.dumps(payload))
        payload["race"]["analysis"] = "A" * (short - len(', "analysis": ""'))
        return json.dumps(payload).encode()

    def requests(self) -> Iterator[bytes]:
        """Requests without end. The body is made once, and only what differs is put in: the generator has no time."""
        first = self.body(0)
        for number in itertools.count():
            body = first.replace(self.race_id(0).encode(), self.race_id(number).encode())
            body = body.replace(self.course(0).encode(), self.course(number).encode())
            body = body.replace(f'"{self.off_time(0)}"'.encode(), f'"{self.off_time(number)}"'.encode())
            yield post(body.replace(self._region_json(0), self._region_json(number)))

    def _region_json(self, number: int) -> bytes:
        return json.dumps({"region": self.region(number)}).encode().strip(b"{}")


def _result(race_id: str, region: str, course: str, off_time: str) -> dict[str, dict[str, object]]:
    runners = [
        {
            "number": number,
            "horse": {"horse_id": f"hs_{number}", "name": f"Measured Pace {number}"},
            "jockey": {"name": "J. Jockey"},
            "trainer": {"name": "T. Trainer"},
            "position": number,
            "starting_price": "7/2",
        }
        for number in range(1, RUNNERS + 1)
    ]
    race = {
        "race_id": race_id,
        "region": region,
        "course": {"course_id": f"cr_{course}", "name": f"Course {course}", "country": "GB"},
        "date": "2026-11-20",
        "off_time": off_time,
        "title": "The Measured Stakes",
        "class": "Class 2",
        "distance": "1m 2f",
        "going": "Good to Soft",
        "status": "result",
        "runners": runners,
    }
    return {"event": "result.received", "occurred_at": "2026-11-20T14:34:10Z", "race": race}  # type: ignore[dict-item]
