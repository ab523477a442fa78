"""Channels with choices under kills: live meetings, acknowledgements, digests, quiet hours, watches: all told once.

Each live message shows every race of its meeting at the end.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

import pytest
from sqlmodel import Session

from bot.channels import watches
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox.pace import Pace
from sandbox.slack.values import Json, PostedMessage
from tests.clock import move_clock, now
from tests.postgres import new_postgres_database
from tests.soak.databases import SUBSCRIBER
from tests.soak.life import Times
from tests.soak.oracle import key_of
from tests.soak.racing import Delivery, SoakChannel
from tests.soak.world import World, run_world

PACE = Pace(channel_s=0.05, workspace_per_minute=None)
REGION = "R1"
BOTH = frozenset({Topic.RESULTS, Topic.ABANDONMENTS})
WATCHED = range(1, 400)
QUIET_FOR = timedelta(minutes=1)
AT_LEAST, GIVE_UP_AFTER = QUIET_FOR + timedelta(seconds=10), timedelta(minutes=5)
KILLS = 25
RACES_A_MEETING = 6
PRESSED_EVERY = 2
"""One of so many abandonments is taken by a press."""

SECOND, WATCHING = "CSECOND", "CWATCH"


class Choosing(SoakChannel):
    """How many messages it gets is not counted: the sender does not wait for them."""

    def takes(self, _delivery: Delivery) -> bool:
        return False


def channels(now: datetime) -> list[SoakChannel]:
    hours = f"{now - timedelta(hours=1):%H:%M}-{now + QUIET_FOR:%H:%M}"
    return [
        SoakChannel("CPLAIN", (REGION,)),
        Choosing("CLIVE", (REGION,), BOTH, {"show": ("meetings",)}),
        Choosing("CACK", (REGION,), BOTH, {"ack": ("1m",), "escalate": (SUBSCRIBER, SECOND)}),
        Choosing("CQUIET", (REGION,), BOTH, {"quiet": (hours,)}),
        Choosing("CDIGEST", (REGION,), BOTH, {"digest": tuple(each_minute(now))}),
        Choosing(SECOND, ()),
        Choosing(WATCHING, ()),
    ]


def each_minute(now: datetime) -> Iterable[str]:
    """Until the soak is over: what comes after the last would wait for the next day."""
    return (f"{now + timedelta(minutes=minute):%H:%M}" for minute in range(1, 16))


def watch(session: Session) -> None:
    names = [WatchedName(WatchKind.HORSE, f"Horse{number:05}A") for number in WATCHED]
    watches.add(session, WATCHING, names, user_id=SUBSCRIBER, now=now())


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_soak_of_choices_tells_everything_once(engine, tmp_path, request, record_property):
    url = f"sqlite:///{tmp_path / 'soak.db'}"
    if engine == "postgresql":
        url = new_postgres_database(request.getfixturevalue("own_server").address)
        move_clock(url)
    chosen = channels(now())
    async with run_world(
        tmp_path,
        url,
        pace=PACE,
        times=Times(),
        channels=chosen,
        waiting_at_most=15,
        simple=True,
        races_a_meeting=RACES_A_MEETING,
    ) as world:
        # No message is refused for good: every one has to be there in the end.
        world.slack.failure_of = lambda _method, _args: None
        await world.database.write(watch)
        async with asyncio.TaskGroup() as group:
            group.create_task(world.sender.run())
            pressed: set[str] = set()
            group.create_task(press_on(world, pressed))
            await die_often(world)
            world.sender.stopping = True
            group.create_task(world.finish(timeout_s=120))
        found = problems(world, pressed)
        record_property("soak", "\n".join([figures(world), *found]))
        assert found == []
        assert is_enough(world)


async def die_often(world: World) -> None:
    """For as long as the quiet hours last and a while after, and until there is enough of everything."""
    began = now()
    while (passed := now() - began) < GIVE_UP_AFTER and (passed < AT_LEAST or not is_enough(world)):
        await world.jobs_are_due()
        running = world.start(world.ports[0], skip=world.random.choice((3, 8, 20, 40, None)))
        await running.live(world.random.uniform(1.0, 3.0), running.kill)


def is_enough(world: World) -> bool:
    return world.tally.killed >= KILLS and bool(taken(world)) and bool(keys(world, "CACK", "!reminder"))


async def press_on(world: World, pressed: set[str]) -> None:
    """Press every other button, again and again while the bot is dead. `pressed`: the keys that the bot took."""
    while not world.sender.stopping:
        for message in world.slack.messages("CACK"):
            button = button_in(message)
            if button and int(button["value"].rpartition("rc_")[2][:5]) % PRESSED_EVERY == 0:
                address, name = f"http://127.0.0.1:{world.ports[0]}", button["action_id"]
                answer = await world.slack.action(address, name, button["value"], message=message, user=SUBSCRIBER)
                if answer.error is None:
                    pressed.add(button["value"])
        await asyncio.sleep(0.2)


def figures(world: World) -> str:
    posts = {name: len(world.slack.messages(name)) for name in world.slack.channels}
    tally = world.tally
    return (
        f"{tally.lives} lives, {tally.killed} SIGKILLs ({tally.killed_at_failpoint} at failpoints), "
        f"{len(world.sender.delivered)} deliveries, {len(taken(world))} abandonments taken, "
        f"{len(keys(world, 'CACK', '!reminder'))} reminders, posts {posts}"
    )


def button_in(message: PostedMessage) -> Json | None:
    elements = [element for block in message.blocks for element in block.get("elements", ())]
    return next((one for one in elements if str(one.get("action_id")).startswith("acknowledge:")), None)


def problems(world: World, pressed: Collection[str]) -> list[str]:
    """What is wrong, in sentences that name race and channel. `pressed`: the keys of presses that the bot took."""
    found = list(world.sender.wrong) + list(world.tally.wrong)
    for delivery in world.sender.delivered:
        number = delivery.race.removeprefix("rc_")
        wanted = dict.fromkeys(("CPLAIN", "CLIVE", "CACK", "CQUIET", "CDIGEST"), 1)
        if not delivery.is_abandonment and int(number) in WATCHED:
            wanted[WATCHING] = 1
        for name, count in wanted.items():
            told = telling(world.slack.messages(name), delivery.where)
            if told != count:
                found.append(f"{delivery.name} is told {told} times in {name}")
        if delivery.is_abandonment:
            found += of_escalation(world, delivery)
    for name in world.slack.channels:
        twice = [key for key, count in Counter(map(key_of, world.slack.messages(name))).items() if key and count > 1]
        found += [f"{key} stands twice in {name}" for key in twice]
    found += [f"{key} was pressed, and nobody has it" for key in sorted(set(pressed) - set(taken(world)))]
    found += in_wrong_place(world)
    found += not_in_the_live_message(world)
    return found


def telling(messages: Iterable[PostedMessage], where: str) -> int:
    """Messages that tell the race's event: live messages and escalations show it once more."""
    own = [one for one in messages if not key_of(one).startswith("live:") and "!" not in key_of(one)]
    return sum(where in one.text or where in json.dumps(one.blocks) for one in own)


