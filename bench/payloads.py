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
"""The most races of a course in a day: for each race the bot reads the known races of the course."""


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


RACE_ID, REGION, COURSE, OFF_TIME, PADDING = "<race>", "<region>", "<course>", "<off>", "<padding>"

_TEMPLATE = json.dumps(
    {
        "event": "result.received",
        "occurred_at": "2026-11-20T14:34:10Z",
        "race": {
            "race_id": RACE_ID,
            "region": REGION,
            "course": {"course_id": f"cr_{COURSE}", "name": f"Course {COURSE}", "country": "GB"},
            "date": "2026-11-20",
            "off_time": OFF_TIME,
            "title": "The Measured Stakes",
            "class": "Class 2",
            "distance": "1m 2f",
            "going": "Good to Soft",
            "status": "result",
            "runners": [
                {
                    "number": number,
                    "horse": {"horse_id": f"hs_{number}", "name": f"Measured Pace {number}"},
                    "jockey": {"name": "J. Jockey"},
                    "trainer": {"name": "T. Trainer"},
                    "position": number,
                    "starting_price": "7/2",
                }
                for number in range(1, RUNNERS + 1)
            ],
            "analysis": PADDING,
        },
    }
)


@dataclass(frozen=True)
class Results:
    """The results of many races of one day. `prefix` keeps one run's races and courses apart from another's.

    Regions take turns.
    """

    prefix: str
    regions: tuple[str, ...] = ("GB",)

    def race_id(self, number: int) -> str:
        return f"rc_{self.prefix}{number:07}"

    def body(self, number: int) -> bytes:
        """A result of 2 KB. A course is of one region, and the races are an hour apart."""
        turn, of_region = divmod(number, len(self.regions))
        course, of_course = divmod(turn, RACES_OF_A_COURSE)
        told = _TEMPLATE.replace(RACE_ID, self.race_id(number)).replace(REGION, self.regions[of_region])
        told = told.replace(COURSE, f"{self.prefix}{of_region:02}-{course:05}").replace(
            OFF_TIME, f"{12 + of_course}:30"
        )
        return told.replace(PADDING, "A" * (BODY_BYTES - len(told) + len(PADDING))).encode()

    def requests(self) -> Iterator[bytes]:
        """Requests without end."""
        return map(post, map(self.body, itertools.count()))
