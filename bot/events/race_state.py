"""The state of a race in words: run, a walkover, abandoned, void or postponed.

`state_in` reads a status, a stage or a result: a word of a state may stand anywhere, "MEETING ABANDONED", "abandonné".
`express_losses` reads any text: a clause counts if it says of this race or meeting that it is lost, and no more.
Doubt is one test for both.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, chain, takewhile
from typing import NamedTuple


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

_DOTTED = {ord("\u0130"): "i", ord("\u0131"): "i"}
"""Turkish spells "I" with a dot, and "i" without."""

_RUN = (
    "result|results|resulted|settled|official|officialresult|finished|final|complete|completed|weighedin|paying|paid"
    "|dividends?|winnerdeclared|run|wasrun|ran|hasrun|fincourse|arriveedefinitive|arriveedefinitivecomplete"
)
_PROVISIONAL = (
    "interim|provisional|unofficial|semiofficial|(?:arriv[eé]e)?provisoire|nonofficiel|vorläufig|審議"
    "|photo(?:finish|called)?|(?:under)?(?:stewards)?(?:inquiry|enquiry|objection|protest)(?:lodged|inprogress|announced|pending|open|underway)?"
    "|weighingin|await(?:ing)?(?:weighin|officialresult)|resultpending|preliminaryresult"
)
_WEATHER = "fog|mist|frost|snow|ice|water|flood|weather|storm|wind|rain|heat|power"
_ENDS = f"(?=$|today|dueto|owingto|becauseof|(?:heavy|high)?(?:{_WEATHER}))"
_NOT_RUN = (
    "(?:^|race|racing|meeting|card|fixture)(?:was|is|are|will|does|did|now|can|could)*(?:not|t|nolonger|unableto)"
    "(?:now|be|being)*(?:run|staged|held|proceed|takeplace|takingplace|goahead|goingahead)"
)
_LOSSES = (
    (RaceState.VOID, "(?<!a)(?<!de)void(?!of(?!f))|(?<=declareda)void|^voi$|annulled|norace|nocontest|nullif|不成立"),
    (
        RaceState.ABANDONED,
        (
            f"{_NOT_RUN}{_ENDS}|^(?:there(?:willbe|is))?noracing(?:atrace{_ENDS}|today|tonight|this\\w+)"
            f"|(?:(?:meeting|fixture|card)(?:is|now)*|racing(?:atrace)?is(?:now)?)off{_ENDS}|abandon|cancel|cancl|^cxl$|^ab(?:n|d|nd)$|calledoff|annul|abgesagt|ausgefallen|inställ[dt]|avlyst|avlast|中止"
            "|^(?:レース|開催|競走|賽事|赛事)?取(?:消|り?止め|りやめ)|abgebrochen|^race(?:deleted|scrubbed|stopped)$|^(?:race|racing|meeting|fixture|card)?(?:aborted|scrapped)$"
            "|(?:races?|racing|meeting|card|fixture|programme)(?:has|have|been|was|were|is|now|all)*lost"
            "(?=$|(?:to|dueto|owingto|becauseof)(?:the|heavy|high)?"
            f"(?:{_WEATHER}))"
            "|washedout|(?:rain|snow|frozen|fogg|wash|frost)(?:ed)?off|^aban$|^c(?:anc|anx|nl|nx|ncl|xld)$|supprim|anulad|suspendid|entfällt|fälltaus"
            "|afgelast|aflyst|^(?:lähtö|kilpailu)?peruttu|odwoła|zrušen|отмен|ακυρ|i\u0307?ptal$|^(?:경주|개최)?취소|ملغ"
        ),
    ),
    (
        RaceState.POSTPONED,
        (
            "postpon|^ppd$|reschedul|deferred|putoff|^(?:race|meeting)?(?:moved|(?:moved|transferred|switched)to\\w{3,6}day)$|verschoben|verlegt|flytta[dt]|report(?:é|ee)|uppskjut"
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
    r"may(?= (?:be|yet|now|still|well)\b)"
    r"|(?<!\d )(?<!\d(?:st|nd|rd|th) )may\b(?! \d)|might|could|if|unless|whether|possibl[ey]|probable|unlikely"
    r"|likel(?:y|ihood)|risk|threat(?:ened|ens)?|fear(?:s|ed)?|doubt(?:s|ful)?|expected|consider(?:s|ed|ing)?|set to"
    r"|should|would|decision|decide|subject to|deadline|under review|previously|(?:event|case|danger) of"
    r"|thought|believ(?:ed?|es|ing)|thinking|(?:ask|call)(?:s|ed)? for|wants?|attempts? to|tried to|declined|close to"
)
_DOUBT = re.compile(rf"\b(?:{_UNSURE}|not|never|no longer|un(?=abandon|void|cancel)|avoid|inspection)\b", re.IGNORECASE)
_WON = "wins|won|beats|lands|defeats|scores"
"""Beside the name of a horse: "Washed Out wins"."""

_BETS = r"bets?|wagers?|pools?|tote|(?:place|quad|jack)pot|exacta|\w*fecta|\w*cast|csf|quinella|swinger|quaddie|double"
_PEOPLE = "jockeys?|riders?|trainers?|owners?"
_OF_ANOTHER = (
    rf"(?:stewards|{_PEOPLE}|board|committee|council|general|staff|press) (?:s )?meeting|{_PEOPLE}"
    r"|fences?|flights?|hurdles|(?:hurdle|fence) [0-9]+|(?:first|last|final) hurdle"
    rf"|starts?|attempts?|(?:{_BETS})(?: on\b.*)?|objections?|protests?|[ei]nquir(?:y|ies)"
    "|conference|briefing|parade|concert|gallops|entr(?:y|ies)|declarations?|plans?|tactics"
    "|(?<!after )(?<!following )(?<!an )inspections?"
)
"""Directly before a loss that is not the race's: "Two fences abandoned"."""

