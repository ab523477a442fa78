"""The demo in the terminal."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from sandbox.demo_markup import body_lines, button_line, readable, small_print
from sandbox.slack.values import EphemeralMessage, PostedMessage

WIDTH_OF_A_PIPE = 100
POST_LINES = 9
"""A screen has room for several posts."""

ANSWER_LINES = 13
_NAME_WIDTH = 15
_NARROWEST = 24
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue")
_ALARM = "bold white on red"


def make_console(file: TextIO, environ: Mapping[str, str] = os.environ) -> Console:
    """100 columns without a terminal. Plain without a terminal, and with NO_COLOR."""
    if hasattr(file, "reconfigure"):
        # A terminal without "é" shows a "?".
        file.reconfigure(errors="replace")
    terminal = file.isatty()
    colours = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Console(
        file=file,
        width=None if terminal else WIDTH_OF_A_PIPE,
        force_terminal=terminal,
        color_system="auto" if colours else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


DIRECT = "direct message"

MARKS = ("Superseded ", "Contradicted ")
"""The first words of a message that a later message replaces."""


class Screen:
    """`channels` and `people` are names by id."""

    def __init__(self, channels: Mapping[str, str], people: Mapping[str, str], console: Console | None = None) -> None:
        self._console = console or make_console(sys.stdout)
        self._channels = dict(channels)
        self._names = {**channels, **people}
        self._seen: set[str] = set()
        self._answer_lines: int | None = ANSWER_LINES
        self._is_typed_at = False

    def show_to_a_person(self) -> None:
        """Whole answers, and buttons: a person at the terminal can press buttons."""
        self._answer_lines, self._is_typed_at = None, True

    def title(self, words: str) -> None:
        self._console.print()
        self._print(Text(words, "bold"))

    def note(self, words: str) -> None:
        self._lines("", "", [Text(words, "dim")], style="dim")

    def plain(self, words: str) -> None:
        self._print(Text(words))

    def problem(self, words: str) -> None:
        self._print(Text(words, "bold red"))

    def typed(self, channel_id: str, user_id: str, line: str) -> None:
        words = Text.assemble((f"{self._names.get(user_id, user_id)} types ", "dim"), (line, "bold"))
        self._lines(channel_id, "┊", [words], style="dim")

    def message(self, message: PostedMessage | EphemeralMessage) -> None:
        if isinstance(message, EphemeralMessage):
            self._answer(message)
        else:
            self._post(message)

    def _post(self, message: PostedMessage) -> None:
        alarm = message.text.startswith("ABANDONED")
        if message.text in self._seen or message.text.startswith(MARKS):
            whole = body_lines(message.blocks, message.text, self._names)
            lines = whole[:1] if alarm else [readable(message.text, self._names)]
        else:
            lines = _clipped(body_lines(message.blocks, message.text, self._names), POST_LINES)
        self._seen.add(message.text)
        if alarm:
            lines[0].stylize(_ALARM)
        if message.edited:
            lines[-1].append(" (edited)", "dim")
        lines += self._buttons(message)
        self._lines(message.channel, "┃" if alarm else "│", lines, style="bold red" if alarm else "dim")

    def _answer(self, message: EphemeralMessage) -> None:
        """Only one person sees the answer, so no channel's name is shown."""
        lines = _clipped(body_lines(message.blocks, message.text, self._names), self._answer_lines)
        lines += [_dim(line) for line in small_print(message.blocks, self._names)]
        lines += self._buttons(message)
        self._lines("", "┊", lines, style="dim")

    def _buttons(self, message: PostedMessage | EphemeralMessage) -> list[Text]:
        line = button_line(message.blocks) if self._is_typed_at else None
        return [line] if line else []

    def _lines(self, channel_id: str, edge: str, lines: Sequence[Text], style: str) -> None:
        name = f"#{self._channels[channel_id]}" if channel_id in self._channels else ""
        name = name or (DIRECT if channel_id.startswith("D") else "")
        first = Text(f"{name:<{_NAME_WIDTH}} ", self._colour(channel_id))
        room = max(_NARROWEST, self._console.width - _NAME_WIDTH - 3)
        for line in lines:
            for row in line.wrap(self._console, room):
                self._print(Text.assemble(first, (f"{edge} " if edge else "", style), row))
                first = Text(" " * (_NAME_WIDTH + 1))

    def _print(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text)

    def _colour(self, channel_id: str) -> str:
        known = list(self._channels)
        return f"bold {_COLOURS[known.index(channel_id) % len(_COLOURS)]}" if channel_id in known else ""


def _clipped(lines: Sequence[Text], most: int | None) -> list[Text]:
    if most is None or len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], Text(f"… and {len(lines) - most + 1} more lines", "dim")]


def _dim(line: Text) -> Text:
    line.stylize("dim")
    return line
