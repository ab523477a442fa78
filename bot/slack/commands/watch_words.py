"""The words of `/racing watch`: `horse:"Golden Melody" jockey:"R Moore" instead of jockey:"R Mor" me`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.errors import CommandError
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.events.watched import name_key
from bot.racedata.near_misses import TYPED_MAX
from bot.slack.language.grammar import Grammar, Kind, Phrase, PhraseReader
from bot.slack.language.tokens import words_of

ME = "me"
INSTEAD_OF = ("instead", "of")
NAMES_MAX = 10

_GRAMMAR = Grammar(
    {ME: (Kind.FLAG, ME), **dict.fromkeys(("my", "our", "a"), (Kind.FILLER, ""))},
    names={word: kind for kind in WatchKind for word in (kind.value, f"{kind}s")},
)


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
    are_several: bool = False
    """After "horses" a joining word parts names. `trainer:John & Thady Gosden` is one name."""


def read_watch_words(text: str) -> WatchWords:
    """Raises CommandError for a name without a kind, without a name, and for two names to replace."""
    phrases, is_own = _without_me(_read(text))
    phrases, instead = _parted(_with_kind_first(phrases))
    replaced = [_checked(kind, name) for kind, name in _names(instead) if kind]
    if len(replaced) > 1:
        raise CommandError("One name at a time can be replaced.", lines={"What is watched": "watching"})
    names = _names(phrases)
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
    return _without_me(_read(text))[1]


def read_names(text: str) -> tuple[list[tuple[WatchKind | None, str]], bool]:
    """Names with their kind, where a kind was typed, and whether the word `me` was."""
    phrases, is_own = _without_me(_read(text))
    return _names(_with_kind_first(phrases)), is_own


def _read(text: str) -> Sequence[Phrase]:
    return PhraseReader(grammar=_GRAMMAR).read(words_of(text))


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


def _names(phrases: Sequence[Phrase]) -> list[tuple[WatchKind | None, str]]:
    typed: list[_Typed] = []
    for place, one in enumerate(phrases):
        last = typed[-1] if typed else None
        is_whole = last is None or bool(last.words and (last.is_quoted or last.is_joined))
        is_joint = one.kind is Kind.AND and (is_whole or _begins_name(phrases[place + 1 :]))
        if last and last.words and (is_joint or (one.kind is Kind.AND and last.are_several)):
            last.is_joined = True
            continue
        if one.kind is Kind.NAME and (one.is_named or is_whole):
            kind = WatchKind(one.of_field)
            several = kind is not WatchKind.TRAINER and one.typed.casefold() == f"{kind}s"
            typed.append(_Typed(kind, [one.value] if one.value else [], one.is_quoted, are_several=several))
        elif last is None or is_whole or (one.is_quoted and last.words):
            before = last if last and last.is_joined else _Typed(None)
            typed.append(_Typed(before.kind, [one.typed], one.is_quoted, are_several=before.are_several))
        else:
            last.words.append(one.typed)
            last.is_quoted = one.is_quoted
        typed[-1].is_joined = one.has_comma
    return [(one.kind, " ".join(one.words)) for one in typed]


def _begins_name(phrases: Sequence[Phrase]) -> bool:
    """As `jockey:"R Moore"` and `jockey R Moore`. A name may end in "and Jockey"."""
    return any(one.kind is Kind.NAME and (one.is_named or phrases[1:]) for one in phrases[:1])


def _parted(phrases: Sequence[Phrase]) -> tuple[Sequence[Phrase], Sequence[Phrase]]:
    """The names before `instead of`, and after. A name with its kind follows, so a horse may be so called."""
    for place in range(1, len(phrases) - 2):
        two = [one.typed.casefold() for one in phrases[place : place + 2] if not one.is_quoted]
        if tuple(two) == INSTEAD_OF and phrases[place + 2].is_named:
            return phrases[:place], phrases[place + 2 :]
    return phrases, ()


def _with_kind_first(phrases: Sequence[Phrase]) -> Sequence[Phrase]:
    """The words of "Bold Warrior horse" as "horse Bold Warrior". A name may end so: "Iron Horse" stays as typed."""
    *name, last = phrases or [Phrase(Kind.FILLER, "", "")]
    is_kind = last.kind is Kind.NAME and not last.is_named
    is_kind = is_kind and (len(name) > 1 or last.typed.startswith("(") or any(one.is_quoted for one in name))
    return [last, *name] if is_kind and not any(one.kind is Kind.NAME for one in name) else phrases


def _without_me(phrases: Sequence[Phrase]) -> tuple[Sequence[Phrase], bool]:
    if len(phrases) > 1 and phrases[1].kind is Kind.NAME and phrases[0].kind in {Kind.FLAG, Kind.FILLER}:
        if phrases[0].kind is Kind.FLAG:
            return phrases[1:], True
        phrases = phrases[1:]
    if not phrases or phrases[-1].kind is not Kind.FLAG:
        return phrases, False
    phrases = phrases[:-1]
    return (phrases[:-1] if phrases and phrases[-1].typed.casefold() == "for" else phrases), True


def _checked(kind: WatchKind, name: str) -> WatchedName:
    if not any(map(str.isalnum, name_key(name).bare)):
        raise CommandError(f'The {kind} has no name there: write {kind}:"Name", as published.')
    if len(name) > TYPED_MAX:
        raise CommandError(f"A name has at most {TYPED_MAX} characters: type the name as published.")
    return WatchedName(kind, name)
