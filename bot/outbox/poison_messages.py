"""Poison messages: Slack leaves their calls unanswered, and answers the calls of other messages.

During an outage no message is given up, because no other message is sent. A restart counts again.
"""

from dataclasses import dataclass, field, replace

from bot.outbox.channel_queues import Claim

PLAIN_AFTER = 4
"""Unanswered calls. Then plain text is sent: the blocks may be at fault."""

GIVE_UP_AFTER = 8
"""Unanswered calls with other messages sent in between. Then the message is given up."""

EDIT_LOOKS_MAX = 8
"""Failed looks at the message of a refused edit. Then the edit becomes a message of its own."""

EDIT_ATTEMPTS = 5
"""Unanswered calls while others passed. Then the edit of an event becomes a message of its own."""


@dataclass(frozen=True)
class Unanswered:
    """The unanswered calls of a message or an edit, as seen by this process.

    `while_others_passed`: unanswered calls with another message sent since the call before. `passed_before`: other
    messages sent before the last unanswered call. `called_at_s`: of the last unanswered call, by the monotonic clock.
    """

    message_id: int | None = None
    times: int = 0
    while_others_passed: int = 0
    passed_before: int = 0
    called_at_s: float | None = None
    failed_looks: int = 0

    @property
    def wants_plain(self) -> bool:
        return self.times >= PLAIN_AFTER

    @property
    def is_stuck(self) -> bool:
        """The channel has waited long: admins are told."""
        return self.times >= GIVE_UP_AFTER

    @property
    def is_poison(self) -> bool:
        """The message is at fault, and not an outage."""
        return self.while_others_passed >= GIVE_UP_AFTER


@dataclass
class UnansweredCalls:
    """By queue: the first message and the first edit."""

    _sent: int = 0
    _edits: int = 0
    _messages_fail: bool = False
    _firsts: dict[tuple[str, bool], Unanswered] = field(default_factory=dict)

    def of(self, claim: Claim) -> Unanswered:
        found = self._firsts.get(_place(claim))
        return found if found and found.message_id == claim.post.id else Unanswered(claim.post.id)

    def count(self, claim: Claim, *, left: bool) -> Unanswered:
        """A message's call that never `left` the host does not count."""
        self._messages_fail |= not claim.is_edit
        seen = self.of(claim)
        if not (left or claim.is_edit):
            return seen
        # An edit without an event can't become a message, and waits through an outage of edits.
        passed = self._edits if claim.is_edit and claim.event is None else self._sent
        seen = replace(
            seen,
            times=seen.times + 1,
            while_others_passed=seen.while_others_passed + (seen.times == 0 or passed > seen.passed_before),
            passed_before=passed,
            # A look that our code failed on is no call.
            called_at_s=seen.called_at_s if claim.in_doubt else claim.begun_at_s,
        )
        self._firsts[_place(claim)] = seen
        return seen

    def look_failed(self, claim: Claim) -> bool:
        """True if the message of a refused edit is looked at again."""
        seen = self.of(claim)
        seen = self._firsts[_place(claim)] = replace(seen, failed_looks=seen.failed_looks + 1)
        return seen.failed_looks < EDIT_LOOKS_MAX

    def is_poison_edit(self, claim: Claim, edit: Unanswered) -> bool:
        """True if enough calls were unanswered while others passed. An event's edit waits while messages fail."""
        fails = claim.event is not None and self._messages_fail
        return edit.times >= EDIT_ATTEMPTS and edit.while_others_passed > 1 and not fails

    def sent(self, claim: Claim) -> None:
        self._firsts.pop(_place(claim), None)
        if claim.is_edit:
            self._edits += 1
        else:
            self._sent += 1
            self._messages_fail = False


def _place(claim: Claim) -> tuple[str, bool]:
    return claim.channel_id, claim.is_edit
