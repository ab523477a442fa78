"""Any line is taken as meant, or refused with working buttons; any text is read, or refused.

The lines of lines.txt are compared to the letter. Before a `|` stand the lines that the channel typed before; a heading
has such lines for all its rows. A line has its meaning (`=`) and the further words (`~`), or the refusal (`!`) with its
buttons, and the words of its form. After a wanted change, write the file anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/commands/test_any_line.py
"""

import os
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.channels.filters import HERE, is_mention
from bot.errors import CommandError, StorageUnavailable
from bot.events.event import Topic
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.day_commands import day_grammar
from bot.slack.commands.list_commands import read_target
from bot.slack.commands.pause_commands import PAUSE_COMMAND, read_duration, read_until
from bot.slack.commands.table import HELPED, find_command, unknown_command
from bot.slack.commands.watch import read_watch_words
from bot.slack.language.request import read, request_of
from bot.slack.workspace import Person
from tests.rows import over
from tests.unit.commands.town import COUNTRIES, COURSES, NOW, REGIONS, Town, make_desk, no_meetings, refusal, typed

LISTS = Lexicon(REGIONS, COURSES, COUNTRIES)

JOINING = ["and", "or", "only", "for", "from", "the", "except", "without", "no", ",", "but", "of", "not"]
PLACES = ["GB", "IRE", "NO", "gb", "Ireland", "great britain", "UK", "Hong Kong", "Sweden", "Wales"]
QUOTED = ['"New South Wales"']
NAMES = ["Ascot", "York", "Asct", "ffos las", "Ffos Las", "Clonmel and Powerstown", "clonmel", "course:York", "cr_2"]
TOPICS = ["results", "racecards", "abandonments", "reslts", "all", "cards"]
DAYS = ["today", "tommorow", "Sunday", "22/11/2026", "11/22/2026", "22 Nov", "last friday", "10-11-12"]
LINES = st.lists(st.sampled_from([*JOINING, *PLACES, *QUOTED, *NAMES, *TOPICS, *DAYS]), max_size=6).map(" ".join)


@pytest.mark.parametrize("commands", [["subscribe"], ["unsubscribe"], ["racecard", "results", "pause", "courses"]])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_any_line_is_understood_or_refused_with_buttons_that_all_work(town, commands, data):
    command, line = data.draw(st.sampled_from(commands)), data.draw(LINES)
    has_some = command in {"unsubscribe", "pause"} or (command == "subscribe" and data.draw(st.booleans()))
    before = ["subscribe GB except York", "subscribe IRE results"] if has_some else []
    kept = (command, *before)
    here = town.kept[kept] = town.kept.get(kept) or await town.here(*before)
    error = await town.refused(here, f"{command} {line}")
    if error is None:
        return
    assert str(error)
    for pressed in error.lines.values():
        if "subscribe" not in command:
            await town.types(here, pressed)
            continue
        there = await town.here(*before)
        received = await town.receives(there)
        await town.types(there, pressed)
        assert await town.receives(there) != received, pressed


async def test_examples_of_the_help_are_understood(town):
    before = ("subscribe GB", "subscribe GB racecards", "mute York", "mute Ascot GB", "watch horse:Frankel")
    examples = [line for helped in HELPED.values() for line in helped.examples]
    for line in examples:
        if "kempton" not in line and "coverage" not in line:
            said = f"{line} GB" if "Ascot" in line and "GB" not in line else line
            assert await refusal(town.desk, await town.here(*before), said) is None, line


@pytest.mark.parametrize("zone", [None, "Nowhere"])
async def test_pause_until_a_time_is_in_utc_where_the_zone_of_whoever_typed_it_is_unknown(town, zone):
    async def from_there(_user_id):
        return Person(zone=zone) if zone else None

    here = await town.here("subscribe GB")
    town.desk.people.person = from_there
    until, ends_in = await PAUSE_COMMAND.plan(town.desk, replace(here, text="until 18:00"))
    assert (f"{until:%H:%M}", ends_in) == ("18:00", "UTC")


@over(
    ("typed_at", "until"),
    [
        ("2026-11-19 23:00", "2026-11-20 08:00"),
        ("2026-11-20 04:59", "2026-11-20 08:00"),
        ("2026-11-20 05:00", "2026-11-20 23:00"),
        ("2026-11-20 22:59", "2026-11-20 23:00"),
    ],
)
async def test_tonight_is_the_night_that_is_or_comes_in_the_zone_of_whoever_typed_it(town, typed_at, until):
    """In Paris midnight is at 23:00 UTC."""
    now = datetime.fromisoformat(f"{typed_at}Z")
    at_night: Any = SimpleNamespace(**vars(town.desk) | {"clock": lambda: now})
    for words in ("tonight", "for tonight"):
        ends, _ = await PAUSE_COMMAND.plan(at_night, replace(await town.here("subscribe GB"), text=words))
        assert f"{ends:%Y-%m-%d %H:%M}" == until


