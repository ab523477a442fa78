"""Each kind of message has a picture at both widths, and docs/messages.md shows the picture."""

from pathlib import Path

from bench.message_pictures import FOLDER, KINDS, WIDTHS
from bot.events.event import EventKind

ROOT = Path(__file__).parents[3]
MOST_BYTES = 2_000_000


def test_every_kind_of_message_has_a_picture_at_both_widths_in_the_docs():
    shown = (ROOT / "docs/messages.md").read_text(encoding="utf-8")
    for kind in KINDS:
        for width in WIDTHS:
            path = FOLDER / f"{kind}-{width}.png"
            assert path.read_bytes().startswith(b"\x89PNG"), path
            assert path.relative_to(ROOT / "docs").as_posix() in shown
    assert {path.stem.rpartition("-")[0] for path in FOLDER.iterdir()} == set(KINDS)


def test_every_event_has_a_picture():
    names = {"result.received": "result"} | {
        kind.value: kind.value.replace(".", "_") for kind in EventKind if kind != "result.received"
    }
    assert set(names.values()) <= set(KINDS)


def test_pictures_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
