"""Each builder of a message or a form has a picture at both widths, and docs/pictures/README.md shows the picture."""

from bench.message_pictures import FOLDER, PAGE, WIDTHS, names, page_of_pictures
from tests.unit.messages.kept_answers import ANSWERS, VIEWS
from tests.unit.messages.kept_events import EVENTS

MOST_BYTES = 3_000_000


def test_every_kind_of_message_has_a_picture_at_both_widths():
    for kind in names():
        for width in WIDTHS:
            path = FOLDER / f"{kind}-{width}.png"
            assert path.read_bytes().startswith(b"\x89PNG"), path
    assert {path.stem.rpartition("-")[0] for path in FOLDER.iterdir()} == set(names())
    assert len(names()) == len(set(names()))


def test_page_shows_every_picture():
    assert PAGE.read_text(encoding="utf-8") == page_of_pictures()


def test_every_builder_has_a_picture():
    kept = EVENTS | ANSWERS | VIEWS
    assert {made.func for made in kept.values()} == {kept[name].func for name in names()}


def test_pictures_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