@over(
    ("typed_at", "words", "offered"),
    [
        ("2026-11-19 23:30", "until tomorrow", ["2026-11-20 09:00", "2026-11-21 00:00"]),
        ("2026-11-19 23:30", "until tomorrow morning", ["2026-11-20 09:00", "2026-11-21 09:00"]),
        ("2026-11-20 04:59", "until tmrw 6pm", ["2026-11-20 18:00", "2026-11-21 18:00"]),
        ("2026-11-20 05:00", "until tomorrow morning", []),
        ("2026-11-20 04:59", "until tomorrow 5am", []),
        ("2026-11-19 23:30", "until Saturday", []),
    ],
)
async def test_tomorrow_typed_at_night_may_be_the_day_that_has_begun(town, typed_at, words, offered):
    now = datetime.fromisoformat(f"{typed_at}Z")
    at_night: Any = SimpleNamespace(**vars(town.desk) | {"clock": lambda: now})
    error = await refusal(at_night, await town.here("subscribe GB"), f"pause {words}")
    assert [line.removeprefix("pause until ") for line in (error.lines.values() if error else ())] == offered


# Any text

TYPED = st.text() | st.sampled_from(
    ["<@U1|alice>", "<#C1|gb>", "all", "ALL", "@alice", 'course:"', '-course:""', "x" * 10_000, "-" * 10_000]
)
MENTIONS = ["here", "U1", "S1", "W1", "channel", "everyone", "U1>", "<!here>", "u1", "U\N{ARABIC-INDIC DIGIT ONE}"]
MOMENTS = st.lists(st.sampled_from(["18:00", "6", "pm", "Sunday", "22", "Nov", "2026", "1/2"])).map(" ".join)
PARTS = ("GB", "last", "friday", '"', "“", "«", "'", "\u200f", "page:2", "course:", "2026-11-21", "x" * 500)
WORDS = st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=30).map(" ".join)
LONG = st.sampled_from(["a" * 10_000, '"' * 10_000, "a " * 5_000, "\u202e" * 10_000])


def subscribes(wanted):
    words = [word for name in ("courses", "regions", "unknown") for word in (*wanted.of(name), *wanted.out(name))]
    return all(words) and set(wanted.of("topics")) <= set(Topic)


def audits(target):
    channel_id, user_id, words = target
    return bool(words) and not (channel_id and user_id)


YEAR = timedelta(days=365)
READERS: dict[str, tuple[Any, Any, Any]] = {
    "subscribe": (read, st.lists(TYPED, max_size=5).map(" ".join), subscribes),
    "audit": (read_target, TYPED, audits),
    "racecard": (
        lambda text: request_of(day_grammar().read(text, LISTS, NOW.date())),
        LONG | WORDS | st.text(max_size=60),
        lambda wanted: all(word.strip() for word in wanted.of("unknown")),
    ),
    "pause until": (lambda text: read_until(text, NOW), st.text() | MOMENTS, lambda until: NOW < until <= NOW + YEAR),
    "pause": (read_duration, st.text(), lambda length: length is None or timedelta(0) < length <= YEAR),
}
"""The reader of the words, the typed words, and the check of understood words."""


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_any_text_is_read_or_refused(name, data):
    read, texts, holds = READERS[name]
    try:
        understood = read(data.draw(texts))
    except CommandError:
        return
    assert holds(understood)


@given(st.permutations(["GB", "IRE", "results", 'course:"Ascot Heath"', "-course:York", '"cards"']))
def test_subscribe_takes_its_words_in_any_order(words):
    wanted = read("  ".join(words))
    assert set(wanted.of("regions")) == {"GB", "IRE"}
    assert set(wanted.of("topics")) == {Topic.RESULTS, Topic.RACECARDS}
    assert (wanted.of("courses"), wanted.out("courses")) == (("Ascot Heath",), ("York",))


@over(
    ("text", "read"),
    [
        *((text, ("C1A", None, "in <#C1A>")) for text in ("C1A", "<#C1A|gb-racing>")),
        *((text, (None, "U1A", "by <@U1A>")) for text in ("U1A", "<@U1A>")),
        *((text, (None, None, "anywhere")) for text in ("All", "all")),
    ],
)
def test_audit_takes_ids_bare_and_as_slack_writes_them_and_says_whose_it_is_by_name(text, read):
    assert read_target(text) == read


