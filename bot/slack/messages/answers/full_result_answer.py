"""The answer to "Full result": every runner with all published fields."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.events.event import RacingEvent
from bot.events.facts import only
from bot.events.races import Race, Runner
from bot.outbox.message import Message
from bot.racedata.reference_store import KnownCountry
from bot.slack.messages.alerts.alert_context import Corrected
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.alerts.finishing_order import order_note
from bot.slack.messages.alerts.result import IS_VOID, without_order
from bot.slack.messages.alerts.runner_table import FULL_RESULT_COLUMNS, runners_table
from bot.slack.messages.kit.blocks import context, header, message, mrkdwn, room_beside, section
from bot.slack.messages.kit.names import SHORT_MAX, race_day, race_details, race_name, region_mark, runner_line
from bot.slack.messages.kit.native_blocks import with_native
from bot.slack.messages.kit.text import counted, joined, safe
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
    placed = () if race.is_void else race.placed()
    others = () if race.is_void else (runner for runner in race.runners if runner.finishing_position is None)
    runners = [*placed, *others]
    name = f"{race_name(race)}{region_mark(event)}"
    nothing = IS_VOID if race.is_void else without_order(race)
    none = None if runners else section(nothing)
    kind = _kind(changed) if corrected else "Full result"
    text = f"{kind}: {name}: {counted(len(runners), 'runner') if runners else nothing}"
    head = [header(f"{kind}: {name}"), section(joined([race_day(race), _time(race), race_details(race)]))]
    head += [section(corrected), none]
    small = [order_note(countries, {event.race.region}), f"Result received {moment_for_readers(received_at)}"]
    foot = context([mrkdwn(words) for words in small if words])

    def in_sections() -> Message:
        return message(text, head, _lines(runners), len(runners), [foot])

    table = runners_table("Every runner", runners, FULL_RESULT_COLUMNS, room_beside([*head, foot]))
    return with_native(message(text, [*head, *table], foot=[foot]), in_sections) if table else in_sections()


def _corrected(race: Race, changed: Corrected | None) -> str:
    if changed is None or not only(changed.changes, additions=False):
        return ""
    words = changes_in_words(changed.changes, race.runners, disagree=changed.order_unknown)
    kind = "Another version" if changed.order_unknown else "Corrected"
    return f"{kind} {moment_for_readers(changed.at)}: {words}"


def _kind(changed: Corrected | None) -> str:
    is_unknown = changed is not None and changed.order_unknown
    return f"Full result, {DISAGREE.lower() if is_unknown else 'corrected'}"


def _time(race: Race) -> str | None:
    time = safe(race.winning_time, SHORT_MAX)
    return f"winning time {time}" if time else None


def _lines(runners: Sequence[Runner]) -> Iterator[str]:
    for runner in runners:
        numbers = [
            f"no. {number}" if (number := safe(runner.number, SHORT_MAX)) else None,
            f"draw {draw}" if (draw := safe(runner.draw, SHORT_MAX)) else None,
            f"OR {rating}" if (rating := safe(runner.official_rating, SHORT_MAX)) else None,
            f"beaten {beaten}" if (beaten := safe(runner.beaten, SHORT_MAX)) else None,
            safe(runner.position_reason, SHORT_MAX),
        ]
        yield joined([runner_line(runner, safe(runner.position, SHORT_MAX) or "–"), joined(numbers, ", ")])  # noqa: RUF001  a dash for no position
