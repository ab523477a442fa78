"""Live, waiting or suspended: a channel's subscriptions after changes, by Slack's answers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from bot.channels import subscriptions, watches
from bot.channels.filters import ChannelFilter
from bot.channels.watches import WatchedName
from bot.db.engine import Database
from bot.db.tables import SubscriptionState, WatchKind
from bot.errors import CommandError, SlackChannelClosed, SlackDoubtful, SlackError, SlackRefused, SlackScopeMissing
from bot.events.event import DEFAULT_TOPICS
from bot.outbox import held_queues
from bot.outbox.held_channels import Reopening
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.button_commands import open_form
from bot.slack.commands.invocation import COMMIT_S
from bot.slack.commands.pause_commands import MUTE_COMMAND, PAUSE_COMMAND
from bot.slack.commands.present_subscriptions import EDIT_BUTTON, UNSUBSCRIBE_COMMAND
from bot.slack.commands.subscribe import FORM_SUBMITTED, SUBSCRIBE_COMMAND, said_of
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.subscribe_form import FormOf, read_form, subscribe_form
from bot.slack.workspace import BotIdentity
from sandbox.slack import modals
from tests.unit.commands.town import NOW, make_desk, typed

IN, OUT = {"channel": {"is_member": True}}, {"channel": {"is_member": False}}
SILENT = SlackDoubtful("conversations.info", "no answer")
ARCHIVED = "is_archived"
GB = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)


@dataclass
class Slack:
    """Slack with answers one after another, the last answer for ever."""

    answers: list[Any]
    timeouts_s: list[float] = field(default_factory=list)
    web: Any = field(default_factory=lambda: SimpleNamespace(conversations_history=dict, conversations_members=dict))

    async def call(self, _method, _start, *, timeout_s):
        self.timeouts_s.append(timeout_s)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, SlackError):
            raise answer
        return answer


@dataclass
class Channel:
    """A channel in which people type, with subscriptions in the database."""

    database: Database
    desk: Any
    channel_id: str = "C1"

    def hears(self, *answers):
        self.desk.slack.answers = list(answers)

    def typed(self, words, **changes):
        return typed(words, channel_id=self.channel_id, **changes)

    async def types(self, words):
        """The answer's text."""
        committed = await SUBSCRIBE_COMMAND.commit(self.desk, self.typed(words))
        answer = await said_of(self.desk, self.typed(words), committed)
        assert answer is not None
        return answer.text

    async def ends(self, words):
        await UNSUBSCRIBE_COMMAND.commit(self.desk, self.typed(words))

    async def states(self):
        rows = await self.database.read(lambda session: subscriptions.of_channel(session, self.channel_id))
        return {row.region: (row.state, row.state_reason) for row in rows}

    async def closes(self):
        def close(session):
            subscriptions.suspend(session, self.channel_id, ARCHIVED, NOW)
            held_queues.close(session, self.channel_id, ARCHIVED, NOW)

        await self.database.write(close)


@pytest.fixture
async def channel(database):
    """Words are taken as typed: no list of the data service has come."""
    desk = await make_desk(database, regions=())
    desk.slack = Slack([IN])
    desk.reopening = Reopening(waited)
    desk.identity = BotIdentity("xoxb-test")
    return Channel(database, desk)


async def test_subscription_of_a_closed_channel_is_closed_too_where_slack_does_not_say(channel):
    await channel.types("GB")
    await channel.closes()
    channel.hears(SILENT)
    said = await channel.types("IRE")
    assert "Slack did not let me post here lately (is_archived)" in said
    assert "/invite" not in said
    await channel.types("GB racecards")
    assert await channel.states() == dict.fromkeys(("GB", "IRE"), ("suspended", ARCHIVED))


async def test_subscription_of_an_open_channel_is_live_where_slack_does_not_say(channel):
    channel.hears(SILENT)
    assert "I could not see whether I am in this channel" in await channel.types("GB")
    assert await channel.states() == {"GB": ("live", None)}


async def test_subscription_where_the_bot_is_not_waits_when_it_is_stored_and_the_answer_only_reads(channel, database):
    for heard, state in ((OUT, "waiting"), (SILENT, "waiting"), (IN, "live")):
        channel.hears(heard)
        committed = await SUBSCRIBE_COMMAND.commit(channel.desk, channel.typed("GB"))
        assert (await channel.states())["GB"][0] == state
        desk: Any = SimpleNamespace(**vars(channel.desk) | {"database": SimpleNamespace(read=database.read)})
        assert await said_of(desk, channel.typed("GB"), committed)


async def test_bot_that_is_invited_while_slack_is_asked_is_there(channel):
    channel.hears(OUT, IN)
    assert "not in this channel" not in await channel.types("GB")
    assert await channel.states() == {"GB": ("live", None)}


async def test_subscribing_where_the_bot_is_back_starts_what_was_closed(channel):
    await channel.types("GB")
    await channel.closes()
    await channel.types("IRE")
    assert await channel.states() == dict.fromkeys(("GB", "IRE"), ("live", None))
    held = await channel.database.read(lambda session: held_queues.closed_channels(session, 9))
    assert held == []


