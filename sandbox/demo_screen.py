"""The demo in the terminal, and Slack's messages as its lines."""

import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from sandbox.slack.values import Json, PostedMessage

_TOKEN = re.compile(r"<([^<>\n]+)>")
_STYLED = re.compile(r"(?<![\w*])\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])|`(?P<code>[^`\n]+)`")
_STYLES = {"bold": "bold", "code": "cyan"}


def readable(markup: str, names: Mapping[str, str] | None = None) -> Text:
    """Styles, the fallback of a date token, entities as characters. In a terminal an em space is as narrow as a space.

    `names` are people's and channels' names by id. docs.slack.dev/messaging/formatting
    """
    known = names or {}
    worded = _TOKEN.sub(lambda token: _in_words(token[1], known), markup).replace("\N{EM SPACE}", "   ")
    text, end = Text(), 0
    for styled in _STYLED.finditer(worded):
        kind = str(styled.lastgroup)
        text.append(unescaped(worded[end : styled.start()]))
        text.append(unescaped(styled[kind]), _STYLES[kind])
        end = styled.end()
    return text.append(unescaped(worded[end:]))


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def body_lines(blocks: Iterable[Json], text: str, names: Mapping[str, str] | None = None) -> list[Text]:
    """The message without its context blocks; `text` if the blocks show nothing."""
    shown = [line for block in blocks if block.get("type") != "context" for line in _block_lines(block, names)]
    return shown or list(readable(text, names).split("\n"))


def small_print(blocks: Iterable[Json], names: Mapping[str, str] | None = None) -> list[Text]:
    return [line for block in blocks if block.get("type") == "context" for line in _block_lines(block, names)]


def button_line(blocks: Iterable[Json]) -> list[Text]:
    """For example "[Full result] [Who was told]"; nothing without buttons."""
    elements = (one for block in blocks for one in (*block.get("elements", ()), block.get("accessory") or {}))
    labels = [f"[{one['text']['text']}]" for one in elements if one.get("type") == "button"]
    return [Text(" ".join(labels), "cyan")] if labels else []


def _block_lines(block: Json, names: Mapping[str, str] | None) -> Iterator[Text]:
    """A block for the mouse only has no lines."""
    kind = block.get("type")
    if kind == "header":
        for line in _read(block["text"], names):
            line.stylize("bold")
            yield line
    elif kind == "section":
        yield from _read(block.get("text", {}), names)
        yield from _joined(block.get("fields", ()), ": ", names)
    elif kind == "context":
        yield from _joined((each for each in block["elements"] if "text" in each), " ", names)
    elif kind == "data_table":
        # A table's cells are raw: entities are left as typed.
        head, *rows = (Text("  ".join(cell["text"] for cell in row)) for row in block["rows"])
        head.stylize("dim")
        yield from (head, *rows)
    elif kind == "container":
        # Collapsed, as in a channel.
        yield from (Text("▸ ").append_text(line) for line in _read(block["title"], names))


def _joined(texts: Iterable[Json], within: str, names: Mapping[str, str] | None) -> Iterator[Text]:
    parts = [Text(within).join(_read(text, names)) for text in texts]
    if parts:
        yield Text(" · ").join(parts)


def _read(text: Json, names: Mapping[str, str] | None) -> list[Text]:
    content = text.get("text", "")
    if not content:
        return []
    whole = readable(content, names) if text.get("type") == "mrkdwn" else Text(unescaped(content))
    return list(whole.split("\n"))


def _in_words(token: str, names: Mapping[str, str]) -> str:
    """The words for "<…>", still escaped: a label, a name, or the address."""
    target, _, label = token.partition("|")
    if target.startswith(("@", "#")):
        return target[0] + (label or names.get(target[1:], target[1:]))
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    return label or target.removeprefix("mailto:")


WIDTH_OF_A_PIPE = 100
POST_LINES = 9
"""A screen has room for several posts."""

ANSWER_LINES = 13
_NAME_WIDTH = 15
_NARROWEST = 24
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue")
_ALARM = "bold white on red"


class _PipedConsole(Console):
    def on_broken_pipe(self) -> None:
        """End as by Ctrl-C: nobody reads any more, as after `racing-bot demo | head`."""
        self.quiet = True
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())
        signal.raise_signal(signal.SIGINT)


def make_console(file: TextIO, environ: Mapping[str, str] = os.environ) -> Console:
    """100 columns without a terminal. Plain without a terminal, and with NO_COLOR."""
    if hasattr(file, "reconfigure"):
        # A terminal without "é" shows a "?".
        file.reconfigure(errors="replace")
    terminal = file.isatty()
    colours = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return _PipedConsole(
        file=file,
        width=None if terminal else WIDTH_OF_A_PIPE,
        force_terminal=terminal,
        color_system="auto" if colours else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


MARKS = ("Superseded ", "Contradicted ")
"""The first words of a message that a later message replaces."""


class Screen:
    """`channels` and `people` are names by id."""

    def __init__(self, channels: Mapping[str, str], people: Mapping[str, str], console: Console | None = None) -> None:
        self._console = console or make_console(sys.stdout)
        self._channels = dict(channels)
        self._names = {**channels, **people}
        self._seen: set[str] = set()
        self.is_typed_at = False
        """Whole answers, and buttons: a person at the terminal can press buttons."""

    def title(self, words: str) -> None:
        self._console.print()
        self._print(Text(words, "bold"))

    def note(self, words: str) -> None:
        self._lines("", "", [Text(words, "dim")], style="dim")

    def plain(self, words: str, style: str = "") -> None:
        self._print(Text(words, style))

    def typed(self, channel_id: str, user_id: str, line: str) -> None:
        words = Text.assemble((f"{self._names.get(user_id, user_id)} types ", "dim"), (line, "bold"))
        self._lines(channel_id, "┊", [words], style="dim")

    def message(self, message: PostedMessage) -> None:
        if message.only is not None:
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
        lines += button_line(message.blocks) if self.is_typed_at else []
        self._lines(message.channel, "┃" if alarm else "│", lines, style="bold red" if alarm else "dim")

    def _answer(self, message: PostedMessage) -> None:
        """Only one person sees the answer, so no channel's name is shown."""
        whole = body_lines(message.blocks, message.text, self._names)
        lines = whole if self.is_typed_at else _clipped(whole, ANSWER_LINES)
        for line in small_print(message.blocks, self._names):
            line.stylize("dim")
            lines.append(line)
        lines += button_line(message.blocks) if self.is_typed_at else []
        self._lines("", "┊", lines, style="dim")

    def _lines(self, channel_id: str, edge: str, lines: Sequence[Text], style: str) -> None:
        name = f"#{self._channels[channel_id]}" if channel_id in self._channels else ""
        name = name or ("direct message" if channel_id.startswith("D") else "")
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


def _clipped(lines: Sequence[Text], most: int) -> list[Text]:
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], Text(f"… and {len(lines) - most + 1} more lines", "dim")]
