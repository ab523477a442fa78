"""Choices as people meet them, and the view of every kind of condition, in the order of the form.

A new kind is a class and a line of VIEWS.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from bot.channels.conditions.choices import (
    MEETINGS,
    AckCondition,
    ChoiceCondition,
    DigestCondition,
    EscalateCondition,
    EveCondition,
    QuietCondition,
    ShowCondition,
    ZoneCondition,
    minutes_of,
    time_of_day,
)
from bot.channels.filters import ChannelFilter
from bot.slack.messages.conditions.condition_view import CheckboxView, ConditionView, Loss, TextView
from bot.slack.messages.conditions.taken_views import (
    MentionView,
    NotCoursesView,
    OnlyCoursesView,
    PeopleView,
    RaceClassView,
    RaceCodeView,
    RaceView,
    RegionView,
    TopicView,
)
from bot.slack.messages.kit.text import counted, listed


class ChoiceView(TextView):
    """`help`: what the typed word does. `is_of_names`: values are names, and no times."""

    condition: ChoiceCondition
    is_of_names: bool = False
    help: str

    @property
    def typed_as(self) -> str:  # type: ignore[override]
        return f"{self.field}:"

    @property
    def typed_example(self) -> str:  # type: ignore[override]
        return self.condition.example

    def meant(self, _typed: str) -> tuple[str, ...]:
        return () if self.is_of_names else (self.typed_example,)

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if not self.condition.covers(now, was):
            yield self.change(now)

    @abstractmethod
    def change(self, now: ChannelFilter) -> Loss:
        """What somebody set."""


def by_the_clock(chosen: ChannelFilter) -> str:
    return chosen.zone[0] if chosen.zone else "UTC"


def clock_named(chosen: ChannelFilter) -> str:
    """For example "London time"."""
    return f"{chosen.zone[0].rpartition('/')[2].replace('_', ' ')} time" if chosen.zone else "UTC"


class DigestView(ChoiceView):
    condition = DigestCondition()
    label = "Results together, once a day at"
    help = "a day's results come in one message at that time"
    hint = f"For example: {condition.example}. Abandonments, and changes of earlier news, come at once."

    def said(self, chosen: ChannelFilter) -> str:
        return f"results together at {listed(chosen.digest)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set a results digest for", f": each day at {listed(now.digest)} {clock_named(now)}")


class EveView(ChoiceView):
    condition = EveCondition()
    label = "Racecards together, on the day before at"
    help = "racecards come in one message on the eve of the racing, at that time"
    hint = f"For example: {condition.example}. Choose Racecards above too. A later card comes at once."

    def said(self, chosen: ChannelFilter) -> str:
        return f"racecards together on the eve at {listed(chosen.cards)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set a racecard digest for", f": on the eve at {listed(now.cards)} {clock_named(now)}")


class QuietView(ChoiceView):
    condition = QuietCondition()
    label = "Quiet hours"
    help = "results and racecards wait in these hours, and come in one message at the end; abandonments never wait"
    hint = (
        f"For example: {condition.example}. Results and racecards wait, and come together at the end. Abandonments "
        "come at once."
    )

    def meant(self, typed: str) -> tuple[str, ...]:
        """As `no messages after 10pm` means 10 pm until morning."""
        begins, (begin, ends) = time_of_day(typed), self.condition.example.split("-")
        return (f"{begins:%H:%M}-{ends}" if begins else f"{begin}-{ends}",)

    def said(self, chosen: ChannelFilter) -> str:
        return f"quiet hours from {_hours(chosen)} {by_the_clock(chosen)}"

    def change(self, now: ChannelFilter) -> Loss:
        return Loss("set quiet hours for", f": {_hours(now)} {clock_named(now)}")


class ZoneView(ChoiceView):
    """Hours are said with their zone: the zone has words of its own only without hours."""

    condition = ZoneCondition()
    is_of_names = True
    label = "Time zone of these hours"
    help = "the time zone of all these hours; your own without a zone"
    hint = (
        f"For example: {condition.example}. Without a time zone new hours go by your own clock in Slack, else by UTC."
    )

    def words(self, chosen: ChannelFilter, names_max: int | None) -> str:
        return "" if chosen.has_hours else super().words(chosen, names_max)

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


class ShowView(CheckboxView, ChoiceView):
    condition = ShowCondition()
    label = "One message a meeting"
    labels: Mapping[str, str] = {MEETINGS: "Results go into its thread; abandonments stay in the channel"}
    help = "one message a meeting is kept up to date, and the results stand in its thread"

    def said(self, chosen: ChannelFilter) -> str:
        return "one message a meeting, results in its thread" if chosen.show else "every result in the channel"

    def change(self, now: ChannelFilter) -> Loss:
        way = "one message a meeting, with results in its thread" if now.show else "a message for every result"
        return Loss("switched", f" to {way}")


ESCALATE_PEOPLE_FIELD = "escalate_people"
ESCALATE_GROUPS_FIELD = "escalate_groups"
ESCALATE_CHANNELS_FIELD = "escalate_channels"

TOLD_MAX = 10
"""Of people, of groups, and of channels."""


class AckView(ChoiceView):
    condition = AckCondition()
    label = "Abandonments to be acknowledged within"
    help = "each abandonment has a button, and somebody is to press the button within that time"
    hint = (
        f"Write {condition.example} for ten minutes. Each abandonment has a button, and everybody sees who has "
        "taken it."
    )

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.said(chosen)}" if minutes_of(chosen) else ""

    def said(self, chosen: ChannelFilter) -> str:
        minutes = minutes_of(chosen)
        if minutes is None:
            return "no acknowledgement of abandonments"
        return f"abandonments to be acknowledged within {counted(minutes, 'minute')}"

    def change(self, now: ChannelFilter) -> Loss:
        minutes = minutes_of(now)
        if minutes is None:
            return Loss("turned off acknowledgement for")
        return Loss("set the time to acknowledge for", f": {counted(minutes, 'minute')}")


class EscalateView(PeopleView, ChoiceView):
    condition = EscalateCondition()
    problem_block = ESCALATE_GROUPS_FIELD
    menus: Mapping[str, tuple[str, int]] = {
        ESCALATE_PEOPLE_FIELD: ("If nobody acknowledges, mention", TOLD_MAX),
        ESCALATE_GROUPS_FIELD: ("And mention @here or user groups", TOLD_MAX),
        ESCALATE_CHANNELS_FIELD: ("If still nobody acknowledges, post in", TOLD_MAX),
    }
    is_of_names = True
    help = "who is told of an abandonment that nobody has acknowledged: a person, a user group or a channel"

    def said(self, chosen: ChannelFilter) -> str:
        return f"else telling {listed(list(chosen.escalate))}" if chosen.escalate else "else telling nobody"

    def change(self, now: ChannelFilter) -> Loss:
        told = listed(list(now.escalate)) or "nobody"
        return Loss("changed who is told when nobody takes an abandonment from", f": now {told}")


REGION, TOPICS, ONLY_COURSES, MENTIONS = RegionView(), TopicView(), OnlyCoursesView(), MentionView()

VIEWS: tuple[ConditionView, ...] = (
    REGION,
    TOPICS,
    ONLY_COURSES,
    NotCoursesView(),
    RaceClassView(),
    RaceCodeView(),
    MENTIONS,
    DigestView(),
    EveView(),
    QuietView(),
    ZoneView(),
    ShowView(),
    AckView(),
    EscalateView(),
)

NARROWING: tuple[ConditionView, ...] = tuple(view for view in VIEWS if view.condition.is_narrowing)

CHOICES: tuple[ChoiceView, ...] = tuple(view for view in VIEWS if isinstance(view, ChoiceView))
"""The name alone stands for all values: `unsubscribe quiet`."""

VALUED: tuple[ConditionView, ...] = tuple(view for view in VIEWS if isinstance(view, ChoiceView | RaceView))
"""The kinds with values of their own, which are no places and no topics."""

TYPED_AS: dict[str, ConditionView] = {view.typed_as: view for view in VIEWS if view.typed_as}
