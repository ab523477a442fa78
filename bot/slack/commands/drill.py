"""`/racing drill`, for admins: a marked test alert through the bot's own public address."""

from sqlmodel import Session

from bot.errors import CommandError
from bot.events.drill_mark import Drill
from bot.fanout import drills
from bot.fanout.drills import KeptDrill
from bot.outbox.message import Message
from bot.racedata import webhook_subscriptions
from bot.slack.commands.invocation import MEMBERSHIP_S, Command, Desk, Invocation, admins_only
from bot.slack.language.grammar import Grammar
from bot.slack.language.words import Kind, words_in
from bot.slack.messages.answers.trace_answer import drill_report
from bot.slack.workspace import is_member

NAME = "drill"
DRILL_HERE = "here"

_WORDS = Grammar(words_in(NAME))

DRILL_ANSWER_S = 60.0
"""A drill ends earlier (bot.fanout.drills.DRILL_LASTS)."""

_PATH = "/webhooks/racing"


async def _plan(_desk: Desk, invocation: Invocation) -> str | None:
    """The only channel of the drill; None for every channel."""
    kinds = {one.kind for one in _WORDS.read(invocation.text)} - {Kind.FILLER}
    if not kinds <= {Kind.FLAG}:
        raise CommandError(
            "Type /racing drill for every channel that takes abandonments, or /racing drill here for this channel "
            "alone.",
            lines={"Here alone": f"{NAME} {DRILL_HERE}"},
        )
    return invocation.channel_id if kinds else None


async def _ask(desk: Desk, invocation: Invocation, only_channel: str | None) -> Drill:
    """Raises CommandError without PUBLIC_URL, and where a drill can't come."""
    if desk.settings.public_url is None:
        raise CommandError(await desk.database.read(_without_address))
    if only_channel and await is_member(desk.slack, only_channel, invocation.left_s(MEMBERSHIP_S)) is False:
        # A refused post would close the channel queue.
        raise CommandError(
            f"I am not in this channel, so a drill can't come here. /invite @{desk.identity.name}, then type "
            "/racing drill here again."
        )
    return Drill(drill_id=desk.token(8), begun_by=invocation.user_id, only_channel=only_channel)


def _begin(session: Session, desk: Desk, _invocation: Invocation, asked: Drill) -> KeptDrill:
    """Raises CommandError within a minute of the last drill."""
    kept = desk.drills.begin(session, asked)
    if kept is None:
        raise CommandError(_too_soon(drills.latest(session)))
    return kept


async def _answer(desk: Desk, invocation: Invocation, committed: KeptDrill) -> Message:
    async def say() -> str:
        sent, told = await desk.drills.how_far(committed)
        so_far = f": {sent} of {told} channels got the message" if told else ""
        return f"The drill is under way{so_far}"

    invocation.progress.say = say
    report = await desk.drills.run(committed)
    return drill_report(report, desk.identity.permalink, desk.identity.name)


def _too_soon(latest: KeptDrill | None) -> str:
    if latest is None:
        return "Another drill begins at this moment. Its messages come to the same channels."
    return (
        f"A drill began at {latest.begun_at:%H:%M:%S} UTC. The next can begin at {latest.next_at:%H:%M:%S} UTC: one a "
        "minute, for the sake of those whose phones ring."
    )


def _without_address(session: Session) -> str:
    """The advice on PUBLIC_URL. A live subscription with the data service names the address."""
    known = [row.url.removesuffix(_PATH) for row in webhook_subscriptions.live(session) if row.url.endswith(_PATH)]
    address = known[-1] if known else "https://bot.example.com"
    why = "my subscription with the data service delivers there" if known else "with your own address"
    return (
        "A drill goes through my public address, and PUBLIC_URL is not set, so nothing was sent. Set "
        f"PUBLIC_URL={address} ({why}), and start me again. Until then /racing list shows what each channel receives, "
        "and /racing trace who was told of a race."
    )


_may_begin = admins_only("Only admins may begin a drill, because phones ring. /racing list works for everybody.")

DRILL_COMMAND = Command(NAME, _answer, _plan, _ask, _may_begin, store=_begin, answer_s=DRILL_ANSWER_S)
