"""The choice of live messages as people meet it: a word to type, and a box to tick."""

from bot.channels.conditions.show_condition import MEETINGS, ShowCondition
from bot.channels.filters import ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.choice_view import ChoiceView
from bot.slack.messages.conditions.condition_view import FilledForm, Loss, PublishedChoices, form_field
from bot.slack.messages.kit.blocks import options


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
