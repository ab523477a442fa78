"""`/racing watch` and `/racing watching`: names that a channel, or a person in direct messages, is told of."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

from sqlmodel import Session

from bot.channels import watches
from bot.channels.watches import WATCHES_MAX, WatchedName
from bot.db.tables import WatchKind, WatchRow
from bot.errors import CommandError
from bot.events.days import utc_today
from bot.events.sentences import counted, listed
from bot.events.typed_text import typed_line
from bot.events.watched import name_key
from bot.outbox.channel_move import move_person
from bot.outbox.message import Message
from bot.racedata.day_views import look_up
from bot.racedata.lexicon import Lexicon, kept
from bot.racedata.near_misses import TYPED_MAX, likely, quoted
from bot.slack.commands.invocation import MEMBERSHIP_S, Command, Desk, Invocation, may_change, no_words, says
from bot.slack.commands.subscription_changes import announce, note
from bot.slack.language.grammar import NO_LISTS, Grammar
from bot.slack.language.tokens import Word, words_of
from bot.slack.language.words import COURTESY, JOINING, JOINTS, OF_ALL, SUBSCRIBING, THINGS, Kind, words_in
from bot.slack.messages.answers.watch_answer import NowWatched, end_line, unwatched, unwatched_by, watched, watching
from bot.slack.workspace import is_member

_WATCHED = {"What is watched": "watching"}

ME = "me"
INSTEAD_OF = ("instead", "of")
_AT_THE_END = frozenset({*COURTESY, *words_in("end of a watch")})

_RUNNERS = "(?:horses|runners|rides)"
_OWNED = re.compile(
    rf"^(?:owners?[: ] *|(?:all |of |the )+(?=.+ {_RUNNERS}$))*(.+?)(?:(?:'s?)? {_RUNNERS})?$", re.IGNORECASE
)
"""The words around an owner's name: "owner:Godolphin", "Godolphin's horses"."""

NAMES_MAX = 10

_NO_NAME = re.compile("[#@<]")
"""Stands before a channel or a person."""

_KINDS = {word: kind for kind in WatchKind for word in (kind.value, f"{kind}s")}
_BEFORE_A_KIND = {*words_in("watch"), *(word for word, (kind, _) in JOINING.items() if kind is Kind.FILLER)} - {*_KINDS}


@dataclass(frozen=True)
class WatchWords:
    """`is_own`: with the word `me`. `replaced`: the name after `instead of`."""

    names: tuple[WatchedName, ...]
    is_own: bool = False
    replaced: WatchedName | None = None

    @property
    def line(self) -> str:
        """The words after /racing."""
        return _line([(one.kind, one.name) for one in self.names], is_own=self.is_own, replaced=self.replaced)


TypedName = tuple[WatchKind | None, str]
"""A name with its kind, where a kind was typed."""


def _line(names: Iterable[TypedName], *, is_own: bool, replaced: WatchedName | None = None) -> str:
    words = [f"{kind}:{name}" if kind else name for kind, name in names]
    instead = [*INSTEAD_OF, f"{replaced.kind}:{replaced.name}"] if replaced else []
    return typed_line(["watch", *words, *instead, ME if is_own else None])


@dataclass
class _Typed:
    """`is_joined`: a comma or a joining word follows, and a further name has the same kind."""

    kind: WatchKind | None
    words: list[str] = field(default_factory=list)
    is_quoted: bool = False
    is_joined: bool = False
    are_several: bool = False
    """After "horses" an "and" parts names. "John & Thady Gosden" may be one name."""


