"""The tables of the outbox's states: each write of a state goes by the tables; every state is reached and left.

The diagrams of docs/architecture.md are compared with the tables.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from bot.db.engine import table_of
from bot.db.tables import ChannelQueue, MessageState, OutboxMessage, QueueState, Reason
from bot.outbox.states import MESSAGE_TRANSITIONS, QUEUE_TRANSITIONS, UNSENT, Happened, QueueEvent, move
from tests.rows import over

ROOT = Path(__file__).parents[2]
STATES_MODULE = "bot/outbox/states.py"
ROWS = {"OutboxMessage", "ChannelQueue"}
INSERTED = {("bot/outbox/message_store.py", "row_of"), ("bot/outbox/message_store.py", "make_queues")}
"""The functions that make new rows, each with a first state."""

INITIAL = (MessageState.QUEUED, MessageState.SENDING, MessageState.MUTED)
"""Sending: claimed at fan-out."""
FINAL = (MessageState.SENT, MessageState.MUTED, MessageState.DEAD_LETTER)

MACHINES = [
    pytest.param(MESSAGE_TRANSITIONS, MessageState, INITIAL, FINAL, id="message"),
    pytest.param(QUEUE_TRANSITIONS, QueueState, (QueueState.OPEN,), (), id="queue"),
]


NAMED = re.compile(rf"\b({'|'.join(ROWS)}|Reason|Happened|QueueEvent|MessageState|QueueState)\b")


@cache
def modules():
    """The bot's modules that name rows or states, each with its name; migrations write tables of their own time."""
    paths = [path for path in sorted((ROOT / "bot").rglob("*.py")) if "migrations" not in path.parts]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return [(name, ast.parse(text)) for name, text in texts.items() if NAMED.search(text) or is_in_outbox(name)]


def is_in_outbox(path):
    return path.startswith("bot/outbox/")


def functions(tree):
    """Each function, and the module itself for the statements outside of functions."""
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {id(node) for function in inner for node in ast.walk(function)}
    outside = ast.Module(
        body=[node for node in tree.body if id(node) not in within and not isinstance(node, ast.ClassDef)],
        type_ignores=[],
    )
    return [*((function.name, function) for function in inner), ("", outside)]


def names(node):
    """The names in an expression."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def resolved(function, node):
    """The names in an expression. A name assigned in the function counts as the names in the assigned expression."""
    made_of = {
        target.id: names(assignment.value)
        for assignment in ast.walk(function)
        if isinstance(assignment, ast.Assign)
        for each in assignment.targets
        for target in ast.walk(each)
        if isinstance(target, ast.Name)
    }
    found = names(node)
    for _ in made_of:
        found |= {name for known in found & made_of.keys() for name in made_of[known]}
    return found


def written_keys(call):
    """The columns that a call of `.values` names."""
    keys = {word.arg for word in call.keywords if word.arg}
    return keys | {
        key.value
        for argument in [*call.args, *(word.value for word in call.keywords if word.arg is None)]
        for part in ast.walk(argument)
        if isinstance(part, ast.Dict)
        for key in part.keys
        if isinstance(key, ast.Constant)
    }


def state_writes(tree):
    """Each place of a module that may write the state of a message or a queue: function, line, and the call."""
    for name, function in functions(tree):
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="values", value=statement)) if (
                    "state" in written_keys(node) and resolved(function, statement) & ROWS
                ):
                    yield name, node.lineno, "values"
                case ast.Call(func=ast.Name(id="set_committed_value")):
                    yield name, node.lineno, "set_committed_value"
                case ast.Call(func=ast.Name(id=made)) if made in ROWS or (
                    made == "write" and "state" in written_keys(node)
                ):
                    yield name, node.lineno, "row"
                case ast.Attribute(attr="state", ctx=ast.Store()) if resolved(function, function) & ROWS:
                    yield name, node.lineno, "assignment"
                case ast.Call(func=ast.Name(id="setattr")) if resolved(function, function) & ROWS:
                    yield name, node.lineno, "setattr"
                case ast.Dict(keys=keys) if any(isinstance(key, ast.Constant) and key.value == "state" for key in keys):
                    yield name, node.lineno, "dict"
                case ast.Constant(value=str(words)) if re.search(
                    r"(?i)\b(?:update|insert\s+into|merge\s+into)\s+(?:message|channel_queue)\b", words
                ):
                    yield name, node.lineno, "SQL"


def is_of_outbox(path, tree):
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return is_in_outbox(path) or bool(imported & ROWS)


def test_every_write_of_a_state_goes_through_the_table():
    allowed = {
        ("bot/outbox/channel_queues.py", "_begin", "set_committed_value"),
        # A value beside the new row of `posts.insert`.
        ("bot/outbox/claim_at_fanout.py", "add", "row"),
        *((path, name, way) for path, name in INSERTED for way in ("dict", "values")),
    }
    found = {
        (path, name, way): line
        for path, tree in modules()
        if path not in {STATES_MODULE, "bot/db/tables.py"} and is_of_outbox(path, tree)
        for name, line, way in state_writes(tree)
    }
    assert {f"{path}:{found[path, name, way]} {name}: {way}" for path, name, way in found.keys() - allowed} == set()
    assert {(path, name) for path, name, _ in found} & INSERTED == INSERTED


@over(
    ("code", "way"),
    [
        ("session.execute(update(OutboxMessage).where(x).values(state='sent'))", "values"),
        ("lane = table_of(ChannelQueue)\n    lanes = update(lane)\n    lanes.values({'state': 'open'})", "values"),
        ("statement = update(OutboxMessage)\n    statement.values(**{'state': 'sent'})", "values"),
        ("row = session.get(OutboxMessage, 1)\n    row.state = 'sent'", "assignment"),
        ("row = session.get(OutboxMessage, 1)\n    setattr(row, name, 'sent')", "setattr"),
        ("set_committed_value(row, 'state', 'sent')", "set_committed_value"),
        ("write(session, x, state='sent')", "row"),
        ("session.add(OutboxMessage(state='sent'))", "row"),
        ("session.execute(insert, [{'state': 'sent'}])", "dict"),
        ("session.execute(text('UPDATE message SET x = 1'))", "SQL"),
    ],
)
def test_write_past_the_table_is_found(code, way):
    tree = ast.parse(f"def wrong(session):\n    {code}\n")
    assert way in {found for _, _, found in state_writes(tree)}


def test_new_rows_begin_with_a_state_that_rows_begin_with():
    written = {
        (path, ast.unparse(part))
        for path, tree in modules()
        for name, function in functions(tree)
        if (path, name) in INSERTED
        for part in ast.walk(function)
        if isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and part.value.id in {"MessageState", "QueueState"}
    }
    begun = {text.partition(".")[::2] for _, text in written}
    assert {MessageState[name] for enum, name in begun if enum == "MessageState"} == set(INITIAL)
    assert {QueueState[name] for enum, name in begun if enum == "QueueState"} == {QueueState.OPEN}


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
    used = {
        node.attr
        for path, tree in modules()
        if path not in {STATES_MODULE, "bot/db/tables.py"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == members.__name__
    }
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
