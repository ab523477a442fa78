"""The tables of the outbox's states: each write of a state goes by the tables; every state is reached and left.

The diagrams of docs/architecture.md are compared with the tables.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from bot.db.engine import table_of
from bot.db.tables import ChannelQueue, MessageState, OutboxMessage, QueueState, Reason
from bot.outbox.states import MESSAGE_TRANSITIONS, QUEUE_TRANSITIONS, UNSENT, Happened, QueueEvent, move
from tests.rows import over

ROOT = Path(__file__).parents[2]
STATES_MODULE = "bot/outbox/states.py"
INITIAL = (MessageState.QUEUED, MessageState.SENDING, MessageState.MUTED)
"""Sending: claimed at fan-out."""
FINAL = (MessageState.SENT, MessageState.MUTED, MessageState.DEAD_LETTER)

MACHINES = [
    pytest.param(MESSAGE_TRANSITIONS, MessageState, INITIAL, FINAL, id="message"),
    pytest.param(QUEUE_TRANSITIONS, QueueState, (QueueState.OPEN,), (), id="queue"),
]


WRITTEN = re.compile(r"""["']state["']:|(?<!move\()\bstate=[^=]|\.state = (?!')|set_committed_value\(|setattr\(""")
SQL = re.compile(r"(?i)\b(?:update|insert into|merge into) (?:message|channel_queue)\b")


def modules():
    """The text of each module but of the tables and of the migrations, which write tables of their own time."""
    for path in sorted((ROOT / "bot").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if "migrations" not in path.parts and name not in {STATES_MODULE, "bot/db/tables.py"}:
            yield name, path.read_text(encoding="utf-8")


def test_every_write_of_a_state_goes_through_the_table():
    found = Counter(
        name
        for name, text in modules()
        if name.startswith("bot/outbox/") or re.search(r"\b(OutboxMessage|ChannelQueue)\b", text)
        for line in text.splitlines()
        if (WRITTEN.search(line) and not re.search(r"\b(AckState|move\(|log\.)", line)) or SQL.search(line)
    )
    assert found == {
        # New rows: of a message, and of a queue.
        "bot/outbox/message_store.py": 2,
        # A claimed row in memory, by the table.
        "bot/outbox/channel_queues.py": 2,
        # Rows of other tables.
        "bot/outbox/live_meetings.py": 1,
        "bot/channels/subscriptions.py": 2,
    }


@pytest.mark.parametrize(("transitions", "states", "initial", "final"), MACHINES)
def test_every_state_is_reached_and_only_final_states_are_left_by_nothing(transitions, states, initial, final):
    ways = {(origin, one.to) for one in transitions.values() for origin in one.origins}
    assert {state for pair in ways for state in pair} | set(initial) == set(states)
    reached = set(initial)
    for _ in states:
        reached |= {to for origin, to in ways if origin in reached}
    assert reached == set(states)
    left = {origin for origin, to in ways if origin != to}
    assert set(states) - left == set(final)


@pytest.mark.parametrize(
    ("transitions", "table", "events"),
    [
        pytest.param(MESSAGE_TRANSITIONS, OutboxMessage, Happened, id="message"),
        pytest.param(QUEUE_TRANSITIONS, ChannelQueue, QueueEvent, id="queue"),
    ],
)
def test_every_transition_has_its_row_and_writes_columns_that_exist(transitions, table, events):
    assert set(transitions) == set(events)
    for happened, one in transitions.items():
        assert set(one.writes) <= set(table_of(table).c.keys()) - {"state", "id", "channel_id"}, happened


def test_states_of_the_hot_index_are_those_that_are_sent_from():
    found = next(index for index in table_of(OutboxMessage).indexes if index.name == "ix_message_unsent")
    assert found.info["where"] == f"state IN ({', '.join(repr(state.value) for state in UNSENT)})"
    assert set(MessageState) - set(UNSENT) - set(FINAL) == {MessageState.FOLDED}


@over("members", [Reason, Happened, QueueEvent])
def test_every_reason_and_every_event_of_the_tables_is_used(members):
    used = {name for _, text in modules() for name in re.findall(rf"\b{members.__name__}\.([A-Z_]+)\b", text)}
    assert used == set(members.__members__)


def test_transition_with_a_column_missing_or_of_another_is_refused():
    for written in ({}, {"folded_into": 1, "detail": None, "sent_at": None}):
        with pytest.raises(TypeError, match="summarised"):
            move(None, Happened.SUMMARISED, **written)  # type: ignore[arg-type]


ARROW = re.compile(r"^ *(\S+) --> (\S+?)(?: : (.+))?$", flags=re.MULTILINE)


def drawn(heading):
    """The arrows of the diagram below a heading of docs/architecture.md: from, to, label."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    below = page.partition("## The states of the outbox\n")[2].partition(f"### {heading}\n")[2]
    diagram = re.match(r"\s*```mermaid\nstateDiagram-v2\n(.*?)```", below, flags=re.DOTALL)
    assert diagram, f"no diagram directly below {heading!r}"
    lines = diagram[1].rstrip("\n").splitlines()
    arrows = ARROW.findall(diagram[1])
    assert len(arrows) == len(lines) == len(set(lines))
    return set(arrows)


@pytest.mark.parametrize(
    ("heading", "transitions", "initial", "final"),
    [
        ("A message", MESSAGE_TRANSITIONS, INITIAL, FINAL),
        ("A channel's queue", QUEUE_TRANSITIONS, (QueueState.OPEN,), ()),
    ],
)
def test_diagram_and_table_have_the_same_arrows(heading, transitions, initial, final):
    expected = {
        (origin.value, one.to.value, happened.value) for happened, one in transitions.items() for origin in one.origins
    }
    expected |= {("[*]", state.value, "") for state in initial} | {(state.value, "[*]", "") for state in final}
    assert drawn(heading) == expected
