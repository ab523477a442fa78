"""Who a message rings: made by us from ids that were checked, and from nothing else."""

import re
from collections.abc import Iterable

from bot.channels.filters import HERE, is_mention
from bot.slack.messages.kit.text import TEXT_MAX, clip, safe

USER_GROUP = "S"

_CHANNEL = re.compile("[CG][A-Z0-9]{1,30}", re.ASCII)
_PERSON = re.compile("[UW][A-Z0-9]{1,30}", re.ASCII)


def mentions_in_markup(mentions: Iterable[str]) -> str:
    """The mentions as Slack rings by: "<@U1> <!subteam^S1> <!here>"; "" where there are none."""
    return " ".join(_in_markup(mention) for mention in mentions if is_mention(mention))


def with_mentions(text: str, mentions: Iterable[str]) -> str:
    """A message's text with the mentions at its end, where nothing cuts them off."""
    rung = mentions_in_markup(mentions)
    return f"{clip(text, TEXT_MAX - len(rung) - 1)} {rung}" if rung else text


def named(slack_id: str) -> str:
    """A channel or a person by the name that each reader knows; a direct message, which has none, by its id.

    In what only its reader sees a person's name rings nobody.
    """
    if _CHANNEL.fullmatch(slack_id):
        return f"<#{slack_id}>"
    return f"<@{slack_id}>" if _PERSON.fullmatch(slack_id) else safe(slack_id) or "?"


def with_names(text: str, slack_ids: Iterable[str]) -> str:
    """Escaped text with each of these ids, wherever it stands as a word, by its name."""
    for slack_id in dict.fromkeys(slack_ids):
        text = re.sub(rf"(?<![\w#@]){re.escape(slack_id)}(?!\w)", named(slack_id), text)
    return text


def _in_markup(mention: str) -> str:
    if mention == HERE:
        return "<!here>"
    return f"<!subteam^{mention}>" if mention.startswith(USER_GROUP) else f"<@{mention}>"
