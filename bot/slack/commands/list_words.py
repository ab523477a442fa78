"""What commands that list something read of their words: what is looked for, and the page."""

from bot.slack.commands.tokens import read_page, split

LIST_S = 20.0
"""For reading a list anew where what is kept is older than a day; after it, what is kept is shown."""


def read_list_words(text: str) -> tuple[str, int]:
    """What is looked for, on one line, and the page that a button asked for."""
    words = split(text)
    pages = [page for word in words if (page := read_page(word))]
    return " ".join(word for word in words if read_page(word) is None), pages[-1] if pages else 1
