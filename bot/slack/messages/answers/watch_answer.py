"""The answers of `/racing watch` and `/racing watching`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind, WatchRow
from bot.errors import question
from bot.events.race_state import CONFLICTS, RaceOutcome
from bot.events.races import RESERVED, Race, Runner
from bot.events.sentences import counted, listed
from bot.events.typed_text import typed_line
from bot.events.watched import name_key
from bot.outbox.message import Message
from bot.racedata.day_views import KnownName
from bot.slack.messages.answers.outcome_words import NO_RESULT_YET, RaceView
from bot.slack.messages.kit.blocks import actions, command_button, section
from bot.slack.messages.kit.layout import message, paged, sections, told, unit
from bot.slack.messages.kit.names import HORSE_MAX, SHORT_MAX, race_day, race_name
from bot.slack.messages.kit.text import first_of, given, joined, named, safe
from bot.slack.messages.kit.times import moment_for_readers

LOST = CONFLICTS | {RaceOutcome.ABANDONED, RaceOutcome.MAY_BE_LOST}

OUTS = IS_OUT, IS_RESERVE = "non-runner", "reserve"

WATCHES_PER_PAGE = 15

RACES_MAX = 5
"""Races named of each kind: to come, off, run. All abandonments and conflicts are named."""


@dataclass(frozen=True)
class NowWatched:
    """`near`: similar published names, each with the line of its button."""

    name: WatchedName
    known: KnownName
    is_new: bool = True
    near: Mapping[str, str] = field(default_factory=dict)


def watched(names: Sequence[NowWatched], now: datetime, *, is_own: bool, ended: WatchedName | None = None) -> Message:
    """Unknown names come first: a misspelt name brings nothing. `ended`: the replaced watch."""
    new, old = ([_words(one.name) for one in names if one.is_new is is_new] for is_new in (True, False))
    where = "for you" if is_own else "here"
    who_is_told = "You are told by direct message" if is_own else "This channel is told"
    said = [
        f"Watched {where} from now on: {listed(new)}." if new else None,
        f"Watched {where} already: {listed(old)}." if old else None,
        f"No longer watched {where}: {_words(ended)}." if ended else None,
        f"{who_is_told} of declarations, abandonments and results, in one message a race.",
    ]
    unknown = [_unknown(one) for one in names if not one.known.is_known]
    lines = [*unknown, joined(said, " "), *(_known(one, now) for one in names if one.known.is_known)]
    buttons = [command_button(f"Watch {near} instead", line) for one in names for near, line in one.near.items()]
    buttons.append(command_button("What is watched", "watching"))
    return message(None, [sections(lines), actions(buttons)])


def watching(here: Sequence[WatchRow], own: Sequence[WatchRow], page: int, *, is_direct: bool) -> Message:
    """The channel's watches, and the person's own."""
    if not (here or own):
        where = "for you" if is_direct else "here or for you"
        text = (
            f'Nothing is watched {where}. For a horse: `/racing watch horse:"Name"`. `trainer:` and `jockey:` work too.'
        )
        return told(text)
    lines = [*(_line(row, "here") for row in here), *(_line(row, "for you, by direct message") for row in own)]
    units = [
        unit(section(line, command_button("End", end_line(row))))
        for line, row in zip(lines, [*here, *own], strict=True)
    ]
    title = "Watched here and for you" if here and own else "Watched here" if here else "Watched for you"
    return paged(title, units, "watching", page, most=WATCHES_PER_PAGE)


def end_line(row: WatchRow) -> str:
    """The words after /racing."""
    return typed_line(["unwatch", f"{row.kind}:{row.name}", "me" if row.person_id else None])


def unwatched(name: WatchedName, again: str, *, is_own: bool) -> Message:
    where = "for you" if is_own else "here"
    return told(f"No longer watched {where}: {_words(name)}.", command_button("Watch again", again))


def races_still_coming(watched: int) -> str:
    """Where subscriptions have ended; "" without a watched name."""
    if not watched:
        return ""
    return f"Still coming: races of {counted(watched, 'watched name')} (`/racing watching`)."


def _words(name: WatchedName) -> str:
    return f"{name.kind} {safe(name.name, HORSE_MAX)}"


def _line(row: WatchRow, where: str) -> str:
    by = None if row.person_id else f"by {named(row.created_by)}"
    name = f"*{safe(row.name, HORSE_MAX)}* ({row.kind}) {where}"
    return joined([name, by, f"since {moment_for_readers(row.created_at)}"], ", ")


def _unknown(one: NowWatched) -> str:
    meant = [safe(near, HORSE_MAX) or "?" for near in one.near]
    return f"No {_words(one.name)} is known yet.{question(meant)} I watch the name as typed."


def _known(one: NowWatched, now: datetime) -> str:
    """Abandonments and conflicts first."""
    name, has = safe(one.name.name, HORSE_MAX) or "?", "is" if one.name.kind is WatchKind.HORSE else "has"
    if not one.known.coming:
        return f"No race of {name} is known from today on."
    leads = {
        "lost": f"{name}: ",
        **{word: f"{name} {has} a {word}: " for word in OUTS},
        "coming": f"{name} is declared: ",
        "gone": f"Already off, {NO_RESULT_YET}: {name}, ",
        "run": f"Already run: {name}, ",
    }
    races: dict[str, list[str]] = {word: [] for word in leads}
    for race, outcome in one.known.coming:
        view = RaceView(race, outcome, now)
        words = joined([_race(race), _published_as(one.name, race), view.became()], ", ")
        is_open = "gone" if view.is_overdue else "coming"
        ride = _out(one.name, race) or (is_open if outcome is RaceOutcome.OPEN else "run")
        races["lost" if outcome in LOST else ride].append(words)
    shown = races | {word: first_of(named, RACES_MAX) for word, named in races.items() if word != "lost"}
    said = [f"{lead}{'; '.join(shown[word])}." for word, lead in leads.items() if shown[word]]
    is_earlier_news = any(races[word] for word in ("lost", "run", *OUTS))
    return joined([*said, "No alert follows for earlier news." if is_earlier_news else None], " ")


def _published_as(watched: WatchedName, race: Race) -> str | None:
    """The published name, where the country of birth stands in one of the two names alone: maybe two horses."""
    wanted, same = name_key(watched.name), [name for _, name in _runners(watched, race)]
    if not same or any(name_key(name).country == wanted.country for name in same):
        return None
    return f"as {safe(same[0], HORSE_MAX)}"


def _out(watched: WatchedName, race: Race) -> str | None:
    """One of OUTS, if the name has no other runner in the race."""
    runners = [runner for runner, _ in _runners(watched, race)]
    if not runners or not all(runner.is_out for runner in runners):
        return None
    return IS_RESERVE if any(runner.position == RESERVED for runner in runners) else IS_OUT


def _runners(watched: WatchedName, race: Race) -> list[tuple[Runner, str]]:
    """The watched runners of a race, with the published name."""
    wanted = name_key(watched.name)
    published = ((runner, getattr(runner, watched.kind)) for runner in race.runners)
    return [(runner, name) for runner, name in published if isinstance(name, str) and name_key(name).may_be(wanted)]


def _race(race: Race) -> str:
    """The race with the region, because courses share names."""
    region = given("({})", safe(race.region, SHORT_MAX))
    return joined([joined([race_name(race), region], " "), race_day(race)], ", ")


def unwatched_by(user_id: str, name: WatchedName) -> Message:
    return told(f"{named(user_id)} ended the watch on {name.kind} {safe(name.name)} here.")
