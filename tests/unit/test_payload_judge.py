"""The judge of the payload cases sees what is wrong with a message."""

from types import SimpleNamespace

import pytest

from tests.integration.payloads.judge import faults_of

TEXT = "Result: Thirsk 14:37 (GB): 1 Plum Heron, 2 Cobalt Fiddle"
DEAD_HEAT = "Result: Thirsk 14:37 (GB): dead heat for 1st: Plum Heron and Cobalt Fiddle, 3 Marsh Acorn"
TABLE = {
    "type": "table",
    "rows": [[{"text": "1"}, {"text": "Plum Heron"}], [{"text": "Onyx Wren"}, {"text": "non-runner"}]],
}


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"begins": "Result: ", "contains": ["thirsk", ["2:37", "14:37"]], "never": ["1 run", "4:37", "fid"]}, TEXT),
        ({"placed": ["Plum Heron", "Cobalt Fiddle"], "unplaced": ["Marsh Acorn"]}, TEXT),
        ({"placed": [["Cobalt Fiddle", "Plum Heron"], "Marsh Acorn"]}, DEAD_HEAT),
        (
            {"placed": ["Plum Heron"], "unplaced": ["Cobalt Fiddle"]},
            "Result: 1 Plum Heron. Disqualified: Cobalt Fiddle",
        ),
        ({"order": ["14:37", "Cobalt Fiddle"], "runners": ["Plum Heron"], "non_runners": ["Onyx Wren"]}, TEXT),
    ],
)
def test_right_message_has_no_faults(rules, text):
    assert faults_of(rules, [SimpleNamespace(text=text, blocks=[TABLE])]) == []


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"contians": ["14:37"]}, TEXT),
        ({"begins": "ABANDONED: "}, TEXT),
        ({"contains": ["4:37"]}, TEXT),
        ({"never": ["Plum Heron"]}, TEXT),
        ({"never": ["non-runner"]}, TEXT),
        ({"order": ["Cobalt Fiddle", "14:37"]}, TEXT),
        ({"placed": ["Cobalt Fiddle", "Plum Heron"]}, TEXT),
        ({"placed": ["Cobalt Fiddle"]}, TEXT),
        ({"placed": [["Plum Heron", "Cobalt Fiddle"]]}, TEXT),
        ({"placed": ["Plum Heron"], "unplaced": ["Cobalt Fiddle"]}, TEXT),
        ({"placed": ["Plum Heron", "Cobalt Fiddle"]}, "Result: 1st (disqua… Plum Heron, 1 Cobalt Fiddle"),
        ({"runners": ["Marsh Acorn"]}, TEXT),
        ({"runners": ["Onyx Wren"]}, TEXT),
        ({"non_runners": ["Plum Heron"]}, TEXT),
    ],
)
def test_wrong_message_has_a_fault(rules, text):
    assert len(faults_of(rules, [SimpleNamespace(text=text, blocks=[TABLE])])) >= 1