_DOUBT_BEFORE = re.compile(
    rf"\b(?:(?:{_UNSURE}|avoid(?:s|ed)?|{_WON})\b(?!.*\b(?:and|but|so|then)\b)"
    r"|(?:not?|never|non|un|no longer|nearly|almost)"
    r"(?: (?:a|any|be|been|being|currently|declared|going|meeting|now|officially|race|racing|the|to|yet))*$)"
    rf"|\b(?:{_OF_ANOTHER})"
    r"(?: (?:is|was|are|were|has|have|had|be|been|being|now|all|both|later|will|declared|at race))*$"
)
_DOUBT_BEHIND = re.compile(
    rf"\w+(?: off| out)?(?: (?:is|was|looks|now|still|very|most|highly|being))* (?:{_UNSURE}|{_WON}|to be confirmed)\b"
    rf"|\w+(?: contest| race)? for (?!all\b)(?:\w+ ){{0,2}}(?:betting|wagering|purposes|league|points|{_BETS})\b"
    r"|(?:postponed|rescheduled|moved|deferred) from\b(?!.* (?<!due )(?<!owing )(?:to|until|till)\b)"
)
_AGAIN = r"(?:was|is|has|been|being|later|since|now|then|but)"
_REVERSED = re.compile(
    rf"(?:^(?:\w+(?: off)? (?:(?:claim|decision|ruling|order|fears) )?)?|\b(?:decision|ruling|order|abandonment) )"
    rf"(?:{_AGAIN} )*(?:revers|overturn|rescind|revok|lifted|averted|ruled out|dismiss|reject|overrul)"
    r"|(?<!not )(?<!not be )\breinstat|\bnow on$|^\w+ (?:no|n|false|none)$"
)
"""A race that may be abandoned is not abandoned, and a race that was moved from another day or course is not lost.

Words of doubt stand before the loss, or directly behind: "Abandonment likely", not "Abandoned - may be restaged".
"""

_IN_A_ROW = re.compile(r", (?=(?:[A-Z]\w+, )*[A-Z]\w+ and [A-Z]\w+)")
"""Between names: "York, Ripon and Ayr abandoned"."""

