"""Calls that Slack leaves unanswered again and again: the post's own fault, or an outage, in which no other gets one.

Kept in memory: another process, and a restart, counts anew. To count too little costs a few more tries; to count an
outage of Slack's as a post's own fault would cost the post.
"""

from dataclasses import dataclass, field, replace

from bot.outbox.channel_queues import Claim

PLAIN_AFTER = 4
"""Doubtful answers, the third repeat's among them, after which a post is tried as plain text."""

GIVE_UP_AFTER = 8
"""Doubtful answers after which a post is given up, if others were posted between each and the next."""

LOOKS = 8
"""Tries of an edit that is refused for good, while nobody can look whether Slack took an earlier one."""

EDIT_ATTEMPTS = 5
"""An edit that got no answer so often becomes a message of its own, if Slack takes messages meanwhile."""


@dataclass(frozen=True)
class Doubt:
    """What this process has seen of a lane's post: `times` it was answered doubtfully.

    `alone`: how many of these came when another post had been made since the one before. `posted_at_first` and
    `posted_before`: how many posts had been made by the first and by the last of them. `failed_looks`: how often nobody
    could look whether a refused edit was made before.
    """

    post_id: int | None = None
    times: int = 0
    alone: int = 0
    posted_at_first: int = 0
    posted_before: int = 0
    failed_looks: int = 0

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
    """The doubts of all lanes: one of each lane's messages, and one of its edits, since only the first is sent."""

    _posted: int = 0
    _messages_fail: bool = False
    _of_lanes: dict[tuple[str, bool], Doubt] = field(default_factory=dict)

    def of(self, claim: Claim) -> Doubt:
        """What was seen of this post so far."""
        doubt = self._of_lanes.get(_place(claim))
        return doubt if doubt and doubt.post_id == claim.post.id else Doubt(claim.post.id, posted_at_first=self._posted)

    def unanswered(self, claim: Claim, *, left: bool) -> Doubt:
        """What was seen of it by now: a call for it got no answer once more. One that never `left` is no doubt of it.

        Of an edit it is all the same: it is not looked for, but made again.
        """
        is_edit = _is_edit(claim)
        self._messages_fail |= not is_edit
        doubt = self.of(claim)
        if not (left or is_edit):
            return doubt
        # The first says nothing of what came before it.
        alone = doubt.alone + (doubt.times == 0 or self._posted > doubt.posted_before)
        doubt = replace(doubt, times=doubt.times + 1, alone=alone, posted_before=self._posted)
        self._of_lanes[_place(claim)] = doubt
        return doubt

    def not_looked(self, claim: Claim) -> bool:
        """Whether to look once more: nobody could look at the message of a refused edit."""
        doubt = self.of(claim)
        doubt = self._of_lanes[_place(claim)] = replace(doubt, failed_looks=doubt.failed_looks + 1)
        return doubt.failed_looks < LOOKS

    def is_edit_in_vain(self, doubt: Doubt) -> bool:
        """Whether it is the edit, and not an outage: Slack has taken messages since, and the last that was tried."""
        taken_since = self._posted > doubt.posted_at_first and not self._messages_fail
        return doubt.times >= EDIT_ATTEMPTS and taken_since

    def taken(self, claim: Claim) -> None:
        """Slack has taken it."""
        self._of_lanes.pop(_place(claim), None)
        if not _is_edit(claim):
            self._posted += 1
            self._messages_fail = False


def _is_edit(claim: Claim) -> bool:
    return claim.post.edits_id is not None


def _place(claim: Claim) -> tuple[str, bool]:
    return claim.channel_id, _is_edit(claim)
