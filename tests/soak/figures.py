"""The results of a soak, in lines for people."""

from tests.soak.oracle import Verdict
from tests.soak.world import Tally, World, seed

MOST_PROBLEMS = 50
"""Faults are said one by one, up to so many."""


def figures_of(world: World, verdict: Verdict) -> str:
    """The counts of a run: attacks on the bot, and the outcomes."""
    tally, sender = world.tally, world.sender
    refused = sum(1 for call in world.slack.calls if call.error == "ratelimited")
    done = (
        f"seed {seed()}: {tally.lives} lives, {tally.killed} SIGKILLs "
        f"({tally.killed_at_failpoint} at failpoints, {tally.killed_at_random} at random), {tally.paused} SIGSTOPs "
        f"past the lease, {tally.stopped} stops in good order, {tally.restarted} restarts of the database"
    )
    came = (
        f"{len(sender.delivered)} deliveries in {sender.attempts} attempts, {sender.unheard} of them unanswered; "
        f"{sender.repeated} deliveries once more; {verdict.posts} posts; {len(world.slack.calls)} calls of Slack, "
        f"{refused} over its limits; {verdict.given_up} posts given up, {verdict.closings} closings told"
    )
    wrong = (
        f"{len(verdict.lost)} lost, {len(verdict.doubled)} doubled, {len(verdict.out_of_order)} out of order, "
        f"{len(verdict.too_fast)} too fast, {len(verdict.noise)} else wrong"
    )
    return "\n".join([done, came, wrong, *verdict.problems[:MOST_PROBLEMS]])


def failpoints_of(tally: Tally) -> str:
    """The number of deaths at each failpoint, and of passes."""
    names = sorted(tally.passed)
    return "\n".join(f"died {tally.died_at[name]:3} times, passed {tally.passed[name]:6}  {name}" for name in names)
