"""A result of a country that does not publish everybody's place says so where it is posted."""

from bot.racedata import reference_store
from bot.racedata.reference_store import KnownCountry
from tests.integration.pipeline.racing_day import abandonment, result, shown, tell

LABEL = "Italy does not publish the full finishing order: 61% of runners have a recorded position."


async def test_result_of_a_partial_order_is_labelled_and_no_other_message(pipeline):
    italy = KnownCountry(country_code="ITY", name="Italy", full_result_order=False, position_pct=0.612)
    whole = KnownCountry(country_code="GB", name="Great Britain", full_result_order=True)
    await pipeline.database.write(
        lambda session: reference_store.put_countries(session, [italy, whole], pipeline.clock())
    )
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, result("rc_1", region="ITY"), result("rc_2"), abandonment("rc_3", region="ITY"))
    assert [LABEL in shown(message) for message in pipeline.slack.messages("CALL")] == [True, False, False]
