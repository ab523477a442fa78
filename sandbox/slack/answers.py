"""The bot's answer to Slack."""

from dataclasses import dataclass

from sandbox.slack.changes import PATIENCE_S
from sandbox.slack.short_lived import ResponseUrl
from sandbox.slack.values import SentResponse


@dataclass(frozen=True)
class Answer:
    """`status` is 0 without an answer.

    `error` is "operation_timeout" after three seconds, "dispatch_failed" for another status than 200, or the error of
    the body; else None.
    """

    status: int
    body: str
    error: str | None
    response_url: ResponseUrl | None = None

    async def responses(self, n: int = 1, timeout_s: float = PATIENCE_S) -> list[SentResponse]:
        """At least `n` responses; raises TimeoutError. A body in the HTTP answer is the first response."""
        url = self.response_url
        if url is None:
            raise LookupError("this request carried no response_url")
        await url.changes.wait_for(lambda: len(url.responses) >= n, timeout_s)
        return list(url.responses)
