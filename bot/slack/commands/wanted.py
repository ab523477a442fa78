"""What `/racing subscribe` and `unsubscribe` were told: regions, topics and courses, in any order."""

from dataclasses import dataclass

from bot.domain.events import Topic
from bot.slack.commands.tokens import split

TOPIC_WORDS: dict[str, Topic] = {
    "result": Topic.RESULTS,
    "results": Topic.RESULTS,
    "abandonment": Topic.ABANDONMENTS,
    "abandonments": Topic.ABANDONMENTS,
    "abandoned": Topic.ABANDONMENTS,
    "racecard": Topic.RACECARDS,
    "racecards": Topic.RACECARDS,
    "cards": Topic.RACECARDS,
}

ALL = "all"


@dataclass(frozen=True)
class Wanted:
    """The words, sorted by what they are. `regions` are not checked yet; `everything` is the word "all"."""

    regions: tuple[str, ...]
    everything: bool
    topics: frozenset[Topic]
    courses: tuple[str, ...]
    not_courses: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """Whether nothing was typed."""
        return not (self.regions or self.everything or self.topics or self.courses or self.not_courses)


def read_wanted(text: str) -> Wanted:
    """The words of a text, each as what it is."""
    regions: list[str] = []
    topics: set[Topic] = set()
    courses: list[str] = []
    not_courses: list[str] = []
    everything = False
    for word in split(text):
        name, colon, value = word.partition(":")
        if colon and name.lower() == "course":
            courses.append(value.strip())
        elif colon and name.lower() in {"-course", "−course", "–course"}:  # noqa: RUF001  as phones type a minus
            not_courses.append(value.strip())
        elif word.lower() in TOPIC_WORDS:
            topics.add(TOPIC_WORDS[word.lower()])
        elif word.lower() == ALL:
            everything = True
        else:
            regions.extend(part for part in word.split(",") if part)
    return Wanted(
        tuple(dict.fromkeys(regions)),
        everything,
        frozenset(topics),
        tuple(filter(None, courses)),
        tuple(filter(None, not_courses)),
    )
