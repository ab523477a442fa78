"""The hours of a subscription as people meet them: digest, cards on the eve, quiet hours, and their time zone."""

from collections.abc import Iterator

from bot.channels.conditions.digest_condition import DIGEST_EXAMPLE, EVE_EXAMPLE, DigestCondition, EveCondition
from bot.channels.conditions.quiet_condition import QUIET_EXAMPLE, QuietCondition
from bot.channels.conditions.zone_condition import ZONE_EXAMPLE, ZoneCondition
from bot.channels.filters import ChannelFilter
from bot.channels.hours import has_hours
from bot.slack.messages.conditions.choice_view import ChoiceView, by_the_clock, clock_named
from bot.slack.messages.conditions.condition_view import Loss
from bot.slack.messages.kit.text import listed


class DigestView(ChoiceView):
    condition = choice = DigestCondition()
    typed_as = f"{choice.field}:"
    typed_example = DIGEST_EXAMPLE
    label = "Results together, once a day at"
    help = "a day's results come in one message at that time"
    hint = f"For example: {DIGEST_EXAMPLE}. Abandonments, and changes of earlier news, come at once."

    def said(self, chosen: ChannelFilter) -> str:
        return f"results together at {listed(chosen.digest)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set a results digest for", f": each day at {listed(now.digest)} {clock_named(now)}")


class EveView(ChoiceView):
    condition = choice = EveCondition()
    typed_as = f"{choice.field}:"
    typed_example = EVE_EXAMPLE
    label = "Racecards together, on the day before at"
    help = "racecards come in one message on the eve of the racing, at that time"
    hint = f"For example: {EVE_EXAMPLE}. Choose Racecards above too. A later card comes at once."

    def said(self, chosen: ChannelFilter) -> str:
        return f"racecards together on the eve at {listed(chosen.cards)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set a racecard digest for", f": on the eve at {listed(now.cards)} {clock_named(now)}")


class QuietView(ChoiceView):
    condition = choice = QuietCondition()
    typed_as = f"{choice.field}:"
    typed_example = QUIET_EXAMPLE
    label = "Quiet hours"
    help = "results and racecards wait in these hours, and come in one message at the end; abandonments never wait"
    hint = (
        f"For example: {QUIET_EXAMPLE}. Results and racecards wait, and come together at the end. Abandonments come at "
        "once."
    )

    def said(self, chosen: ChannelFilter) -> str:
        return f"quiet hours from {_hours(chosen)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set quiet hours for", f": {_hours(now)} {clock_named(now)}")


class ZoneView(ChoiceView):
    """Hours are said with their zone: the zone has words of its own only without hours."""

    condition = choice = ZoneCondition()
    typed_as = f"{choice.field}:"
    typed_example = ZONE_EXAMPLE
    is_of_names = True
    label = "Time zone of these hours"
    help = "the time zone of all these hours; your own without a zone"
    hint = f"For example: {ZONE_EXAMPLE}. Without a time zone new hours go by your own clock in Slack, else by UTC."

    def words(self, chosen: ChannelFilter, names_max: int | None) -> str:
        return "" if has_hours(chosen) else super().words(chosen, names_max)

    def said(self, chosen: ChannelFilter) -> str:
        return f"the clock of {chosen.zone[0]}"

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        """Newly set hours name their clock themselves."""
        hours = zip(_all_hours(was), _all_hours(now), strict=True)
        return iter(()) if any(chosen not in {(), before} for before, chosen in hours) else super().losses(was, now)

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set the clock for", f": {clock_named(now)}")


def _all_hours(chosen: ChannelFilter) -> tuple[tuple[str, ...], ...]:
    return chosen.quiet, chosen.digest, chosen.cards


def _hours(chosen: ChannelFilter) -> str:
    return listed([one.replace("-", " to ") for one in chosen.quiet])
