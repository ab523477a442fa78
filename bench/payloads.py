"""Deliveries as the data service sends them: 2 KB each, signed, no two alike, as the bytes of a whole request."""

import hmac
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.deliveries.signature import HEADER

SECRET = "whsec-bench-0123456789"
PATH = "/webhooks/racing"
BODY_BYTES = 2048
RACES_OF_A_COURSE = 8
"""The most races of a course in a day: for each race the bot reads the known races of the course."""


def request(line: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """An HTTP request."""
    sent = {"Host": "bench", "Content-Length": str(len(body))} | dict(headers or {})
    named = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"{line} HTTP/1.1\r\n{named}\r\n".encode() + body


def post(body: bytes) -> bytes:
    """A signed delivery."""
    signature = hmac.digest(SECRET.encode(), body, "sha256").hex()
    return request(f"POST {PATH}", body, {"Content-Type": "application/json", HEADER: signature})


RACE_ID, REGION, COURSE, OFF_TIME, PADDING = "<race>", "<region>", "<course>", "<off>", "<padding>"
_TEMPLATE = json.dumps(json.loads(Path(__file__).with_name("result.json").read_text(encoding="utf-8")))


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
