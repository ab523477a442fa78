"""The line of a result, the same in every message: "1 Misty Ghost 11/4F · 2 Bold Warrior 20/1 5 ran"."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import takewhile

from bot.events.race_state import RaceState, state_in
from bot.events.races import Race, Runner, did_not_finish, is_disqualified, is_shared, name_and_country, plain_name
from bot.events.sentences import listed
from bot.slack.messages.kit.names import HORSE_MAX, RUNNERS_PLAUSIBLE, SHORT_MAX, horse_name
from bot.slack.messages.kit.text import capital, first_of, given, joined, safe

WITHOUT_ORDER = "placings not received"
CHECK_PLACES = "check which is true"
ORDER_MAX = 120
POSITION_MAX = 12
HORSES_NAMED = 6

GAP = "\N{EM SPACE}"
"""Slack may show several spaces as a single space."""

FIRST_PLACES = 3
FIRST_PLACES_MAX = 7
"""The most placed horses of a list that may leave out the others: France publishes the first seven."""

_DISQUALIFIED_NAMED = 3
_PRICE = re.compile(
    r"(?P<to>[0-9]{1,4})[/-](?P<on>[1-9][0-9]{0,3})|(?P<decimal>[0-9]{1,4}\.[0-9]{1,3})|ev(?:e?ns?|s)(?: money)?",
    re.IGNORECASE,
)
_NO_PRICE = re.compile(r"0+(?:[/-]|\.0+$)")
_FAVOURITES = {1: "F", 2: "JF"}


def result_line(race: Race, *, in_text: bool = False, first: str | None = None) -> str:
    return RaceField(race).line(in_text=in_text, first=first)


def walkover(race: Race) -> str | None:
    """The horse; None if several horses may have run."""
    alone = walked_over(race)
    return RaceField(race).horse(alone) if alone else None


def walked_over(race: Race) -> Runner | None:
    if state_in(race.status) is not RaceState.WALKOVER:
        return None
    alone = race.placed() or race.went
    return alone[0] if len(alone) == 1 else None


def winner(race: Race) -> str:
    """For example "won by *Desert Crown* 5/2F"; without a winner as `RaceField.line`."""
    field = RaceField(race)
    first = [runner for runner in field.placed if runner.finishing_position == 1]
    named = [joined([f"*{field.horse(one)}*", field.price(one)], " ") for one in first]
    return f"{'dead heat' if len(first) > 1 else 'won by'} {listed(named)}" if first else field.line()


class RaceField:
    """All runners of a race: their order, what each is called, at which price each ran, and how many ran.

    `placed`: best first. `in_order`: the placed horses, then the others as published. Some sources publish place 0 for
    the others. `front`: the first three places, dead heats included; else the best place.
    """

    def __init__(self, race: Race) -> None:
        self.race = race
        self.went = race.went
        self.placed = race.placed()
        self.in_order = [*self.placed, *(runner for runner in race.runners if not runner.finishing_position)]
        first = takewhile(lambda runner: (runner.finishing_position or 0) <= FIRST_PLACES, self.placed)
        self.front = tuple(first) or self.placed[:1]
        self.ran = self._ran()
        values = [_value(runner.starting_price) for runner in self.went]
        known = [value for value in values if value is not None]
        has_all = len(known) == len(self.went) == self.ran and len(known) > 1
        self._shortest = min(known) if has_all else None
        self._mark = _FAVOURITES.get(known.count(self._shortest), "CF") if self._shortest is not None else ""

    def line(self, *, in_text: bool = False, first: str | None = None) -> str:
        """The placed horses with their prices, then how many ran; or why there is no order.

        `in_text`: for a lock screen and a screen reader, with commas. `first`: "Result in", before a missing order.
        """
        if alone := walked_over(self.race):
            return f"Walkover: {self.horse(alone)}"
        order = None
        if self.front:
            horses, after = self._order
            apart, end = (", ", ". ") if in_text else (" · ", GAP)
            order = joined([apart.join(horses), capital(after) if in_text else after], end)
        if self.race.disputed:
            return joined([CHECK_PLACES, given("otherwise {}", order)], ", ")
        return order or _without_order(self, first)

    @cached_property
    def _order(self) -> tuple[Sequence[str], str]:
        named = [joined([_place(one, self.front), self.horse(one), self.price(one)], " ") for one in self.front]
        return first_of(named, HORSES_NAMED), _after_the_horses(self)

    @cached_property
    def _bare(self) -> Counter[str]:
        return Counter(plain_name(runner.horse) for runner in self.race.runners if runner.horse)

    def horse(self, runner: Runner) -> str:
        return self.named(runner.horse) if runner.horse else horse_name(runner)

    def named(self, horse: str) -> str:
        """The country of birth stands behind a horse that runs abroad, and behind horses of one name."""
        name, country = name_and_country(horse)
        is_at_home = country is not None and country.casefold() == (self.race.region or "").casefold()
        shown = name if is_at_home and self._bare[plain_name(horse)] <= 1 else horse
        return safe(shown, HORSE_MAX) or horse_name(Runner())

    def price(self, runner: Runner) -> str | None:
        """As published. A favourite is marked by the data, or where the prices of all runners are known."""
        price = safe(runner.starting_price, SHORT_MAX)
        return f"{price}{self.mark(runner)}" if price else price

    def mark(self, runner: Runner) -> str:
        """For example "JF"; empty for other runners than favourites."""
        is_shortest = self._shortest is not None and _value(runner.starting_price) == self._shortest
        return self._mark if is_shortest else ""

    def _ran(self) -> int | None:
        """None where the list may leave runners out, or names declared runners who may not have run."""
        from_card, size = self.race.from_book, self.race.field_size or 0
        is_declared = "field_size" in from_card
        if is_declared and size < len(self.went):
            # The list may name horses that were declared, and did not run.
            return None
        published = size if not is_declared and len(self.went) <= size < RUNNERS_PLAUSIBLE else 0
        if published:
            is_without_others = len(self.went) == len(self.race.runners)
            return len(self.went) if len(self.race.runners) >= published else published if is_without_others else None
        names_all = is_declared and size in {len(self.went), len(self.race.runners)}
        is_behind = len(self.went) > min(len(self.placed), FIRST_PLACES_MAX)
        return len(self.went) if (names_all or is_behind) and "runners" not in from_card else None


def _place(runner: Runner, placed: Sequence[Runner]) -> str | None:
    """The place, with "=" of a dead heat. Further words of the position stay: "2 (promoted)"."""
    place = runner.finishing_position
    if is_shared(runner.position) or sum(one.finishing_position == place for one in placed) > 1:
        return f"{place}="
    return safe(runner.position, SHORT_MAX) if "(" in (runner.position or "") else str(place)


def _after_the_horses(field: RaceField) -> str:
    """For example "dead heat, 9 ran, beaten nk, 2¼l, Horse D disqualified"."""
    places = [runner.finishing_position for runner in field.front]
    behind = (safe(one.beaten, SHORT_MAX) for one in field.front if one.finishing_position != 1)
    beaten = joined([*takewhile(bool, behind)], ", ")
    out = [_disqualified(one, field) for one in field.race.runners if is_disqualified(one.position)]
    said = [
        "dead heat" if len(set(places)) < len(places) else None,
        f"{field.ran} ran" if field.ran else None,
        f"only {len(field.placed)} finished" if _is_all_that_finished(field) else None,
        given("beaten {}", beaten),
        *out[:_DISQUALIFIED_NAMED],
        None if 1 in places else "winner not named",
    ]
    return joined(said, ", ")


def _is_all_that_finished(field: RaceField) -> bool:
    others = [runner for runner in field.went if not runner.finishing_position]
    is_short = len(field.placed) < FIRST_PLACES and bool(others)
    return is_short and all(did_not_finish(runner.position) for runner in others)


def _disqualified(runner: Runner, field: RaceField) -> str:
    because = given("({})", safe(runner.position_reason, SHORT_MAX))
    return joined([f"{field.horse(runner)} disqualified", because], " ")


def _without_order(field: RaceField, first: str | None) -> str:
    """An order that could not be read is told as published."""
    went = field.went
    out = [is_disqualified(runner.position) for runner in went]
    if went and all(is_out or did_not_finish(one.position) for one, is_out in zip(went, out, strict=True)):
        named = [f"{field.horse(one)} {safe(one.position, POSITION_MAX)}" for one in went]
        return f"No horse {'is placed' if any(out) else 'finished'}: {', '.join(first_of(named, HORSES_NAMED))}"
    unread = safe(field.race.unread_order, ORDER_MAX)
    return joined([first, given("placings could not be read: {}", unread) or WITHOUT_ORDER], ", ")


@lru_cache(maxsize=1024)
def _value(price: str | None) -> float | None:
    """The return on one staked: of "11/4" and "3.75" the same. None for 0, and for a price with a mark of its own."""
    found = _PRICE.fullmatch((price or "").strip())
    if found is None or _NO_PRICE.match(found[0]):
        return None
    if found["decimal"]:
        return float(found["decimal"])
    # A single rounding: 2/5 and 1.4 are the same number.
    return (int(found["to"]) + int(found["on"])) / int(found["on"]) if found["to"] else 2.0
