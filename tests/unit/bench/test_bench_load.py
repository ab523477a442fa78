"""The load generator's own honesty: what it counts, and that its deliveries are what they say."""

import asyncio
import hashlib
import hmac
import json
from itertools import islice

import pytest

from bench.load import Connection, Load, Pool
from bench.payloads import SECRET, Results


def parts_of(request):
    head, _, body = request.partition(b"\r\n\r\n")
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]), body


def test_load_counts_only_accepted_requests_as_served():
    load = Load(seconds=2.0)
    for status in (200, 503, 200, 0):
        load.note(status, 0.01)
    assert (load.per_s, load.refused, len(load.latencies)) == (1.0, 2, 2)


def test_load_tells_answers_apart():
    load = Load()
    for status in (200, 503, 503, 0):
        load.note(status, 0.01)
    assert (load.answers[200], load.answers[503], load.answers[0]) == (1, 2, 1)


def test_offered_rate_is_of_the_moments_at_which_the_generator_really_sent():
    assert Load(due=[0.0, 1.0, 2.0], lateness=[0.0, 0.5, 2.0]).offered_per_s == 0.5


def test_offered_rate_has_the_requests_that_were_held_back():
    assert Load(due=[0.0, 2.0], lateness=[0.0, 0.0], held_back=3).offered_per_s == 2


class Server(asyncio.Transport):
    """A transport whose server answers at once, in the same words each time."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def connects(self):
        connection = Connection()
        self.connection = connection
        connection.connection_made(self)
        return connection

    def write(self, _request):
        asyncio.get_running_loop().call_soon(self.connection.data_received, self.answer)


@pytest.mark.parametrize(
    ("answer", "status", "is_open"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, True),
        (b"HTTP/1.1 503 No\r\nConnection: close\r\ncontent-length: 2\r\n\r\nno", 503, False),
    ],
)
async def test_connection_carries_no_request_after_an_answer_that_ends_it(answer, status, is_open):
    server = Server(answer)
    connection = server.connects()
    pool = Pool(0, [connection])
    assert await pool.ask(b"GET /") == status
    assert connection.is_open is is_open
    assert pool.one_that_is_free() is (connection if is_open else None)


async def test_request_on_a_connection_that_breaks_has_no_status():
    server = Server(b"")
    connection = server.connects()
    asked = asyncio.create_task(connection.ask(b"GET /"))
    await asyncio.sleep(0)
    connection.connection_lost(None)
    assert (await asked, connection.is_open) == (0, False)


def test_deliveries_are_2_kb_signed_and_all_different():
    requests = list(islice(Results("t", ("GB", "IRE")).requests(), 20))
    for request in requests:
        headers, body = parts_of(request)
        assert len(body) == int(headers["Content-Length"]) == 2048 + (b"IRE" in body)
        assert headers["X-SVC-Signature"] == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert len(set(requests)) == 20


def test_deliveries_are_the_races_that_they_are_looked_for_by():
    results = Results("t", ("R00", "R01"))
    races = [json.loads(parts_of(request)[1])["race"] for request in islice(results.requests(), 4)]
    assert [race["race_id"] for race in races] == [results.race_id(number) for number in range(4)]
    assert [race["region"] for race in races] == ["R00", "R01", "R00", "R01"]


def test_course_is_of_one_region_and_has_eight_races_at_different_times():
    results = Results("t", ("R00", "R01"))
    races = [json.loads(parts_of(request)[1])["race"] for request in islice(results.requests(), 40)]
    by_course: dict[str, list[dict[str, str]]] = {}
    for race in races:
        by_course.setdefault(race["course"]["course_id"], []).append(race)
    assert [len(of_course) for of_course in by_course.values()] == [8, 8, 8, 8, 4, 4]
    for of_course in by_course.values():
        assert len({race["region"] for race in of_course}) == 1
        assert len({race["off_time"] for race in of_course}) == len(of_course)


def test_body_by_itself_is_the_body_of_the_request_of_that_number():
    results = Results("t", ("R00", "R01"))
    for number, request in enumerate(islice(results.requests(), 40)):
        assert parts_of(request)[1] == results.body(number)
