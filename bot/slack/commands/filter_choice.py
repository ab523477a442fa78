"""The check of chosen regions and courses, and the merge of a new filter with a present filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from bot.channels.conditions.condition import Condition
from bot.channels.conditions.event_conditions import (
    COURSE_FIELDS,
    COURSES_FIELD,
    NOT_COURSES_FIELD,
    REGIONS_FIELD,
    has_course,
    name_of,
    region_named,
    topics_in_order,
)
from bot.channels.conditions.table import CHOICES, CONDITIONS, NARROWING, OF_RACES, ONLY_COURSES, TOPICS
from bot.channels.filters import ALL_REGIONS, ChannelFilter, added
from bot.errors import CommandError
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.events.sentences import listed
from bot.events.typed_text import typed_line
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX, course_called, nearest_names, wrong_regions, wrong_values
from bot.slack.language.request import LineRequest
from bot.slack.messages.kit.text import capital

FILTER_CHECK_S = 1.2
"""Seconds for reading the lists anew before the ack. Slack allows three seconds for the ack."""


@dataclass
class FilterChoice:
    """Checks words by the data service's lists, and gathers errors by the form's fields.

    `there`: the channel's present filters. `notes` go into the answer.
    """

    lexicon: Lexicon
    classes: Sequence[str]
    there: Sequence[ChannelFilter]
    now: datetime
    errors: dict[str, list[CommandError]] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def regions(self, typed: Sequence[str], other_words: Mapping[str, str] | None = None) -> list[str]:
        if error := wrong_regions(self.lexicon, typed, other_words):
            self._add(REGIONS_FIELD, error)
            return []
        self.unchecked += () if self.lexicon.regions else typed
        return list(typed)

    def courses(self, name: str, typed: Sequence[str], regions: Sequence[str]) -> tuple[Course, ...]:
        """The courses of a field. Of courses with the same name, the course in the regions."""
        found, known = [], self.lexicon.courses
        within = [region for region in regions if region != ALL_REGIONS]
        for one in typed:
            guessing = sum(map(len, self.errors.values())) < LOOKED_UP_MAX
            try:
                found.append(course_called(known, one, regions=within, guessing=guessing))
            except CommandError as error:
                self._add(name, error)
        self.unchecked += () if known else (course.name for course in found if course.name)
        return tuple(found)

    def listed(self, values: Mapping[str, Sequence[str]], before: ChannelFilter | None = None) -> None:
        """Look up the values that the data service lists. Values of the filter before are good."""
        for one in OF_RACES:
            typed = [value for value in values.get(one.field, ()) if before is None or value not in one.of(before)]
            if error := wrong_values(one, typed, self.classes):
                self._add(one.field, error)

    def regions_of(self, courses: Sequence[Course]) -> list[str]:
        found = [self.lexicon.region_of_course(course) for course in courses]
        known = [region for region in found if region and self.lexicon.is_region(region)]
        return list(dict.fromkeys(known)) if known and len(known) == len(found) else [ALL_REGIONS]

    def arriving(self, courses: Sequence[Course], not_courses: Sequence[Course], regions: Sequence[str]) -> None:
        if self.errors:
            return
        if both := [one for one in courses if has_course(not_courses, one)]:
            told = f"{name_of(both[0])} is among the only courses, and left out too: nothing of it would ever arrive."
            self._add(NOT_COURSES_FIELD, CommandError(told))
        if not regions or ALL_REGIONS in regions:
            return
        if error := self._elsewhere("course:", courses, regions) or self._without_course(courses, regions):
            self._add(COURSES_FIELD, error)
        if error := self._elsewhere("-course:", not_courses, regions):
            self._add(NOT_COURSES_FIELD, error)

    def instead_of_all(self, regions: Sequence[str]) -> list[str]:
        others = [region for region in regions if region != ALL_REGIONS]
        if others and len(others) < len(regions):
            named = " and ".join(others)
            self.notes.append(f"All regions take in {named}, so nothing was subscribed for {named} alone.")
        return [ALL_REGIONS] if len(others) < len(regions) else others

    def in_region(self, region: str, chosen: ChannelFilter) -> ChannelFilter:
        def of_region(course: Course) -> bool:
            return region == ALL_REGIONS or self.lexicon.region_of_course(course) in {None, region}

        there = {name: tuple(filter(of_region, getattr(chosen, name))) for name in COURSE_FIELDS}
        words = {region, *(one.name for one in chain(*there.values()) if one.course_id is None)}
        since = None if words.isdisjoint(self.unchecked) else self.now
        return chosen.model_copy(update={"region": region, "unchecked_since": since, **there})

    def raise_for_all(self) -> None:
        errors = [error for some in self.errors.values() for error in some]
        # A question with choices waits until the other words are right.
        errors = [error for error in errors if error.asks or not error.offers] or errors[:1]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            told, after = (" ".join(filter(None, (getattr(one, part) for one in errors))) for part in ("told", "after"))
            likeliest = [next(iter(error.offers.items())) for error in errors if error.asks and error.offers]
            nearest = nearest_names((label, typed) for label, offer in likeliest for typed in offer)
            raise CommandError(f"{told}{nearest}", after=after)

    def _elsewhere(self, word: str, courses: Sequence[Course], regions: Sequence[str]) -> CommandError | None:
        for course in courses:
            region = self.lexicon.region_of_course(course)
            if region is not None and region not in regions:
                line = typed_line(["subscribe", region, f"{word}{name_of(course)}"])
                return CommandError(
                    f"{name_of(course)} is a course of {region}, not of {' or '.join(regions)}. /racing {line} would "
                    "be right.",
                    typed=regions[0] if len(regions) == 1 else "",
                    meant={region: region} if len(regions) == 1 else None,
                )
        return None

    def _without_course(self, courses: Sequence[Course], regions: Sequence[str]) -> CommandError | None:
        there = set(map(self.lexicon.region_of_course, courses))
        empty = [region for region in regions if region not in there]
        if not courses or None in there or not empty:
            return None
        return CommandError(
            f"{' or '.join(map(name_of, courses))} is not in {' or '.join(empty)}, so nothing from there would arrive. "
            f"One at a time, please: /racing {typed_line(['subscribe', empty[0]])} takes all courses of {empty[0]}."
        )

    def _add(self, name: str, error: CommandError) -> None:
        self.errors.setdefault(name, []).append(error)


def _brought(chosen: ChannelFilter, asked: frozenset[Topic] | None, how: str) -> str | None:
    """Words on the topics beside the topics asked for."""
    more = topics_in_order(chosen.topics - asked) if asked is not None else []
    if not more:
        return None
    line = typed_line(["unsubscribe", chosen.region, *more])
    ends = "Edit in /racing list changes that." if chosen.region == ALL_REGIONS else f"/racing {line} ends that."
    return f"From {region_named(chosen.region)} {listed(more)} come {how}: {ends}"


@dataclass(frozen=True)
class Addition:
    """The present filter of a region, and the filter to be stored. `notes`: sentences for the answer."""

    before: ChannelFilter | None
    after: ChannelFilter
    notes: tuple[str, ...] = ()

    @property
    def is_news(self) -> bool:
        return self.before is None or self.after.fingerprint() != self.before.fingerprint()


def added_to(
    there: Sequence[ChannelFilter], filters: Sequence[ChannelFilter], wanted: LineRequest | None
) -> list[Addition]:
    """An addition for each new filter, beside the channel's filters. `wanted`: the typed line, None of a form.

    Raises CommandError where nothing, or other races than typed, would be received.
    """
    present = {one.region: one for one in there}
    return [_added(present.get(one.region), one, wanted) for one in filters]


def _added(before: ChannelFilter | None, chosen: ChannelFilter, wanted: LineRequest | None) -> Addition:
    adds, no_more_than = (wanted.of_choices, wanted.no_more_than) if wanted else (None, None)
    if before is None:
        # "GB cards at 7pm" may be meant as racecards alone.
        also = _brought(chosen, adds, "too") if adds and adds.isdisjoint(DEFAULT_TOPICS) else None
        return Addition(None, chosen, (also,) if also else ())
    # Choices, and courses to be left out, are for the races that come already.
    asks_races = adds is None and not chosen.not_courses
    if adds is not None:
        chosen = chosen.model_copy(update={"topics": before.topics | adds})
    is_whole = wanted is not None and wanted.is_whole
    is_wide = is_whole or (asks_races and all(one.covers(chosen, before) for one in (TOPICS, *NARROWING)))
    if not is_wide:
        _check_together(before, chosen, asks_races=asks_races)
    after = added(before, chosen, is_wide=is_wide)
    if any(one.of(before) and not one.of(after) for one in NARROWING) and not is_wide:
        named = next(one.named(before) for one in NARROWING if one.of(before))
        raise CommandError(
            f"From {region_named(before.region)} this channel receives only {named}. Without {named} nothing would be "
            "left, so nothing was changed. Remove in /racing list ends the subscription.",
            edits=before.region,
        )
    notes = (*_told_of_merge(before, chosen, after), _brought(before, no_more_than, "as before"))
    return Addition(before, after, tuple(filter(None, notes)))


def _check_together(before: ChannelFilter, chosen: ChannelFilter, *, asks_races: bool) -> None:
    """Raise CommandError where the filters together would take fewer races than typed, or many more.

    A filter has the same value of each narrowing kind for all its events. One button has the typed words with
    the present values, one all races of both filters. A person who asked for one course is not offered all courses.
    """
    more = chosen.topics - before.topics
    own = [one for one in NARROWING if one.of(before) and not one.of(chosen)]
    new = [one for one in NARROWING if one.of(chosen) and not one.of(before)]
    is_of_more = ONLY_COURSES in new and not all(one.covers(before, chosen) for one in NARROWING)
    if not ((own and asks_races) or (more and (own or new)) or is_of_more):
        return
    where, kinds = region_named(before.region), [one for one in NARROWING if one.of(before) or one.of(chosen)]

    def named(some: ChannelFilter) -> str:
        each = [(one.named(some), " alone" if one in OF_RACES else "", one.plural) for one in kinds]
        races = ", ".join(f"{values}{alone}" if values else f"all {plural}" for values, alone, plural in each)
        return races if chosen.topics == before.topics else f"{listed(topics_in_order(some.topics))} of {races}"

    def line(some: ChannelFilter) -> str:
        by_name = {field: tuple(Course(name=name_of(one)) for one in getattr(some, field)) for field in COURSE_FIELDS}
        some = some if some.region == ALL_REGIONS else some.model_copy(update=by_name)
        return typed_line(["subscribe", *(word for one in CONDITIONS for word in one.typed(some))])

    alike = chosen.model_copy(update={one.field: one.of(before) for one in own})
    wide = chosen.model_copy(update={one.field: one.joined(before, chosen) for one in (TOPICS, *NARROWING)})
    offers = [alike] if own and Addition(before, added(before, alike, is_wide=False)).is_news else []
    # A line with a course to be left out widens nothing, and a line without the course lifts no exclusion.
    offers += [wide] if own and not (chosen.not_courses or _lifted(before, chosen)) else []
    told = (
        f"From {where} this channel receives {named(before)}. All events of a subscription have the same "
        f"{listed([one.plural for one in own or new])}, so nothing was changed. This can't be added: {named(chosen)}."
    )
    if not own:
        told = f"{told} /racing {line(wide)} would bring {named(wide)}."
    told = f"{told} Edit in /racing list changes the subscription."
    raise CommandError(told, lines={capital(named(one)): line(one) for one in offers}, edits=before.region)


def _lifted(before: ChannelFilter, chosen: ChannelFilter) -> list[Course]:
    return [course for course in chosen.courses if has_course(before.not_courses, course)]


def _told_of_merge(before: ChannelFilter, chosen: ChannelFilter, after: ChannelFilter) -> list[str]:
    where, lifted = region_named(chosen.region), _lifted(before, chosen)
    again = f"No longer left out from {where}: {', '.join(map(name_of, lifted))}."
    kinds = [one for one in NARROWING if not (lifted and one is ONLY_COURSES)]
    each = [again if lifted else None, *(_told_of(one, before, chosen, after) for one in kinds)]
    new = [word for one in CHOICES for word in one.typed(chosen) if word not in one.typed(before)]
    if new and not all(one.covers(chosen, before) for one in NARROWING):
        each.append(f"For all that comes from {where}: {listed(new)}.")
    if before.not_courses and not (new or chosen.courses or chosen.not_courses):
        each.append(f"Still left out from {where}: {', '.join(map(name_of, before.not_courses))}.")
    return [told for told in each if told]


def _told_of(kind: Condition, before: ChannelFilter, chosen: ChannelFilter, after: ChannelFilter) -> str | None:
    where = region_named(chosen.region)
    if kind.of(before) and not kind.of(after):
        return f"It takes all {kind.plural} from {where} now, not {kind.named(before)} alone."
    if kind.of(before) and not kind.of(chosen):
        return f"Its {kind.plural} from {where} stay as they were: Edit in /racing list changes them."
    if kind.of(chosen) and not kind.of(before):
        return f"All {kind.plural} from {where} still come: Edit in /racing list leaves some out."
    return None
