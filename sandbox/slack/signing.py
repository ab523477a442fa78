"""Slack's request signature, by the stand-in's own code.

docs.slack.dev/authentication/verifying-requests-from-slack
"""

import hashlib
import hmac

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def sign(secret: str, timestamp: int | str, body: bytes) -> str:
    """HMAC-SHA256 of "v0:{timestamp}:{body}"."""
    base = b":".join((b"v0", str(timestamp).encode(), body))
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


def signed_headers(secret: str, timestamp: int | str, body: bytes, content_type: str = FORM) -> dict[str, str]:
    return {
        "Content-Type": content_type,
        "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "X-Slack-Request-Timestamp": str(timestamp),
        "X-Slack-Signature": sign(secret, timestamp, body),
    }