_CLAUSES = re.compile(r"[:;.,!] |\(| [-\u2013\u2014] ")

_SUBJECT = re.compile("races?|racing|result|meetings?|cards?|fixtures?|contest|heat|stewards?|officials?|clerk|bha")
_IS_OF_THE_RACE = re.compile(
    rf"{_SUBJECT.pattern}|[0-9]+(?:st|nd|rd|th|[ap]m)?|r[0-9]*|run|programme|course|racecourse|park|ground"
    "|(?:steeple)?chase|hurdles?|handicap|nursery|novices?|maiden|flat|jumps?|straight|round|bumper|event"
    "|stage|track|morning|afternoon|evening|night|tonight|first|second|third|fourth|fifth|sixth|last|final|next|remain(?:ing|der)|rest"
    "|one|two|three|four|five|both|all|whole|entire|(?:mon|tues|wednes|thurs|fri|satur|sun|to)?days?|opening"
    "|turf|live|weather|aw|harness|trotting|twilight|national|hunt|hunter|beginners|div(?:ision)?|ii|class|ladies|festival"
    "|officially|unfortunately|regrettably|sadly|finally|subsequently|formally|confirm(?:s|ed)?|announce[sd]?|reluctantly|regretfully|hereby"
    "|r[ée]uni[oóã][no]|riunione|convegno|corrida|veranstaltung|rennen|lopp(?:et)?|l[øo][bp](?:et)?|koers|corsa|carrera|prova|renntag|t[äa]vling(?:en)?|p[áa]reo|yariş(?:lar)?|koşu(?:lar)?|скачки|заезд|d[aei][ers]|die|les?|la|el|une?|est|été|wurden?|ist|[äe]r"
    "|the|this|a|s|at|of|on|by|to|be|been|being|has|have|had|was|were|is|are|will|did|does|now|later|then|already|also|just|since|and|but"
    "|declared?|declares|ruled|deemed|null|void|abandoned"
).fullmatch
"""A word that may stand beside a loss in a clause about the loss of the race alone."""

_CAUSE = re.compile(
    r"\b(?:due|owing|because|as|after|following|before|when|while|with|and|to(?! be)|until|till|amid|(?<=stewards )of"
    r"|through|under|shortly"
    r"|early(?! (?:lead|pace|speed))|earlier|within|at [0-9 ]+[ap]m|overnight|immediately|entirely|in full"
    r"|wegen|suite|pour|por|per|en raison|à cause|faute de|på grund|pending|(?:on|at) the"
    r"|for (?:the day|lack|want|\w+day|[0-9]+)|from (?:race|r?[0-9]+)|auf|au (?=[0-9])"
    r"|(?:on|for|in|at|by|out) (?:\w+ ){0,3}(?:safety|welfare|advice|order|respect|notice|wake|request)"
    r"|by (?:the )?(?:bha|hri|authorit(?:y|ies)|organi[sz]ers?|executive|management|clerk|judge|starter"
    r"|police|raceday|hkjc|ihrb))\b.*"
    rf"|\b(?:(?:heavy|high|strong) )?(?:frozen|unsafe|unfit|false start|{_WEATHER}).*"
)
"""Behind an express loss: "Race abandoned after a fall", not "Race abandoned by most trainers"."""

_OF_ELSE = re.compile(
    rf"\b(?:claims?|insurance|policy|here|pace|plans?|bets|at (?!\d|half)|of"
    rf"|by (?:\w+ ){{0,2}}(?:{_PEOPLE}|backers|punters))\b"
)
"""Behind a lost race or meeting of which no place is known, all other words tell why or when."""

_FESTIVAL = re.compile(
    r"(?:\b(?!(?:at|of|on|the|cheltenham|galway|punchestown|aintree|goodwood|leopardstown|listowel|killarney|perth)\b)"
    r"\w+ ){1,3}(?=festival\b)"
)
"""The name of a festival. Unless it is another course's, it may have no word of the course's name."""

