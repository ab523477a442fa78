"""What the demo shows in the terminal: who types what, and what arrives in which channel, as it happens."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from bot.sandbox.demo_markup import body_lines, readable, small_print
from bot.sandbox.slack.values import EphemeralMessage, PostedMessage

WIDTH_OF_A_PIPE = 100
POST_LINES = 7
"""Of a post, small print left out: a screen holds several of them, and whoever wants it whole has it in Slack."""

ANSWER_LINES = 13
_NAME_WIDTH = 15
_NARROWEST = 24
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue")
_ALARM = "bold white on red"


def make_console(file: TextIO, environ: Mapping[str, str] = os.environ) -> Console:
    """A console as wide as the terminal, or 100 columns without one; plain there, and where NO_COLOR is set."""
    if hasattr(file, "reconfigure"):
        # A terminal that knows no "é" shows a "?" for it, and the demo goes on.
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


MARKS = ("Superseded ", "Contradicted ")
"""How the text of a message begins that a later one replaces: the message itself was shown before."""


class Screen:
    """Prints the demo. `channels` and `people` are names by id; a message seen before is shown by its first line."""

    def __init__(self, channels: Mapping[str, str], people: Mapping[str, str], console: Console | None = None) -> None:
        self._console = console or make_console(sys.stdout)
        self._channels = dict(channels)
        self._names = {**channels, **people}
        self._seen: set[str] = set()
        self._answer_lines: int | None = ANSWER_LINES

    def show_whole_answers(self) -> None:
        """Clip no answer from now on: a person at the terminal asked for the answer."""
        self._answer_lines = None

    def title(self, words: str) -> None:
        """A new part begins."""
        self._console.print()
        self._print(Text(words, "bold"))

    def note(self, words: str) -> None:
        """What happens outside Slack, or about the demo itself."""
        self._lines("", "", [Text(words, "dim")], style="dim")

    def plain(self, words: str) -> None:
        """A line over the whole width."""
        self._print(Text(words))

    def problem(self, words: str) -> None:
        """What went wrong."""
        self._print(Text(words, "bold red"))

    def typed(self, channel_id: str, user_id: str, line: str) -> None:
        """A person types a command."""
        words = Text.assemble((f"{self._names.get(user_id, user_id)} types ", "dim"), (line, "bold"))
        self._lines(channel_id, "┊", [words], style="dim")

    def message(self, message: PostedMessage | EphemeralMessage) -> None:
        """What the bot posted or edited in a channel, or showed to one person."""
        if isinstance(message, EphemeralMessage):
            self._answer(message)
        else:
            self._post(message)

    def _post(self, message: PostedMessage) -> None:
        alarm = message.text.startswith("ABANDONED")
        if message.text in self._seen or message.text.startswith(MARKS):
            lines = [readable(message.text, self._names)]
        else:
            lines = _clipped(body_lines(message.blocks, message.text, self._names), POST_LINES)
        self._seen.add(message.text)
        if alarm:
            lines[0].stylize(_ALARM)
        if message.edited:
            lines[-1].append(" (edited)", "dim")
        self._lines(message.channel, "┃" if alarm else "│", lines, style="bold red" if alarm else "dim")

    def _answer(self, message: EphemeralMessage) -> None:
        """Below the line that was typed, without the channel's name: it is in no channel's history."""
        lines = _clipped(body_lines(message.blocks, message.text, self._names), self._answer_lines)
        lines += [_dim(line) for line in small_print(message.blocks, self._names)]
        self._lines("", "┊", lines, style="dim")

    def _lines(self, channel_id: str, edge: str, lines: Sequence[Text], style: str) -> None:
        """The lines beside the channel's name, wrapped to what is left of the width."""
        name = f"#{self._channels[channel_id]}" if channel_id in self._channels else ""
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
    """As many lines as are shown, and how many more there are; all lines without `most`."""
    if most is None or len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], Text(f"… and {len(lines) - most + 1} more lines", "dim")]


def _dim(line: Text) -> Text:
    line.stylize("dim")
    return line
