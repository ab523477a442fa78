"""Text from outside, made safe for Slack; Slack's limits on text; mentions and names, made only from checked ids.

Data appears as published and triggers no mention, link, date, emoji or formatting.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.event_conditions import is_direct_message, is_person
from bot.channels.filters import HERE, is_mention

TEXT_MAX = 3_900
"""chat.update refuses more than 4,000: https://docs.slack.dev/reference/methods/chat.update"""

HEADER_MAX = 150
"""https://docs.slack.dev/reference/block-kit/blocks/header-block"""

SECTION_MAX = 3_000
"""https://docs.slack.dev/reference/block-kit/blocks/section-block"""

BLOCKS_MAX = 50
"""https://docs.slack.dev/reference/block-kit/blocks"""

MESSAGE_MAX = 12_000
"""All blocks together. Above, Slack answers msg_blocks_too_long, by an unpublished measure.

https://github.com/slackapi/bolt-js/issues/2509 and https://github.com/slackapi/bolt-js/issues/2867
"""

DATA_MAX = 200
_UNSEEN_MAX = 300
"""Invisible characters skipped at most; a text with more is cut early."""

_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Unicode categories: control, format (bidi overrides, zero width), surrogate, private use."""

_BLANK = str.maketrans(dict.fromkeys("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", " "))
"""Letters, marks and symbols by Unicode, invisible in every font."""

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LOOK_ALIKES = str.maketrans(
    {"*": "\N{ASTERISK OPERATOR}", "~": "\N{TILDE OPERATOR}", "`": "\N{MODIFIER LETTER GRAVE ACCENT}"}
)
_UNDERSCORE_AT_A_WORDS_EDGE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_COLON_OF_AN_EMOJI_OR_ADDRESS = re.compile(
    r":(?=[\w+'-]{0,100}[^\W\d_][\w+'-]{0,100}:)"  # :skull:
    r"|(?<!\d):(?=[\w+'-]{1,100}:)"  # :100:, but nothing in 14:30:00
    r"|:(?=//)"
)
_DOT_OF_A_DOMAIN = re.compile(r"(?<=\w\w)\.(?=[^\W\d_]{2})|(?<=\w)\.(?=[a-z]{2})")  # not in "P.Nicholls"
_FORMATS = "&<>*~`_:."
_MAY_FORMAT = re.compile(f"[{_FORMATS}]")
_HARMLESS = re.escape("".join(chr(code) for code in range(ord("!"), 0x7F) if chr(code) not in _FORMATS))
_AS_IT_IS = re.compile(rf"[{_HARMLESS}]+\.?(?: [{_HARMLESS}]+\.?)*|[0-9]{{1,2}}:[0-9]{{2}}")
"""Most data: ASCII words, perhaps with a final full stop, or a time of day."""

_IN_SOME_PLACES = (
    ("_", _UNDERSCORE_AT_A_WORDS_EDGE, "\N{FULLWIDTH LOW LINE}"),
    (":", _COLON_OF_AN_EMOJI_OR_ADDRESS, "\N{RATIO}"),
    (".", _DOT_OF_A_DOMAIN, "\N{ONE DOT LEADER}"),
)
_UNIT = re.compile(r"<[^<>]*>|&(?:amp|lt|gt);|.", re.DOTALL)

_LINK = re.compile(r"https://[!-;=?-{}~]{1,500}")
"""Printable ASCII without the characters that end a link's address: `<`, `>` and `|`."""

USER_GROUP = "S"


def plain(value: str | None, limit: int = DATA_MAX) -> str | None:
    """For a plain_text element: one line, escaped, clipped; None if nothing is visible."""
    if is_as_it_is(value, limit):
        return value
    return clip(flatten(value or "", limit).translate(_ENTITIES), limit) or None


@lru_cache(maxsize=2048)
def safe(value: str | None, limit: int = DATA_MAX) -> str | None:
    """For mrkdwn: as `plain`, without formatting."""
    if is_as_it_is(value, limit):
        return value
    return clip(escape(flatten(value or "", limit)), limit) or None


def is_as_it_is(value: str | None, limit: int) -> bool:
    """True for text that needs no change, and for None: the fast path."""
    return value is None or (len(value) <= limit and _AS_IT_IS.fullmatch(value) is not None)


