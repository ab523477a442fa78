"""What came back from the bot: the HTTP answer to a signed request, and the responses that followed."""

from dataclasses import dataclass

from bot.sandbox.slack.changes import PATIENCE_S, Changes
from bot.sandbox.slack.response_urls import ResponseUrl
from bot.sandbox.slack.values import SentResponse


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The bot's HTTP answer. `status` is 0 where there was none.

    `error` is what Slack would show or note: "operation_timeout" after three seconds, "dispatch_failed" for a status
    other than 200 or no connection, "challenge_failed", or what was wrong with the body; else None.
    """

    status: int
    body: str
    elapsed_ms: float
    error: str | None
    changes: Changes
    response_url: ResponseUrl | None = None

    async def responses(self, n: int = 1, timeout_s: float = PATIENCE_S) -> list[SentResponse]:
        """All responses to this command or action, once there are at least `n`; else raises TimeoutError.

        A body in the HTTP answer itself is the first one.
        """
        url = self.response_url
        if url is None:
            raise LookupError("this request carried no response_url")
        await self.changes.wait_for(lambda: len(url.responses) >= n, timeout_s)
        return list(url.responses)
