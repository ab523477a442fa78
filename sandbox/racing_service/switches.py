"""The stand-in's choices where the specification is silent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RecordShape = Literal["nested", "renamed"]
DeliveryShape = Literal["counted", "listed", "bare"]

RETRY_GAPS_S: tuple[float, ...] = (30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 29_850)
"""Spec gap G14: widening gaps, 24 hours together."""


@dataclass(frozen=True, slots=True)
class Switches:
    """Replace the whole value to change a choice."""

    payload: RecordShape = "nested"  # Spec gap G1
    attempt_in_body: bool = False  # Spec gap G1: the body counts attempts, so no two are the same bytes
    races: RecordShape = "nested"  # Spec gap G2
    subscribe_answer: Literal["secret", "signing_secret", "subscription", "flat"] = "secret"  # Spec gap G3
    subscribe_status: Literal[200, 201] = 201  # Spec gap G3
    usage: Literal["rows", "period"] = "rows"  # Spec gap G5
    reference: Literal["values", "names"] = "values"  # Spec gap G6
    newest_first: bool = False  # Spec gap G11
    default_limit: int = 100
    last_cursor: Literal["string", "null", "absent"] = "string"  # Interface, Limits 7: each response has one
    short_page_every: int = 0  # Interface, Limits 7: every nth page is short although more follows; 0 is never
    retry_gaps_s: tuple[float, ...] = RETRY_GAPS_S  # Spec gap G14
    repeat_every: int = 0  # Events 3: every nth delivery that was accepted is sent once more; 0 is never
    delivery_timeout_s: float = 2.0  # Events 5
    allow_http_loopback: bool = False  # Events 6 knows https only; a demo on one machine has no certificate
    slow_s: float = 30.0  # how long a request that was told to be slow waits
    reach: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Endpoint → plans. Other endpoints are reached by all plans ("Plans reaching it: not shown")."""
