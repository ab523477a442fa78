"""Commands typed at the demo's terminal."""

import asyncio
import os
from typing import cast

from sandbox.demo_prompt import answer, typed_lines
from sandbox.demo_stage import Stage


async def test_lines_come_whole_however_they_arrive():
    reading, writing = os.pipe()
    lines = []

    async def read():
        async for line in typed_lines(reading):
            lines.append(line)  # noqa: PERF401  what came before the end is what counts

    task = asyncio.create_task(read())
    for part in (b"/racecard", b" IRE\n/us", b"age\n\xff\n", b"unfinished"):
        os.write(writing, part)
        await asyncio.sleep(0)
    os.close(writing)
    async with asyncio.timeout(5):
        await task
    os.close(reading)
    assert lines == ["/racecard IRE", "/usage", "\N{REPLACEMENT CHARACTER}"]


async def test_loop_goes_on_after_a_line_while_no_other_is_typed():
    reading, writing = os.pipe()
    lines = typed_lines(reading)
    async with asyncio.timeout(5):
        os.write(writing, b"/usage\n")
        assert await anext(lines) == "/usage"
        waiting = asyncio.ensure_future(anext(lines))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        os.write(writing, b"/racecard\n")
        assert await waiting == "/racecard"
    await lines.aclose()
    os.close(writing)
    os.close(reading)


class Said:
    """A stage that keeps what is said on it."""

    def __init__(self):
        self.said, self.notes, self.screen = [], [], self

    async def say(self, channel_id, user_id, line):
        self.said.append((channel_id, line))
        return None if line.startswith("/rac") else "no such command"

    def note(self, words):
        self.notes.append(words)


async def test_line_is_said_where_its_first_word_says():
    stage = Said()
    for line in ("/racecard IRE", " #gb-racing  /racing list ", "#gb-racing", "", "/foo", "#nowhere /racing"):
        await answer(cast("Stage", stage), line)
    assert stage.said == [
        ("C0ALL", "/racecard IRE"),
        ("C0GB", "/racing list"),
        ("C0ALL", "/foo"),
    ]
    assert stage.notes == [
        "no such command",
        "#nowhere is no channel here; the channels are #gb-racing, #ire-racing, #everything, #racing-admins.",
    ]
