"""Choices as people meet them: typed, and in the form as a text with commas."""

import re
from abc import abstractmethod
from collections.abc import Iterator

from bot.channels.conditions.choices import (
    ACK_EXAMPLE,
    DIGEST_EXAMPLE,
    ESCALATE_EXAMPLE,
    EVE_EXAMPLE,
    MEETINGS,
    QUIET_EXAMPLE,
    AckCondition,
    ChoiceCondition,
    DigestCondition,
    EscalateCondition,
    EveCondition,
    QuietCondition,
    ShowCondition,
    ZoneCondition,
    is_channel,
    minutes_of,
    time_of_day,
)
from bot.channels.conditions.zones import ZONE_EXAMPLE
from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    form_field,
)
from bot.slack.messages.conditions.event_views import TOPIC_LABELS, TOPICS_FIELD, people_menus
from bot.slack.messages.kit.blocks import options, plain_text
from bot.slack.messages.kit.text import counted, listed

TYPED_CHOICE_MAX = 200


class ChoiceView(ConditionView):
    """`label` and `hint` are of the form's field, which has the condition's name. `help`: what the typed word does.

    `is_of_names`: values are names, and no times.
    """

    choice: ChoiceCondition
    is_of_names: bool = False
    label: str
    hint: str
    help: str

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.said(chosen)}" if self.condition.of(chosen) else ""

    def meant(self, _typed: str) -> tuple[str, ...]:
        return () if self.is_of_names else (self.typed_example,)

    @abstractmethod
    def said(self, chosen: ChannelFilter) -> str:
        """The values in words."""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if not self.condition.covers(now, was):
            yield self.change(now)

    @abstractmethod
    def change(self, now: ChannelFilter) -> Loss:
        """What somebody set."""

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}".rstrip(":") for one in self.condition.of(chosen)]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        shown = ", ".join(self.condition.of(chosen))
        element: Block = {"type": "plain_text_input", "max_length": TYPED_CHOICE_MAX}
        element |= {"initial_value": shown} if shown else {}
        return [form_field(self.field, self.label, element, hint=self.hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if self.field not in form.had:
            return None
        words = [word.strip() for word in re.split("[,;\n]", form.text(self.field)) if word.strip()]
        return tuple(self.condition.of_file([self._as_stored(word) for word in words]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        for word in submitted[self.field] or ():
            try:
                self.choice.stored(word)
            except ValueError as error:
                return {self.field: f"{error}."}
        asked_for, topics = self.choice.topic, submitted[TOPICS_FIELD]
        if submitted[self.field] and asked_for and topics and asked_for not in topics:
            return {self.field: f"This is for {asked_for}: choose {TOPIC_LABELS[asked_for]} too, or empty the field."}
        return {}

    def _as_stored(self, word: str) -> str:
        try:
            return self.choice.stored(word)
        except ValueError:
            return word


def by_the_clock(chosen: ChannelFilter) -> str:
    return chosen.zone[0] if chosen.zone else "UTC"


def clock_named(chosen: ChannelFilter) -> str:
    """For example "London time"."""
    return f"{chosen.zone[0].rpartition('/')[2].replace('_', ' ')} time" if chosen.zone else "UTC"


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

    def meant(self, typed: str) -> tuple[str, ...]:
        """As `no messages after 10pm` means 10 pm until morning."""
        begins, (begin, ends) = time_of_day(typed), QUIET_EXAMPLE.split("-")
        return (f"{begins:%H:%M}-{ends}" if begins else f"{begin}-{ends}",)

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


class ShowView(ChoiceView):
    condition = choice = ShowCondition()
    typed_as = f"{choice.field}:"
    typed_example = MEETINGS
    help = "one message a meeting is kept up to date, and the results stand in its thread"

    def said(self, chosen: ChannelFilter) -> str:
        return "one message a meeting, results in its thread" if chosen.show else "every result in the channel"

    def change(self, now: ChannelFilter) -> Loss:
        way = "one message a meeting, with results in its thread" if now.show else "a message for every result"
        return Loss("switched", f" to {way}")

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        offered = options([("Results go into its thread; abandonments stay in the channel", MEETINGS)])
        element: Block = {"type": "checkboxes", "options": offered}
        element |= {"initial_options": offered} if chosen.show else {}
        return [form_field(self.field, "One message a meeting", element, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        return tuple(form.selected(self.field)) if self.field in form.had else None


ESCALATE_PEOPLE_FIELD = "escalate_people"
ESCALATE_GROUPS_FIELD = "escalate_groups"
ESCALATE_CHANNELS_FIELD = "escalate_channels"

TOLD_MAX = 10
"""Of people, of groups, and of channels."""


class AckView(ChoiceView):
    condition = choice = AckCondition()
    typed_as = f"{choice.field}:"
    typed_example = ACK_EXAMPLE
    label = "Abandonments to be acknowledged within"
    help = "each abandonment has a button, and somebody is to press the button within that time"
    hint = f"Write {ACK_EXAMPLE} for ten minutes. Each abandonment has a button, and everybody sees who has taken it."

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

    def problems(self, submitted: Submitted) -> dict[str, str]:
        if submitted[self.field] and Topic.ABANDONMENTS not in submitted["topics"]:
            return {self.field: "Only abandonments are acknowledged: let them be posted too."}
        return super().problems(submitted)


class EscalateView(ChoiceView):
    condition = choice = EscalateCondition()
    typed_as = f"{choice.field}:"
    typed_example = ESCALATE_EXAMPLE
    is_of_names = True
    help = "who is told of an abandonment that nobody has acknowledged: a person, a user group or a channel"

    def said(self, chosen: ChannelFilter) -> str:
        return f"else telling {listed(list(chosen.escalate))}" if chosen.escalate else "else telling nobody"

    def change(self, now: ChannelFilter) -> Loss:
        told = listed(list(now.escalate)) or "nobody"
        return Loss("changed who is told when nobody takes an abandonment from", f": now {told}")

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        there = [one for one in chosen.escalate if is_channel(one)]
        channels: Block = {
            "type": "multi_conversations_select",
            "max_selected_items": max(TOLD_MAX, len(there)),
            "placeholder": plain_text("Choose channels that I am in"),
            "filter": {"include": ["public", "private"]},
        }
        channels |= {"initial_conversations": there} if there else {}
        return [
            *people_menus(
                chosen.escalate,
                {
                    ESCALATE_PEOPLE_FIELD: ("If nobody acknowledges, mention", TOLD_MAX),
                    ESCALATE_GROUPS_FIELD: ("And mention @here or user groups", TOLD_MAX),
                },
            ),
            form_field(
                ESCALATE_CHANNELS_FIELD,
                "If still nobody acknowledges, post in",
                channels,
                hint="After the same time again, or at once where nobody is mentioned.",
                optional=True,
            ),
        ]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        fields = (ESCALATE_PEOPLE_FIELD, ESCALATE_GROUPS_FIELD, ESCALATE_CHANNELS_FIELD)
        if form.had.isdisjoint(fields):
            return None
        chosen = (
            *form.users(ESCALATE_PEOPLE_FIELD),
            *form.selected(ESCALATE_GROUPS_FIELD),
            *form.conversations(ESCALATE_CHANNELS_FIELD),
        )
        return tuple(dict.fromkeys(chosen))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        told = submitted[self.field] or ()
        for one in told:
            try:
                self.choice.stored(one)
            except ValueError:
                return {ESCALATE_GROUPS_FIELD: f"{one[:40]} is no person, no user group and no channel."}
        if told and Topic.ABANDONMENTS not in submitted["topics"]:
            return {ESCALATE_PEOPLE_FIELD: "Only abandonments are escalated: let them be posted too, or name nobody."}
        return {}
