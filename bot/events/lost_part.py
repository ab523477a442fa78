"""How many races of a meeting were run before the loss of the rest, by words: "Abandoned after race 3"."""

import re
from collections.abc import Collection
from functools import lru_cache

from bot.events.number_words import CARDINALS, ORDINALS
from bot.events.races import OffTime, finishing_position

MOST_LOST = 99

_NTH_RACE = re.compile(r"\brace (\w+)|\b(\w+(?:st|nd|rd|th)) race\b", re.IGNORECASE)
_FIGURES = {word: str(number) for word, number in CARDINALS.items()} | {
    word: f"{number}th" for word, number in ORDINALS.items()
}
_IN_WORDS = re.compile(rf"\b(?:{'|'.join(_FIGURES)})\b(?! (?:[2-8]|{'|'.join(CARDINALS)})\b)")

_LOST = r"(?:abandon|cancel|lost|called off)\w*"
_RACE = r"(?:(?:race|r|course|rennen) ?(\d{1,2})|(\d{1,2})(?:\. ?rennen|(?:e|[eè]me) course))\b"
_NTH = r"(1?\d)(?:st|nd|rd|th)(?: race)?(?=$|[,.;])"
_AT_LOSS = rf"(?:^|{_LOST}[ ,:(-]+)"
"""What stands before "from the fourth" race. Elsewhere "the 12th" may be a day, and then tells of no race run."""

_SEVERAL = r"(?:races? ?|r)(\d{1,2})(?:,? ?(?:-|\u2013|to|thru|through|,|&|and) ?r?\d{1,2})+"
_NAMED = re.compile(rf"(?<!\w)(?:{_SEVERAL}|(?:race |r)\d{{1,2}})")
_ALONE = rf"(?!.*\b(?:{_LOST}|off|no)\b).*"
_NAMED_ALONE = re.compile(
    rf"(?:the )?{_NAMED.pattern}[ :-]*(?:(?:are|were|is|was|have|has|been|be|now|all|both) )*{_LOST}{_ALONE}"
    rf"|{_LOST}[ :(-]+{_SEVERAL}{_ALONE}|{_SEVERAL}"
)
_FROM_TO = re.compile(r"(\d+)(?: ?(?:-|\u2013|to|thru|through) ?r?(\d+))?")

_RUN = re.compile(
    rf"\b(?:after|following|après la|nach) (?:the |dem )?(?:{_RACE}|(?:first )?(\d{{1,2}}) races?\b)"
    rf"|{_AT_LOSS}(?:after|following) (?:the )?{_NTH}"
    r"|\b(?:first (\d{1,2})(?: races)?|(\d{1,2}) ?(?:/|(?:out )?of)(?: the)? ?\d{1,2}(?: races)?|(\d{1,2}) races)"
    r" (?:(?:were|had|have|been) )*(?:run|completed|took place)\b"
)
_FIRST_LOST = re.compile(
    rf"(?<!\w)(?:from|before|prior to|à partir de la|ab) (?:the |dem )?{_RACE}|^(?:races? )?(\d{{1,2}}) on(?:wards?)?\b"
    rf"|{_AT_LOSS}(?:from|before|prior to) (?:the )?{_NTH}"
    rf"|(?<!\w){_SEVERAL}[ :-]*(?:(?:are|were|have|been|be|now|all) )*{_LOST}|{_LOST}[ :(-]*{_SEVERAL}|^{_SEVERAL}$"
)
_OF_TIME = re.compile(
    rf"(?:^|{_LOST} )(?P<how>after|from) (?P<race>the )?(?P<time>\d{{1,2}}[:.]\d{{2}})(?: race)?(?=$|[,.;])"
)
_AT_THE_END = re.compile(
    rf"\b(?:last|final|remaining)(?: (\d{{1,2}}) races| race (?:{_LOST}|only))\b"
    r"|\bwith (?:the )?(\d{1,2}) races? (?:remaining|left|to go)\b"
)
_PART = re.compile(
    r"\b(?:remaining|remainder|rest|balance)(?: of)?(?: (?:the|today\W?s|\d{1,2}(?:th)?)){0,2}"
    rf" (?:races|racing|card|meeting|program(?:me)?|{_LOST})\b"
    r"|\bpart(?:ly|ial(?:ly)?)?[ -]?(?:abandon|cancel|lost)"
    rf"|{_AT_THE_END.pattern}"
    r"|\bbefore (?:the )?(?:last|final)(?: race)?(?=$|[,.;])"
    rf"|\b(?:before(?! (?:the )?1st)|after) (?:the )?{_NTH}"
    rf"|{_OF_TIME.pattern}"
    r"|\b(?:after|following) (?:this|that) race\b|\bno (?:further|more) racing\b|\bnot (?:be )?resumed?\b|\bmidway\b"
    r"|\bhalf-?way through (?:the )?(?:card|meeting|programme|racing)\b"
    r"|^(?:the )?(?:remainder|rest|remaining|final race|last race)(?: of (?:the )?(?:races|card|meeting|programme))?$"
    rf"|^partial(?:ly)?$|{_LOST}[ (-]+part(?:ly|ial(?:ly)?)(?=$| ?[(),.:;-])"
)


def _in_figures(words: str) -> str:
    said = in_figures(words.replace("_", " ")).casefold().replace("opening", "first")
    return _IN_WORDS.sub(lambda figure: _FIGURES[figure[0]], said)


def in_figures(words: str) -> str:
    """The words with "race 4" for "fourth race" and "race four"."""

    def of(nth_race: re.Match[str]) -> str:
        number = finishing_position(nth_race[1] or nth_race[2])
        return f"race {number}" if number else nth_race[0]

    return _NTH_RACE.sub(of, words)


@lru_cache(maxsize=256)
def run_before_loss(words: str) -> int | None:
    """How many races of a meeting were run; 0 if some were run, and the words give no number. None for other words."""
    said = _in_figures(words)
    if found := _RUN.search(said):
        return int(found[found.lastindex or 0]) or None
    if found := _FIRST_LOST.search(said):
        return int(found[found.lastindex or 0]) - 1 or None
    return 0 if _PART.search(said) else None


def lost_at_the_end(words: str) -> int | None:
    """How many races were lost after the races that were run: 3 of "Last three races abandoned"."""
    found = _AT_THE_END.search(_in_figures(words))
    return int(found[1] or found[2] or 1) if found else None


def named_as_lost(words: str) -> list[int]:
    """The numbers in a text about these races alone: "Races 2 and 4 abandoned", "First two races abandoned"."""
    said = re.sub(r"^(?:the )?first (\d{1,2}) races\b", r"races 1-\1", _in_figures(words))
    named = None if _PART.search(said) or not _NAMED_ALONE.fullmatch(said) else _NAMED.search(said)
    each = _FROM_TO.findall(named[0]) if named else ()
    return [number for first, last in each for number in range(int(first), int(last or first) + 1)]


def lost_from_time(words: str) -> str | None:
    """The first lost time: "14:31" of "Abandoned after the 2.30". "After 8.30" may be the time of the decision."""
    found = _OF_TIME.search(words.casefold())
    minute = OffTime(text=found["time"]).minute_of_day if found else None
    if found is None or minute is None or found["how"] == "from":
        return found and found["time"]
    return f"{(minute + 1) // 60:02}:{(minute + 1) % 60:02}" if found["race"] else None


def races_lost(words: str) -> Collection[int] | None:
    """The numbers of the lost races. None if the words give no number of the first."""
    run = run_before_loss(words)
    return named_as_lost(words) or (range(run + 1, MOST_LOST + 1) if run else None)
