"""Markup for mentions and names, made only from checked ids."""

import re
from collections.abc import Iterable

from bot.channels.filters import HERE, is_mention
from bot.slack.messages.kit.text import TEXT_MAX, clip, safe

USER_GROUP = "S"

_CHANNEL = re.compile("[CG][A-Z0-9]{1,30}", re.ASCII)
_PERSON = re.compile("[UW][A-Z0-9]{1,30}", re.ASCII)


def mentions_in_markup(mentions: Iterable[str]) -> str:
    """For example "<@U1> <!subteam^S1> <!here>"; "" without mentions."""
    return " ".join(_in_markup(mention) for mention in mentions if is_mention(mention))


def with_mentions(text: str, mentions: Iterable[str]) -> str:
    """Mentions stand at the end, safe from clipping."""
    rung = mentions_in_markup(mentions)
    return f"{clip(text, TEXT_MAX - len(rung) - 1)} {rung}" if rung else text


def named(slack_id: str) -> str:
    """Markup for a channel or a person; a direct message keeps its id.

    In an ephemeral message a person's name rings nobody.
    """
    if _CHANNEL.fullmatch(slack_id):
        return f"<#{slack_id}>"
    return f"<@{slack_id}>" if _PERSON.fullmatch(slack_id) else safe(slack_id) or "?"


def with_names(text: str, slack_ids: Iterable[str]) -> str:
    for slack_id in dict.fromkeys(slack_ids):
        text = re.sub(rf"(?<![\w#@]){re.escape(slack_id)}(?!\w)", named(slack_id), text)
    return text


def _in_markup(mention: str) -> str:
    if mention == HERE:
        return "<!here>"
    return f"<!subteam^{mention}>" if mention.startswith(USER_GROUP) else f"<@{mention}>"
