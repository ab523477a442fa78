"""Slack's messages as lines of a terminal."""

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from sandbox.slack.values import Json

_TOKEN = re.compile(r"<([^<>\n]+)>")
_STYLED = re.compile(r"(?<![\w*])\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])|`(?P<code>[^`\n]+)`")
_STYLES = {"bold": "bold", "code": "cyan"}
_BETWEEN = " · "


def readable(markup: str, names: Mapping[str, str] | None = None) -> Text:
    """Styles, the fallback of a date token, entities as characters.

    `names` are people's and channels' names by id. docs.slack.dev/messaging/formatting
    """
    known = names or {}
    worded = _TOKEN.sub(lambda token: _in_words(token[1], known), markup)
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


def button_line(blocks: Iterable[Json]) -> Text | None:
    """For example "[Full result] [Who was told]"; None without buttons."""
    elements = (one for block in blocks for one in (*block.get("elements", ()), block.get("accessory") or {}))
    labels = [f"[{one['text']['text']}]" for one in elements if one.get("type") == "button"]
    return Text(" ".join(labels), "cyan") if labels else None


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
        yield Text(_BETWEEN).join(parts)


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