_OF_ELSE_BEFORE = re.compile(rf"\b(?:{_BETS}|fences?|rails?|times?|(?:pulled up|tailed off|eased|ran out)\b.*)$")
"""In the clause before a loss without a subject: "Placepot: void", "Pulled up, abandoned"."""

_WITH_OTHERS = re.compile(
    r"^(?:both )?(?:\w+ and )*(?:the )?race(?: and(?: (?!and\b)\w+){1,2})+(?=$| (?:are|were|have|both|meetings)\b)"
)
"""The race among others: "York and Ayr abandoned"."""

_JOINT = re.compile(
    r".*\b(?:and|but|(?:caus|forc|prompt)e?[ds]|(?:announc|confirm|regret|inform|advis)\w*(?: \w+){0,4} that)\b"
)
"""Before the words of the loss: "Race run in rain and declared void", "Storm forces York abandonment"."""

_CAUSE_BEFORE = re.compile(
    r"^(?:after|following|due to|owing to|because of)\b.* (?=(?:the|this|racing|today)\b(?!.*\bbeing\b))"
    r"|^(?:(?:heavy|high) )?(?:fog|frost|snow|ice|storms?|winds?|rain|heat|floods?|waterlogged|frozen|unsafe|unfit) "
    r"|\b(?:wegen|due to|owing to|because of)(?: \w+){1,2} $",
    re.IGNORECASE,
)
"""Of "After heavy rain racing was called off" and "Frost abandoned": a cause may have words of doubt."""


def letters(status: str | None) -> str:
    """The letters alone: "weighedin" of "Weighed In" and "weighed_in"."""
    return "".join(filter(str.isalpha, status or "")).casefold()


@lru_cache(maxsize=1024)
def state_in(status: str | None) -> RaceState | None:
    """None for other words, and for words of doubt: "May be abandoned"."""
    said = (status or "")[:LONGEST_STATUS]
    if (losses := _losses(tuple(_CLAUSES.split(said)))) or is_doubtful(said):
        return losses[0].state if losses else None
    whole = letters(said)
    return next((state for state, pattern in _HELD if re.search(pattern, whole)), None)


class _Loss(NamedTuple):
    """A loss said without doubt: the clause's number, the loss's words, and the clause's other words, in lower case."""

    state: RaceState
    clause: int
    before: Sequence[str]
    words: Sequence[str]
    behind: Sequence[str]


@lru_cache(maxsize=1024)
def _losses(clauses: tuple[str, ...]) -> Sequence[_Loss]:
    """In the order of the states. A cause before a loss is left out: "After heavy rain racing was called off"."""
    each = ["" if "?" in clause else _words(clause).casefold().strip() for clause in clauses]
    every = (_losses_of(*row, each, place) for row in _LOSSES for place in range(len(each)))
    return [*chain.from_iterable(every)]


def _losses_of(state: RaceState, pattern: str, clauses: Sequence[str], place: int) -> Iterator[_Loss]:
    """Of a clause. No match that begins within a word and ends in the next counts: "La Diadema" is no "adiad"."""
    words = clauses[place].split()
    begins = [*accumulate(map(len, map(letters, words)), initial=0)]
    for hit in re.finditer(pattern, "".join(map(letters, words))):
        first, end = bisect_right(begins, hit.start(), hi=len(words)) - 1, bisect_left(begins, hit.end())
        if hit.start() != begins[first] and hit.end() > begins[first + 1]:
            continue
        begun = letters(words[first])[: hit.start() - begins[first]]
        before, rest = _CAUSE_BEFORE.sub("", " ".join([*words[:first], begun])), " ".join(words[first:])
        is_reversed = _REVERSED.search(" ".join([rest, *clauses[place + 1 : place + 4]]).strip())
        is_of_else = place > 0 and not before.strip() and _OF_ELSE_BEFORE.search(clauses[place - 1])
        if not (is_reversed or is_of_else or _DOUBT_BEFORE.search(before.strip()) or _DOUBT_BEHIND.match(rest)):
            yield _Loss(state, place, before.removesuffix(begun).split(), words[first:end], words[end:])


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


