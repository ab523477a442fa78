"""The line of a message that names the watched runners."""

from collections.abc import Sequence

from bot.events.watched import WatchedRunner
from bot.slack.messages.kit.names import HORSE_MAX, PERSON_MAX, SHORT_MAX
from bot.slack.messages.kit.text import joined, safe

RUNNERS_NAMED = 8


def watched_line(watched: Sequence[WatchedRunner]) -> str:
    """For example "Watched here: Golden Melody (14:30). Watched here before: Blue Moon (trainer A Smith)"."""
    now, before = ([one for one in watched if one.is_lost is is_lost] for is_lost in (False, True))
    said = {"Watched here": now, "Watched here before": before}
    return ". ".join(f"{words}: {_named(runners)}" for words, runners in said.items() if runners)


def _named(watched: Sequence[WatchedRunner]) -> str:
    named = [_runner(one) for one in watched[:RUNNERS_NAMED]]
    more = len(watched) - len(named)
    return f"{', '.join(named)}{f' and {more} more' if more else ''}"


def _runner(one: WatchedRunner) -> str:
    by = [safe(words, PERSON_MAX + SHORT_MAX) for words in one.by]
    position = safe(one.position, SHORT_MAX)
    details = joined([safe(one.off, SHORT_MAX), f"position {position}" if position else None, *by], ", ")
    horse = safe(one.horse, HORSE_MAX) or "horse not named"
    return f"{horse} ({details})" if details else horse
