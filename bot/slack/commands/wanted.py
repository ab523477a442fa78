"""What `/racing subscribe` and `unsubscribe` were told: regions, topics and courses, in any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.domain.events import Topic
from bot.errors import CommandError
from bot.slack.commands.tokens import parted, split

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

    @property
    def is_whole(self) -> bool:
        """Whether nothing but regions was typed: they are meant as they are, with all their courses."""
        return not (self.topics or self.courses or self.not_courses)


def read_wanted(text: str) -> Wanted:
    """The words of a text, each as what it is. CommandError where "course:" has nothing after it."""
    regions: list[str] = []
    topics: set[Topic] = set()
    courses: dict[bool, list[str]] = {True: [], False: []}
    everything = False
    for name, value in _named(split(text)):
        if name.endswith("course:"):
            courses[name == "course:"].append(value)
            continue
        for word in filter(None, value.split(",")):
            if word.lower() in TOPIC_WORDS:
                topics.add(TOPIC_WORDS[word.lower()])
            elif word.lower() == ALL:
                everything = True
            else:
                regions.append(word)
    return Wanted(
        tuple(dict.fromkeys(regions)), everything, frozenset(topics), tuple(courses[True]), tuple(courses[False])
    )


def _named(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with what it is called by; a course's name may stand apart from that: `course: Ascot`."""
    left = iter(words)
    for word in left:
        name, value = parted(word)
        if name and not value:
            value = next(left, "")
            if not value or parted(value)[0]:
                raise CommandError(f'Nothing follows "{word}". Write {word}"Name", as /racing courses shows the name.')
        yield name.lower(), value
