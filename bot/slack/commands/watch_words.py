"""The words of `/racing watch`: `horse:"Golden Melody" jockey:"R Moore" instead of jockey:"R Mor" me`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.errors import CommandError
from bot.events.typed_text import typed_line
from bot.events.watched import name_key
from bot.racedata.near_misses import TYPED_MAX
from bot.slack.language.tokens import Word, words_of
from bot.slack.messages.kit.text import listed

ME = "me"
_BEFORE_A_KIND = frozenset({"the", "my", "a"})
INSTEAD_OF = ("instead", "of")
NAMES_MAX = 10
JOINING_NAMES = frozenset({"and", "&", "+"})
"""Between two names. Within a name without quotes they are part of the name: `trainer:John & Thady Gosden`."""

_NAMED = re.compile(r"(horse|trainer|jockey)s?:(.*)", re.IGNORECASE | re.DOTALL)
_KINDS = {word: kind for kind in WatchKind for word in (kind.value, f"{kind}s")}


@dataclass(frozen=True)
class WatchWords:
    """`is_own`: with the word `me`. `replaced`: the name after `instead of`."""

    names: tuple[WatchedName, ...]
    is_own: bool = False
    replaced: WatchedName | None = None

    @property
    def line(self) -> str:
        """The words after /racing."""
        names, replaced = ([f"{one.kind}:{one.name}" for one in some if one] for some in (self.names, [self.replaced]))
        return typed_line(["watch", *names, *(INSTEAD_OF if replaced else ()), *replaced, ME if self.is_own else None])


@dataclass
class _Typed:
    """`is_joined`: a comma or a joining word follows, and a further name has the same kind."""

    kind: WatchKind | None
    words: list[str] = field(default_factory=list)
    is_quoted: bool = False
    is_joined: bool = False


def read_watch_words(text: str) -> WatchWords:
    """Raises CommandError for a name without a kind, without a name, and for two names to replace."""
    words, is_own = _without_me(words_of(text))
    words, instead = _parted(_with_kind_first(words))
    replaced = [_checked(kind, name) for kind, name in _names(instead) if kind]
    if len(replaced) > 1:
        raise CommandError("One name at a time can be replaced.", lines={"What is watched": "watching"})
    names = _names(words)
    if not any(name for _, name in names):
        raise CommandError(
            'Name a horse, a trainer or a jockey: /racing watch horse:"Golden Melody". With the word me at the end you '
            "alone are told, by direct message.",
            lines={"What is watched": "watching"},
        )
    if loose := [name for kind, name in names if kind is None]:
        lines = _lines_by_kind(names, is_own=is_own, replaced=replaced)
        # "follow GB" is meant as a subscription.
        lines |= {"Region or course": typed_line(["subscribe", *loose])} if len(names) == len(loose) else {}
        raise CommandError(_kind_wanted(loose), lines=lines)
    return WatchWords(tuple(dict.fromkeys(_checked(kind, name) for kind, name in names if kind)), is_own, *replaced)


def ends_with_me(text: str) -> bool:
    """Whether a line asks that its author alone is told."""
    return _without_me(words_of(text))[1]


def read_names(text: str) -> tuple[list[tuple[WatchKind | None, str]], bool]:
    """Names with their kind, where a kind was typed, and whether the word `me` was."""
    words, is_own = _without_me(words_of(text))
    return _names(_with_kind_first(words)), is_own


def _kind_wanted(loose: Sequence[str]) -> str:
    if len(loose) == 1:
        return f"Is {loose[0][:TYPED_MAX]} a horse, a trainer or a jockey?"
    return f"Are {listed([name[:TYPED_MAX] for name in loose])} horses, trainers or jockeys?"


def _lines_by_kind(
    names: Sequence[tuple[WatchKind | None, str]], *, is_own: bool, replaced: Sequence[WatchedName]
) -> dict[str, str]:
    """The whole line by the kind that the names without a kind get."""
    return {
        chosen.capitalize(): WatchWords(
            tuple(WatchedName(kind or chosen, name[:TYPED_MAX]) for kind, name in names), is_own, *replaced
        ).line
        for chosen in WatchKind
    }


def _names(words: Sequence[Word]) -> list[tuple[WatchKind | None, str]]:
    typed: list[_Typed] = []
    for place, word in enumerate(words):
        last = typed[-1] if typed else None
        is_whole = last is None or bool(last.words and (last.is_quoted or last.is_joined))
        text = "" if word.is_quoted else word.text.casefold()
        if last and last.words and text in JOINING_NAMES and (is_whole or any(map(_has_kind, words[place + 1 :][:1]))):
            last.is_joined = True
            continue
        if found := _NAMED.fullmatch(word.text):
            name = found[2].strip()
            typed.append(_Typed(WatchKind(found[1].lower()), [name] if name else [], word.is_quoted))
        elif is_whole and text in _KINDS:
            typed.append(_Typed(_KINDS[text]))
        elif last is None or is_whole or (word.is_quoted and last.words):
            typed.append(_Typed(last.kind if last and last.is_joined else None, [word.text], word.is_quoted))
        else:
            last.words.append(word.text)
            last.is_quoted = word.is_quoted
        typed[-1].is_joined = word.has_comma
    return [(one.kind, " ".join(one.words)) for one in typed]


def _parted(words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """The words before `instead of`, and the words after. A name with its kind follows, so a horse may be so called."""
    for place in range(1, len(words) - 2):
        two = [word.text.casefold() for word in words[place : place + 2] if not word.is_quoted]
        if tuple(two) == INSTEAD_OF and _has_kind(words[place + 2]):
            return words[:place], words[place + 2 :]
    return words, ()


def _with_kind_first(words: Sequence[Word]) -> Sequence[Word]:
    """The words of "Bold Warrior horse" as "horse Bold Warrior". A name may end so: "Iron Horse" stays as typed."""
    *name, last = words or [Word("")]
    is_kind = last.text in _KINDS and not last.is_quoted and (len(name) > 1 or any(word.is_quoted for word in name))
    return [last, *name] if is_kind and not any(map(_is_kind, name)) else words


def _has_kind(word: Word) -> bool:
    return bool(_NAMED.match(word.text))


def _is_kind(word: Word) -> bool:
    return _has_kind(word) or (word.text.casefold() in _KINDS and not word.is_quoted)


def _without_me(words: Sequence[Word]) -> tuple[Sequence[Word], bool]:
    first = words[0].text.casefold() if len(words) > 1 and not words[0].is_quoted and _is_kind(words[1]) else ""
    if first == ME:
        return words[1:], True
    if first in _BEFORE_A_KIND:
        words = words[1:]
    if not words or words[-1].is_quoted or words[-1].text.casefold() != ME:
        return words, False
    words = words[:-1]
    return (words[:-1] if words and words[-1].text.casefold() == "for" else words), True


def _checked(kind: WatchKind, name: str) -> WatchedName:
    if not any(map(str.isalnum, name_key(name).bare)):
        raise CommandError(f'The {kind} has no name there: write {kind}:"Name", as published.')
    if len(name) > TYPED_MAX:
        raise CommandError(f"A name has at most {TYPED_MAX} characters: type the name as published.")
    return WatchedName(kind, name)
