"""The signature of a delivery: HMAC-SHA256 of the raw body, keyed with a secret, in hex (Interface, Events 2)."""

import hmac
import re
from collections.abc import Iterable, Sequence

HEADER = "X-SVC-Signature"

_HEX_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


def read_signature(values: Sequence[str]) -> str | None:
    """None unless the request has exactly one header, of 64 hex digits."""
    if len(values) != 1 or not _HEX_DIGEST.fullmatch(values[0].strip()):
        return None
    return values[0].strip().lower()


def sign(secret: str, body: bytes) -> str:
    return hmac.digest(secret.encode(), body, "sha256").hex()


def is_signed(secrets: Iterable[str], body: bytes, signature: str) -> bool:
    """Every secret is tried, even after a match, for a constant time."""
    matched = False
    for secret in secrets:
        matched |= hmac.compare_digest(sign(secret, body), signature)
    return matched
