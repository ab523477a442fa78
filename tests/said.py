"""The words of a message without the mark of an edit at the beginning."""

import re

MARK = re.compile(r"\A(?:Superseded|Contradicted) [^.]*?(?:see the (?:<[^>]*>|later message))?\. ")


def as_posted(text: str) -> str:
    """The text without the mark of a later message: "Superseded 14:32 UTC: see the later message. "."""
    return MARK.sub("", text)
