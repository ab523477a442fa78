"""The load generator's own honesty: what it counts, and that its deliveries are what they say."""

import hashlib
import hmac
import json
from itertools import islice

from bench.load import Load
from bench.payloads import SECRET, Results


def parts_of(request):
    head, _, body = request.partition(b"\r\n\r\n")
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]), body


def test_load_counts_only_accepted_requests_as_served():
    load = Load(seconds=2.0)
    for status in (200, 503, 200, 0):
        load.note(status, 0.01)
    assert (load.per_s, load.refused, len(load.latencies)) == (1.0, 2, 2)


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
