"""The four endpoints that read racing: /countries, /courses, /reference, /races/search."""

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AfterValidator, WithJsonSchema

from bot.sandbox.racing_day import Race
from bot.sandbox.racing_places import REGION_CODES
from bot.sandbox.racing_service.cursor_pages import LARGEST_LIMIT, ListQuery, effective_limit, take_page
from bot.sandbox.racing_service.cursors import Position
from bot.sandbox.racing_service.endpoint_answers import ENVELOPED, enveloped, state_of, takes
from bot.sandbox.racing_service.race_shapes import race_record
from bot.sandbox.racing_service.reference_data import country_records, course_records, reference_data
from bot.sandbox.racing_service.refusals import outside_window
from bot.sandbox.racing_service.service_state import State

Record = dict[str, Any]


def _known_region(code: str) -> str:
    if code not in REGION_CODES:
        raise ValueError("is not among the regions of /reference")
    return code


RegionCode = Annotated[str, AfterValidator(_known_region), WithJsonSchema({"type": "string", "enum": [*REGION_CODES]})]
Limit = Annotated[int | None, Query(ge=1, json_schema_extra={"maximum": LARGEST_LIMIT})]
Cursor = Annotated[str | None, Query(description="The value of a previous answer's meta.next_cursor.")]


router = APIRouter()

_WHOLE: dict[str, Any] = {**ENVELOPED, "dependencies": [Depends(takes())]}


@router.get("/countries", **_WHOLE)
async def countries(request: Request) -> Any:
    """Every country in the archive with its race count and which fields it publishes."""
    return enveloped(request, country_records(state_of(request).racing))


@router.get("/courses", **_WHOLE)
async def courses(request: Request) -> Any:
    """Every course with first and last meeting and its race count."""
    return enveloped(request, course_records(state_of(request).racing))


@router.get("/reference", **_WHOLE)
async def reference(request: Request) -> Any:
    """The valid goings, classes, run types, surfaces, regions and casualty reasons."""
    state = state_of(request)
    return enveloped(request, reference_data(state.racing, state.switches))


@router.get("/races/search", **ENVELOPED, dependencies=[Depends(takes("region", "limit", "cursor"))])
async def search(
    request: Request,
    region: Annotated[RegionCode | None, Query()] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Races for a subset across many dates, cursor-paginated."""
    state = state_of(request)
    # The cursor is bound to the limit as it was sent: to add or drop it is a change, even at the usual size.
    bound = {"region": region, "limit": None if limit is None else str(limit)}
    query = ListQuery("/races/search", bound, effective_limit(limit, state), cursor)
    records, paging = _search(query, state)
    return enveloped(request, records, paging)


def _search(query: ListQuery, state: State) -> tuple[list[Record], dict[str, object]]:
    _check_window(query.after(state), state)
    races = [race for race in state.racing.races(region=query.filters["region"]) if race.race_date in state.window]
    page, paging = take_page(races, race_position, query, state, descending=state.switches.newest_first)
    shape = state.switches.races
    return [race_record(race, state.racing.state(race), shape) for race in page], paging


def _check_window(after: Position | None, state: State) -> None:
    """A cursor names a date: where the plan no longer reads it, the answer is outside_window, never an empty list."""
    if after is not None and date.fromisoformat(after[0]) not in state.window:
        raise outside_window(state.window, date.fromisoformat(after[0]), state.switches)


def race_position(race: Race) -> Position:
    """What a race's cursor is derived from: "the race date and race identifier" (Interface, Race)."""
    return race.race_date.isoformat(), race.race_id
