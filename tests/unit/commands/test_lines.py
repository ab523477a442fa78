"""Typed lines of every command with words: each line of lines.txt with the outcome, to the letter.

Before a `|` stand the lines that the channel typed before; a heading has such lines for all its rows. A line has its
meaning (`=`) and the further words (`~`), or the refusal (`!`) with its buttons, and the words of its form. After a
wanted change, write the file anew and read the diff: UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/commands/test_lines.py
"""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.errors import CommandError, StorageUnavailable
from bot.slack.commands.table import find_command
from bot.slack.commands.watch import read_watch_words
from tests.unit.commands.town import REGIONS, Town, make_desk, no_meetings, refusal, typed

FILE = Path(__file__).parent / "lines.txt"
CHANGING = ("subscribe ", "unsubscribe ")
SECTIONS = ["# " + part for part in FILE.read_text(encoding="utf-8").split("# ")[1:]]


async def meaning(town, here, line):
    """The meaning of an understood line, and the notes beside."""
    command, words = find_command(line)
    assert command is not None
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
        return f"until {done.until and f'{done.until:%a %Y-%m-%d %H:%M}'} UTC, typed in {done.zone}", ()
    if name in {"mute", "unmute"}:
        meeting = done[0] if name == "mute" else done
        return f"{meeting.course.name} {meeting.race_date}", ()
    if name == "trace":
        return f"trace {done}", ()
    if name == "unwatch":
        return done.names[0].words, ()
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