async def test_subscription_of_a_closed_channel_stays_closed_in_part_and_in_another_region(channel):
    await channel.types("GB")
    await channel.closes()
    await channel.ends("GB results")
    assert await channel.states() == {"GB": ("suspended", ARCHIVED)}
    channel.hears(SILENT)
    (row,) = await channel.database.read(lambda session: subscriptions.of_channel(session, "C1"))
    chosen = subscriptions.read_filter(row)
    form = FormOf(channel_id="C1", editing="GB", was=chosen.fingerprint())
    view = subscribe_form(form, chosen, Lexicon(("GB", "IRE")))
    filled = {**view, "state": {"values": modals.filled_in(view, {"regions": ["IRE"]})}}
    await FORM_SUBMITTED.commit(channel.desk, replace(channel.typed(""), form=read_form(filled)))
    assert await channel.states() == {"IRE": ("suspended", ARCHIVED)}


OF_OTHERS = SlackChannelClosed("conversations.history", "channel_not_found")


def refuses(*_asked):
    raise CommandError("Nothing to pause.")


async def test_direct_message_of_other_people_is_refused_and_nobody_is_told_to_invite_the_bot_there(channel):
    channel.channel_id = "D1"
    channel.hears(OF_OTHERS)
    with pytest.raises(CommandError, match="direct messages between other people") as caught:
        await channel.types("GB")
    assert "/invite" not in str(caught.value)
    assert await channel.states() == {}
    channel.hears(SlackScopeMissing("conversations.history", "missing_scope"))
    said = await channel.types("GB")
    assert "I could not see whether these are your direct messages with me" in said
    assert "/invite" not in said


@pytest.mark.parametrize(
    ("heard", "commands", "from_home"),
    [
        (OF_OTHERS, [(MUTE_COMMAND, "course:York")], False),
        ({"members": ["U2"]}, [(SUBSCRIBE_COMMAND, "GB"), (PAUSE_COMMAND, "")], True),
        (IN, [(replace(PAUSE_COMMAND, store=refuses), "")], False),
    ],
    ids=["mute", "press at home", "refused"],
)
async def test_watch_moves_by_no_refused_command_nor_to_other_people(channel, heard, commands, from_home):
    name = WatchedName(WatchKind.HORSE, "Fog")
    add = partial(watches.add, channel_id="U1", names=[name], user_id="U1", now=NOW, person_id="U1")
    await channel.database.write(add)
    channel.channel_id = "D1"
    channel.hears(heard)
    for command, words in commands:
        with suppress(CommandError):
            await command.commit(channel.desk, channel.typed(words, from_home=from_home))
    (row,) = await channel.database.read(partial(watches.of_person, person_id="U1"))
    assert (row.channel_id, row.paused_until) == ("U1", None)


async def test_slack_is_asked_no_longer_than_leaves_time_to_store(channel):
    began_s = asyncio.get_running_loop().time() - COMMIT_S + 1.0
    await SUBSCRIBE_COMMAND.commit(channel.desk, channel.typed("GB", began_s=began_s))
    assert 0 < channel.desk.slack.timeouts_s[0] <= 0.7
    channel.hears(SlackDoubtful("views.open", "no answer"))
    with pytest.raises(CommandError, match="did not say in time whether a form has opened"):
        await open_form(channel.desk, channel.typed("", began_s=began_s), None)
    assert 0 < channel.desk.slack.timeouts_s[-1] <= 0.7


EXPIRED = SlackRefused("views.open", "expired_trigger_id")
NO_SCOPE = SlackScopeMissing("views.open", "missing_scope", details="needs views:write")


@pytest.mark.parametrize(
    ("chosen", "error", "told"),
    [
        (GB, EXPIRED, "Slack did not let me open the form: click the button again."),
        (GB, SILENT, "Slack did not say in time whether a form has opened. If there is none, click the button again."),
        (GB, NO_SCOPE, "I lack a scope for opening forms (needs views:write): an admin has to grant it."),
        (None, EXPIRED, "Slack did not let me open the form: try again, or say what this channel should receive"),
        (None, NO_SCOPE, "an admin has to grant it. Meanwhile say what this channel should receive"),
    ],
)
async def test_form_that_does_not_open_is_told_with_what_to_do_instead(channel, chosen, error, told):
    channel.hears(error)
    with pytest.raises(CommandError) as caught:
        await open_form(channel.desk, channel.typed(""), chosen)
    assert told in str(caught.value)
    assert ("/racing subscribe" in str(caught.value)) is (chosen is None)


async def test_edit_of_a_subscription_that_is_gone_says_so_and_opens_no_form(channel):
    with pytest.raises(CommandError, match="not there any more"):
        await EDIT_BUTTON.commit(channel.desk, channel.typed("GB"))
    assert channel.desk.slack.timeouts_s == []


async def test_state_of_a_new_subscription_is_that_of_its_channel(channel):
    until = NOW.replace(hour=14)

    def store(session):
        for region in ("GB", "IRE"):
            chosen = ChannelFilter(region=region, topics=frozenset())
            subscriptions.save(session, "C1", chosen, user_id="U1", now=NOW)
            subscriptions.pause(session, "C1", until, NOW)

    await channel.database.write(store)
    assert await channel.states() == dict.fromkeys(("GB", "IRE"), (SubscriptionState.PAUSED, None))
