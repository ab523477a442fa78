"""A channel that asks for acknowledgements: presses, the job of escalations, and who has an abandonment."""

from datetime import timedelta

from sqlalchemy import select

from bot.db.tables import Acknowledgement
from bot.events.event import Topic
from bot.outbox import acknowledgements, escalations
from tests.integration.pipeline.racing_day import shown
from tests.integration.pipeline.steps import write
from tests.integration.pipeline.stories import does, subscribes

TOLD = "Nobody has taken it"
BUTTON = "I have it"
ASKS, SILENT, TAKEN = f"+{BUTTON}", f"!{BUTTON}", f"<@UALICE> has it since | !{BUTTON}"
"""Messages of a story: with the button, without, and with who has the abandonment."""


def asks(*escalate, channel="CGB", also=(), minutes=10):
    """`also`: channels that are told and not subscribed."""
    do = subscribes(channel, "GB", *Topic, ack=(f"{minutes}m",), escalate=escalate)
    do.channels |= {*also, *escalate}
    return do


def later(minutes, steps=...):
    return does(after, minutes, gives=steps)


def acks(*states):
    return does(asked, gives=sorted(states))


def presses(number, user="UALICE", *, finds=None, of="CGB"):
    """Somebody presses the button below a message, which shows no button any more. `finds`: who has it already."""

    async def do(pipeline):
        taken = await press(pipeline, pipeline.slack.messages(of)[number - 1], user)
        assert (taken.by, taken.is_news) == (finds or user, finds is None)

    return do


async def ask(pipeline, *escalate, channel_id="CGB", minutes=10):
    await pipeline.subscribe(channel_id, "GB", frozenset(Topic), ack=(f"{minutes}m",), escalate=escalate)
    return pipeline


async def after(pipeline, minutes, absent=()):
    """The job, so many minutes after now; then all that is due is posted."""
    at = pipeline.clock() + timedelta(minutes=minutes)
    steps = await write(pipeline, escalations.escalate, at, pipeline.notices, absent)
    await pipeline.post_all()
    return steps


async def press(pipeline, message, user="UALICE"):
    """The button below a message, or by its key."""
    key = message if isinstance(message, str) else key_in(message) if BUTTON in shown(message) else post_of(message)
    taken = await write(pipeline, acknowledgements.take, key, user, pipeline.clock())
    await pipeline.post_all()
    return taken


async def give_back(pipeline, key, user="UALICE", minutes=0):
    now = pipeline.clock() + timedelta(minutes=minutes)
    given = await write(pipeline, acknowledgements.give_back, key, user, now)
    await pipeline.post_all()
    return given


def key_in(message):
    elements = [element for block in message.blocks for element in block.get("elements", ())]
    (button,) = [one for one in elements if str(one.get("action_id")).startswith("acknowledge:")]
    return button["value"]


def post_of(message):
    """The key of the message's abandonment; an escalation's own key has more behind."""
    return message.metadata["event_payload"]["post"].partition("!")[0]


async def asked(pipeline):
    """The states of all acknowledgements, in the order of letters."""

    def read(session):
        return sorted(row.state for row in session.execute(select(Acknowledgement)).scalars())

    return await pipeline.database.read(read)


def messages(pipeline, *channel_ids):
    return [one for channel_id in channel_ids or ("CGB", "CALL") for one in pipeline.slack.messages(channel_id)]


def is_taken(message, by="UALICE"):
    """The message says who has the abandonment, and has no button."""
    return f"<@{by}> has it since" in message.text and BUTTON not in shown(message)


def told(pipeline, channel_id="CALL"):
    """The escalations in a channel."""
    return [one for one in pipeline.slack.messages(channel_id) if TOLD in one.text]
