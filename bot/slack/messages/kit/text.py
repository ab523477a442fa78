"""Strangers' text made safe for Slack, and the limits that Slack sets on text.

Data shows as it came, and does nothing: no mention, link, date, emoji or formatting is made by it.
"""

import re
import unicodedata

TEXT_MAX = 3_900
"""A message's `text`; chat.update refuses more than 4,000: https://docs.slack.dev/reference/methods/chat.update"""

HEADER_MAX = 150
"""https://docs.slack.dev/reference/block-kit/blocks/header-block"""

SECTION_MAX = 3_000
"""https://docs.slack.dev/reference/block-kit/blocks/section-block"""

FIELD_MAX = 2_000
FIELDS_MAX = 10
"""A section's fields; same page as SECTION_MAX."""

CONTEXT_ELEMENTS_MAX = 10
"""https://docs.slack.dev/reference/block-kit/blocks/context-block"""

BLOCKS_MAX = 50
"""https://docs.slack.dev/reference/block-kit/blocks"""

MESSAGE_MAX = 12_000
"""All blocks together, containers counted. Above it comes msg_blocks_too_long, by a measure that is not published.

https://github.com/slackapi/bolt-js/issues/2509 and https://github.com/slackapi/bolt-js/issues/2867
"""

DATA_MAX = 200
"""What one field of the data may take up, unless its builder says less."""

_UNSEEN_MAX = 300
"""How many characters that can't be seen are looked past: a text with more of them is cut early."""

_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Unicode categories: control, format (bidi overrides, zero width), surrogate, private use."""

_BLANK = str.maketrans(dict.fromkeys("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", " "))
"""Characters that Unicode calls letters, marks or symbols, and every font draws as nothing."""

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
_DOT_OF_A_DOMAIN = re.compile(r"(?<=\w\w)\.(?=[^\W\d_]{2})|(?<=\w)\.(?=[a-z]{2})")  # not that of "P.Nicholls"
_FORMATS = "&<>*~`_:."
_MAY_FORMAT = re.compile(f"[{_FORMATS}]")
_HARMLESS = re.escape("".join(chr(code) for code in range(ord("!"), 0x7F) if chr(code) not in _FORMATS))
_AS_IT_IS = re.compile(rf"[{_HARMLESS}]+\.?(?: [{_HARMLESS}]+\.?)*|[0-9]{{1,2}}:[0-9]{{2}}")
"""Most data: ASCII words, which may end in a full stop, or a time of day. On one line, and nothing in it formats."""

_IN_SOME_PLACES = (
    ("_", _UNDERSCORE_AT_A_WORDS_EDGE, "\N{FULLWIDTH LOW LINE}"),
    (":", _COLON_OF_AN_EMOJI_OR_ADDRESS, "\N{RATIO}"),
    (".", _DOT_OF_A_DOMAIN, "\N{ONE DOT LEADER}"),
)
_UNIT = re.compile(r"<[^<>]*>|&(?:amp|lt|gt);|.", re.DOTALL)


def plain(value: str | None, limit: int = DATA_MAX) -> str | None:
    """The data for a plain_text element: on one line, escaped, clipped; None where nothing of it can be seen."""
    if is_as_it_is(value, limit):
        return value
    return clip(flatten(value or "", limit).translate(_ENTITIES), limit) or None


def safe(value: str | None, limit: int = DATA_MAX) -> str | None:
    """The data for mrkdwn: as `plain`, and unable to format; None where nothing of it can be seen."""
    if is_as_it_is(value, limit):
        return value
    return clip(escape(flatten(value or "", limit)), limit) or None


def is_as_it_is(value: str | None, limit: int) -> bool:
    """Whether it is seen at a glance that the data shows as it came, wherever: the short way through this file."""
    return value is not None and len(value) <= limit and _AS_IT_IS.fullmatch(value) is not None


def code(value: str | None, limit: int = DATA_MAX) -> str | None:
    """The data as inline code, for names that are to be copied: Slack shows it as it is, dots and underscores too."""
    shown = plain((value or "").replace("`", "'"), limit)
    return f"`{shown}`" if shown else None


def flatten(value: str, limit: int = TEXT_MAX) -> str:
    """The text on one line, without what can't be seen or would turn what follows around.

    Of one of which no more than `limit` is to be shown, no more is looked at than may be needed for that.
    """
    seen = " ".join(value.split())[: limit + _UNSEEN_MAX]
    if seen.isascii() and seen.isprintable():
        return seen
    seen = seen.translate(_BLANK)
    return " ".join("".join(c for c in seen if unicodedata.category(c) not in _DROPPED).split())


def escape(value: str) -> str:
    """One line of text that mrkdwn shows as it is: entities where Slack knows one, look-alikes where it does not.

    An underscore within a word stays ("rc_1"): it formats nothing there, and ids are for copying.
    """
    if not _MAY_FORMAT.search(value):
        return value
    if value.startswith(">"):
        # Even as an entity it would quote the line that it begins.
        value = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}" + value[1:]
    value = value.translate(_LOOK_ALIKES)
    for character, pattern, look_alike in _IN_SOME_PLACES:
        if character in value:
            value = pattern.sub(look_alike, value)
    return value.translate(_ENTITIES)


def size(text: str) -> int:
    """The length in UTF-16 units, the larger of the two ways in which Slack may count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clip(text: str, limit: int) -> str:
    """Escaped text of at most `limit` units; what is cut ends in "…", never within an entity or one of our tokens."""
    if size(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - 1
    for unit in _UNIT.findall(text):
        left -= size(unit)
        if left < 0:
            break
        kept.append(unit)
    return "".join(kept).rstrip() + "…"


def joined(parts: list[str | None], separator: str = " · ") -> str:
    """The parts that are there, in one line."""
    return separator.join(part for part in parts if part)


def sentences(parts: list[str | None]) -> str:
    """The parts that are there, one after the other, with one full stop between each and the next."""
    said = [part for part in parts if part]
    return " ".join([part if part.endswith(".") else f"{part}." for part in said[:-1]] + said[-1:])


def counted(number: int, noun: str) -> str:
    """The number with its noun: "1 race", "6 races"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
