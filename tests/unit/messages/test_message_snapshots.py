"""Messages and forms compared, to the letter, with the files in snapshots/, which `.ci/check-blocks` gives to `tsc`.

After a wanted change, write the files anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest tests/unit/messages/test_message_snapshots.py
"""

import inspect
import json
import os
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import bot.slack.forms
import bot.slack.messages
from bot.slack.commands.error_answers import explain
from bot.slack.messages import render
from docs.pictures.draw import FOLDER, PAGE, WIDTHS, names
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems, view_problems
from tests.rows import over
from tests.unit.messages.kept_answers import ANSWERS, VIEWS, messages_of
from tests.unit.messages.kept_events import EVENTS

FILES = Path(__file__).parent / "snapshots"
MESSAGES = EVENTS | ANSWERS

PARTS = {"alert", "day_answer", "framed", "message", "paged", "told", "with_native", "listing", "render", "superseded"}
"""Helpers of builders: no message by themselves."""


def as_kept(message):
    newest, *between = message.forms
    plainest = [("plain_blocks", between.pop())] if between else []
    forms = [("blocks", newest), *(("plainer_blocks", form) for form in between), *plainest]
    return {"text": message.text} | {name: form.blocks for name, form in forms}


def check(name, value):
    rendered = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    file = FILES / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(rendered, encoding="utf-8")
    assert rendered == file.read_text(encoding="utf-8")


@over("name", MESSAGES)
def test_message_is_as_kept(name):
    messages = messages_of(MESSAGES[name]())
    for message in messages:
        for form in message.forms:
            assert block_problems(list(form.blocks), most=MESSAGE_BLOCKS) == []
    assert len(messages) == 1
    check(name, as_kept(messages[0]))


@over("name", VIEWS)
def test_form_is_as_kept(name):
    view = VIEWS[name]()
    assert view_problems(view, view["type"]) == []
    check(name, {"view": view})


def test_snapshots_are_all_still_compared():
    assert {file.stem for file in FILES.glob("*.json")} == {*MESSAGES, *VIEWS}


def builders(package, gives):
    """The public functions of the package, at any depth, with a given return type."""
    modules = [import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            returned = str(inspect.signature(function).return_annotation)
            if function.__module__ == module.__name__ and not name.startswith("_") and gives in returned:
                yield function


def test_every_builder_of_a_message_has_a_snapshot():
    kept = {made.func for made in MESSAGES.values()} - {render}
    built = {one for one in builders(bot.slack.messages, "Message") if one.__name__ not in PARTS}
    assert kept == built | {explain}


def test_every_form_has_a_snapshot():
    views = [import_module(f"bot.slack.forms.{found.name}") for found in pkgutil.iter_modules(bot.slack.forms.__path__)]
    forms = {
        function
        for module in views
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and re.search(r'"type": "(modal|home)"', inspect.getsource(function))
    }
    assert forms == {made.func for made in VIEWS.values()}


# Each builder of a message or a form has a picture at both widths, and docs/pictures/README.md shows the picture


MOST_BYTES = 3_000_000


def test_every_kind_of_message_has_a_picture_at_both_widths():
    for kind in names():
        for width in WIDTHS:
            path = FOLDER / f"{kind}-{width}.png"
            assert path.read_bytes().startswith(b"\x89PNG"), path
    assert {path.stem.rpartition("-")[0] for path in FOLDER.iterdir()} == set(names())
    assert len(names()) == len(set(names()))


def test_each_picture_of_a_phone_links_the_picture_of_a_desktop():
    phone, desktop = WIDTHS
    linked = [f"[![](messages/{name}-{phone}.png)](messages/{name}-{desktop}.png)" for name in names()]
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\[!\[.+$", page, re.MULTILINE) == linked
    assert page.count(".png") == 2 * len(linked)


def test_every_builder_has_a_picture():
    kept = EVENTS | ANSWERS | VIEWS
    assert {made.func for made in kept.values()} == {kept[name].func for name in names()}


TALLEST = {
    150: "result result_late result_edited result_of_a_walkover result_superseded result_watched",
    220: "result_corrected result_in_two_versions result_after_abandonment result_with_places_marked_abandoned "
    "result_declared_void result_marked_abandoned racecard_corrected racecard_of_an_abandoned_meeting "
    "racecard_with_an_abandoned_race "
    "race_abandoned race_abandoned_of_another_day race_abandoned_bare race_abandoned_after_result "
    "race_abandoned_contradicted race_abandoned_corrected race_abandoned_of_a_meeting "
    "race_abandoned_to_be_acknowledged race_abandoned_acknowledged meeting_abandoned "
    "meeting_abandoned_with_races_of_its_own",
    800: "card card_of_a_course card_of_a_course_to_come next_off results_of_day results_of_a_course "
    "abandonments_of_day",
}
"""By pixels on a phone: a result, other news of a race or a meeting, and an answer of a screen."""


@over(("name", "most"), [(name, most) for most, kinds in TALLEST.items() for name in kinds.split()])
def test_message_is_short_on_a_phone(name, most):
    picture = (FOLDER / f"{name}-{WIDTHS[0]}.png").read_bytes()
    assert int.from_bytes(picture[20:24], "big") <= most


def test_every_alert_on_a_result_or_an_abandonment_is_measured():
    measured = " ".join(TALLEST.values()).split()
    assert {name for name in names() if name.startswith(("result", "race_", "meeting_"))} <= set(measured)


def test_pictures_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
