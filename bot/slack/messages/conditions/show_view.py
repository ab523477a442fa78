"""The choice of live messages as people meet it."""

from bot.channels.conditions.show_condition import MEETINGS, ShowCondition
from bot.channels.filters import ChannelFilter
from bot.slack.messages.conditions.choice_view import ChoiceView


class ShowView(ChoiceView):
    condition = choice = ShowCondition()
    typed_as = f"{choice.field}:"
    typed_example = MEETINGS
    label = "One message a meeting"
    hint = f"Write {MEETINGS}: results go into the thread of the meeting's message. Abandonments stay in the channel."

    def said(self, chosen: ChannelFilter) -> str:
        return "one message a meeting, results in its thread" if chosen.show else "every result in the channel"
