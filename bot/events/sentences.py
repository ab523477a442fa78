"""Numbers and lists in English sentences."""

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str = "") -> str:
    """For example "1 race", "2 races", "1,234 deliveries"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """For example "GB", "GB and IRE", "AUS, GB and IRE"; "" without words."""
    return "".join(words) if len(words) <= 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"
