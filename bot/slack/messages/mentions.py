"""Who a message rings: made by us from ids that were checked, and from nothing else."""

from collections.abc import Iterable

from bot.domain.filters import HERE, is_mention
from bot.slack.messages.text import TEXT_MAX, clip

USER_GROUP = "S"


def mentions_in_markup(mentions: Iterable[str]) -> str:
    """The mentions as Slack rings by: "<@U1> <!subteam^S1> <!here>"; "" where there are none."""
    return " ".join(_in_markup(mention) for mention in mentions if is_mention(mention))


def with_mentions(text: str, mentions: Iterable[str]) -> str:
    """A message's text with the mentions at its end, where nothing cuts them off."""
    rung = mentions_in_markup(mentions)
    return f"{clip(text, TEXT_MAX - len(rung) - 1)} {rung}" if rung else text


def _in_markup(mention: str) -> str:
    if mention == HERE:
        return "<!here>"
    return f"<!subteam^{mention}>" if mention.startswith(USER_GROUP) else f"<@{mention}>"
