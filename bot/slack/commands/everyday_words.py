"""Everyday words of racing that name no region and no course, each with a sentence on possible choices."""

from collections.abc import Iterable, Mapping

from bot.racedata.near_misses import quoted

_KINDS = "a kind of racing can't be chosen: name a region or a course. /racing courses lists the courses."
_NON_RUNNERS = "non-runners can't be chosen by themselves: the racecards show them."
_MEETINGS = "meetings can't be chosen by themselves: name a region or a course. /racecard shows the meetings of a day."
_PRICES = "prices and tips can't be chosen: a result shows the starting prices."
_DOGS = "the data service has horse racing alone."
_DAYS = "I know no holidays: write the date, such as 26 Dec."

EVERYDAY: Mapping[str, str] = (
    dict.fromkeys(("jumps", "jump", "hurdles", "chases", "flat", "all-weather", "weather", "aw", "turf", "nh"), _KINDS)
    | dict.fromkeys(("non-runners", "non-runner", "nonrunners", "nonrunner", "withdrawals"), _NON_RUNNERS)
    | dict.fromkeys(("meetings", "meeting", "races", "race"), _MEETINGS)
    | dict.fromkeys(("odds", "prices", "tips"), _PRICES)
    | dict.fromkeys(("greyhounds", "greyhound", "dogs"), _DOGS)
    | dict.fromkeys(("boxing", "christmas", "easter"), _DAYS)
)


def everyday(typed: Iterable[str]) -> str | None:
    return next((f"{quoted(word)}: {EVERYDAY[word.casefold()]}" for word in typed if word.casefold() in EVERYDAY), None)
