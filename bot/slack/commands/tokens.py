"""The words of a command: quotes of every kind keep what they enclose together, and spaces of every kind part words."""

import re

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»\uff02", '"'))
_TOKEN = re.compile(r'[^\s"]*"[^"]*"?|[^\s"]+')


def split(text: str) -> list[str]:
    """The words of a text, quotes removed: `GB course:"Ascot Heath"` is `GB` and `course:Ascot Heath`."""
    words = (word.replace('"', "") for word in _TOKEN.findall(text.translate(_QUOTES)))
    return [" ".join(word.split()) for word in words if word.strip()]
