"""The line of a result, case by case. docs/messages.md shows some of the cases."""

from pathlib import Path

from bot.events.races import Race, Runner
from bot.slack.messages.kit.result_line import GAP, result_line
from tests.rows import over

PAGE = (Path(__file__).parents[3] / "docs/messages.md").read_text(encoding="utf-8")
HORSES = ("Misty Ghost", "Bold Warrior", "Quiet Cavalier", "Plum Heron", "Cobalt Fiddle", "Marsh Acorn")


def field(*said, **race):
    """A runner is a position, a position with a price ("1 11/4"), or a Runner."""
    runners = [
        one if isinstance(one, Runner) else Runner(horse=horse, position=position or None, starting_price=price or None)
        for horse, one in zip(HORSES * 2, said, strict=False)
        for position, _, price in [("", "", "") if isinstance(one, Runner) else one.partition(" ")]
    ]
    return Race(region="GB", runners=tuple(runners), **race)


def named(horse, position, price=None, **more):
    return Runner(horse=horse, position=position, starting_price=price, **more)


FIVE = ("1 11/4", "2 20/1", "3 10/1")
LIGHT = named("Plum Heron", "DSQ", position_reason="weighed in light")

CASES = {
    "prices, in a list that may lack runners": (
        field(*FIVE, "4 7/2", "5 9/2"),
        "1 Misty Ghost 11/4 · 2 Bold Warrior 20/1 · 3 Quiet Cavalier 10/1",
    ),
    "prices and the number of runners": (
        field(*FIVE, "4 7/2", "5 9/2", field_size=5),
        "1 Misty Ghost 11/4F · 2 Bold Warrior 20/1 · 3 Quiet Cavalier 10/1 5 ran",
    ),
    "joint favourites": (
        field("1 5/2", "2 5/2", "3 10/1", "PU 8/1"),
        "1 Misty Ghost 5/2JF · 2 Bold Warrior 5/2JF · 3 Quiet Cavalier 10/1 4 ran",
    ),
    "three favourites": (
        field("1 3/1", "2 3/1", "3 3/1", "PU 8/1"),
        "1 Misty Ghost 3/1CF · 2 Bold Warrior 3/1CF · 3 Quiet Cavalier 3/1CF 4 ran",
    ),
    "a favourite by the data": (
        field("1 7/1", "2 11/4F", "3", field_size=9),
        "1 Misty Ghost 7/1 · 2 Bold Warrior 11/4F · 3 Quiet Cavalier 9 ran",
    ),
    "evens and decimals": (
        field("1 3.75", "2 Evens", "3 10/1", "4 9.00", field_size=4),
        "1 Misty Ghost 3.75 · 2 Bold Warrior EvensF · 3 Quiet Cavalier 10/1 4 ran",
    ),
    **{
        f"evens as {evens}": (
            field(f"1 {evens}", "2 11/10", "3 10/1", "PU 6/4"),
            f"1 Misty Ghost {evens}F · 2 Bold Warrior 11/10 · 3 Quiet Cavalier 10/1 4 ran",
        )
        for evens in ("EVN", "Even", "Evens", "EVS", "Evs", "evens", "Even money", "1/1", "2.00")
    },
    "a price of nothing": (
        field("1 0.00", "2 2.50", "3 0/1", "PU 9.00"),
        "1 Misty Ghost 0.00 · 2 Bold Warrior 2.50 · 3 Quiet Cavalier 0/1 4 ran",
    ),
    "odds on, to one": (
        field("1 0.50", "2 2.50", "3 10.00", "PU 9.00"),
        "1 Misty Ghost 0.50F · 2 Bold Warrior 2.50 · 3 Quiet Cavalier 10.00 4 ran",
    ),
    "an unknown price": (
        field("1 11/4", "2", "3 10/1", "PU 7/2"),
        "1 Misty Ghost 11/4 · 2 Bold Warrior · 3 Quiet Cavalier 10/1 4 ran",
    ),
    "no prices": (field("1", "2", "3", "PU"), "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran"),
    "winning distances": (
        field(named("Ghost", "1"), named("Warrior", "2", beaten="nk"), named("Heron", "3", beaten="2¼l"), field_size=7),
        "1 Ghost · 2 Warrior · 3 Heron 7 ran, beaten nk, 2¼l",
    ),
    "a distance missing": (
        field(named("Ghost", "1"), named("Warrior", "2"), named("Heron", "3", beaten="2¼l"), field_size=7),
        "1 Ghost · 2 Warrior · 3 Heron 7 ran",
    ),
    "a dead heat for first": (
        field("1= 5/2", "=1 7/1", "3 10/1"),
        "1= Misty Ghost 5/2 · 1= Bold Warrior 7/1 · 3 Quiet Cavalier 10/1 dead heat",
    ),
    "a dead heat by the same number": (
        field("1", "2", "2"),
        "1 Misty Ghost · 2= Bold Warrior · 2= Quiet Cavalier dead heat",
    ),
    "a dead heat of many": (
        field(*(named(horse, "1") for horse in "ABCDEFGH"), field_size=8),
        "1= A · 1= B · 1= C · 1= D · 1= E · 1= F · and 2 more dead heat, 8 ran",
    ),
    "half of a dead heat": (field("1", "2="), "1 Misty Ghost · 2= Bold Warrior"),
    "a walkover": (field("1", status="walk-over"), "Walkover: Misty Ghost"),
    "a walkover without a position": (field("", status="W/O"), "Walkover: Misty Ghost"),
    "a walkover beside non-runners": (field("", "NR", "NR", status="W/O"), "Walkover: Misty Ghost"),
    "a disqualified horse": (
        field("1", "2", "3", LIGHT),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran, Plum Heron disqualified (weighed in light)",
    ),
    "a place after an inquiry": (
        field(named("Misty Ghost", "1 (promoted)"), "2", "3", "PU"),
        "1 (promoted) Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran",
    ),
    "horses that did not finish": (
        field("1", "2", "3", "PU", "fell"),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 5 ran",
    ),
    "a single finisher": (field("1", "PU", "F", "UR"), "1 Misty Ghost 4 ran, only 1 finished"),
    "no finisher": (field("PU", "F", "UR"), "No horse finished: Misty Ghost PU, Bold Warrior F, Quiet Cavalier UR"),
    "no horse placed": (field("DSQ", "PU", "NR"), "No horse is placed: Misty Ghost DSQ, Bold Warrior PU"),
    "a non-runner": (field("1", "2", "3", "0", "NR"), "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran"),
    "a non-runner of the published number": (
        field("1", "2", "3", "4", "NR", field_size=5),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran",
    ),
    "four horses, all placed": (field("1", "2", "3", "4"), "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier"),
    "four horses, all placed, of four declared": (
        field("1 11/4", "2 5/2", "3 10/1", "4 9/2", field_size=4, from_book=("field_size",)),
        "1 Misty Ghost 11/4 · 2 Bold Warrior 5/2F · 3 Quiet Cavalier 10/1 4 ran",
    ),
    "four horses, all placed, and all other declared non-runners": (
        field("1", "2", "3", "4", "NR", field_size=5, from_book=("field_size",)),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier 4 ran",
    ),
    "four horses, all placed, of five declared": (
        field("1", "2", "3", "4", field_size=5, from_book=("field_size",)),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier",
    ),
    "a partial order": (field("1", "2", "", "", "", field_size=5), "1 Misty Ghost · 2 Bold Warrior 5 ran"),
    "an order without a winner": (field("2", "3"), "2 Misty Ghost · 3 Bold Warrior winner not named"),
    "an order of the others": (field("11", "12"), "11 Misty Ghost winner not named"),
    "places in words": (
        field("1st", named("Bold Warrior", "2nd of 9"), "third"),
        "1 Misty Ghost · 2 Bold Warrior · 3 Quiet Cavalier",
    ),
    "no placings": (field(), "placings not received"),
    "placings that could not be read": (field(unread_order="4;;7"), "placings could not be read: 4;;7"),
    "places that contradict each other": (
        field("2", disputed="Plum Heron 1 or 2"),
        "check which is true, otherwise 2 Misty Ghost winner not named",
    ),
    "a number for a name": (field(Runner(number="7", position="1"), "2"), "1 no. 7 · 2 Bold Warrior"),
    "a horse at home": (field(named("Misty Ghost (GB)", "1")), "1 Misty Ghost"),
    "a horse from abroad": (field(named("Misty Ghost (IRE)", "1")), "1 Misty Ghost (IRE)"),
    "two horses of one name": (
        field(named("Misty Ghost (GB)", "1"), named("Misty Ghost (IRE)", "2")),
        "1 Misty Ghost (GB) · 2 Misty Ghost (IRE)",
    ),
    "an apostrophe": (field(named("O'Brien's Hope (GB)", "1")), "1 O'Brien's Hope"),
}


@over("name", CASES)
def test_line_of_a_result(name):
    race, line = CASES[name]
    assert result_line(race).replace(GAP, " ") == line


def test_page_shows_lines_as_made():
    rows = [row.split(" | ") for row in PAGE.partition("### The line of a result")[2].split("\n\n###")[0].split("\n")]
    shown = {row[0].removeprefix("| "): row[1].removesuffix(" |").strip("`") for row in rows if len(row) == 2}
    lines = {f"{name[:1].upper()}{name[1:]}": line for name, (_, line) in CASES.items()}
    assert shown.keys() - lines.keys() == {"Case"}
    assert {name: lines[name] for name in shown.keys() & lines.keys()} == {
        name: line for name, line in shown.items() if name in lines
    }
    assert len(shown) > 8


def test_lock_screen_has_the_same_line_with_commas():
    race, _ = CASES["prices and the number of runners"]
    line = "1 Misty Ghost 11/4F, 2 Bold Warrior 20/1, 3 Quiet Cavalier 10/1. 5 ran"
    assert result_line(race, in_text=True) == line
