"""No two modules of the bot share a name."""

from collections import Counter
from pathlib import Path

BOT = Path(__file__).parents[2] / "bot"

STANDARD = {"__init__", "table", "endpoint"}


def test_no_two_modules_share_a_name():
    paths = [path for path in BOT.rglob("*.py") if "versions" not in path.parts]
    twice = {name for name, count in Counter(path.stem for path in paths).items() if count > 1}
    assert twice <= STANDARD