def of_escalation(world: World, delivery: Delivery) -> list[str]:
    key = f"{delivery.name}@CACK"
    told = {name: keys(world, name, f"{key}!") for name in ("CACK", SECOND)}
    if any(key_of(one) == key and f"<@{SUBSCRIBER}> has it since" in one.text for one in world.slack.messages("CACK")):
        return []
    return [] if (len(told["CACK"]), len(told[SECOND])) == (1, 1) else [f"{key}, not taken, is escalated {told}"]


def in_wrong_place(world: World) -> list[str]:
    """Results go into the thread of a live message, abandonments do not."""
    here = world.slack.messages("CLIVE")
    live = {one.ts for one in here if key_of(one).startswith("live:")}
    return [
        f"{key_of(one)} is in the wrong place"
        for one in here
        if one.ts not in live and (one.thread_ts in live) != key_of(one).startswith("result.")
    ]


def not_in_the_live_message(world: World) -> list[str]:
    """Each race has a line in the only live message of its course: with its winner, or its mark."""
    lives = [one for one in world.slack.messages("CLIVE") if key_of(one).startswith("live:")]
    found: list[str] = []
    for delivery in world.sender.delivered:
        course, off = delivery.where.split(" ")
        shown = [
            line
            for live in lives
            if live.text.startswith(f"{course} ({delivery.region}), ")
            for block in live.blocks
            for line in block["text"]["text"].split("\n")
            if line.startswith(f"{off}  ")
        ]
        wanted = "ABANDONED*, Frozen track" if delivery.is_abandonment else f"won by *Horse{delivery.race[3:]}A*"
        if [wanted in line for line in shown] != [True]:
            found.append(f"{delivery.name} is shown as {shown} in the live message of {course}")
    return found


def keys(world: World, channel_id: str, part: str) -> Sequence[str]:
    return [key_of(one) for one in world.slack.messages(channel_id) if part in key_of(one)]


def taken(world: World) -> Sequence[str]:
    return [key_of(one) for one in world.slack.messages("CACK") if "has it since" in one.text]
