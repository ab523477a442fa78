"""The endpoints that read racing."""

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AfterValidator

from sandbox.racing_day import Race
from sandbox.racing_places import REGION_CODES
from sandbox.racing_service.cursors import ListQuery, effective_limit, take_page
from sandbox.racing_service.endpoint_answers import enveloped, state_of, takes
from sandbox.racing_service.race_shapes import race_record
from sandbox.racing_service.reference_data import country_records, course_records, reference_data
from sandbox.racing_service.refusals import outside_window
from sandbox.racing_service.service_state import Position, State

Record = dict[str, Any]


def _known_region(code: str) -> str:
    if code not in REGION_CODES:
        raise ValueError("is not among the regions of /reference")
    return code


RegionCode = Annotated[str, AfterValidator(_known_region)]
Limit = Annotated[int | None, Query(ge=1)]
Cursor = Annotated[str | None, Query()]


router = APIRouter()

_WHOLE: dict[str, Any] = {"dependencies": [Depends(takes())]}


@router.get("/countries", **_WHOLE)
async def countries(request: Request) -> Any:
    return enveloped(request, country_records(state_of(request).racing))


@router.get("/courses", **_WHOLE)
async def courses(request: Request) -> Any:
    return enveloped(request, course_records(state_of(request).racing))


@router.get("/reference", **_WHOLE)
async def reference(request: Request) -> Any:
    state = state_of(request)
    return enveloped(request, reference_data(state.racing, state.switches))


@router.get("/races/search", dependencies=[Depends(takes("region", "limit", "cursor"))])
async def search(
    request: Request,
    region: Annotated[RegionCode | None, Query()] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    state = state_of(request)
    # Adding the usual limit to a query is a change.
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
    """Outside the window the answer is outside_window, never an empty list."""
    if after is not None and date.fromisoformat(after[0]) not in state.window:
        raise outside_window(state.window, date.fromisoformat(after[0]))


def race_position(race: Race) -> Position:
    """From "the race date and race identifier" (Interface, Race)."""
    return race.race_date.isoformat(), race.race_id
