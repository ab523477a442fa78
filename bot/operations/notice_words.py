"""The words of notices to admins, from `notices.ini`."""

from functools import partial

from bot.events.word_rows import sentence_rows

notice_rows = partial(sentence_rows, "bot.operations", "notices.ini")


def notice_words(name: str, /, **facts: object) -> str:
    return notice_rows()[name]["words"].format(**facts)
