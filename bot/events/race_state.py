"""The state of a race by a status, a stage or a result text: run, a walkover, abandoned, void or postponed.

One classifier for all words of the kind. The word may stand anywhere: "MEETING ABANDONED", "Race void", "abandonné".
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, chain, dropwhile, takewhile


class RaceState(StrEnum):
    RUN = "run"
    PROVISIONAL = "provisional"
    """Run, and the order is not official yet."""
    WALKOVER = "walkover"
    ABANDONED = "abandoned"
    VOID = "void"
    POSTPONED = "postponed"


NOT_RUN = frozenset({RaceState.ABANDONED, RaceState.POSTPONED})
"""The race is not run on the published day."""

LOST_OR_VOID = NOT_RUN | {RaceState.VOID}


class RaceOutcome(StrEnum):
    SETTLED = "settled"
    ABANDONED = "abandoned"
    BOTH = "both"
    """A result and an abandonment contradict each other."""
    UNCERTAIN = "uncertain"
    """Two versions of the result name two winners, and neither is known to be newer; or a version is in conflict."""
    VOID = "void"
    """The result says that the race was declared void."""
    OPEN = "open"


CONFLICTS = frozenset({RaceOutcome.BOTH, RaceOutcome.UNCERTAIN})
WITH_RESULT = CONFLICTS | {RaceOutcome.SETTLED}

HAS_RUN = WITH_RESULT | {RaceOutcome.VOID}

NOT_HELD = frozenset({RaceOutcome.ABANDONED, RaceOutcome.VOID})

LONGEST_STATUS = 200

_RUN = (
    "result|results|resulted|settled|official|officialresult|finished|final|complete|completed|weighedin|paying|paid"
    "|dividends?|winnerdeclared|run|wasrun|ran|hasrun|fincourse|arriveedefinitive|arriveedefinitivecomplete"
)
_PROVISIONAL = (
    "interim|provisional|unofficial|semiofficial|(?:arriv[eé]e)?provisoire|nonofficiel|vorläufig|審議"
    "|photo(?:finish|called)?|(?:under)?(?:stewards)?(?:inquiry|enquiry|objection|protest)(?:lodged|inprogress|announced|pending|open|underway)?"
    "|weighingin|await(?:ing)?(?:weighin|officialresult)|resultpending|preliminaryresult"
)
_STATES = (
    (RaceState.VOID, "(?<!a)void|^voi$|annulled|norace|nocontest|nullif|不成立"),
    (
        RaceState.ABANDONED,
        (
            "abandon|cancel|cancl|^cxl$|^ab(?:n|d|nd)$|^(?:race)?aborted$|calledoff|annul|abgesagt|ausgefallen|inställ[dt]|avlyst|avlast|中止"
            "|^(?:レース|開催|競走)?取(?:消|り?止め|りやめ)|abgebrochen|^race(?:deleted|scrubbed|stopped)$|^(?:race|meeting)?scrapped$"
            "|^(?:race|meeting|card|fixture)lost$|^meetingoff$|washedout|^aban$|^canc$|supprim|anulad|suspendid|entfällt"
            "|afgelast|aflyst|^peruttu|odwoła|zrušen|отмен|ακυρ|i\u0307?ptal$|^(?:경주|개최)?취소|ملغ"
        ),
    ),
    (
        RaceState.POSTPONED,
        (
            "postpon|^ppd$|reschedul|deferred|putoff|^(?:race|meeting)?moved$|verschoben|verlegt|flytta[dt]|reporté|uppskjut"
            "|utsatt|udsat|uitgesteld|aplazad|adiad|rinviat|siirret|延期|연기"
        ),
    ),
    (RaceState.WALKOVER, "walk(?:ed)?over|^wo$|^wover$"),
    (RaceState.RUN, f"^(?:race|result|results|all)?(?:{_RUN})(?:race|result)?$"),
    (RaceState.PROVISIONAL, f"^(?:race|result)?(?:{_PROVISIONAL})(?:result)?$"),
)
"""The first state with a match. Words of a lost race may stand within other words, words of a run race may not."""

_NOT_RUN = re.compile(
    "(?:race|meeting)?(?:(?:was|is|willbe)?not(?:be)?(?:run|staged|held)|willnotbe(?:run|staged|held)|(?:did|will)nottakeplace)"
)

_WITH_REASON = re.compile(r"(?P<state>[^-\u2013\u2014:(]+)(?: [-\u2013\u2014] |: ?|\()(?P<reason>.*[^\W\d_][^)]*)\)?")

_DOUBT = re.compile(
    r"\b(?:not|never|no longer|un(?=abandon|void|cancel)|may|might|could|if|unless|possible|possibly|likely|unlikely"
    r"|likelihood|risk|threat|threatened|fear|feared|doubt|doubtful|avoid|subject to|inspection|deadline)\b"
    r"|\b(?:postponed|rescheduled|moved|deferred) from\b(?!.* (?:to|until|till)\b)",
    re.IGNORECASE,
)
"""A race that may be abandoned is not abandoned, and a race that was moved from another day or course is not lost."""

_CLAUSES = re.compile(r"[:;.,!] |\(| [-\u2013\u2014] ")
_OF_THE_RACE = (
    r"[0-9]+|\w+(?:th|days?|ly)|r[0-9]*|races?|racing|run|result|meeting|card|fixture|programme|course"
    "|(?:steeple)?chase|hurdle|handicap|nursery|novices?|maiden|flat|jumps?|straight|round|bumper|event|contest"
    "|heat|stage|track|morning|afternoon|evening|night|first|second|third|last|final|next|remaining|rest|both|one"
    "|two|three|four|five|stewards?|officials?|r[ée]union|rennen|lopp(?:et)?|l[øo][bp]|koers|corsa|carrera|prova"
    "|das|die|les|the|this|today|s|whole|entire|all|at|of|has|have|been|was|is|are|will|now|later|declared|due"
    "|because|after"
)
_OF_ANOTHER = re.compile("fences?|flights?|start|bets|riders?|jockeys?", re.IGNORECASE)
"""Before a loss, words for the race and for what is no race: "Evening meeting abandoned", "Two fences abandoned"."""

_WON = re.compile(r"\b(?:wins|won|beats|lands|defeats|scores)\b", re.IGNORECASE)
"""Behind the name of a horse: "Washed Out wins"."""

_A_RACE = r"(?:race|r|course|rennen) ?"
_SEVERAL = r"(?:races? ?|r)(?P<%s>[0-9]{1,2})(?:,? ?(?:-|\u2013|to|through|,|&|and) ?r?[0-9]{1,2})+"
_LOST = r"(?:abandon|cancel|lost|called off)"
_RUN_BEFORE = re.compile(
    rf"\b(?:after|following|après la|nach) (?:the )?{_A_RACE}(?P<last>[0-9]{{1,2}})\b"
    rf"|(?<!\w)(?:from|before|prior to|à partir de la|ab) {_A_RACE}(?P<first>[0-9]{{1,2}})\b"
    rf"|^(?:races? )?(?P<on>[0-9]{{1,2}}) on(?:wards?)?\b"
    rf"|(?<!\w){_SEVERAL % 'lost'}[ :-]*(?:(?:are|were|have|been|be|now|all) )*{_LOST}"
    rf"|{_LOST}\w*[ :(-]*{_SEVERAL % 'named'}|^{_SEVERAL % 'alone'}$",
    re.IGNORECASE,
)
"""The last race that was run, or the first of the lost races: "Abandoned after race 3", "Races 4-7 abandoned"."""

_ORDINAL = "first|opening|second|third|fourth|fifth|sixth|seventh|1?[0-9](?:st|nd|rd|th)"
_NUMBER = rf"one|two|three|four|five|six|seven|[0-9]{{1,2}}|{_ORDINAL}"
_PART = re.compile(
    rf"\b(?:remaining|remainder|rest)(?: of)?(?: (?:the|today\W?s|{_NUMBER})){{0,2}}"
    rf" (?:races|racing|card|meeting|programme|{_LOST}\w*)\b"
    r"|\bpart(?:ly|ial(?:ly)?)?[ _-]?(?:abandon|cancel|lost)"
    rf"|\bafter (?:the )?(?:first )?(?:{_NUMBER}) races?\b|\b(?:last|final) (?:{_NUMBER}) races\b"
    rf"|\bafter (?:the )?(?:{_ORDINAL})(?: race)?(?=$|[,.;])"
    rf"|(?:^|{_LOST}\w* )(?:after|from) (?:the )?(?:{_ORDINAL}|[0-9]{{1,2}}[:.][0-9]{{2}})(?: race)?(?=$|[,.;])"
    r"|\b(?:mid|half)-?way through (?:the )?(?:card|meeting|programme|racing)\b"
    r"|^partial(?:ly)?$|(?:abandon|cancel)\w*?[ _(-]+part(?:ly|ial(?:ly)?)(?=$| ?[(),.:;-])",
    re.IGNORECASE,
)
"""Words for a meeting that was partly run."""


def letters(status: str | None) -> str:
    """The letters alone: "weighedin" of "Weighed In" and "weighed_in"."""
    return "".join(filter(str.isalpha, status or "")).casefold()


@lru_cache(maxsize=1024)
def state_in(status: str | None) -> RaceState | None:
    """None for other words, and for words of doubt: "May be abandoned"."""
    said = letters((status or "")[:LONGEST_STATUS])
    if _NOT_RUN.fullmatch(said):
        return RaceState.ABANDONED
    if is_doubtful(status):
        return None
    begins = {0, *accumulate(len(letters(word)) for word in _words(status).split())}
    return next((state for state, pattern in _STATES if _is_said(pattern, said, begins)), None)


def _is_said(pattern: str, said: str, begins: set[int]) -> bool:
    """False for an end of a word with the beginning of the next word: "La Diadema" is no "adiad"."""
    return any(
        hit.start() in begins or begins.isdisjoint(range(hit.start() + 1, hit.end()))
        for hit in re.finditer(pattern, said)
    )


def is_doubtful(status: str | None) -> bool:
    """True for "May be abandoned" and "Inspection at 8"."""
    return _DOUBT.search(_words(status)) is not None


def run_before_loss(words: str) -> int | None:
    """How many races of a meeting were run; 0 if some were run, and the words give no number. None for other words."""
    if found := _RUN_BEFORE.search(words):
        first = found["first"] or found["on"] or found["lost"] or found["named"] or found["alone"]
        return int(found["last"]) if found["last"] else (int(first) - 1) or None
    return 0 if _PART.search(words) else None


def tells_own_loss(words: str, own: Iterable[str], horses: Iterable[str], *, is_other_likely: bool) -> bool:
    """Whether a clause tells of a loss, and not of a horse or of fences: "Washed Out wins", "Two fences abandoned".

    `is_other_likely`: a name directly before the loss is of another race too, unless the name is the race's `own`, in
    its longer or shorter form: "Sandown Park" of "Sandown". In doubt a loss counts: "Waterlogged course abandoned".
    """
    names = [_words(name).casefold().split() for name in own]
    known = re.compile("|".join([_OF_THE_RACE, *chain.from_iterable(names)]), re.IGNORECASE).fullmatch
    others = "|".join(filter(None, (_words(name).strip() for name in horses))) or "(?!)"
    horse = re.compile(rf"\b(?:{others})\b(?!\Z)|(?<!\A)\b(?:{others})\b", re.IGNORECASE)
    proper = [{word for word in name if not re.fullmatch(_OF_THE_RACE, word)} for name in names]

    def is_own(said: str) -> bool:
        unknown = [*dropwhile(known, said.split())]
        if unknown and _OF_ANOTHER.fullmatch(unknown[0]):
            return False
        is_named = any(name and name <= {*said.casefold().split()} for name in proper)
        return is_named or not (is_other_likely and _is_after_a_name(unknown, known))

    clauses = (horse.sub("", _words(clause).strip()) for clause in _CLAUSES.split(words))
    return any(state_in(said) in LOST_OR_VOID and not _WON.search(said) and is_own(said) for said in clauses)


def _is_after_a_name(words: Sequence[str], known: Callable[[str], object]) -> bool:
    """Of the words of a loss, from the first that is not `known` for the race."""
    name = [*takewhile(lambda word: len(word) > 2 and word[0].isupper() and not (known(word) or state_in(word)), words)]
    behind = [*dropwhile(known, words[len(name) :])]
    begins_with_loss = state_in(" ".join(behind)) in LOST_OR_VOID and state_in(" ".join(behind[1:])) not in LOST_OR_VOID
    return bool(name) and begins_with_loss


def is_amended(status: str | None) -> bool:
    """For example "Amended result", not "To be amended". "Correct weight" is an official result in Australia."""
    words = _words(status)
    is_sure = not (is_doubtful(status) or re.search(r"\bto be\b", words, re.IGNORECASE))
    return is_sure and re.search("(?<!un)(?:amended|revised|corrected)", words, re.IGNORECASE) is not None


def _words(status: str | None) -> str:
    return re.sub(r"[_\W]+", " ", (status or "")[:LONGEST_STATUS])


def reason_in(status: str | None) -> str | None:
    """Why a race is lost: "waterlogged" of "Abandoned - waterlogged"."""
    found = _WITH_REASON.fullmatch((status or "")[:LONGEST_STATUS])
    return found["reason"] if found and state_in(found["state"]) in LOST_OR_VOID else None
