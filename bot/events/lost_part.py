"""How much of a meeting is lost, by words: "Abandoned after race 3".

A text is read as the roles of its words (section "extent" of state_words.ini): "Abandoned from the 4th race" is
"lost from no4", with "n" for a number, "th" for an ordinal, "no" for the number of a race, "at" for a time and "off"
for the time of a race.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from bot.events.number_words import CARDINALS, ORDINALS
from bot.events.race_state import EXTENT_WORDS, EXTENT_WORDS_IN_A_ROW
from bot.events.races import OffTime
from bot.events.word_rows import phrases_by_role

FEWEST_RACES = 5
"""Of a card. Fewer races named as lost are a part of the card."""

_LONGEST = 300

_IN_FIGURES = {f"n{number}": (word,) for word, number in CARDINALS.items()} | {
    f"th{number}": (word,) for word, number in ORDINALS.items()
}
_CLOCK = r"[0-2]?[0-9][:.h][0-5][0-9](?![0-9.:/])"
_DOTTED = r"[.](?= (?:(?:und|bis) [0-9]+[.] )?(?:rennen|lauf))"
_MARKS = (
    ("-", "(r[0-9]+ ?(?=c[0-9]))"),
    ("off", rf"\bthe ({_CLOCK})"),
    ("at", rf"(?<![0-9.:/-])({_CLOCK})"),
    ("th", rf"([0-9]{{1,2}})(?:st|nd|rd|th|e|er|[eè]re|[eè]me|ª|º|{_DOTTED})(?![^\W0-9])"),
    ("n", "(?<![0-9])([0-9]{1,2})(?![0-9])"),
    ("to", "(?<=[0-9])( ?[-\u2013~\uff5e] ?)(?=r?[0-9])"),
    ("of", "(?<=[0-9])(/)(?=[0-9])"),
    ("and", "([&+\u30fb])"),
    (",", "([,.;:!()]| [-\u2013\u2014] )"),
)
_WORDS = phrases_by_role(EXTENT_WORDS) + phrases_by_role(_IN_FIGURES)
_OTHERS = (*phrases_by_role(EXTENT_WORDS_IN_A_ROW), ("other", "[\u3000-\u9fff]|[^\\W0-9_]+|[0-9]+"))
# The words have one pattern of what may stand beside them: for each role, it would take a tenth of the bot's start.
_TOKEN = re.compile(
    "|".join(pattern for _, pattern in _MARKS)
    + rf"|(?<![^\W0-9])(?:{'|'.join(f'({phrases})' for _, phrases in _WORDS)})(?![^\W0-9\u3000-\u9fff])|"
    + "|".join(f"({phrases})" for _, phrases in _OTHERS)
)
_ROLES = [role for role, _ in (*_MARKS, *_WORDS, *_OTHERS)]
_WITH_VALUE = frozenset({"off", "at", "th", "n"})
_OF_RACE = re.compile(r"\b(?:race (?:n|th)(\d+)|(?:n|th)(\d+) race) ")

_MORE = r"(?:(?:to|and|,) )+"
_SEVERAL = (
    rf"(?:(?:races? n|no)\d+ (?:{_MORE}(?:races? )?no?\d+ )+|races n\d+ "
    rf"|th1 n\d+ races (?!ran )|th\d+ (?:{_MORE}(?:th|no)\d+ )+(?:races )?|n\d+ (?:{_MORE}n\d+ )*{_MORE}no\d+ )"
)
_OFFS = rf"(?:off\S+ (?:{_MORE}(?:off|at)\S+ )*(?:races? )?|at\S+ (?:{_MORE}at\S+ )*races? )"
_NAMED = re.compile(
    rf"(?:^|, )({_SEVERAL}|no\d+ |{_OFFS})(?:races? )?(?:, )?lost |lost (?:, )?({_SEVERAL}|no\d+ $)|^({_SEVERAL})$"
)
_EACH = re.compile(r"(?:off|at)(\S+)|(\d+)(?: to (?:races? )?no?(\d+))?")

_UP_TO = (
    r"(?:races n|no|th)\d+ (?:, (?:no?|th)\d+ )*(?:, )?(?:and|to) "
    r"(?:no?(\d+) (?!lost )|th(\d+) (?=races |ran |$|,))"
)
_RUN = re.compile(
    rf"after {_UP_TO}|\b{_UP_TO}(?:races )?ran "
    r"|after (?:no(\d+)|(?:th1 )?n(\d+) (?:of n\d+ )?races) |(?:^|lost )after th(\d+) (?=$|, (?!th))"
    r"|th1 n(\d+) (?:races )?ran |\bn(\d+) of n\d+ (?:races )?ran |\bn(\d+) races ran "
)
_FIRST_LOST = re.compile(
    r"(?:from|before) no(\d+) |^n(\d+) on |\bno(\d+) on |races n(\d+) on "
    r"|(?:^|lost )(?:from|before) th(\d+) (?:on )?(?=$|,)"
    rf"|(?=({_SEVERAL})(?:races )?(?:, )?lost )|lost (?:, )?(?=({_SEVERAL}))|^(?=({_SEVERAL})$)"
)
_FROM_TIME = re.compile(
    r"(?:^|lost )(?:from (?:off|at)(\S+) |after (?:off(\S+) (?:race )?|at(\S+) race ))(?:races? )?(?:on )?(?=$|,)"
)
_AT_THE_END = re.compile(
    r"\b(?:last|rest) no?(\d+) (?:races|lost|$)|\bn(\d+) last races |\bwith no?(\d+) (?:races )?(?:left|rest) "
    r"|\blast (?:race )?(?:, (?:(?!lost|card|,)\S+ )*, )?lost |\blast race $"
)
_PART = re.compile(
    r"\brest (?:of )?(?:no?\d+ )?(?:races? |card |lost )(?!(?:other )?ahead )|^(?:rest|part) $"
    r"|part lost |lost (?:, )?part (?=$|,)"
    rf"|{_AT_THE_END.pattern}|before last (?:race )?(?=$|,)|(?:before (?!th1 )|after )th\d+ (?=$|,)"
    rf"|{_FROM_TIME.pattern}|\bended "
)
_OF_SOME = re.compile(
    r"(?:^|, )(?:(?:all )?(?:kind )+(?:race |races (?:, )?)?|n\d+ (?:of n\d+ )?races |races (?:from|after) .*)lost "
    r"|lost (?:, )?(?:(?:all )?(?:kind )+|n\d+ of n\d+ )races? "
)
_SPARED = re.compile(
    r"\ball races (?:lost )?except "
    r"|(?:\ball (?:card )?|lost )(?:, )?except (?:last|kind|races?|no\d+|th\d+|(?:off|at)\S+|n\d+ races?) "
)
"""The races that are named go ahead: "All bar the last race abandoned"."""


class LostPart(NamedTuple):
    """`run`: how many races come before the lost races; 0 if the words give no number. None for a whole meeting.

    `were_run`: the words say that these races were run: "after race 3", not "from race 4". `last`: how many races
    at the end are lost. `from_time`: the first lost time. `named`: numbers and times in a text about these races alone.
    `of_some`: a kind or number of races is lost: "Hurdle races abandoned".
    `of_all`: "Full meeting".
    """

    run: int | None = None
    were_run: bool = False
    last: int | None = None
    from_time: str | None = None
    named: tuple[str, ...] = ()
    of_some: bool = False
    of_all: bool = False

    def loses(self, number: int) -> bool | None:
        """Whether the race with the number is lost. None if the words give no numbers of races."""
        numbers = [one for one in self.named if one.isdecimal()]
        if numbers:
            return str(number) in numbers
        return number > self.run if self.run else None


@lru_cache(maxsize=256)
def extent_in(words: str) -> LostPart:
    said = _roles(words)
    if _SPARED.search(said):
        return LostPart(run=0, of_some=True)
    named, is_part = [one[one.lastindex or 0] for one in _NAMED.finditer(said)], _PART.search(said) is not None
    is_named = named and not is_part and len(named) == max(said.count("lost "), 1)
    end, at = _AT_THE_END.search(said), _FROM_TIME.search(said)
    return LostPart(
        run=_run(said) or (0 if is_part else None),
        were_run=_RUN.search(said) is not None,
        last=_number(end, 1) if end else None,
        from_time=_from(at) if at else None,
        named=tuple(one for each in named for one in _each(each)) if is_named else (),
        of_some=_OF_SOME.search(said) is not None,
        of_all="all card " in said,
    )


def _roles(words: str) -> str:
    """The roles of the words, each with a space behind."""
    said = re.sub("_|(?<=[a-z])(?=[A-Z])", " ", words[:_LONGEST]).casefold()
    each = ((_ROLES[one.lastindex - 1], one[one.lastindex]) for one in _TOKEN.finditer(said) if one.lastindex)
    roles = (f"{role}{value if role in _WITH_VALUE else ''} " for role, value in each if role != "-")
    said = re.sub("races? lost , (?=n)|lost races? (?:, )?(?=n)", "lost races ", "".join(roles))
    return _OF_RACE.sub(r"no\1\2 ", said)


def _number(found: re.Match[str], otherwise: int = 0) -> int:
    return int(found[found.lastindex]) if found.lastindex else otherwise


def _run(said: str) -> int | None:
    if found := _RUN.search(said):
        return _number(found)
    found = _FIRST_LOST.search(said)
    first = re.search(r"\d+", found[found.lastindex or 0]) if found else None
    return int(first[0]) - 1 if first else None


def _each(named: str) -> list[str]:
    if named.startswith("th1 n"):
        named = named.replace("th1 n", "1 to n")
    return [
        one
        for time, first, last in _EACH.findall(named)
        for one in ([time] if time else map(str, range(int(first), int(last or first) + 1)))
    ]


def _from(found: re.Match[str]) -> str | None:
    """The first lost time: "14:31" of "Abandoned after the 2.30". "After 8.30" may be the time of the decision."""
    minute = OffTime(text=found[found.lastindex or 0].replace(".", ":").replace("h", ":")).minute_of_day
    if minute is None:
        return None
    later = minute + (found[1] is None)
    return f"{later // 60:02}:{later % 60:02}"
