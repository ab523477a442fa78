"""What is wrong with the messages and answers of a case, in words."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

RULES = frozenset({"begins", "contains", "never", "order", "placed", "unplaced", "runners", "non_runners"})

_DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
_NON_RUNNER = re.compile(r"\b(nr|non-?runners?|(late ?)?scratched|withdrawn|reserves?)\b", re.IGNORECASE)


def faults_of(rules: dict[str, Any], shown: Sequence[Any]) -> list[str]:
    """`shown`: messages with `text` and `blocks`; an answer is one message."""
    faults = [f"{rule!r} is no rule" for rule in rules.keys() - RULES - {"command"}]
    texts = [_plain(message.text) for message in shown]
    said = [line for message in shown for line in (_plain(message.text), *_texts(message.blocks))]
    lines = [line for message in shown for line in _lines(message)]
    begins = rules.get("begins")
    if begins and not any(text.startswith(begins) for text in texts):
        faults.append(f"no message begins with {begins!r}")
    for wanted in rules.get("contains", ()):
        choices = wanted if isinstance(wanted, list) else [wanted]
        if not any(_reads(choice, said) for choice in choices):
            faults.append(f"{wanted!r} is not said")
    faults += [f"{word!r} is said" for word in rules.get("never", ()) if _reads(word, said)]
    if rules.get("order") and not _follow(rules["order"], "\n".join(said)):
        faults.append(f"{rules['order']!r} do not follow one another")
    if rules.get("placed") and not any(_places(rules["placed"], rules.get("unplaced", ()), text) for text in texts):
        faults.append(f"no text places {rules['placed']!r} without {rules.get('unplaced', [])!r}")
    for name in rules.get("non_runners", ()):
        faults += [f"{name} is no non-runner in {line!r}" for line in lines if _names(name, line) and not _is_out(line)]
    for name in rules.get("runners", ()):
        if not any(_names(name, line) for line in lines):
            faults.append(f"{name} is not shown")
        faults += [f"{name} is a non-runner in {line!r}" for line in lines if _names(name, line) and _is_out(line)]
    return faults


def words_of(shown: Sequence[Any]) -> str:
    """All that is shown, for a report."""
    return "\n".join(
        "\n    ".join(dict.fromkeys((_plain(message.text), *_texts(message.blocks, rows_whole=True))))
        for message in shown
    )


def _plain(text: str) -> str:
    return html.unescape(_DATE.sub(r"\1", text or ""))


def _texts(value: Any, *, rows_whole: bool = False) -> Iterator[str]:
    """Each text of the blocks: of a table each cell, or with `rows_whole` each row."""
    if isinstance(value, dict):
        yield from (_plain(value[name]) for name in ("text", "caption") if isinstance(value.get(name), str))
        for name, item in value.items():
            if rows_whole and name == "rows":
                yield from (" | ".join(_texts(row)) for row in item)
            elif isinstance(item, dict | list | tuple):
                yield from _texts(item, rows_whole=rows_whole)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, rows_whole=rows_whole)


def _lines(message: Any) -> Iterator[str]:
    for text in (_plain(message.text), *_texts(message.blocks, rows_whole=True)):
        yield from text.split("\n")


def _reads(wanted: str, said: Iterable[str]) -> bool:
    """In letters of either case. Figures and words stand alone: "1 run" is neither in "11 run" nor in "1 runner"."""
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    after = r"(?![0-9])" if wanted[-1:].isdigit() else r"(?![a-z])" if wanted[-1:].isalpha() else ""
    found = re.compile(before + re.escape(wanted) + after, re.IGNORECASE)
    return any(found.search(text) for text in said)


def _follow(wanted: Sequence[str], text: str) -> bool:
    place = 0
    for name in wanted:
        place = text.casefold().find(name.casefold(), place)
        if place < 0:
            return False
        place += len(name)
    return True


def _places(placed: Sequence[str | list[str]], unplaced: Sequence[str], text: str) -> bool:
    place, end = 1, 0
    for wanted in placed:
        names = wanted if isinstance(wanted, list) else [wanted]
        found = [_place_of(name, text) for name in names]
        if any(one is None for one in found):
            return False
        spots = [one for one in found if one is not None]
        if any(start < end or number not in {None, place} for start, number in spots):
            return False
        if len(names) > 1 and not (all(number for _, number in spots) or "dead heat" in text):
            return False
        end = max(start for start, _ in spots)
        place += len(names)
    return not any(spot is not None and spot[1] is not None for spot in (_place_of(name, text) for name in unplaced))


def _place_of(name: str, text: str) -> tuple[int, int | None] | None:
    """Where a name stands in a text, and the place said before the name; None for a name that is not there."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    if not found:
        return None
    before = re.split(r"[,:;.] ", text[: found.start()])[-1]
    place = re.search(r"(?<![\w:.])=?([0-9]{1,3})(?![0-9:.])", before)
    return found.start(), int(place[1]) if place else None


def _names(name: str, line: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line, re.IGNORECASE) is not None


def _is_out(line: str) -> bool:
    return _NON_RUNNER.search(line) is not None