def express_losses(
    words: str, own: tuple[str, ...], *, is_note: bool = False, is_open: bool = False
) -> list[tuple[RaceState, str]]:
    """The clauses that say of a race or a meeting that it is lost, and why, and no more: "Race declared void".

    `own`: the names of course and race. `is_note`: the text is about the race, so that "Abandoned" alone is a loss.
    `is_open`: without places a cause may have any words, because a lost race must not be missed.
    """
    clauses, names = (
        [one.strip()[:LONGEST_STATUS] for one in _CLAUSES.split(_IN_A_ROW.sub(" and ", words))],
        _names_of(own),
    )
    losses = _losses(tuple(_with_race(clause, names) for clause in clauses))
    express = [one for one in losses if _is_express(one, is_note=is_note, is_open=is_open)]
    states = {loss.clause: loss.state for loss in reversed(express)}
    return [(states[place], clause) for place, clause in enumerate(clauses) if place in states]


def _is_express(loss: _Loss, *, is_note: bool, is_open: bool) -> bool:
    said = _WITH_OTHERS.sub("race", " ".join(loss.before))
    before = (_FESTIVAL.sub("", said) if is_open else said).split()
    begin, joined = [*takewhile(_IS_OF_THE_RACE, before)], _JOINT.sub("", " ".join(before)).split()
    behind = _CAUSE.sub("", " ".join(loss.behind)).split()
    # Of "Abandoned the chase" a horse is the subject.
    is_left_open = not before and behind[:1] == ["the"] and _SUBJECT.fullmatch(behind[-1]) is None
    # "Void race" has the subject behind the loss. "No race" has none.
    is_of_race = any(map(_SUBJECT.fullmatch, [*begin, *(joined or behind), *loss.words[:-1]]))
    is_bare = is_note and begin == before and not is_left_open
    if is_open and any(map(_SUBJECT.fullmatch, joined)) and not _OF_ELSE.search(" ".join(behind)):
        behind = []
    return (is_of_race or is_bare) and all(map(_IS_OF_THE_RACE, joined + behind))


@lru_cache(maxsize=256)
def _names_of(own: tuple[str, ...]) -> Sequence[str]:
    """Each name, and each word that is of this race alone, but of no date. No pattern: races have names of their own.

    The "Void Cup" and the "Placepot Handicap" may be void, but "void" and "placepot" are no names.
    """
    names = [_words(part).casefold().split() for name in own for part in _CLAUSES.split(name)]
    alone = chain.from_iterable(name for name in names if name and not name[0].rstrip("dhnrst").isdigit())
    words = ([one] for one in alone if not (_IS_OF_THE_RACE(one) or state_in(one) or re.fullmatch(_OF_ANOTHER, one)))
    return tuple(map(_spaced, (*(name for name in names if len(name) > 1), *words)))


def _with_race(clause: str, names: Sequence[str]) -> str:
    """The words in lower case, with "race" in place of each name. A question stays a question."""
    said = _spaced(_words(clause).casefold().split())
    for name in names:
        said = said.replace(name, " race ")
    return f"{' '.join(said.split())}{'?' * ('?' in clause)}"


def _spaced(words: Sequence[str]) -> str:
    """Each word with a space of its own on either side."""
    return f" {'  '.join(words)} "


def is_amended(status: str | None) -> bool:
    """For example "Amended result", not "To be amended". "Correct weight" is an official result in Australia."""
    words = _words(status)
    is_sure = not (is_doubtful(status) or re.search(r"\bto be\b", words, re.IGNORECASE))
    return is_sure and re.search("(?<!un)(?:amended|revised|corrected)", words, re.IGNORECASE) is not None


def _words(status: str | None) -> str:
    return re.sub(r"[_\W]+", " ", (status or "")[:LONGEST_STATUS]).translate(_DOTTED)


def reason_in(status: str | None) -> str | None:
    """Why a race is lost: "waterlogged" of "Abandoned - waterlogged"."""
    found = _WITH_REASON.fullmatch((status or "")[:LONGEST_STATUS])
    return found["reason"] if found and state_in(found["state"]) in LOST_OR_VOID else None