def read_watch_words(text: str, lexicon: Lexicon = NO_LISTS) -> WatchWords:
    """Raises CommandError for a name without a kind, without a name, and for two names to replace."""
    typed = words_of(text)
    shorter = _without_end(typed)
    spare = len(typed) - len(shorter)
    if not spare or not any(name for _, name in _names(_without_me(shorter)[0])):
        return _words_of(typed, lexicon)
    if shorter[-1].is_quoted:
        return _words_of(shorter, lexicon)
    names, is_own = _named(typed)
    longer = (
        _words_of(typed, lexicon, asks_number=False).line
        if all(kind for kind, _ in names)
        else _line(names, is_own=is_own)
    )
    end = " ".join(one.text for one in typed[len(shorter) :])
    lines = {f"Without {quoted(end)}": f"watch {text.rsplit(maxsplit=spare)[0].rstrip(', ')}", names[-1][1]: longer}
    raise CommandError(f"Does the name end in {quoted(end)}?", lines=lines)


def _without_end(typed: Sequence[Word]) -> Sequence[Word]:
    end = takewhile(lambda one: one.text.casefold() in _AT_THE_END and not one.is_quoted, reversed(typed))
    return typed[: len(typed) - len(list(end))]


def _words_of(typed: Sequence[Word], lexicon: Lexicon, *, asks_number: bool = True) -> WatchWords:
    """`asks_number`: whether "horse A and B" is asked about."""
    typed, is_own = _without_me(typed)
    typed, instead = _parted(_with_kind_first(typed))
    each = [_checked(kind, name) for kind, name in _names(instead) if kind]
    if len(each) > 1:
        raise CommandError("One name at a time can be replaced.", lines=_WATCHED)
    replaced = each[0] if each else None
    names = _names(typed)
    if not any(name for _, name in names):
        raise CommandError(
            'Name a horse, a trainer or a jockey: /racing watch horse:"Golden Melody". With the word me at the end you '
            "alone are told, by direct message.",
            lines=_WATCHED,
        )
    if loose := [name for kind, name in names if kind is None]:
        whole = [(kind, name if kind else _OWNED.sub(r"\1", name)[:TYPED_MAX]) for kind, name in names]
        shown = {chosen: [(kind or chosen, name) for kind, name in whole] for chosen in WatchKind}
        lines = {one.capitalize(): _line(some, is_own=is_own, replaced=replaced) for one, some in shown.items()}
        lines |= _of_places(loose, lexicon) if len(names) == len(loose) else {}
        owned = " An owner can't be watched." if whole != names else ""
        told = f"{_kind_wanted([name for kind, name in whole if kind is None])}{owned}"
        raise CommandError(f"{told} A watch names the known races, and tells of later ones.", lines=lines)
    several = _names([_plural(one) for one in typed])
    if asks_number and len(several) > len(names) and all(name for _, name in several):
        lines = {counted(len(some), "name"): _line(some, is_own=is_own, replaced=replaced) for some in (names, several)}
        raise CommandError(f"Is that {' or '.join(lines)}?", lines=lines)
    # "R Moore at York". A horse may be called "Night at York".
    placeless = [(kind, name if kind is WatchKind.HORSE else name.partition(" at ")[0]) for kind, name in names]
    named = dict.fromkeys(_checked(kind, name) for kind, name in placeless if kind)
    words = WatchWords(tuple(named), is_own, replaced)
    if placeless != names:
        raise CommandError("A watch is of all races, at every course.", lines={"All races": words.line})
    return words


def _of_places(loose: Sequence[str], lexicon: Lexicon) -> dict[str, str]:
    """The lines of published places: "follow GB" is meant as a subscription, "when is York running" as a card."""
    words = " ".join(loose)
    kinds = {one.kind for one in Grammar(SUBSCRIBING, has_days=True).read(words, lexicon)}
    is_known = Kind.UNKNOWN not in kinds and not THINGS.isdisjoint(kinds)
    return {"Region or course": f"subscribe {words}", "Racecard": f"racecard {words}"} if is_known else {}


def _named(typed: Sequence[Word]) -> tuple[list[TypedName], bool]:
    """The names, and whether the word `me` was typed."""
    typed, is_own = _without_me(typed)
    return _names(_with_kind_first(typed)), is_own


def _kind_wanted(loose: Sequence[str]) -> str:
    if len(loose) == 1:
        return f"Is {loose[0]} a horse, a trainer or a jockey?"
    return f"Are {listed(loose)} horses, trainers or jockeys?"