def code(value: str | None, limit: int = DATA_MAX) -> str | None:
    """Inline code, for names to be copied: Slack shows dots and underscores unchanged."""
    shown = plain((value or "").replace("`", "'"), limit)
    return f"`{shown}`" if shown else None


def flatten(value: str, limit: int = TEXT_MAX) -> str:
    """The text on one line, without invisible characters or direction changes.

    At most `limit` characters and _UNSEEN_MAX more are read.
    """
    seen = " ".join(value.split())[: limit + _UNSEEN_MAX]
    if seen.isascii() and seen.isprintable():
        return seen
    seen = seen.translate(_BLANK)
    return " ".join("".join(c for c in seen if unicodedata.category(c) not in _DROPPED).split())


def escape(value: str) -> str:
    """Escaped mrkdwn: entities for Slack's own characters, look-alikes for formatting characters.

    An underscore within a word stays ("rc_1"): Slack does not format there, and people copy ids.
    """
    if not _MAY_FORMAT.search(value):
        return value
    if value.startswith(">"):
        # Slack quotes a line with a leading ">", even as an entity.
        value = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}" + value[1:]
    value = value.translate(_LOOK_ALIKES)
    for character, pattern, look_alike in _IN_SOME_PLACES:
        if character in value:
            value = pattern.sub(look_alike, value)
    return value.translate(_ENTITIES)


def size(text: str) -> int:
    """UTF-16 units, the larger of Slack's two possible counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clip(text: str, limit: int) -> str:
    """The text within `limit` units, with "…" for the cut. Entities and markup tokens are never split."""
    # A character has two units at most.
    if 2 * len(text) <= limit or size(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - 1
    for found in _UNIT.finditer(text):
        left -= size(found[0])
        if left < 0:
            break
        kept.append(found[0])
    return "".join(kept).rstrip() + "…"


def joined(parts: Sequence[str | None], separator: str = " · ") -> str:
    return separator.join(filter(None, parts))


def capital(words: str) -> str:
    """The words with a capital letter first."""
    return f"{words[:1].upper()}{words[1:]}"


def given(words: str, value: str | None) -> str | None:
    """For example "draw 4", of "draw {}"; None without a value."""
    return words.format(value) if value else None


def first_of(words: Sequence[str], most: int, more: str = "and {} more", total: int = 0) -> list[str]:
    """The first `most`, and how many others there are. `total`: all words, if `words` has only some."""
    shown = words[:most]
    left = max(total, len(words)) - len(shown)
    return [*shown, more.format(f"{left:,}")] if left else list(shown)


def link_to(address: str | None, words: str) -> str | None:
    """A link in markup; None without an https address."""
    return f"<{address.replace('&', '&amp;')}|{words}>" if address and _LINK.fullmatch(address) else None


def mentions_in_markup(mentions: Iterable[str]) -> str:
    """For example "<@U1> <!subteam^S1> <!here>"; "" without mentions."""
    return " ".join(_in_markup(mention) for mention in mentions if is_mention(mention))


def with_mentions(text: str, mentions: Iterable[str]) -> str:
    """Mentions stand at the end, safe from clipping."""
    rung = mentions_in_markup(mentions)
    return f"{clip(text, TEXT_MAX - len(rung) - 1)} {rung}" if rung else text


def as_words(words: str, named_ids: Iterable[str] = ()) -> str:
    """Plain words as mrkdwn without formatting, links or mentions. `named_ids` in the words are shown as names."""
    return with_names(safe(words, TEXT_MAX) or "…", named_ids)


def named(slack_id: str) -> str:
    """Markup for a channel or a person. A direct message has no name, and Slack shows no link to it.

    In an ephemeral message a person's name rings nobody.
    """
    if is_channel(slack_id):
        return f"<#{slack_id}>"
    if is_direct_message(slack_id):
        return "a direct message"
    return f"<@{slack_id}>" if is_mention(slack_id) and is_person(slack_id) else safe(slack_id) or "?"


def with_names(text: str, slack_ids: Iterable[str]) -> str:
    for slack_id in dict.fromkeys(slack_ids):
        text = re.sub(rf"(?<![\w#@]){re.escape(slack_id)}(?!\w)", named(slack_id), text)
    return text


def _in_markup(mention: str) -> str:
    if mention == HERE:
        return "<!here>"
    return f"<!subteam^{mention}>" if mention.startswith(USER_GROUP) else f"<@{mention}>"
