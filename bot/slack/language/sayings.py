"""What people say in place of a command's words, by the sentences and beginnings of words.ini."""

import re
from collections.abc import Iterable

from bot.channels.conditions.table import CHOICES, VALUED
from bot.slack.language.words import COURTESY, NON_RUNNERS, OF_ALL, TOPIC_WORDS, meanings_in, parts_in, patterns_in
from bot.slack.messages.kit.text import capital

_HELLO = "(?:hi|hiya|hello|hey|morning|afternoon|good (?:morning|afternoon|evening))(?: there| all| bot| racing-bot)?"
_PASTED = re.compile(
    rf"(?:(?:/racing|<@\w+(?:\|[^>]*)?>|{_HELLO}|thank you|(?:can|could|would|will) you|the|my|our|"
    rf"(?:show|give|get) (?:me|(?-i:us))|{'|'.join(COURTESY)}|:[\w+-]+:|[^\w\s]+)(?:(?:[\s,.!;-]|:(?!\w))+|$)|"
    r"show (?!meetings))+",
    re.IGNORECASE,
)
"""What may stand before the command: the slash command again, a mention of the bot, a greeting, an emoji."""

_IN_QUOTES = re.compile(r"""^(['"]+)([^'"]+)\1$""")

_EMOJI = re.compile(r":[\w+-]+:|[^\w\s\x00-\x7f]+")


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


_PARTS: dict[str, str] = {
    "topic": _any(TOPIC_WORDS),
    **{topic.value: _any(word for word, of in TOPIC_WORDS.items() if of is topic) for topic in TOPIC_WORDS.values()},
    "non_runners": _any(NON_RUNNERS),
    "all": _any(OF_ALL),
    "choice": _any(name for one in CHOICES for name in (*one.before[:1], one.name)),
    # Only the words of topics are also names of commands.
    "topic_choice": _any(said for one in VALUED for said in one.before if said.partition(" ")[0] in TOPIC_WORDS),
}
_ALL_PARTS = parts_in("parts of sentences", **_PARTS)
_SENTENCES, _OFFERS = (patterns_in(section, _ALL_PARTS) for section in ("sentences", "offers"))
_ANY_SENTENCE = re.compile("|".join(sentence.pattern for sentence, _ in _SENTENCES), re.IGNORECASE)
"""Tried first: most lines are no sentence."""

_BEGINNINGS = meanings_in("commands")
_LONGEST = max(len(said.split()) for said in _BEGINNINGS)


def without_greeting(line: str) -> tuple[str, str]:
    """The words before the command, and the rest of the line, without marks and emoji at the end.

    A line in quotes, or formatted as code, is the line within.
    """
    while (parts := line.rsplit(maxsplit=1))[1:] and _EMOJI.fullmatch(parts[1]):
        line = parts[0]
    line = _IN_QUOTES.sub(r"\2", line.rstrip("?!., "))
    pasted = _PASTED.match(line)
    return (pasted[0], line[pasted.end() :]) if pasted else ("", line)


def offers_for(line: str) -> dict[str, str]:
    """The lines that a line without a command may mean, by label; {} for any other line."""
    for pattern, offers in _OFFERS:
        if found := pattern.match(line):
            pairs = [found.expand(one).partition(": ") for one in offers.split("; ")]
            return {capital(label): words for label, _, words in pairs}
    return {}


def in_words_of_commands(line: str) -> str:
    for sentence, meant in _SENTENCES if _ANY_SENTENCE.match(line) else ():
        line = sentence.sub(meant, line)
    words = line.split()
    for size in range(min(_LONGEST, len(words)), 0, -1):
        # "US" is a country: "stop sending US results" ends no others.
        if said := _BEGINNINGS.get(" ".join(one if one == "US" else one.lower() for one in words[:size])):
            return " ".join([said, *words[size:]])
    return line.strip()
