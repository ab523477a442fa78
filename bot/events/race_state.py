"""The state of a race in words: run, a walkover, abandoned, void or postponed.

A clause is read as the roles of its words (state_words.ini): "York meeting abandoned due to frost" is "race meeting
abandoned due weather". The rules are patterns of roles, with LOST for the loss in question.
`state_in` reads a status, a stage or a result. `express_losses` reads any text.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from bot.events.word_rows import phrases_by_role, word_rows


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
    IN_DOUBT = "in doubt"
    """Reported abandoned and reinstated, and neither is known to be newer."""
    VOID = "void"
    """The result says that the race was declared void."""
    MAY_BE_LOST = "may be lost"
    """An abandoned meeting of the course and day may mean this race under another id of the meeting or of the race."""
    OPEN = "open"


STILL_OPEN = frozenset({RaceOutcome.OPEN, RaceOutcome.MAY_BE_LOST})
CONFLICTS = frozenset({RaceOutcome.BOTH, RaceOutcome.UNCERTAIN, RaceOutcome.IN_DOUBT})
WITH_RESULT = frozenset({RaceOutcome.SETTLED, RaceOutcome.BOTH, RaceOutcome.UNCERTAIN})

HAS_RUN = WITH_RESULT | {RaceOutcome.VOID}

NOT_HELD = frozenset({RaceOutcome.ABANDONED, RaceOutcome.VOID})
REPORTED_LOST = frozenset({RaceOutcome.ABANDONED, RaceOutcome.BOTH, RaceOutcome.IN_DOUBT})

LONGEST_STATUS = 200

NOT_ABANDONED, NO_LONGER_ABANDONED = "also marked as not abandoned", "Not abandoned"
"""The end of an abandonment's status beside "abandoned": false; and the status where such a flag takes the loss back.

