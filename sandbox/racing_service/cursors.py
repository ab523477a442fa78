"""Cursors: opaque, signed, bound to their query, good for ever (Interface, Limits 8)."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sandbox.racing_service.refusals import Refusal, invalid_param

Position = tuple[str, str]
Item = TypeVar("Item")
_MAC_LENGTH = 32


def not_issued() -> Refusal:
    """The same answer for every bad cursor."""
    return invalid_param("cursor", "was not issued by this service for this query")


class CursorMint:
    """Equal secrets read each other's cursors, also after a restart."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def issue(self, query: Mapping[str, object], position: Position | None) -> str:
        """`position` None is the start."""
        text = json.dumps([_fingerprint(query), position])
        encoded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return encoded + self._mac(encoded)

    def read(self, cursor: str, query: Mapping[str, object]) -> Position | None:
        """Raises invalid_param for any other text."""
        encoded, mac = cursor[:-_MAC_LENGTH], cursor[-_MAC_LENGTH:]
        if not hmac.compare_digest(mac.encode(), self._mac(encoded).encode()):
            raise not_issued()
        fingerprint, position = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        if fingerprint != _fingerprint(query):
            raise not_issued()
        return None if position is None else (position[0], position[1])

    def _mac(self, encoded: str) -> str:
        # base64 has several spellings of the same bytes, so the text is signed.
        return hmac.new(self._secret, encoded.encode(), hashlib.sha256).hexdigest()[:_MAC_LENGTH]


def _fingerprint(query: Mapping[str, object]) -> str:
    text = json.dumps(sorted((name, str(value)) for name, value in query.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rest_after(
    items: Sequence[Item], position_of: Callable[[Item], Position], after: Position | None, *, descending: bool
) -> list[Item]:
    """The items beyond the position, in order."""
    ordered = sorted(items, key=position_of, reverse=descending)
    if after is None:
        return ordered
    return [item for item in ordered if (position_of(item) < after if descending else position_of(item) > after)]
