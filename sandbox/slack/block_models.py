"""The blocks and views that Slack takes: each field with its type and limits.

Only types that the bot may use. Optional fields are never None, because Slack refuses nulls. Limits:
docs.slack.dev/reference/block-kit/blocks; slack_sdk, `models/blocks`. Record 0020.
"""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Len
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

TABLE_ROWS = 101
"""Slack's page now says 201 rows and 20,000 characters, but workspaces get changes at different times."""
TABLE_CHARACTERS = 10_000

Id = Annotated[str, Len(1, 255)]
Label = Annotated[str, Len(1, 20)]
Title = Annotated[str, Len(1, 50)]
Number = Annotated[float, Field(allow_inf_nan=False)]


def refusal(words: str) -> PydanticCustomError:
    """The message is exactly these words."""
    return PydanticCustomError("refused", "{words}", {"words": words})


def _from(low: int, high: int) -> AfterValidator:
    def check(value: int) -> int:
        if not low <= value <= high:
            raise refusal(f"must be an integer from {low} to {high}")
        return value

    return AfterValidator(check)


class Part(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]  # pydantic reads it here


class BlockPart(Part):
    block_id: NotRequired[Id]


# Text objects, docs.slack.dev/reference/block-kit/composition-objects


class PlainText(Part):
    type: Literal["plain_text"]
    text: Annotated[str, Len(1, 3000)]
    emoji: NotRequired[bool]


class Markdown(Part):
    type: Literal["mrkdwn"]
    text: Annotated[str, Len(1, 3000)]
    verbatim: NotRequired[bool]


Text = Annotated[PlainText | Markdown, Field(discriminator="type")]


def _at_most(characters: int) -> AfterValidator:
    def check(text: PlainText | Markdown) -> PlainText | Markdown:
        if len(text["text"]) > characters:
            raise PydanticCustomError("text_too_long", "too long", {"max_length": characters})
        return text

    return AfterValidator(check)


Plain24 = Annotated[PlainText, _at_most(24)]
Plain30 = Annotated[PlainText, _at_most(30)]
Plain75 = Annotated[PlainText, _at_most(75)]
Plain100 = Annotated[PlainText, _at_most(100)]
Plain150 = Annotated[PlainText, _at_most(150)]
Plain2000 = Annotated[PlainText, _at_most(2000)]
Text75 = Annotated[Text, _at_most(75)]
Text300 = Annotated[Text, _at_most(300)]
Text2000 = Annotated[Text, _at_most(2000)]


# Elements, docs.slack.dev/reference/block-kit/block-elements


class Confirm(Part):
    title: Plain100
    text: Text300
    confirm: Plain30
    deny: Plain30
    style: NotRequired[str]


class Option(Part):
    text: Text75
    value: Annotated[str, Len(1, 150)]


class PlainOption(Part):
    text: Plain75
    value: Annotated[str, Len(1, 150)]


class OptionGroup(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]
    label: Plain75
    options: Annotated[list[PlainOption], Len(1, 100)]


class Element(Part):
    action_id: NotRequired[Id]
    confirm: NotRequired[Confirm]


class Button(Element):
    type: Literal["button"]
    text: Plain75
    value: NotRequired[Annotated[str, Len(1, 2000)]]
    style: NotRequired[Literal["primary", "danger"]]


class Select(Element):
    type: Literal["multi_static_select"]
    placeholder: NotRequired[Plain150]
    options: NotRequired[Annotated[list[PlainOption], Len(1, 100)]]
    option_groups: NotRequired[Annotated[list[OptionGroup], Len(1, 100)]]
    initial_options: NotRequired[list[PlainOption]]


class Choices(Element):
    type: Literal["checkboxes"]
    options: Annotated[list[Option], Len(1, 10)]
    initial_options: NotRequired[list[Option]]


