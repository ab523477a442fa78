"""The words of commands that list something: a search text, and a page."""

from bot.slack.language.tokens import read_page, split

LIST_S = 20.0


def read_list_words(text: str) -> tuple[str, int]:
    words = split(text)
    pages = [page for word in words if (page := read_page(word))]
    return " ".join(word for word in words if read_page(word) is None), pages[-1] if pages else 1
