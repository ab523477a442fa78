"""How checks are run: the five outcomes, dependencies, time limit, crashes, secrets."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.doctor.check_run import CheckOutcome, CheckReport, DoctorCheck, Finding, NotApplicable, Seen, examine
from bot.doctor.table import CHECKS
from bot.logs import MaskSecrets
from tests.answering import answering, failing
from tests.rows import over

AT = datetime(2026, 11, 22, 18, tzinfo=UTC)


WORN = Finding("worn", CheckOutcome.WARNING, "It is worn.", "Oil it.")
BROKEN = Finding("broken", CheckOutcome.FAILED, "It broke.", "Glue it.")

well = answering(Seen("all is well"))
ill = answering(Seen("not well", (WORN, BROKEN)))
poorly = answering(Seen("poorly", (WORN,)))
absent = answering(NotApplicable("there is none"))
crash = failing(ValueError("xoxb-secret-token"))


async def hang(_patient):
    await asyncio.Event().wait()


def checks(*looks):
    return [DoctorCheck(str(number), look) for number, look in enumerate(looks)]


async def outcomes(*checks, limit_s=5.0):
    return {one.check: one for one in await examine(checks, None, limit_s=limit_s)}


async def test_check_is_as_bad_as_its_worst_finding():
    found = [*(await outcomes(*checks(well, poorly, ill, absent))).values()]
    assert [one.outcome for one in found] == ["ok", "warning", "failed", "skipped"]
    assert (found[3].told, found[3].because_of) == ("there is none", None)


@over(("look", "is_skipped"), [(ill, True), (crash, True), (absent, True), (poorly, False)])
async def test_check_whose_need_did_not_end_well_is_skipped_with_the_check_right_before(look, is_skipped):
    chain = [DoctorCheck(name, one, needs=needs) for name, one, needs in (("1", look, ()), ("2", well, ("1",)))]
    found = await outcomes(*chain, DoctorCheck("3", well, needs=("2",)))
    assert [found[name].outcome == "skipped" for name in "23"] == [is_skipped] * 2
    assert [found[name].because_of for name in "23"] == (["1", "2"] if is_skipped else [None, None])


@pytest.mark.parametrize("look", [crash, failing(TimeoutError())])
async def test_crash_is_a_finding_with_its_place_and_without_its_words(look):
    first, second = (await outcomes(*checks(look, well))).values()
    (finding,) = first.findings
    assert (first.outcome, finding.code, finding.outcome) == ("crashed", "crashed", "crashed")
    assert "Error at answering.py:" in finding.told
    assert "xoxb" not in finding.told
    assert second.outcome == "ok"


async def test_check_that_takes_too_long_is_a_finding_and_independent_checks_run_beside_one_another():
    first, second = (await outcomes(*checks(hang, well), limit_s=0.02)).values()
    (finding,) = first.findings
    assert (first.outcome, finding.code, second.outcome) == ("failed", "too_slow", "ok")
    met = asyncio.Barrier(2)

    async def meet(_patient):
        await met.wait()
        return Seen("met")

    assert {one.outcome for one in (await outcomes(*checks(meet, meet))).values()} == {"ok"}


async def test_secrets_are_blanked_out_wherever_a_check_tells_them():
    async def tell(_patient):
        worn = replace(WORN, told="racing-key-1 is worn", mend="Turn racing-key-1.")
        return Seen("the key is racing-key-1", (worn,))

    (examined,) = await examine([DoctorCheck("a", tell)], None, mask=MaskSecrets(["racing-key-1"]).masked)
    report = CheckReport("1", AT, [examined])
    assert "racing-key-1" not in report.as_text() + report.as_json()
    assert report.as_text().count("********") == 3


@over(
    ("looks", "outcome", "code"),
    [
        ([well, absent], CheckOutcome.OK, 0),
        ([well, poorly], CheckOutcome.WARNING, 1),
        ([poorly, ill, well], CheckOutcome.FAILED, 2),
        ([ill, crash], CheckOutcome.CRASHED, 2),
        ([absent], CheckOutcome.OK, 0),
    ],
)
async def test_exit_code_follows_the_worst_outcome(looks, outcome, code):
    report = CheckReport("1", AT, await examine(checks(*looks), None))
    assert (report.outcome, report.exit_code) == (outcome, code)


REPORT = """racing-bot 1.2
warning  0: poorly
         - It is worn.
           Mend: Oil it.
warning  1: poorly
         - It is worn.
           Mend: Oil it.
failed   b: not well
         - It is worn.
           Mend: Oil it.
         - It broke.
           Mend: Glue it.
skipped  c: because of b

1 failed, 2 warnings, 1 skipped"""


async def test_report_as_text_has_a_line_for_each_check_and_what_mends_and_as_json_the_documented_fields():
    looks = [*checks(poorly, poorly), DoctorCheck("b", ill), DoctorCheck("c", well, needs=("b",))]
    report = CheckReport("1.2", AT, await examine(looks, None))
    assert report.as_text().rstrip("\n") == REPORT
    document = json.loads(report.as_json())
    said = [document[name] for name in ("version", "at", "outcome", "exit_code")]
    assert said == ["1.2", "2026-11-22T18:00:00+00:00", "failed", 2]
    first, second = document["checks"][2:]
    assert first.keys() == second.keys() == {"check", "outcome", "told", "because_of", "took_s", "findings"}
    assert first["findings"][1] == {"code": "broken", "outcome": "failed", "told": "It broke.", "mend": "Glue it."}
    assert (second["because_of"], second["findings"]) == ("b", [])


def test_each_check_of_the_table_stands_after_the_checks_it_needs():
    seen: list[str] = []
    for check in CHECKS:
        assert set(check.needs) <= set(seen), check.id
        assert check.id not in seen
        seen.append(check.id)
