"""Posts that Slack answers doubtfully again and again: told from an outage by whether others are posted meanwhile.

Kept in memory: another process, and a restart, counts anew. To count too little costs a few more tries; to count an
outage of Slack's as a post's own fault would cost the post.
"""

from dataclasses import dataclass, field

from bot.storage.lanes import Claim

PLAIN_AFTER = 4
"""Doubtful answers, the third repeat's among them, after which a post is tried as plain text."""

GIVE_UP_AFTER = 8
"""Doubtful answers after which a post is given up, if others were posted between each and the next."""


@dataclass(frozen=True)
class Doubt:
    """What this process has seen of a lane's post: `times` it was answered doubtfully.

    `alone`: how many of these came when another post had been made since the one before. `posted_before`: how many
    posts had been made by the last of them.
    """

    post_id: int | None = None
    times: int = 0
    alone: int = 0
    posted_before: int = 0

    @property
    def wants_plain(self) -> bool:
        """Whether it may be the blocks that Slack stumbles over."""
        return self.times >= PLAIN_AFTER

    @property
    def is_stuck(self) -> bool:
        """Whether its channel has waited so long that admins should hear of it."""
        return self.times >= GIVE_UP_AFTER

    @property
    def is_in_vain(self) -> bool:
        """Whether it is the post, and not an outage."""
        return self.alone >= GIVE_UP_AFTER


@dataclass
class Doubts:
    """The doubts of all lanes, one each: only a lane's first post is sent."""

    _posted: int = 0
    _of_lanes: dict[str, Doubt] = field(default_factory=dict)

    def of(self, claim: Claim) -> Doubt:
        """What was seen of this post so far."""
        doubt = self._of_lanes.get(claim.channel_id)
        return doubt if doubt and doubt.post_id == claim.post.id else Doubt(claim.post.id)

    def doubtful(self, claim: Claim) -> None:
        """Slack has answered it doubtfully once more."""
        doubt = self.of(claim)
        # The first says nothing of what came before it.
        alone = doubt.alone + (doubt.times == 0 or self._posted > doubt.posted_before)
        self._of_lanes[claim.channel_id] = Doubt(claim.post.id, doubt.times + 1, alone, self._posted)

    def posted(self, claim: Claim) -> None:
        """Slack has taken it."""
        self._posted += 1
        self._of_lanes.pop(claim.channel_id, None)
