"""The stand-in keeps to its own description: no fault, no status that is not documented, whatever is asked."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.racing_service import RacingService
from sandbox.racing_service.service_state import ENDPOINTS

KEY = "demo-key"


class RunningClock:
    """A minute for each look, so that no limit is ever reached."""

    def __init__(self):
        self.now = datetime(2025, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture(scope="module")
def description():
    import schemathesis

    service = RacingService(date(2025, 11, 20), api_key=KEY, clock=RunningClock(), days_back=0, days_ahead=1)
    return schemathesis.openapi.from_asgi("/openapi.json", service.app)


@pytest.mark.parametrize("valid", [True, False], ids=["valid", "invalid"])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@settings(max_examples=10, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_endpoint_keeps_to_its_description(description, endpoint, valid, data):
    # Imported by the worker that runs the test, and not by each that collects the test.
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    operations = description["/v1" + endpoint]
    operation = operations["POST" if endpoint == "/webhooks/subscribe" else "GET"]
    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    case = data.draw(operation.as_strategy(generation_mode=mode))
    kept = (checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance)
    response = case.call_and_validate(headers={"X-API-Key": KEY}, checks=[not_a_server_error, *kept])
    if valid and "cursor" not in (case.query or {}):
        assert response.status_code in {200, 201}


def test_description_has_every_endpoint_and_its_errors(description):
    paths = description.raw_schema["paths"]
    assert set(paths) == {"/v1" + endpoint for endpoint in ENDPOINTS}
    for operations in paths.values():
        for operation in operations.values():
            assert {"401", "403", "404", "422", "429", "500"} <= set(operation["responses"])
