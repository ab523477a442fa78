"""Messages as people read them, kept in a text file: each below its name."""

import os
import re
from pathlib import Path

from bot.slack.messages.kit.layout import spoken, words_of

AS_BELOW = "as below"
"""In place of a text that is made of the sections' words."""


def as_read(message, leaves_out=frozenset()):
    """The text, and each block's words, rows and buttons; a heading only where the text begins otherwise.

    A block with the same words as the text is a "=". Types of blocks in `leaves_out` are not read.
    """
    blocks = [block for block in message.blocks if block["type"] not in leaves_out]
    is_as_below = message.text == spoken(words_of(message.in_sections().blocks))
    text = AS_BELOW if is_as_below else message.text
    return "\n".join([f"text: {text}", *(line for block in blocks for line in _lines(block, text))])


def _lines(block, text):
    said = block["text"]["text"] if "text" in block else None
    if said and not (block["type"] == "header" and text.startswith(said)):
        yield from ["="] if spoken(said) == text else said.split("\n")
    yield from ["; ".join(one["text"].split("\n")) for one in block.get("fields", ())]
    yield from [" | ".join(cell["text"] for cell in row) for row in block.get("rows", ())]
    if block["type"] == "context":
        yield " ; ".join(one["text"].replace("\n", " ; ") for one in block["elements"])
    if block["type"] == "container":
        yield f"[-] {block['title']['text']}"
        yield from [f"    {line}" for inner in block["child_blocks"] for line in _lines(inner, text)]
    pressed = block["elements"] if block["type"] == "actions" else [block["accessory"]] if "accessory" in block else []
    yield from [f"[{one['text']['text']}] {one.get('value', one.get('url'))}" for one in pressed]


def check(file: Path, name: str, text: str) -> None:
    """Compare with the text that the file has below the name, or write the text anew with UPDATE_SNAPSHOTS."""
    kept = dict(re.findall(r"^# (.*)\n((?:(?!# ).*\n)*)", file.read_text(encoding="utf-8"), re.MULTILINE))
    if os.environ.get("UPDATE_SNAPSHOTS"):
        kept[name] = text
        file.write_text("\n".join(f"# {each}\n{words.rstrip()}\n" for each, words in kept.items()), encoding="utf-8")
    assert text == kept.get(name, "").rstrip("\n")