In a first version the flag may be a default. In a later version the flag is news.
"""

_DOTTED = {ord("\u0130"): "i", ord("\u0131"): "i"}
"""Turkish spells "I" with a dot, and "i" without."""

_ROWS = word_rows("bot.events", "state_words.ini")
_HELD = {
    RaceState(state): re.compile(
        f"(?:race|results?|all)?(?:status|state|stage)?(?:{'|'.join(words)})(?:race|results?)?"
    )
    for state, words in _ROWS.pop("held").items()
}
EXTENT_WORDS, EXTENT_WORDS_IN_A_ROW = _ROWS.pop("extent"), _ROWS.pop("extent in a row")
_OF_PLACES = {role: re.compile("|".join(words)) for role, words in _ROWS.pop("of places").items()}
_GROUPS = phrases_by_role({role: phrases for roles in _ROWS.values() for role, phrases in roles.items()})
_PHRASE = re.compile("|".join(rf"({phrases})(?!\w)" for _, phrases in _GROUPS) + r"|\w+")
_OF_A_LOSS = re.compile(
    "|".join(
        rf"\b(?:{phrases})(?!\w)"
        for role, phrases in _GROUPS
        if role in {"no", *_ROWS["lost"], *_ROWS["lost alone"], *_ROWS["lost by"]} - {"held", "ahead", "today"}
    )
)
"""A word of a loss. The name of a race counts as "race", so that "No Ebor" is "no race"."""

_CLAUSES = re.compile(r"[:;.,!] |\(| [-\u2013\u2014] ")
_IN_A_ROW = re.compile(r", (?=(?:[A-Z]\w+, )*[A-Z]\w+ and [A-Z]\w+)")
"""Between names: "York, Ripon and Ayr abandoned"."""

_SUBJECT = "(?:race|meeting|racing) "
_IS = "(?:(?:is|being) )*"
_END = "(?=today|due|weather|$)"
_ALONE = f"^(?:{_SUBJECT}|is |number )*"
_LOSSES = {
    RaceState.VOID: re.compile(rf"\bvoid |{_ALONE}void_alone $"),
    RaceState.ABANDONED: re.compile(
        rf"\babandoned |{_ALONE}abandoned_alone $|^{_SUBJECT}deleted $"
        # "Race deleted", "Will not be run", "Meeting is off", "Race lost to the weather", "No racing at York today"
        rf"|(?:^|\b{_SUBJECT}(?:number )*){_IS}not {_IS}(?:held|ahead) {_END}"
        rf"|\b(?:meeting|racing) (?:at race )?{_IS}off {_END}|\bmeeting (?:at race )?{_IS}suspended {_END}"
        rf"|\b{_SUBJECT}(?:number )*{_IS}(?:gone|failed) (?=$|(?:until |due )?(?:the )?weather)"
        rf"|^(?:\w+ ){{0,2}}no_racing (?=today|the|due|at race {_END}|$)"
    ),
    RaceState.POSTPONED: re.compile(rf"\bpostponed (?!from(?:_race)? (?!.*until ))|{_ALONE}postponed_alone $"),
}
"""Of several losses in a clause, the first state here counts."""

_CAUSE_BEFORE = re.compile(
    r"^(?:because|due) .*(?=(?:the|racing|today) (?:(?!being)\w+ )*LOST)|^(?:weather )+|\bdue (?:\w+ ){1,2}(?=LOST)"
)
"""The cause in "After heavy rain racing was called off" and "Frost abandoned". A cause may have words of doubt."""

_UNSURE = re.compile(
    # "May be abandoned", "Washed Out wins", "Not abandoned", "Two fences abandoned", "Bets on race 4 void"
    r"\b(?:doubt|won) (?!.*\b(?:and|but) .*LOST).*LOST"
    r"|\b(?:not|no) (?:(?:is|being|the|race|racing|meeting|until|beside) )*LOST"
    rf"|\b(?:thing|hurdles|bets|inspection|claims) (?:{_IS}|at race )*LOST|\bbets at .*LOST"
    # "Abandonment is likely", "Void for betting"
    rf"|LOST {_IS}(?:doubt|won) |LOST (?:race )?for (?:\w+ ){{0,2}}bets "
)
_REVERSED = re.compile(
    r"(?:^(?:LOST )?(?:ruling |doubt )?|\b(?:ruling|doubt|abandoned) )(?:(?:is|being|beside|but) )*reversed "
    r"|^(?:LOST )?(?:(?:is|being|the|race|meeting|racing|number|at|and|but|beside) )*reinstated (?!(?:is )*reversed)"
    "|^LOST no $"
)
"""From the loss on: "Abandonment later reversed", "Abandoned - decision reversed", "Abandoned, now on", "Void: no"."""

_GOES_AHEAD = re.compile(
    rf"(?!.*\b(?:doubt|not|inspection|beside|date) )(?:{_SUBJECT}|is |the |at race |until |ahead (?=.*(?:ahead|at) ))*"
    "(?:(?:held|ahead(?: at (?:race|(?:number )*number))?) (?:today )*(?:cause |$)|at $)"
    f"|(?:{_SUBJECT}|is |other |beside |cause )*not (?:is )*abandoned $"
)
"""Of a whole status: "Meeting will go ahead as planned", "Racing is on", "No longer abandoned".

"To be run on Monday", "Going ahead at Kempton instead" and "Remaining races go ahead" take no loss back.
"""

_OF_SOME_RACES = re.compile(r"^(?!.*\binspection\b).*\d|(?<!\bfit to )\b(?:race|remaining)\b", re.IGNORECASE)
"""The time of an inspection is no race."""

_RESUMED = re.compile(r"\b(?:inspection|held) ")
"""After "Meeting suspended" and "Meeting failed inspection": an inspection, or the time of the resumption."""

_OF_ELSE_BEFORE = re.compile(r"\b(?:bets|thing) $|\bpulled .*$")
"""In the clause before a loss without a subject: "Placepot: void", "Pulled up, abandoned"."""

_WITH_OTHERS = re.compile(r"^(?:is )?(?:\w+ and )*(?:the )?race (?:and (?:(?!and )\w+ ){1,2})+(?=LOST|is|meeting)")
"""The race among others: "York and Ayr abandoned"."""

_NEAR = "is|being|the|at|at_the|today|number|festival|beside|held|ahead|and|but|until|hurdles|void|abandoned"
_BESIDE = f"(?:(?:race|meeting|racing|{_NEAR}) )*"
_FIRST_SUBJECT = f"(?:(?:{_NEAR}) )*+{_SUBJECT}"
_JOINED = r"(?:.*\b(?:and|but|forced) )?"
_BECAUSE = "(?:(?:due|because|weather|until|cause|people|and|at_the|at (?:number )*inspection|from_race) .*)?"
_EXPRESS = re.compile(
    # "Race abandoned due to frost", "Race run in rain and abandoned", "Storm forces meeting abandonment", "Void race"
    f"{_FIRST_SUBJECT}{_JOINED}{_BESIDE}LOST {_BESIDE}{_BECAUSE}"
    f"|{_JOINED}{_FIRST_SUBJECT}{_BESIDE}LOST {_BESIDE}{_BECAUSE}"
    f"|{_JOINED}LOST {_FIRST_SUBJECT}{_BESIDE}{_BECAUSE}"
)
_BARE = re.compile(f"{_BESIDE}LOST (?!the (?!{_FIRST_SUBJECT})){_BESIDE}{_BECAUSE}")
"""A loss in a text about the race. In "Abandoned the chase" the subject is a horse."""

_WITHOUT_PLACES = re.compile(
    rf"{_JOINED}{_FIRST_SUBJECT}{_BESIDE}LOST "
    r"(?!(?:(?!due|because|weather|until|cause)\w+ )*(?:claims|bets|at (?!number))).*"
)
"""Without places a cause may have any words, because a lost race must not be missed."""

_GIVEN_UP = re.compile(r"(?:^|\b(?:race|number) )(?:is )*LOST people ")

_FESTIVAL = re.compile(r"\b(?:other ){1,3}(?=festival )")
"""The name of a festival, unless the name is another course's."""

