"""The words of `/racing watch`: `horse:"Golden Melody" jockey:"R Moore" me`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.errors import CommandError
from bot.events.watched import name_key
from bot.racedata.near_misses import TYPED_MAX
from bot.slack.commands.tokens import Word, join, words_of

ME = "me"
NAMES_MAX = 10

_NAMED = re.compile(r"(horse|trainer|jockey):(.*)", re.IGNORECASE | re.DOTALL)
_KINDS = frozenset(WatchKind)


@dataclass(frozen=True)
class WatchWords:
    """`is_own`: with the word `me`."""

    names: tuple[WatchedName, ...]
    is_own: bool = False

    @property
    def line(self) -> str:
        return watch_line(self.names, is_own=self.is_own)


def watch_line(names: Sequence[WatchedName], *, is_own: bool) -> str:
    """The words after /racing."""
    return join(["watch", *(f"{one.kind}:{one.name}" for one in names), *([ME] if is_own else [])])


@dataclass
class _Typed:
    kind: WatchKind | None
    words: list[str] = field(default_factory=list)
    is_quoted: bool = False

    @property
    def is_whole(self) -> bool:
        return self.is_quoted and bool(self.words)


def read_watch_words(text: str) -> WatchWords:
    """Raises CommandError for a name without a kind, and without a name."""
    words, is_own = _without_me(words_of(text))
    typed: list[_Typed] = []
    for word in words:
        _read(word, typed)
    names = [(one.kind, " ".join(one.words)) for one in typed]
    if not any(name for _, name in names):
        raise CommandError(
            'Name a horse, a trainer or a jockey: /racing watch horse:"Golden Melody". With the word me at the end you '
            "alone are told, by direct message.",
            lines={"What is watched": "watching"},
        )
    if loose := [name for kind, name in names if kind is None]:
        name = loose[0][:TYPED_MAX]
        lines = {kind.capitalize(): watch_line([WatchedName(kind, name)], is_own=is_own) for kind in WatchKind}
        raise CommandError(f"Is {name} a horse, a trainer or a jockey?", lines=lines)
    return WatchWords(tuple(dict.fromkeys(_checked(kind, name) for kind, name in names if kind)), is_own)


def _without_me(words: Sequence[Word]) -> tuple[Sequence[Word], bool]:
    if not words or words[-1].is_quoted or words[-1].text.casefold() != ME:
        return words, False
    words = words[:-1]
    return (words[:-1] if words and words[-1].text.casefold() == "for" else words), True


def _read(word: Word, typed: list[_Typed]) -> None:
    last = typed[-1] if typed else None
    if found := _NAMED.fullmatch(word.text):
        name = found[2].strip()
        typed.append(_Typed(WatchKind(found[1].lower()), [name] if name else [], word.is_quoted))
    elif word.text.lower() in _KINDS and not word.is_quoted and (last is None or last.is_whole):
        typed.append(_Typed(WatchKind(word.text.lower())))
    elif last is None or last.is_whole or (word.is_quoted and last.words):
        typed.append(_Typed(None, [word.text], word.is_quoted))
    else:
        last.words.append(word.text)
        last.is_quoted = word.is_quoted


def _checked(kind: WatchKind, name: str) -> WatchedName:
    if not any(map(str.isalnum, name_key(name).bare)):
        raise CommandError(f"The {kind} has no name there.")
    if len(name) > TYPED_MAX:
        raise CommandError(f"A name has at most {TYPED_MAX} characters.")
    return WatchedName(kind, name)
