"""The help, made from the table of commands: an overview in groups, and the details of a command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from bot.events.sentences import listed
from bot.outbox.message import Message
from bot.slack.messages.kit.blocks import context_block, section
from bot.slack.messages.kit.layout import listing, message
from bot.slack.messages.kit.text import escape


@dataclass(frozen=True)
class Helped:
    """The help's words on a command.

    `examples`: lines after /racing. `details`: a line on each of the harder words. `mistakes`: frequent mistakes.
    """

    name: str
    usage: str
    summary: str
    examples: Sequence[str]
    mistakes: str
    details: Sequence[str] = ()


DAYS = (
    "Days: `today`, `tomorrow`, `yesterday`, a weekday, `last friday`, `next friday`, `21 nov`, `21/11/2026` or "
    "`2026-11-21`."
)
PLACES = (
    "Regions are codes or names of countries (`GB`, `Hong Kong`), courses have their whole name: `coverage` and "
    "`courses` list them. Words such as `and`, `for`, `only`, `except` and `no` are understood."
)


def command_help(groups: Mapping[str, Sequence[Helped]], alone: Sequence[str]) -> Message:
    """A group has an example: the first of its first command. `alone`: slash commands that work without /racing."""
    named = listed([f"`{name}`" for name in alone])
    more = "`/racing help` and the name of a command says more, for example `/racing help subscribe`."
    small = f"{named} work by themselves too. Answers are seen by you only."
    return message(None, [*map(section, starmap(_group, groups.items())), section(more), context_block(small)])


def usage_of(command: Helped) -> Message:
    usage = command.usage.lower()
    examples = [f"• `/racing {one}`" for one in command.examples]
    details = [f"• {one}" for one in command.details]
    details = ["Words for after the region:", *details] if details else []
    words = [*([DAYS] if "date" in usage or "today" in usage else []), *([PLACES] if "region" in usage else [])]
    first = f"`{f'/racing {command.name} {command.usage}'.strip()}` — {escape(command.summary)}"
    return listing(
        first,
        [
            "For example:",
            *examples,
            *details,
            f"Worth knowing: {command.mistakes}",
            *words,
            "`/racing help` lists all commands.",
        ],
    )


def _group(title: str, commands: Sequence[Helped]) -> str:
    lines = [f"• `/racing {one.name}` — {escape(one.summary)}" for one in commands]
    return "\n".join([f"*{title}*, for example `/racing {commands[0].examples[0]}`", *lines])
