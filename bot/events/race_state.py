"""The state of a race by a status, a stage or a result text: run, a walkover, abandoned, void or postponed.

One classifier for all words of the kind. The word may stand anywhere: "MEETING ABANDONED", "Race void", "abandonné".
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
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

LONGEST_LOSS = len(("no", "longer", "being", "run"))
"""Words."""

_RUN = (
    "result|results|resulted|settled|official|officialresult|finished|final|complete|completed|weighedin|paying|paid"
    "|dividends?|winnerdeclared|run|wasrun|ran|hasrun|fincourse|arriveedefinitive|arriveedefinitivecomplete"
)
_PROVISIONAL = (
    "interim|provisional|unofficial|semiofficial|(?:arriv[eé]e)?provisoire|nonofficiel|vorläufig|審議"
    "|photo(?:finish|called)?|(?:under)?(?:stewards)?(?:inquiry|enquiry|objection|protest)(?:lodged|inprogress|announced|pending|open|underway)?"
    "|weighingin|await(?:ing)?(?:weighin|officialresult)|resultpending|preliminaryresult"
)
_NOT_RUN = (
    "^(?:the)?(?:race|racing|meeting|card|fixture)?(?:was|is|are|will|does|did|now)*(?:not|nolonger)(?:now|be|being)*"
    "(?:run|staged|held|takeplace|takingplace|goahead|goingahead)$"
)
_LOSSES = (
    (RaceState.VOID, "(?<!a)(?<!de)void(?!of(?!f))|^voi$|annulled|norace|nocontest|nullif|不成立"),
    (
        RaceState.ABANDONED,
        (
            f"{_NOT_RUN}|abandon|cancel|cancl|^cxl$|^ab(?:n|d|nd)$|^(?:race)?aborted$|calledoff|annul|abgesagt|ausgefallen|inställ[dt]|avlyst|avlast|中止"
            "|^(?:レース|開催|競走)?取(?:消|り?止め|りやめ)|abgebrochen|^race(?:deleted|scrubbed|stopped)$|^(?:race|meeting)?scrapped$"
            "|(?:races?|racing|meeting|card|fixture|programme)(?:has|have|been|was|were|is|now|all)*lost"
            "(?=$|(?:to|dueto|owingto|becauseof)(?:the|heavy|high)?"
            "(?:fog|mist|frost|snow|ice|water|flood|weather|storm|wind|rain|heat|power))"
            "|^meeting(?:is)?off(?!i)|washedout|(?:rain|snow|frozen|fogg|wash|frost)(?:ed)?off|^aban$|^c(?:anc|anx|nl|nx|ncl|xld)$|supprim|anulad|suspendid|entfällt"
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
)
"""The first state with a match. The words may stand within other words."""

_HELD = (
    (RaceState.WALKOVER, "walk(?:ed)?over|^wo$|^wover$"),
    (RaceState.RUN, f"^(?:race|result|results|all)?(?:{_RUN})(?:race|result)?$"),
    (RaceState.PROVISIONAL, f"^(?:race|result)?(?:{_PROVISIONAL})(?:result)?$"),
)
"""Words of a run race stand alone."""

_IN_DOUBT = re.compile(
    "underreview|unconfirmed|preliminary|firstpastthepost|await|pending|photograph|subjectto(?:objection|enquiry|inquiry)"
    "|not(?:yet)?(?:official|final|confirmed|weighedin)"
)
"""Words that make places provisional. Without places the words may be about the going or a card."""

_WITH_REASON = re.compile(r"(?P<state>[^-\u2013\u2014:(]+)(?: [-\u2013\u2014] |: ?|\()(?P<reason>.*[^\W\d_][^)]*)\)?")

_UNSURE = (
    r"(?<!\d )(?<!\d(?:st|nd|rd|th) )may\b(?! \d)|might|could|if|unless|whether|possibl[ey]|probable|unlikely"
    r"|likel(?:y|ihood)|risk|threat(?:ened|ens)?|fear(?:s|ed)?|doubt(?:s|ful)?|expected|consider(?:s|ed|ing)?|set to"
    r"|should|would|decision|decide|subject to|deadline|under review|previously"
)
_DOUBT = re.compile(rf"\b(?:{_UNSURE}|not|never|no longer|un(?=abandon|void|cancel)|avoid|inspection)\b", re.IGNORECASE)
_DOUBT_BEFORE = re.compile(
    rf"\b(?:(?:{_UNSURE}|avoid(?:s|ed)?)\b(?!.*\b(?:and|but|so|then)\b)|(?:not?|never|non|un|no longer|nearly|almost)"
    r"(?: (?:a|any|be|been|being|currently|declared|going|meeting|now|officially|race|racing|the|to|yet))*$)"
    r"|\b(?<!after )(?<!following )(?<!an )inspections?(?: (?:was|is|were))?$"
)
_DOUBT_BEHIND = re.compile(
    rf"\w+(?: off)?(?: (?:is|was|looks|now|still|very|most|highly|being))* (?:{_UNSURE})\b"
    r"|(?:postponed|rescheduled|moved|deferred) from\b(?!.* (?:to|until|till)\b)"
)
_AGAIN = r"(?:was|is|has|been|being|later|since|now|then|but)"
_REVERSED = re.compile(
    rf"(?:^(?:\w+(?: off)? (?:(?:claim|decision|ruling|order|fears) )?)?|\b(?:decision|ruling|order|abandonment) )"
    rf"(?:{_AGAIN} )*(?:revers|overturn|rescind|revok|lifted|averted|ruled out|dismiss|reject|overrul)"
    r"|(?<!not )(?<!not be )\breinstat|^\w+ (?:no|n|false|none)$"
)
"""A race that may be abandoned is not abandoned, and a race that was moved from another day or course is not lost.

