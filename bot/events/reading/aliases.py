"""One table of fields: the names under which a value may come, and the reader of the value (Spec gap G2).

The surest name stands first. After an unreadable value, the next name is tried. Names are compared folded: `race_id`
stands for "raceId" and "Race-ID" too.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from bot.events.event import Topic
from bot.events.reading.json_values import count, fields_of, find, flag, fold, identifier, text
from bot.events.reading.off_times import read_date
from bot.events.reading.record_objects import kind_of

T = TypeVar("T")
Names = tuple[str, ...]

COURSE_ID_SHAPE = re.compile("cr_[A-Za-z0-9]+")
"""Interface, Course."""

ENVELOPE_WORDS = frozenset({"race", "races", "meeting", "racecard", "result", "results", "event", "webhook"})


class Field(NamedTuple, Generic[T]):
    """`own`: names that mean the field only in the race's own object."""

    read: Callable[[Any], T | None]
    names: Names
    own: Names = ()


def names(words: str) -> Names:
    return tuple(fold(word) for word in words.split())


def field(read: Callable[[Any], T | None], anywhere: str, own: str = "") -> Field[T]:
    return Field(read, names(anywhere), names(own))


PLAIN_ID = names("id uid uuid guid identifier")
RACE_ID = names("race_id race_uid race_uuid race_guid race_identifier race_key race_ref race_reference")
MEETING_ID = names("meeting_id meeting_uid meeting_uuid meeting_key fixture_id")
COURSE_ID = names("course_id course_uid course_key venue_id racecourse_id track_id")
COURSE_NAME = names("name course_name venue_name track_name display_name title label")
REGION_CODE = names("region_code code region id")


def read_region(value: Any) -> str | None:
    """A mere number is no code: a wrong region would hide an abandonment."""
    if isinstance(value, str):
        return text(value)
    code = find([fields_of(value)], REGION_CODE, identifier) if isinstance(value, dict) else None
    return text(code) if code and not code.isdigit() else None


def read_course_id(value: Any) -> str | None:
    if isinstance(value, dict):
        return text(find([fields_of(value)], COURSE_ID + PLAIN_ID, identifier))
    return value.strip() if isinstance(value, str) and COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def read_course_name(value: Any) -> str | None:
    if isinstance(value, dict):
        return find([fields_of(value)], COURSE_NAME, read_course_name)
    return text(value) if isinstance(value, str) and not COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def read_words(value: Any) -> str | None:
    read = text(value)
    return None if read is None or kind_of(read) or read.casefold() in ENVELOPE_WORDS else read


def string(value: Any) -> str | None:
    return text(value) if isinstance(value, str) else None


RACE_FIELDS: Mapping[str, Field[Any]] = {
    "region": field(read_region, "region_code region jurisdiction_code jurisdiction"),
    "title": field(read_words, "race_name race_title", own="title name"),
    "number": field(read_words, "race_number race_no race_num", own="number no"),
    "race_class": field(read_words, "race_class", own="class"),
    "race_type": field(read_words, "race_type run_type", own="type"),
    "distance": field(read_words, "distance race_distance distance_text", own="dist"),
    "going": field(read_words, "going going_description track_condition"),
    "surface": field(read_words, "surface track_surface"),
    "winning_time": field(read_words, "winning_time race_winning_time winner_time win_time"),
    "status": field(text, "race_status", own="status state"),
    "abandoned": field(flag, "race_abandoned is_abandoned", own="abandoned"),
    "reason": field(text, "abandonment_reason abandoned_reason abandon_reason reason_abandoned reason", own="cause"),
    "field_size": field(count, "field_size runner_count runners_count num_runners number_of_runners", own="runners"),
}