def test_audit_of_a_name_says_that_ids_are_taken():
    with pytest.raises(CommandError, match="/racing audit all"):
        read_target("@alice")


@given(st.text() | st.sampled_from(MENTIONS))
def test_mention_is_an_id_or_here_and_nothing_else(text):
    if is_mention(text):
        assert text == HERE or (text[0] in "USW" and text.isascii() and text.isalnum() and text.isupper())


# Each line of lines.txt with the outcome, to the letter


FILE = Path(__file__).parent / "lines.txt"
CHANGING = ("subscribe ", "unsubscribe ")
SECTIONS = ["# " + part for part in FILE.read_text(encoding="utf-8").split("# ")[1:]]


async def meaning(town, here, line):
    """The meaning of an understood line, and the notes beside."""
    command, words = find_command(line)
    if command is None:
        raise unknown_command(words)
    name = command.name
    if name == "watch":
        read = read_watch_words(words)
        assert read_watch_words(read.line.removeprefix("watch ")) == read
        return read.line, ()
    if name in {"racecard", "results", "next"}:
        asked = []

        async def card(region, day, course):
            said = "" if line.startswith(name) else f"{name} "
            asked.append(f"{said}{day:%a %Y-%m-%d} {region} {course and (course.course_id or course.name)}")
            raise StorageUnavailable

        town.desk.races = SimpleNamespace(card=card, known=no_meetings, progress=lambda _region: None)
        with pytest.raises(StorageUnavailable):
            await command.say(town.desk, typed(words))
        off = (await command.plan(town.desk, typed(words))).off
        return f"{asked[0]} {off or ''}".strip(), ()
    done = await town.types(here, line)
    if name == "pause":
        until, zone = await command.plan(town.desk, replace(here, text=words))
        return f"until {until and f'{until:%a %Y-%m-%d %H:%M}'} UTC, typed in {zone}", ()
    if name in {"mute", "unmute"}:
        meeting = done[0] if name == "mute" else done
        return f"{meeting.course.name} {meeting.race_date}", ()
    if name == "trace":
        return f"trace {done}", ()
    if name == "unwatch":
        return done.names[0].words, ()
    if f"{name} " not in CHANGING:
        return name, ()
    return "; ".join(await town.receives(here)) or "nothing", getattr(done, "notes", ())


async def check_buttons(town, before, here, line, lines):
    """Each button's line is understood, and changes the channel's subscriptions; the refused line changed nothing."""
    received = await town.receives(here)
    with pytest.raises(CommandError):
        await meaning(town, here, line)
    assert await town.receives(here) == received
    for pressed in lines:
        # The same button after the same lines does the same.
        if (*before, pressed) in town.pressed:
            continue
        town.pressed.add((*before, pressed))
        if not pressed.startswith(CHANGING):
            assert await refusal(town.desk, here, pressed) is None, pressed
            continue
        there = await town.here(*before)
        await town.types(there, pressed)
        assert await town.receives(there) != received, pressed


async def follows(town, before, line):
    here = town.kept.pop(before, None) or await town.here(*before)
    error = await town.refused(here, line)
    if error is None:
        means, notes = await meaning(town, here, line)
        return " ~ ".join([f" = {means}", *notes])
    await check_buttons(town, before, here, line, error.lines.values())
    # Nothing has changed in it.
    town.kept[before] = here
    buttons = {**error.lines, "Open the form": error.form, "Edit": error.edits}
    shown = [f" [{label}] {words}".rstrip() for label, words in buttons.items() if words is not None]
    return "".join([f"\n    ! {error}", *shown])


@pytest.mark.parametrize("kept", [pytest.param(section, id=section.partition("\n")[0]) for section in SECTIONS])
async def test_lines_mean_or_are_answered_as_kept(database, kept):
    heading, *rows = kept.rstrip().replace("\n    !", "\t!").splitlines()
    town = Town(await make_desk(database, regions=() if "without lists" in heading else REGIONS))
    first = heading.partition(": ")[2].split(" | ") if ": " in heading else []
    found = heading + "\n"
    for row in rows:
        lines = re.split(" = |\t", row)[0]
        *before, line = lines.split(" | ")
        found += lines + (await follows(town, (*first, *before), line)) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FILE.write_text(FILE.read_text(encoding="utf-8").replace(kept.rstrip() + "\n", found), encoding="utf-8")
    assert found == kept.rstrip() + "\n"