def _kind_of(word: Word) -> tuple[WatchKind | None, str, bool]:
    """The kind of the name that begins with the word, the name's first word, and whether a colon stands between."""
    before, colon, first = word.text.partition(":")
    kind = _KINDS.get(before.casefold().strip("()")) if colon or not word.is_quoted else None
    return kind, first.strip(), bool(kind and colon)


def _plural(word: Word) -> Word:
    """The word "horses" for "horse", and "and" for "&". "trainer:" may name two people with one licence."""
    kind, first, is_named = _kind_of(word)
    if kind and not word.is_quoted and not (is_named and kind is WatchKind.TRAINER):
        return word._replace(text=f"{kind}s{':' * is_named}{first}")
    return word._replace(text="and") if word.text == "&" else word


def _names(words: Sequence[Word]) -> list[TypedName]:
    typed: list[_Typed] = []
    for place, one in enumerate(words):
        kind, first, is_named = _kind_of(one)
        last = typed[-1] if typed else None
        is_whole = last is None or bool(last.words and (last.is_quoted or last.is_joined))
        joint, _ = (None, "") if one.is_quoted else JOINING.get(one.text.casefold(), (None, ""))
        is_joint = joint in JOINTS and (is_whole or _begins_name(words[place + 1 :]))
        if last and last.words and (is_joint or (joint is Kind.AND and last.are_several and one.text != "&")):
            last.is_joined = True
            continue
        if kind and (is_named or is_whole):
            several = one.text.partition(":")[0].casefold() == f"{kind}s"
            typed.append(_Typed(kind, [first] if first else [], one.is_quoted, are_several=several))
        elif last is None or is_whole or (one.is_quoted and last.words):
            before = last if last and last.is_joined else _Typed(None)
            typed.append(_Typed(before.kind, [one.text], one.is_quoted, are_several=before.are_several))
        else:
            last.words.append(one.text)
            last.is_quoted = one.is_quoted
        typed[-1].is_joined = one.has_comma
    return [(one.kind, " ".join(one.words)) for one in typed]


def _begins_name(words: Sequence[Word]) -> bool:
    """True for `jockey:"R Moore"` and `jockey R Moore`. A name may end in "and Jockey"."""
    kind, _, is_named = _kind_of(words[0]) if words else (None, "", False)
    return kind is not None and (is_named or len(words) > 1)