COURSE_NAMES = "course course_name venue venue_name racecourse racecourse_name"
TRACK_NAMES = "track track_name"
COURSE_FIELDS: Mapping[str, tuple[Field[str], ...]] = {
    "course_id": (
        Field(text, COURSE_ID),
        field(read_course_id, COURSE_NAMES),
        field(read_course_id, TRACK_NAMES),
    ),
    "name": (field(read_course_name, COURSE_NAMES), field(read_course_name, TRACK_NAMES)),
    "country": (field(text, "course_country country"),),
}
"""Each field's searches, in order. A track comes last, because some say "turf"."""

RACE_DATE = field(read_date, "race_date meeting_date race_day", own="date day")
OFF = names(
    "off off_time off_at off_datetime off_dt scheduled_off scheduled_off_time start_time starts_at"
    " start_at scheduled_start scheduled_time post_time race_time race_datetime"
)
OFF_OWN = names("time start datetime")

HORSE_NAMES = names("name horse_name runner_name")
"""In the object of a horse, which may name its jockey and trainer too."""

RUNNER_FIELDS: Mapping[str, Names] = {
    "horse": names("horse horse_name runner_name runner name"),
    "number": names(
        "number cloth_number saddlecloth saddlecloth_number cloth_no runner_number program_number no num tab_number"
    ),
    "draw": names("draw stall stall_number draw_number barrier gate post_position"),
    "jockey": names("jockey jockey_name rider"),
    "trainer": names("trainer trainer_name"),
    "starting_price": names("sp starting_price sp_fractional starting_price_fractional sp_decimal bsp"),
    "official_rating": names("official_rating or ofr"),
    "beaten": names("beaten beaten_distance distance_beaten distance_behind beaten_by btn lengths_behind"),
    "position_reason": names(
        "position_reason placing_reason disqualification_reason disqualified_reason dq_reason non_runner_reason reason"
    ),
}

SURE_POSITION_NAMES = names("position pos finishing_position finish_position final_position")
POSITION_NAMES = (*SURE_POSITION_NAMES, *names("official_position finish_pos place placing rank finish"))
NO_FINISH = names("casualty casualty_reason outcome outcome_code")
RUNNER_STATUS = names("status runner_status finish_status result_status")
DISQUALIFIED = names("disqualified is_disqualified dsq dq")
NON_RUNNER_NAMES = names("non_runner is_non_runner withdrawn scratched")
WINNER = names("winner winning_horse winner_name")

ORDERED_LISTS = names("finishing_order finish_order result_order order_of_finish placings")
"""Lists in finishing order. Any other list of bare names only says who ran."""

RUNNER_LISTS = names(
    "runners results result finishers placings finishing_order finish_order result_order order_of_finish positions"
    " placed entries declarations declared horses starters participants"
)
WRAPPED_LISTS = names("data items list")

RACE_LISTS = names("abandoned_races affected_races cancelled_races races race_ids")
CARD_LISTS = names("racecard racecards card data payload items")
"""Only objects count: the bare names of a card may be horses."""

MEETING_LISTS = names("meetings cards")

EVENT_NAME = names("event event_type event_name type topic kind action name")
SURE_EVENT_NAME = names("event event_type event_name")
TOP_EVENT_NAME = names("event event_type event_name type topic kind")
"""Values are event names, even of unknown events; the last three only at the top."""

SEQUENCE = names("sequence seq revision version")
DATA_AS_OF = names("data_as_of")
"""Interface, Response envelope."""

OCCURRED_AT = names("occurred_at event_time event_at")
OCCURRED_AT_TOP = names("published_at created_at timestamp")
"""Only beside the event's name: the `created_at` of a race is the record's."""

OCCURRED_AT_ENVELOPE = names("time ts")
"""Beside racing fields, `time` is the off time."""

OCCURRED_AT_OF: Mapping[Topic, Names] = {
    Topic.RESULTS: names("settled_at result_at resulted_at"),
    Topic.ABANDONMENTS: names("abandoned_at called_off_at"),
    Topic.RACECARDS: names("published_at"),
}

FIRST_ATTEMPT_AT = names(
    "first_attempt_at first_attempted_at first_attempt first_sent_at first_tried_at first_delivery_at"
)