_WITH_REASON = re.compile(r"(?P<state>.+?)(?: [-\u2013\u2014] |:(?![0-9]) ?|\()(?P<reason>.*[^\W\d_][^)]*)\)?")


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
    return next((state for state, pattern in _HELD.items() if pattern.fullmatch(whole)), None)


@lru_cache(maxsize=1024)
def may_tell_loss(words: str) -> bool:
    """False for most texts: they have no word of a loss."""
    return any(_OF_A_LOSS.search(_words(clause).casefold()) for clause in _CLAUSES.split(words))


class _Loss(NamedTuple):
    """A loss without doubt. `clause`: the place of the clause. `said`: the roles of the clause, with LOST."""

    state: RaceState
    clause: int
    said: str


@lru_cache(maxsize=1024)
def _losses(clauses: tuple[str, ...]) -> Sequence[_Loss]:
    """The losses of all clauses, in the order of `_LOSSES`."""
    each = ["" if "?" in clause else _roles(clause) for clause in clauses]
    every = (_losses_of(*row, each, place) for row in _LOSSES.items() for place in range(len(each)))
    return [*chain.from_iterable(every)]


def _losses_of(state: RaceState, pattern: re.Pattern[str], clauses: Sequence[str], place: int) -> Iterator[_Loss]:
    for hit in pattern.finditer(clauses[place]):
        before, behind = clauses[place][: hit.start()], clauses[place][hit.end() :]
        lost = "race LOST " if re.match(f"{_SUBJECT}|no_racing", hit[0]) else "LOST "
        said = _CAUSE_BEFORE.sub("", f"{before}{lost}{behind}")
        is_of_else = place > 0 and not before and _OF_ELSE_BEFORE.search(clauses[place - 1])
        later = "".join(("LOST ", behind, *clauses[place + 1 : place + 4]))
        is_halted = hit[0].endswith(("failed ", "suspended ")) and _RESUMED.search(later)
        if not (is_of_else or is_halted or _UNSURE.search(said) or _REVERSED.search(later)):
            yield _Loss(state, place, said)


@lru_cache(maxsize=1024)
def _roles(clause: str) -> str:
    """The roles of the words, each with a space behind."""
    found = _PHRASE.finditer(_words(clause).casefold())
    return "".join(f"{_GROUPS[one.lastindex - 1][0] if one.lastindex else 'other'} " for one in found)


@lru_cache(maxsize=1024)
def is_in_doubt(status: str) -> bool:
    """True for words about places that are not official: "Under review", "Photo finish", "Not weighed in"."""
    return state_in(status) is RaceState.PROVISIONAL or _OF_PLACES["in_doubt"].search(letters(status)) is not None


def is_pending(inquiry: str) -> bool:
    return _OF_PLACES["pending"].fullmatch(letters(inquiry)) is not None


def is_decided(inquiry: str) -> bool:
    """True for "Result stands"."""
    return _OF_PLACES["decided"].search(letters(inquiry)) is not None and not is_doubtful(inquiry)


def is_doubtful(status: str | None) -> bool:
    """True for "May be abandoned" and "Inspection at 8"."""
    return not {"doubt", "not", "inspection"}.isdisjoint(_roles(status or "").split())


def is_denied_too(status: str | None) -> bool:
    return (status or "").endswith(NOT_ABANDONED)