Words of doubt stand before the loss, or directly behind: "Abandonment likely", not "Abandoned - may be restaged".
"""

_CLAUSES = re.compile(r"[:;.,!] |\(| [-\u2013\u2014] ")
_OF_THE_RACE = (
    r"[0-9]+|\w+(?:th|days?|ly)|r[0-9]*|races?|racing|run|result|meeting|card|fixture|programme|course"
    "|(?:steeple)?chase|hurdle|handicap|nursery|novices?|maiden|flat|jumps?|straight|round|bumper|event|contest"
    "|heat|stage|track|morning|afternoon|evening|night|first|second|third|last|final|next|remaining|rest|both|one"
    "|two|three|four|five|stewards?|officials?|r[ée]union|rennen|lopp(?:et)?|l[øo][bp]|koers|corsa|carrera|prova"
    "|das|die|les|the|this|today|s|whole|entire|all|at|of|has|have|been|was|is|are|will|now|later|declared|due"
    "|because|after|following|did|does|an|[ei]nquiry"
)
_IS_OF_THE_RACE = re.compile(_OF_THE_RACE, re.IGNORECASE).fullmatch
_SUBJECT = re.compile("races?|racing|result|meeting|card|fixture|contest|heat", re.IGNORECASE)
_DECLARED_VOID = re.compile(r"\b(?:declared|ruled|deemed) (?:the |this )?(?:race )?(?:null and )?void\b", re.IGNORECASE)
_LOSS_ENDS = re.compile(
    "$|(?:due|owing|because|as|after|following|before|when|while|with|and|this|today|now|to(?! be))\\b"
    "|(?:on|for) (?:safety|welfare|betting)\\b"
)
"""Behind an express loss: "Race abandoned after a fall", not "Race abandoned by most trainers"."""

_CAUSE_BEFORE = re.compile(
    r"^(?:after|following|due to|owing to|because of)\b.* (?=(?:the|this|racing|today)\b(?!.*\bbeing\b))", re.IGNORECASE
)
"""Of "After heavy rain racing was called off": a cause may have words of doubt."""

_OF_ANOTHER = re.compile("fences?|flights?|start|attempt|bets|riders?|jockeys?|objections?", re.IGNORECASE)
"""Before a loss, words for the race and for what is no race: "Evening meeting abandoned", "Two fences abandoned"."""

_WON = re.compile(r"\b(?:wins|won|beats|lands|defeats|scores)\b", re.IGNORECASE)
"""Behind the name of a horse: "Washed Out wins"."""

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


def letters(status: str | None) -> str:
    """The letters alone: "weighedin" of "Weighed In" and "weighed_in"."""
    return "".join(filter(str.isalpha, status or "")).casefold()


@lru_cache(maxsize=1024)
def state_in(status: str | None) -> RaceState | None:
    """None for other words, and for words of doubt: "May be abandoned"."""
    said = (status or "")[:LONGEST_STATUS]
    if (loss := _loss_in(said)) or is_doubtful(said):
        return loss
    whole = letters(said)
    return next((state for state, pattern in _HELD if re.search(pattern, whole)), None)


def _loss_in(said: str) -> RaceState | None:
    clauses = [_words(clause).casefold().split() for clause in _CLAUSES.split(said)]
    each = [(words, "" if place == 0 else "-", clauses[place + 1 :]) for place, words in enumerate(clauses)]
    if "?" in said:
        return None
    return next((state for state, pattern in _LOSSES for one in each if _is_lost(pattern, *one)), None)


def _is_lost(pattern: str, words: Sequence[str], mark: str, behind: Sequence[Sequence[str]]) -> bool:
    """True if the words of a clause say a loss without doubt. `mark`: put before a later clause, so "^" can't match.

    False for a match that begins within a word and ends in the next: "La Diadema" is no "adiad".
    """
    begins = [*accumulate(map(len, map(letters, words)), initial=len(mark))]
    for hit in re.finditer(pattern, mark + "".join(map(letters, words))):
        place = bisect_right(begins, hit.start(), hi=len(words)) - 1
        if hit.start() != begins[place] and hit.end() > begins[place + 1]:
            continue
        before = " ".join([*words[:place], letters(words[place])[: hit.start() - begins[place]]])
        before = _CAUSE_BEFORE.sub("", before)
        rest = " ".join(words[place:])
        further = " ".join([rest, *map(" ".join, behind)])
        is_doubted = _DOUBT_BEFORE.search(before.strip()) or _DOUBT_BEHIND.match(rest) or _REVERSED.search(further)
        if not is_doubted:
            return True
    return False


@lru_cache(maxsize=1024)
def is_in_doubt(status: str) -> bool:
    """True for words about places that are not official: "Under review", "Photo finish", "Not weighed in"."""
    return state_in(status) is RaceState.PROVISIONAL or _IN_DOUBT.search(letters(status)) is not None


def is_doubtful(status: str | None) -> bool:
    """True for "May be abandoned" and "Inspection at 8"."""
    return _DOUBT.search(_words(status)) is not None


def is_taken_back(status: str) -> bool:
    """True if an abandonment is in doubt, or taken back: "Lifted"."""
    return is_doubtful(status) or _REVERSED.search(_words(status).casefold()) is not None


@lru_cache(maxsize=256)
def run_before_loss(words: str) -> int | None:
    """How many races of a meeting were run; 0 if some were run, and the words give no number. None for other words."""
    words = words.replace("_", " ")
    if found := _RUN_BEFORE.search(words):
        first = found["first"] or found["on"] or found["lost"] or found["named"] or found["alone"]
        return int(found["last"] or found["run"] or int(first) - 1) or None
    return 0 if _PART.search(words) else None


def tells_own_loss(words: str, own: tuple[str, ...], horses: Iterable[str], *, is_other_likely: bool) -> bool:
    """Whether a clause tells of a loss, and not of a horse or of fences: "Washed Out wins", "Two fences abandoned".

    `is_other_likely`: a name directly before the loss is of another race too, unless the name is the race's `own`, in
    its longer or shorter form: "Sandown Park" of "Sandown". In doubt a loss counts: "Waterlogged course abandoned".
    """
    known, proper = _names_of(own)
    others = "|".join(filter(None, (_words(name).strip() for name in horses)))
    horse = re.compile(rf"\b(?:{others})\b(?!\Z)|(?<!\A)\b(?:{others})\b", re.IGNORECASE)

    def is_own(said: str) -> bool:
        unknown = [*dropwhile(known, said.split())]
        if unknown and _OF_ANOTHER.fullmatch(unknown[0]):
            return False
        is_named = any(name and name.issubset(said.casefold().split()) for name in proper)
        return is_named or not (is_other_likely and _is_after_a_name(unknown, known))

    clauses = (horse.sub("", _words(clause).strip()) for clause in _CLAUSES.split(words))
    return any(state_in(said) in LOST_OR_VOID and not _WON.search(said) and is_own(said) for said in clauses)


def express_losses(words: str, own: tuple[str, ...], *, is_note: bool = False) -> Iterator[str]:
    """The clauses that say of a race or a meeting, and of nothing else, that it is lost: "Race declared void".

    `is_note`: the text is about the race, so that "Abandoned" alone is a loss.
    """
    known, names = _names_of(own)
    proper = frozenset().union(*names)
    if not (is_note or _SUBJECT.search(words) or any(word in words.casefold() for word in proper)):
        return
    for clause in (one.strip()[:LONGEST_STATUS] for one in _CLAUSES.split(words)):
        if state_in(clause) not in LOST_OR_VOID:
            continue
        said = _CAUSE_BEFORE.sub("", _words(clause)).split()
        before = [*takewhile(known, said)]
        rest = _behind_loss(before, said[len(before) :])
        # "Void race" has the subject behind the loss.
        is_first = not before and all(map(known, rest or ()))
        subjects = (rest or ()) if is_first else before
        is_of_race = any(_SUBJECT.fullmatch(word) or word.casefold() in proper for word in subjects)
        is_alone = rest is not None and (is_first or _is_no_more_than_a_cause(rest, known))
        if (is_of_race or (is_note and not before)) and (is_alone or (before and _DECLARED_VOID.search(clause))):
            yield clause


def _behind_loss(before: Sequence[str], words: Sequence[str]) -> Sequence[str] | None:
    """Of the `words` behind those `before` a loss, the words behind the loss. None if the words begin with no loss."""
    for end in range(1, min(len(words), LONGEST_LOSS) + 1):
        if state_in(" ".join([*before, *words[:end]])) in LOST_OR_VOID:
            return None if state_in(" ".join(words[1:end])) in LOST_OR_VOID else words[end:]
    return None


def _is_no_more_than_a_cause(words: Sequence[str], known: Callable[[str], object]) -> bool:
    is_of_race = len(words) > 1 and words[0] in {"at", "by", "on"} and known(words[1])
    return bool(is_of_race or _LOSS_ENDS.match(" ".join(words).casefold()))


@lru_cache(maxsize=256)
def _names_of(own: tuple[str, ...]) -> tuple[Callable[[str], object], list[frozenset[str]]]:
    """A test whether a word may be about the race with these names, and not about a horse or another race.

    Beside the test the words of each name that are of this race alone.
    """
    names = [_words(name).casefold().split() for name in own]
    words = frozenset(chain.from_iterable(names))
    return (
        lambda word: word.casefold() in words or _IS_OF_THE_RACE(word),
        [frozenset(word for word in name if not _IS_OF_THE_RACE(word)) for name in names],
    )


def _is_after_a_name(words: Sequence[str], known: Callable[[str], object]) -> bool:
    """Of the words of a loss, from the first that is not `known` for the race."""
    name = [*takewhile(lambda word: len(word) > 2 and word[0].isupper() and not state_in(word), words)]
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
