"""Rows of a table within one test, of Python and of YAML."""

import pytest

from tests.rows import Answers, over


def test_every_row_is_tried_and_each_that_fails_is_named():
    @over("number, other", [(1, 2), (1, 1), (2, 3)], ids=["first", "second", "third"])
    def equal(number, other):
        assert number == other

    @over("number", [1])
    def fails(number):
        with pytest.raises(ValueError, match="one"):
            assert number

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows") as failed:
        equal()
    assert [error.__notes__ for error in failed.value.exceptions] == [["The row: first"], ["The row: third"]]
    with pytest.raises(BaseExceptionGroup, match="1 of 1 rows"):
        fails()


def test_row_with_a_value_too_few_or_without_an_id_fails():
    for rows, ids in (([(1,)], None), ([(1, 1), (1, 1)], ["first"])):
        with pytest.raises((ValueError, BaseExceptionGroup)):
            over("number, other", rows, ids=ids)(lambda number, other: None)()


@over("number", [1, 2])
@over("letter", "ab")
def test_rows_of_two_tables_are_tried_together(number, letter):
    assert f"{number}{letter}" in {"1a", "1b", "2a", "2b"}


@over("number", [1, 2])
async def test_rows_of_an_async_test_share_its_fixtures(tmp_path, number):
    (tmp_path / f"{number}").touch()
    assert len(list(tmp_path.iterdir())) == number


async def test_row_of_an_async_test_that_fails_is_named():
    @over("number", [1, 2])
    async def is_one(number):
        assert number == 1

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows"):
        await is_one()


FILE = """
shared: &at {course: York, off: 13:00}
lost:
  true: [{<<: *at, !each [status, notes]: !each [Abandoned, 7]}, off]
  York 13:00:
    the race itself: *at
"""


def test_answers_of_yaml_are_a_row_for_each_value_and_name(tmp_path):
    (tmp_path / "rows.yaml").write_text(FILE, encoding="utf-8")
    york: dict[str, object] = {"course": "York", "off": "13:00"}
    said = [york | {name: value} for name in ("status", "notes") for value in ("Abandoned", 7)]
    rows = list(Answers(tmp_path / "rows.yaml", "lost"))
    assert rows == [*((one, True) for one in said), ("off", True), (york, "York 13:00")]


def test_answer_that_stands_twice_in_yaml_fails(tmp_path):
    (tmp_path / "rows.yaml").write_text(FILE + "  York 13:00: [York]\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="A name stands twice in the mapping"):
        list(Answers(tmp_path / "rows.yaml", "lost"))
