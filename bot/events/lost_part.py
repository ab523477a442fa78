"""How many races of a meeting were run before the loss of the rest, by words: "Abandoned after race 3"."""

import re
from functools import lru_cache

from bot.events.races import finishing_position

_A_RACE = r"(?:race|r|course|rennen) ?"
_SEVERAL = r"(?:races? ?|r)(?P<%s>[0-9]{1,2})(?:,? ?(?:-|\u2013|to|through|,|&|and) ?r?[0-9]{1,2})+"
_LOST = r"(?:abandon|cancel|lost|called off)"
_RUN_BEFORE = re.compile(
    rf"\b(?:after|following|après la|nach) (?:the )?{_A_RACE}(?P<last>[0-9]{{1,2}})\b"
    rf"|(?<!\w)(?:from|before|prior to|à partir de la|ab) {_A_RACE}(?P<first>[0-9]{{1,2}})\b"
    r"|\b(?P<run>[0-9]{1,2})(?: ?(?:/|(?:out )?of) ?[0-9]{1,2}(?: races)?| races)(?: (?:were|had|have|been))* run\b"
    rf"|^(?:races? )?(?P<on>[0-9]{{1,2}}) on(?:wards?)?\b"
    rf"|(?<!\w){_SEVERAL % 'lost'}[ :-]*(?:(?:are|were|have|been|be|now|all) )*{_LOST}"
    rf"|{_LOST}\w*[ :(-]*{_SEVERAL % 'named'}|^{_SEVERAL % 'alone'}$",
    re.IGNORECASE,
)
"""The last race that was run, or the first of the lost races: "Abandoned after race 3", "Races 4-7 abandoned"."""

_NTH_RACE = re.compile(r"\brace (\w+)|\b(\w+(?:st|nd|rd|th)) race\b", re.IGNORECASE)
_NAMED = re.compile(rf"(?<!\w){_SEVERAL % 'named'}", re.IGNORECASE)

MOST_LOST = 99

_ORDINAL = "first|opening|second|third|fourth|fifth|sixth|seventh|1?[0-9](?:st|nd|rd|th)"
_NUMBER = rf"one|two|three|four|five|six|seven|[0-9]{{1,2}}|{_ORDINAL}"
_PART = re.compile(
    rf"\b(?:remaining|remainder|rest)(?: of)?(?: (?:the|today\W?s|{_NUMBER})){{0,2}}"
    rf" (?:races|racing|card|meeting|programme|{_LOST}\w*)\b"
    r"|\bpart(?:ly|ial(?:ly)?)?[ _-]?(?:abandon|cancel|lost)"
    rf"|\bafter (?:the )?(?:first )?(?:{_NUMBER}) races?\b|\b(?:last|final) (?:{_NUMBER}) races\b"
    rf"|\bafter (?:the )?(?:{_ORDINAL})(?: race)?(?=$|[,.;])"
    rf"|(?:^|{_LOST}\w* )(?:after|from) (?:the )?(?:{_ORDINAL}|[0-9]{{1,2}}[:.][0-9]{{2}})(?: race)?(?=$|[,.;])"
    rf"|\bfirst (?:{_NUMBER}) (?:races )?(?:were |had been )?(?:run|completed)\b"
    rf"|\b(?:{_NUMBER}) of (?:the )?(?:{_NUMBER}) races (?:took place|were run|had been run)\b"
    rf"|\bwith (?:the )?(?:{_NUMBER}) races? (?:remaining|left|to go)\b|\b(?:last|final) race (?:{_LOST}|only\b)"
    rf"|\bbefore (?:the )?(?!first|opening)(?:{_ORDINAL}|last|final)(?: race)?(?=$|[,.;])"
    r"|\b(?:after|following) (?:this|that) race\b|\bmidway\b"
    r"|\bhalf-?way through (?:the )?(?:card|meeting|programme|racing)\b"
    r"|^(?:the )?(?:remainder|rest|remaining|final race|last race)(?: of (?:the )?(?:races|card|meeting|programme))?$"
    r"|^partial(?:ly)?$|(?:abandon|cancel)\w*?[ _(-]+part(?:ly|ial(?:ly)?)(?=$| ?[(),.:;-])",
    re.IGNORECASE,
)
"""Words for a meeting that was partly run."""


def in_figures(words: str) -> str:
    """With "race 4" for "fourth race" and "race four"."""

    def of(nth_race: re.Match[str]) -> str:
        number = finishing_position(nth_race[1] or nth_race[2])
        return f"race {number}" if number else nth_race[0]

    return _NTH_RACE.sub(of, words)


@lru_cache(maxsize=256)
def run_before_loss(words: str) -> int | None:
    """How many races of a meeting were run; 0 if some were run, and the words give no number. None for other words."""
    words = in_figures(words.replace("_", " "))
    if found := _RUN_BEFORE.search(words):
        first = found["first"] or found["on"] or found["lost"] or found["named"] or found["alone"]
        return int(found["last"] or found["run"] or int(first) - 1) or None
    return 0 if _PART.search(words) else None


def races_lost(words: str) -> range | None:
    """The numbers of the lost races. None if the words give no number of the first."""
    run, several = run_before_loss(words), _NAMED.search(words)
    last = int(re.findall("[0-9]+", several[0])[-1]) if several else MOST_LOST
    return range(run + 1, last + 1) if run else None
