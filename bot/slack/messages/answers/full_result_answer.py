"""The answer to "Full result": every runner with all published fields."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from bot.events.event import RacingEvent
from bot.events.facts import only
from bot.events.races import Race
from bot.outbox.message import Message
from bot.racedata.client.records import KnownCountry
from bot.slack.messages.alerts.alert_context import Corrected
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.alerts.result import IS_VOID
from bot.slack.messages.alerts.runner_table import FULL_RESULT_COLUMNS, runner_lines, runners_table
from bot.slack.messages.answers.outcome_words import not_official
from bot.slack.messages.kit.blocks import context, header, section
from bot.slack.messages.kit.layout import Either, lines, message
from bot.slack.messages.kit.names import SHORT_MAX, order_note, race_day, race_details, race_name, region_mark
from bot.slack.messages.kit.result_line import in_order, result_line
from bot.slack.messages.kit.text import given, joined, safe
from bot.slack.messages.kit.times import moment_for_readers


def full_result(
    event: RacingEvent,
    known: Race | None,
    received_at: datetime,
    countries: Sequence[KnownCountry] = (),
    changed: Corrected | None = None,
) -> Message:
    """`known`: the race by the race book, used if settled; else the race as delivered.

    `countries`: for the label of a partial order. `changed`: differences from the first version.
    """
    race = known if known and (known.placed() or known.is_void) else event.race
    corrected = _corrected(race, changed)
    # No place of a void race counts.
    runners = [] if race.is_void else in_order(race)
    name = f"{race_name(race)}{region_mark(event)}"
    line = IS_VOID if race.is_void else result_line(race, in_text=True, first="Result in")
    is_unknown = changed is not None and changed.order_unknown
    kind = f"Full result, {DISAGREE.lower() if is_unknown else 'corrected'}" if corrected else "Full result"
    status = not_official(race)
    text = joined([f"{kind}: {name}: {line}", status], ". ")
    time = given("winning time {}", safe(race.winning_time, SHORT_MAX))
    head = [header(f"{kind}: {name}"), section(joined([race_day(race), time, race_details(race)]))]
    head += [section(corrected), None if runners and not race.disputed else section(line), section(status)]
    received = f"Result received {moment_for_readers(received_at)}"
    foot = context(order_note(countries, {event.race.region}), received)
    listed = lines(runner_lines(runners, race))
    table = partial(runners_table, "Every runner", runners, FULL_RESULT_COLUMNS, result=race)
    return message(text, [*head, Either([table], [listed]), foot])


def _corrected(race: Race, changed: Corrected | None) -> str:
    if changed is None or not only(changed.changes, additions=False):
        return ""
    words = changes_in_words(changed.changes, race, disagree=changed.order_unknown)
    kind = "Another version" if changed.order_unknown else "Corrected"
    return f"{kind} {moment_for_readers(changed.at)}: {words}"