def is_doubtful_or_reinstated(status: str) -> bool:
    """True for words that deny a loss, or leave a loss open."""
    return is_doubtful(status) or is_reinstated(status)


def goes_ahead(status: str | None) -> bool:
    """True for "Going ahead" and "Passed inspection". Such words tell of no earlier loss."""
    return _GOES_AHEAD.match(_roles(status or "")) is not None


@lru_cache(maxsize=1024)
def is_reinstated(status: str, course: str | None = None, *, of_meeting: bool = False) -> bool:
    """True for "Lifted", "Reinstated", "Going ahead" and "No longer abandoned".

    False for NOT_ABANDONED. "Going ahead at Kempton" takes no loss at another `course` back, and words about some of
    the races, "Race 3 reinstated", no loss `of_meeting`.
    """
    if status.startswith(f"{NO_LONGER_ABANDONED}, "):
        return True
    if is_denied_too(status) or (of_meeting and _OF_SOME_RACES.search(_words(status))):
        return False
    roles = _roles(_with_race(status, _names_of((course,)), course) if course else status)
    said = re.sub("^(?:void|abandoned|postponed) ", "LOST ", roles)
    goes_ahead = roles if course else roles.replace("ahead at other ", "ahead at race ")
    is_back = _REVERSED.search(said) is not None or _GOES_AHEAD.match(goes_ahead) is not None
    return is_back and state_in(status) is None


def express_losses(
    words: str, own: tuple[str, ...], *, is_note: bool = False, is_open: bool = False
) -> list[tuple[RaceState, str]]:
    """The clauses that say only that a race or a meeting is lost, and why: "Race declared void".

    `own`: the names of course and race, the course first. `is_note`: the text is about the race, so that "Abandoned"
    alone is a loss. `is_open`: the race has no places.
    """
    clauses = [one.strip()[:LONGEST_STATUS] for one in _CLAUSES.split(_IN_A_ROW.sub(" and ", words))]
    names = _names_of(own)
    losses = _losses(tuple(_with_race(clause, names, own[0] if own else "") for clause in clauses))
    express = [one for one in losses if _is_express(one.said, is_note=is_note, is_open=is_open)]
    states = {loss.clause: loss.state for loss in reversed(express)}
    return [(states[place], clause) for place, clause in enumerate(clauses) if place in states]


def _is_express(said: str, *, is_note: bool, is_open: bool) -> bool:
    said = _WITH_OTHERS.sub("race ", _FESTIVAL.sub("", said) if is_open else said)
    if _GIVEN_UP.search(said):
        return False
    patterns = [_EXPRESS, *([_BARE] if is_note else []), *([_WITHOUT_PLACES] if is_open else [])]
    return any(pattern.fullmatch(said) for pattern in patterns)


@lru_cache(maxsize=256)
def _names_of(own: tuple[str, ...]) -> Sequence[str]:
    """Each name, and each word that is of this race alone, but of no date. No pattern: races have names of their own.

    The "Void Cup" and the "Placepot Handicap" may be void, but "void" and "placepot" are no names.
    """
    names = [_words(part).casefold().split() for name in own for part in _CLAUSES.split(name)]
    alone = chain.from_iterable(name for name in names if name and not name[0].rstrip("dhnrst").isdigit())
    words = ([one] for one in alone if _roles(one) == "other ")
    return tuple(map(_spaced, (*(name for name in names if len(name) > 1), *words)))


def _with_race(clause: str, names: Sequence[str], course: str) -> str:
    """The words in lower case, with "race" in place of each name. A question keeps its mark.

    In "York is off" the course becomes "meeting": a race that is off has begun.
    """
    said, here = _spaced(_words(clause).casefold().split()), _spaced(_words(course).casefold().split())
    if course and said.startswith(f"{here} is  off "):
        said = said.replace(here, " meeting ", 1)
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


@lru_cache(maxsize=1024)
def _words(status: str | None) -> str:
    return re.sub(r"[_\W]+|(?<=[a-z])(?=[A-Z])", " ", (status or "")[:LONGEST_STATUS]).translate(_DOTTED)


def reason_in(status: str | None) -> str | None:
    """Why a race is lost: "waterlogged" of "Abandoned - waterlogged"."""
    found = _WITH_REASON.fullmatch((status or "")[:LONGEST_STATUS])
    return found["reason"] if found and state_in(found["state"]) in LOST_OR_VOID else None
