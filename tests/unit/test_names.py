"""One meaning a name: no public class or constant is defined in two modules, and no two modules share a name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

BOT = Path(__file__).parents[2] / "bot"

STANDARD_CONSTANTS = {
    "NAME": "the name of a command, in the command's module",
    "T": "a type variable",
    "V": "a type variable",
}
STANDARD_MODULES = {"__init__", "table", "endpoint"}


def modules() -> list[Path]:
    return [path for path in sorted(BOT.rglob("*.py")) if not {"sandbox", "versions"} & set(path.parts)]


def public_names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper())


def defined_twice(named: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for name, path in named:
        found[name].append(str(path.relative_to(BOT)))
    return {name: paths for name, paths in found.items() if len(paths) > 1 and not name.startswith("_")}


def test_no_public_class_or_constant_is_defined_in_two_modules():
    twice = defined_twice((name, path) for path in modules() for name in public_names(path))
    assert {name: paths for name, paths in twice.items() if name not in STANDARD_CONSTANTS} == {}


def test_every_standard_constant_is_defined_more_than_once():
    twice = defined_twice((name, path) for path in modules() for name in public_names(path))
    assert twice.keys() >= STANDARD_CONSTANTS.keys()


def test_no_two_modules_share_a_name():
    twice = defined_twice((path.stem, path) for path in modules())
    assert twice.keys() <= STANDARD_MODULES
