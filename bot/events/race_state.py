"""The state of a race by a status, a stage or a result text: run, a walkover, abandoned, void or postponed.

One classifier for all words of the kind. The word may stand anywhere: "MEETING ABANDONED", "Race void", "abandonné".
"""

import re
from enum import StrEnum
from functools import lru_cache


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
    "|photo(?:finish|called)?|(?:under)?(?:stewards)?(?:inquiry|enquiry|objection|protest)(?:lodged|inprogress|announced)?"
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
    r"|likelihood|risk|threat|threatened|fear|feared|doubt|doubtful|avoid|subject to|inspection|deadline)\b",
    re.IGNORECASE,
)
"""A race that may be abandoned is not abandoned."""


def letters(status: str | None) -> str:
    """The letters alone: "weighedin" of "Weighed In" and "weighed_in"."""
    return "".join(filter(str.isalpha, status or "")).casefold()


@lru_cache(maxsize=1024)
def state_in(status: str | None) -> RaceState | None:
    """None for other words, and for words of doubt: "May be abandoned"."""
    said = letters((status or "")[:LONGEST_STATUS])
    if _NOT_RUN.fullmatch(said):
        return RaceState.ABANDONED
    if not said or is_doubtful(status):
        return None
    return next((state for state, pattern in _STATES if re.search(pattern, said)), None)


def is_doubtful(status: str | None) -> bool:
    """True for "May be abandoned" and "Inspection at 8"."""
    return _DOUBT.search(_words(status)) is not None


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
