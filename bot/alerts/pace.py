"""How fast is posted: Slack's limits, a channel's and each method's."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.storage.lanes import EDIT_METHOD, LOOK_METHOD, POST_METHOD
from bot.storage.pace import MethodLimit

TIER_3 = MethodLimit(burst=10, per_minute=40)
"""What Slack allows 50 times a minute and more (docs.slack.dev/apis/web-api/rate-limits): no minute exceeds 50."""


@dataclass(frozen=True)
class Pace:
    """`channel_s`: seconds between two posts in a channel. `workspace_per_minute`: posts a minute over all channels.

    Source: docs.slack.dev/apis/web-api/rate-limits ("1 per second per channel", and "several hundred messages per
    minute" for a workspace, which is nowhere given as a number: with the burst no minute exceeds 300). chat.update and
    conversations.history are Tier 3 by their own pages (docs.slack.dev/reference/methods). Where
    `workspace_per_minute` is None nothing is paced, and nothing is asked of the database for it.
    """

    channel_s: float = 1.0
    workspace_per_minute: float | None = 280
    workspace_burst: int = 20
    edits: MethodLimit = TIER_3
    looks: MethodLimit = TIER_3

    @property
    def limits(self) -> Mapping[str, MethodLimit]:
        """What is paced: method → its limit, for all replicas together."""
        if self.workspace_per_minute is None:
            return {}
        posts = MethodLimit(self.workspace_burst, self.workspace_per_minute)
        return {POST_METHOD: posts, EDIT_METHOD: self.edits, LOOK_METHOD: self.looks}