class LiveSelect(TypedDict):
    """Only the bot's text is checked."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]
    type: Literal["multi_users_select", "multi_conversations_select", "multi_external_select"]
    action_id: NotRequired[Id]
    confirm: NotRequired[Confirm]
    placeholder: NotRequired[Plain150]


class TextInput(Element):
    type: Literal["plain_text_input"]
    initial_value: NotRequired[Annotated[str, Len(1, 3000)]]
    placeholder: NotRequired[Plain150]
    max_length: NotRequired[Annotated[int, _from(1, 3000)]]


def _offers_its_initial(menu: Any) -> Any:
    groups = menu.get("option_groups", [])
    offered = [*menu.get("options", []), *(option for group in groups for option in group["options"])]
    if any(option not in offered for option in menu.get("initial_options", [])):
        raise refusal("initial option must exactly match a provided option")
    return menu


def _has_options(select: Select) -> Select:
    if ("options" in select) == ("option_groups" in select):
        raise refusal("exactly one of options and option_groups is required")
    return select


CheckedSelect = Annotated[Select, AfterValidator(_has_options), AfterValidator(_offers_its_initial)]
CheckedChoices = Annotated[Choices, AfterValidator(_offers_its_initial)]
Menu = CheckedSelect | CheckedChoices | LiveSelect
ActionElement = Annotated[Button | Menu, Field(discriminator="type")]
InputElement = Annotated[TextInput | Menu, Field(discriminator="type")]


# Tables, docs.slack.dev/reference/block-kit/blocks/data-table-block


class TextCell(Part):
    type: Literal["raw_text"]
    text: Annotated[str, Len(1, TABLE_CHARACTERS)]


Row = Annotated[list[Annotated[TextCell, Field(discriminator="type")]], Len(1, 20)]


def _is_rectangular(rows: list[Row]) -> list[Row]:
    if len({len(row) for row in rows}) > 1:
        raise refusal("all rows must have the same number of cells")
    return rows


class DataTable(BlockPart):
    type: Literal["data_table"]
    caption: Annotated[str, Len(1, 3000)]
    rows: Annotated[list[Row], Len(2, TABLE_ROWS), AfterValidator(_is_rectangular)]
    page_size: NotRequired[Annotated[int, _from(1, 100)]]
    row_header_column_index: NotRequired[Annotated[int, _from(0, 19)]]


# Charts, docs.slack.dev/reference/block-kit/blocks/data-visualization-block


class Point(Part):
    label: Label
    value: Number


class Series(Part):
    name: Label
    data: Annotated[list[Point], Len(1, 20)]


class Axes(Part):
    categories: Annotated[list[Label], Len(1, 20)]
    x_label: NotRequired[Title]


class LineChart(Part):
    type: Literal["line"]
    series: Annotated[list[Series], Len(1, 6)]
    axis_config: Axes


def _labels_its_axis(chart: LineChart) -> LineChart:
    for series in chart["series"]:
        if [point["label"] for point in series["data"]] != chart["axis_config"]["categories"]:
            raise refusal("labels must match the categories")
    return chart


class DataVisualization(BlockPart):
    type: Literal["data_visualization"]
    title: Title
    chart: Annotated[LineChart, AfterValidator(_labels_its_axis)]


# The other blocks


class Header(BlockPart):
    type: Literal["header"]
    text: Plain150


class Divider(BlockPart):
    type: Literal["divider"]


class Section(BlockPart):
    type: Literal["section"]
    text: NotRequired[Text]
    fields: NotRequired[Annotated[list[Text2000], Len(1, 10)]]
    accessory: NotRequired[ActionElement]


def _has_text(section: Section) -> Section:
    if "text" not in section and "fields" not in section:
        raise refusal("missing required field: text")
    return section


class Context(BlockPart):
    type: Literal["context"]
    elements: Annotated[list[Text], Len(1, 10)]


def _has_own_ids(elements: list[Any]) -> list[Any]:
    ids = [element["action_id"] for element in elements if "action_id" in element]
    for action_id in ids:
        if ids.count(action_id) > 1:
            raise refusal(f"action_id {action_id!r} already exists")
    return elements


class Actions(BlockPart):
    type: Literal["actions"]
    elements: Annotated[list[ActionElement], Len(1, 25), AfterValidator(_has_own_ids)]


class Input(BlockPart):
    type: Literal["input"]
    label: Plain2000
    element: InputElement
    hint: NotRequired[Plain2000]
    optional: NotRequired[bool]


CheckedSection = Annotated[Section, AfterValidator(_has_text)]


Plain = Header | Divider | CheckedSection | Context | Actions | Input


# Containers, docs.slack.dev/reference/block-kit/blocks/container-block


class Container(BlockPart):
    """Native tables and charts are not among the blocks that Slack takes inside."""

    type: Literal["container"]
    title: Plain150
    is_collapsible: NotRequired[bool]
    default_collapsed: NotRequired[bool]
    child_blocks: Annotated[list[Annotated[Plain, Field(discriminator="type")]], Len(1, 10)]


Block = Annotated[Plain | Container | DataTable | DataVisualization, Field(discriminator="type")]


# Views, docs.slack.dev/reference/views. `block_rules` checks their blocks by the models above.


class View(Part):
    blocks: list[Any]
    private_metadata: NotRequired[Annotated[str, Len(0, 3000)]]
    callback_id: NotRequired[Annotated[str, Len(0, 255)]]


class Home(View):
    type: Literal["home"]


class Modal(View):
    type: Literal["modal"]
    title: Plain24
    submit: NotRequired[Plain24]
    close: NotRequired[Plain24]


def _can_be_submitted(modal: Modal) -> Modal:
    has_input = any(isinstance(block, dict) and block.get("type") == "input" for block in modal["blocks"])
    if has_input and "submit" not in modal:
        raise refusal("missing required field: submit")
    return modal


BLOCKS: TypeAdapter[list[Any]] = TypeAdapter(list[Block])
VIEWS: dict[str, TypeAdapter[Any]] = {
    "home": TypeAdapter(Home),
    "modal": TypeAdapter(Annotated[Modal, AfterValidator(_can_be_submitted)]),
}
