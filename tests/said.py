"""What a message says before the mark that an edit put at its beginning."""

import re

MARK = re.compile(r"\A(?:Superseded|Contradicted) [^.]*?(?:see the (?:<[^>]*>|later message))?\. ")


def as_posted(text: str) -> str:
    """The text without the mark of a later message: "Superseded 14:32 UTC: see the later message. "."""
    return MARK.sub("", text)