def _parted(words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """The names before `instead of`, and after. A name with its kind follows, so a horse may be so called."""
    for place in range(1, len(words) - 2):
        two = [one.text.casefold() for one in words[place : place + 2] if not one.is_quoted]
        if tuple(two) == INSTEAD_OF and _kind_of(words[place + 2])[2]:
            return words[:place], words[place + 2 :]
    return words, ()


def _with_kind_first(words: Sequence[Word]) -> Sequence[Word]:
    """The words of "Bold Warrior horse" as "horse Bold Warrior". A name may end so: "Iron Horse" stays as typed."""
    *name, last = words or [Word("")]
    kind, _, is_named = _kind_of(last)
    is_apart = len(name) > 1 or last.text.startswith("(") or any(one.is_quoted for one in name)
    is_last = kind and not is_named and is_apart and not any(_kind_of(one)[0] for one in name)
    # "John Gosden's horses" is not the name of a horse.
    is_of_owner = last.text.casefold() == "horses" and len(_names([last, *name])) == 1
    return [last, *name] if is_last and not is_of_owner else words


def _without_me(words: Sequence[Word]) -> tuple[Sequence[Word], bool]:
    said = [None if one.is_quoted else one.text.casefold() for one in words]
    if len(words) > 1 and _kind_of(words[1])[0]:
        if said[0] == ME:
            return words[1:], True
        if said[0] in _BEFORE_A_KIND:
            words = words[1:]
    if said[-1:] != [ME]:
        return words, False
    return (words[:-2] if said[-2:-1] == ["for"] else words[:-1]), True


def _checked(kind: WatchKind, name: str) -> WatchedName:
    if not any(map(str.isalnum, name_key(name).bare)):
        raise CommandError(f'The {kind} has no name there: write {kind}:"Name", as published.')
    if _NO_NAME.search(name):
        told = "A watch is for the channel where you type the line; with the word me at the end, for you alone."
        raise CommandError(f"{told} Leave out the other channel or person.")
    if len(name) > TYPED_MAX:
        raise CommandError(f"A name has at most {TYPED_MAX} characters: type the name as published.")
    return WatchedName(kind, name)


GONE = "That watch is not there any more. /racing watching shows what is."


@dataclass(frozen=True)
class Watched:
    """`made`: the new names. `ended`: the replaced watch."""

    words: WatchWords
    made: tuple[WatchedName, ...]
    ended: WatchedName | None = None


async def _may_watch(desk: Desk, invocation: Invocation) -> None:
    """Everybody may be told alone."""
    if not (_named(words_of(invocation.text))[1] or invocation.is_direct):
        await may_change(desk, invocation)


async def _plan(desk: Desk, invocation: Invocation) -> WatchWords:
    words = read_watch_words(invocation.text, await desk.database.read(kept))
    if len(words.names) > NAMES_MAX:
        raise CommandError(f"At most {NAMES_MAX} names at a time: type the others in a second line.")
    return replace(words, is_own=words.is_own or invocation.is_direct)


def _changes(session: Session, invocation: Invocation, planned: WatchWords) -> bool:
    rows = _there(session, invocation, is_own=planned.is_own)
    is_there = {one: any(_is_named(row, one) for row in rows) for one in (*planned.names, planned.replaced)}
    return is_there.pop(planned.replaced) or not all(is_there.values())


def _there(session: Session, invocation: Invocation, *, is_own: bool) -> Sequence[WatchRow]:
    if is_own:
        return watches.of_person(session, invocation.user_id)
    return watches.of_channel(session, invocation.channel_id)


async def _ask(desk: Desk, invocation: Invocation, words: WatchWords) -> tuple[WatchWords, bool]:
    """The words, and whether the place is a channel or direct message that the bot is in."""
    member = None
    if invocation.is_direct or not words.is_own:
        member = await is_member(desk.slack, invocation.channel_id, invocation.left_s(MEMBERSHIP_S))
    if member is False and not words.is_own:
        raise CommandError(
            "I am not in this channel, so nothing would arrive here, and nothing was saved. Invite me, and type it "
            "again; or be told yourself, by direct message.",
            lines={"Tell me alone": replace(words, is_own=True).line},
        )
    return words, bool(member)


def _watch(session: Session, desk: Desk, invocation: Invocation, asked: tuple[WatchWords, bool]) -> Watched:
    words, is_there = asked
    place, user_id, is_own = invocation.channel_id, invocation.user_id, words.is_own
    if is_own:
        place = place if invocation.is_direct and is_there else watches.direct_message_of(session, user_id)
        if place != user_id:
            move_person(session, user_id, place)
    there = _there(session, invocation, is_own=is_own)
    replaced = next((row for row in there if _is_named(row, words.replaced)), None)
    ended = words.replaced if replaced and watches.end(session, replaced) else None
    person_id = user_id if is_own else None
    made = watches.add(session, place, words.names, user_id=user_id, now=desk.clock(), person_id=person_id)
    if len(there) + len(made) - (1 if ended else 0) > WATCHES_MAX:
        raise CommandError(f"At most {WATCHES_MAX} names can be watched. End some first.", lines=_WATCHED)
    if (made or ended) and not is_own:
        before, after = ended.words if ended else None, "; ".join(one.words for one in made) or None
        note(session, desk, invocation, "watch", before=before, after=after)
    if ended and not is_own:
        announce(session, desk, invocation, unwatched_by(user_id, ended))
    return Watched(words, tuple(made), ended)


async def _answer(desk: Desk, _invocation: Invocation, committed: Watched) -> Message:
    names, is_own, now = committed.words.names, committed.words.is_own, desk.clock()
    known = await desk.database.read(partial(look_up, wanted=names, today=utc_today(now)))

    def near(one: WatchedName) -> dict[str, str]:
        return {name: WatchWords((WatchedName(one.kind, name),), is_own, one).line for name in known[one].near}

    each = [NowWatched(name=one, known=known[one], is_new=one in committed.made, near=near(one)) for one in names]
    return watched(each, now, is_own=is_own, ended=committed.ended)


async def _answer_watching(desk: Desk, invocation: Invocation, page: int) -> Message:
    here, own = await desk.database.read(partial(_both, invocation=invocation))
    return watching(here, own, page, is_direct=invocation.is_direct)


def _both(session: Session, invocation: Invocation) -> tuple[Sequence[WatchRow], Sequence[WatchRow]]:
    """The channel's watches, and the person's."""
    return _there(session, invocation, is_own=False), _there(session, invocation, is_own=True)


async def _plan_unwatch(desk: Desk, invocation: Invocation) -> WatchRow:
    """The watch of a name of any kind: the channel's, else the person's. Raises CommandError with a button for each."""
    here, own = await desk.database.read(partial(_both, invocation=invocation))
    words = words_of(invocation.text)
    for one in (words, _without_end(words)):
        names, is_own = _named(one)
        rows = own if is_own else [*here, *own]
        keys = {(kind, str(name_key(name))) for kind, name in names}
        if there := [one for one in rows if {(None, one.name_key), (one.kind, one.name_key)} & keys]:
            break
    typed = " ".join(name for _, name in names)
    there = [one for one in there if one in here] or there or (list(rows) if typed.casefold() in OF_ALL else [])
    days = [one.text for one in words[len(one) :] if one.text.casefold() in {"today", "tomorrow"}]
    if len(there) == 1 and not days:
        return there[0]
    near = likely(typed, [one.name for one in rows])
    meant = there or [one for one in rows if one.name in near]
    lines = {f"{one.name} ({one.kind}{', for you' if one.person_id else ''})": end_line(one) for one in meant}
    if not typed:
        told = "Name what is no longer to be watched: /racing unwatch Misty Ghost."
    elif there and days:
        told = f"A watch can't end for {days[0]} alone, so nothing was changed. What is to end?"
    elif there:
        told = "One watch at a time: which is to end?"
    else:
        told = f"Nothing called {quoted(typed)} is watched here or for you."
    raise CommandError(told, lines=lines | _WATCHED)


def _unwatch(session: Session, desk: Desk, invocation: Invocation, planned: WatchRow) -> WatchWords:
    """End the watch. Raises CommandError for a watch that has ended before."""
    name, is_own = WatchedName(WatchKind(planned.kind), planned.name), planned.person_id is not None
    if not watches.end(session, planned):
        raise CommandError(GONE, lines=_WATCHED)
    if not is_own:
        note(session, desk, invocation, "unwatch", before=name.words, after=None)
        announce(session, desk, invocation, unwatched_by(invocation.user_id, name))
    return WatchWords((name,), is_own)


async def _may_end(desk: Desk, invocation: Invocation, planned: WatchRow) -> WatchRow:
    """Raises CommandError for a channel's watch without permission."""
    if planned.person_id is None:
        await may_change(desk, invocation)
    return planned


def _unwatched(ended: WatchWords) -> Message:
    return unwatched(ended.names[0], ended.line, is_own=ended.is_own)


def _is_named(row: WatchRow, name: WatchedName | None) -> bool:
    return name is not None and (row.kind, row.name_key) == (name.kind, str(name_key(name.name)))


WATCH_COMMAND = Command("watch", _answer, _plan, _ask, _may_watch, _changes, _watch)
WATCHING_COMMAND = Command("watching", _answer_watching, no_words("watching", "/racing watch adds a name."))
UNWATCH_COMMAND = Command("unwatch", says(_unwatched), _plan_unwatch, _may_end, store=_unwatch)
