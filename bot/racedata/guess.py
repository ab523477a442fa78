"""What words that are wrong together may have meant: the likeliest way to part them into phrases, each mended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bot.racedata.client.filter_values import ALIKE
from bot.racedata.near_misses import COURSE, TYPED_MAX, likely

PARTED_MAX = 4
"""More words are each looked at by itself: each way to part them has phrases of its own to look up."""

GUESSED_MAX = 10
"""Of a line's words so many are guessed at, because each costs a look at every word there is."""

TOGETHER_ALIKE = 0.75
"""Several words are one phrase only where that is more alike: what is like none of its words would be dropped."""

Vocabulary = Mapping[str, str]
"""The words that are understood, each with what is typed for it: itself, or for a course `course:Name`."""


@dataclass(frozen=True)
class Phrase:
    """Words that were typed one after another, and what is typed for what they may have meant, likeliest first.

    `likeness` is that of the likeliest, from 0 to 1. `is_right`: they are understood as they are.
    """

    typed: str
    meant: tuple[str, ...]
    likeness: float
    is_right: bool


@dataclass(frozen=True)
class Guess:
    """The phrases that the words make."""

    phrases: tuple[Phrase, ...]

    @property
    def wrong(self) -> list[Phrase]:
        """Those that are not understood, each once."""
        return list(dict.fromkeys(phrase for phrase in self.phrases if not phrase.is_right))

    @property
    def offers(self) -> dict[str, dict[str, str]]:
        """What is to be typed for what, by how it is shown: of one wrong phrase each thing that it may have meant.

        Of several it is the likeliest of each; a phrase that is like nothing stays as it is.
        """
        mended = [phrase for phrase in self.wrong if phrase.meant]
        if len(mended) == 1:
            return {_shown(meant): {mended[0].typed: meant} for meant in mended[0].meant}
        label = " ".join(_shown(phrase.meant[0]) for phrase in mended)
        return {label: {phrase.typed: phrase.meant[0] for phrase in mended}} if mended else {}


def guess(words: Sequence[str], vocabulary: Vocabulary, alike: float = ALIKE) -> Guess:
    """The likeliest way to read the words as phrases of the vocabulary; all of them as one where nothing is likely.

    `alike` is how like a word of the vocabulary a phrase has to be, from 0 to 1. Of more than PARTED_MAX words each is
    a phrase, and those that are wrong after the first GUESSED_MAX are like nothing.
    """
    if len(words) > PARTED_MAX:
        return _one_by_one(words, vocabulary, alike)
    known: dict[str, Phrase] = {}
    for phrases in _partings(list(words)):
        for typed in phrases:
            known[typed] = known.get(typed) or _phrase(typed, vocabulary, alike)
    ways = [tuple(known[typed] for typed in phrases) for phrases in _partings(list(words))]
    return Guess(max(ways, key=lambda way: (_likeness(way), -len(way))))


def _one_by_one(words: Sequence[str], vocabulary: Vocabulary, alike: float) -> Guess:
    wrong = dict.fromkeys(word for word in words if not _is_right(word, vocabulary))
    guessed = {word: _phrase(word, vocabulary, alike) for word in list(wrong)[:GUESSED_MAX]}
    return Guess(
        tuple(guessed.get(word) or Phrase(word, (), 0.0, is_right=_is_right(word, vocabulary)) for word in words)
    )


def _partings(words: list[str]) -> Iterator[list[str]]:
    """Every way to part the words into phrases."""
    yield [" ".join(words)]
    for end in range(1, len(words)):
        yield from ([" ".join(words[:end]), *rest] for rest in _partings(words[end:]))


def _phrase(typed: str, vocabulary: Vocabulary, alike: float) -> Phrase:
    found = likely(typed, list(vocabulary), max(alike, TOGETHER_ALIKE) if " " in typed else alike)
    # The same way round as difflib itself compares: it is not quite symmetrical.
    likeness = SequenceMatcher(None, found[0].casefold(), typed[:TYPED_MAX].casefold()).ratio() if found else 0.0
    meant = tuple(dict.fromkeys(vocabulary[word] for word in found))
    return Phrase(typed, meant, likeness, is_right=_is_right(typed, vocabulary))


def _is_right(typed: str, vocabulary: Vocabulary) -> bool:
    return vocabulary.get(typed) == typed


def _likeness(phrases: Sequence[Phrase]) -> float:
    """How like the phrases are to what they may mean, by the letters that they explain."""
    letters = [len(phrase.typed.replace(" ", "")) for phrase in phrases]
    explained = sum(phrase.likeness * count for phrase, count in zip(phrases, letters, strict=True))
    return explained / max(1, sum(letters))


def _shown(meant: str) -> str:
    return meant.removeprefix(COURSE)
