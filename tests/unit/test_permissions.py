"""Who may change what a channel receives, and who is an admin: by the settings, and as far as Slack tells."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.errors import CommandError, SlackChannelClosed, SlackDoubtful, SlackScopeMissing, SlackUnreached, SlackWait
from bot.settings import SubscribeBy
from bot.slack.bot_identity import BotIdentity
from bot.slack.commands.invocation import team_of
from bot.slack.permissions import FAILURE_CACHED_S, LOOKUP_CACHED_S, People


@dataclass
class Slack:
    """Slack as users.info and conversations.info tell of it. `fails` is raised in their place, but for `answers`."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    creator: str | None = None
    fails: Exception | None = None
    answers: frozenset[str] = frozenset()
    calls: list[str] = field(default_factory=list)

    @property
    def web(self):
        return self

    def users_info(self, user):
        return {"user": self.users.get(user, {})}

    def conversations_info(self, channel):
        return {"channel": {"id": channel, "creator": self.creator}}

    async def call(self, method, start, *, timeout_s):
        assert timeout_s <= 1.0
        self.calls.append(method)
        if self.fails and method not in self.answers:
            raise self.fails
        return start()


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self):
        return self.now_s


@dataclass(frozen=True)
class Caller:
    user_id: str
    team_id: str | None = "T1"


def people(slack, by=SubscribeBy.ADMINS, clock=None, enterprise_id=None):
    identity = BotIdentity("xoxb-test", team_id="T1", enterprise_id=enterprise_id)
    return People(slack, identity, frozenset({"UADMIN"}), by, clock or Clock())


@pytest.mark.parametrize("flag", ["is_admin", "is_owner", "is_primary_owner"])
async def test_admins_and_owners_of_the_workspace_are_admins(flag):
    known = people(Slack(users={"U1": {flag: True}, "U2": {flag: False}}))
    assert await known.is_admin(Caller("U1"))
    assert not await known.is_admin(Caller("U2"))


async def test_admin_of_the_settings_is_one_whatever_slack_says():
    slack = Slack(fails=SlackDoubtful("users.info", "no answer"))
    assert await people(slack).is_admin(Caller("UADMIN"))
    assert slack.calls == []


async def test_people_are_asked_for_again_after_some_minutes():
    slack, clock = Slack(users={"U1": {"is_admin": True}}), Clock()
    known = people(slack, clock=clock)
    assert await known.is_admin(Caller("U1"))
    slack.users = {}
    clock.now_s = LOOKUP_CACHED_S - 1
    assert await known.is_admin(Caller("U1"))
    clock.now_s = LOOKUP_CACHED_S
    assert not await known.is_admin(Caller("U1"))
    assert slack.calls == ["users.info"] * 2


async def test_missing_scope_costs_only_the_workspaces_own_admins():
    slack = Slack(fails=SlackScopeMissing("users.info", "missing_scope"))
    known = people(slack)
    assert not await known.is_admin(Caller("U1"))
    assert not await known.is_admin(Caller("U1"))
    assert await known.person("U1") is None
    assert slack.calls == ["users.info"]


async def test_failing_call_leaves_what_was_known_for_a_while():
    slack, clock = Slack(users={"U1": {"is_admin": True}}), Clock()
    known = people(slack, clock=clock)
    assert await known.is_admin(Caller("U1"))
    slack.fails, clock.now_s = SlackDoubtful("users.info", "no answer"), LOOKUP_CACHED_S
    assert await known.is_admin(Caller("U1"))
    slack.fails, slack.users, clock.now_s = None, {}, LOOKUP_CACHED_S + FAILURE_CACHED_S
    assert not await known.is_admin(Caller("U1"))


async def test_zone_of_a_person_is_as_slack_tells_and_is_asked_for_once():
    slack = Slack(users={"U1": {"tz": "Europe/Paris"}, "U2": {"tz": "Nowhere/Land"}, "U3": {}})
    known = people(slack)
    assert str(await known.zone("U1")) == "Europe/Paris"
    assert await known.zone("U1") == await known.zone("U1")
    assert slack.calls == ["users.info"]
    assert await known.zone("U2") is await known.zone("U3") is None


@pytest.mark.parametrize("error", [SlackScopeMissing, SlackDoubtful, SlackUnreached])
async def test_zone_that_slack_does_not_tell_is_unknown(error):
    assert await people(Slack(fails=error("users.info", "no answer"))).zone("U1") is None


async def test_members_may_change_what_their_channel_receives():
    await people(Slack(), SubscribeBy.MEMBERS).check_may_change(Caller("U1"), "C1")


async def test_creator_of_a_channel_and_whoever_writes_to_the_bot_may_where_creators_may():
    known = people(Slack(creator="U1"), SubscribeBy.CREATORS)
    await known.check_may_change(Caller("U1"), "C1")
    await known.check_may_change(Caller("U2"), "D2")
    await known.check_may_change(Caller("UADMIN"), "C1")
    with pytest.raises(CommandError, match="Only the channel's creator and admins"):
        await known.check_may_change(Caller("U2"), "C1")


@pytest.mark.parametrize("by", [SubscribeBy.CREATORS, SubscribeBy.ADMINS])
@pytest.mark.parametrize(
    "fails",
    [SlackDoubtful("users.info", "no answer"), SlackUnreached("users.info", "x"), SlackWait("users.info", "x", 1.0)],
)
async def test_nobody_is_told_that_they_may_not_because_slack_does_not_answer(by, fails):
    known = people(Slack(creator="U1", fails=fails), by)
    with pytest.raises(CommandError, match=r"Slack did not tell me whether you .* Try again") as caught:
        await known.check_may_change(Caller("U1"), "C1")
    assert "Only" not in str(caught.value)
    await known.check_may_change(Caller("UADMIN"), "C1")
    with pytest.raises(CommandError, match="Slack did not tell me whether you are an admin"):
        await known.check_is_admin(Caller("U1"), "Only admins.")


async def test_creator_may_though_slack_says_nothing_of_people_and_an_admin_though_nothing_of_channels():
    fails = SlackDoubtful("x", "no answer")
    slack = Slack(creator="U1", fails=fails, answers=frozenset({"conversations.info"}))
    known = people(slack, SubscribeBy.CREATORS)
    await known.check_may_change(Caller("U1"), "C1")
    with pytest.raises(CommandError, match="Slack did not tell me"):
        await known.check_may_change(Caller("U2"), "C1")
    slack = Slack(users={"U3": {"is_admin": True}}, fails=fails, answers=frozenset({"users.info"}))
    await people(slack, SubscribeBy.CREATORS).check_may_change(Caller("U3"), "C1")


async def test_creator_of_a_private_channel_is_told_to_invite_the_bot():
    fails = SlackChannelClosed("conversations.info", "channel_not_found")
    known = people(Slack(fails=fails, answers=frozenset({"users.info"})), SubscribeBy.CREATORS)
    with pytest.raises(CommandError, match="private channel before I am invited"):
        await known.check_may_change(Caller("U1"), "C1")


async def test_missing_scope_is_no_reason_to_try_again():
    slack = Slack(creator="U1", fails=SlackScopeMissing("users.info", "missing_scope"))
    slack.answers = frozenset({"conversations.info"})
    with pytest.raises(CommandError, match="Only the channel's creator and admins"):
        await people(slack, SubscribeBy.CREATORS).check_may_change(Caller("U2"), "C1")


async def test_only_admins_may_where_the_settings_say_so():
    known = people(Slack(creator="U1", users={"U3": {"is_owner": True}}), SubscribeBy.ADMINS)
    await known.check_may_change(Caller("U3"), "C1")
    for user_id, channel_id in (("U1", "C1"), ("U1", "D1")):
        with pytest.raises(CommandError, match="Only admins"):
            await known.check_may_change(Caller(user_id), channel_id)


OUTSIDERS = {
    "a guest of several channels": ({"is_restricted": True}, "T1"),
    "a guest of one channel": ({"is_restricted": True, "is_ultra_restricted": True}, "T1"),
    "a stranger, says the flag": ({"is_stranger": True}, "T1"),
    "a stranger, says users.info": ({"team_id": "T2"}, "T1"),
    "a stranger, says the body": ({"team_id": "T1"}, "T2"),
    "a stranger of another organisation": ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E2"}}, "T2"),
}


@pytest.mark.parametrize("by", SubscribeBy)
@pytest.mark.parametrize(("user", "team_id"), OUTSIDERS.values(), ids=OUTSIDERS)
async def test_outsider_is_no_admin_and_changes_and_takes_nothing_whatever_slack_says_of_admins(by, user, team_id):
    slack = Slack(creator="U1", users={"U1": {"is_admin": True, "is_owner": True} | user})
    known, caller = people(slack, by, enterprise_id="E1"), Caller("U1", team_id)
    assert await known.is_admin(caller) is False
    for channel_id in ("C1", "D1"):
        with pytest.raises(CommandError):
            await known.check_may_change(caller, channel_id)
    with pytest.raises(CommandError):
        await known.check_is_member(caller)


@pytest.mark.parametrize("user", [{"is_restricted": True}, {"team_id": "T2"}])
async def test_outsider_whom_the_settings_name_is_an_admin(user):
    known, caller = people(Slack(users={"UADMIN": user})), Caller("UADMIN", "T2")
    assert await known.is_admin(caller)
    await known.check_may_change(caller, "C1")
    await known.check_is_member(caller)


@pytest.mark.parametrize("team_id", ["T1", "T2", "E1", None])
async def test_person_of_another_workspace_of_the_same_organisation_is_no_outsider(team_id):
    user = {"is_admin": True, "team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}
    known = people(Slack(users={"U1": user}), SubscribeBy.MEMBERS, enterprise_id="E1")
    assert await known.is_admin(Caller("U1", team_id))
    await known.check_may_change(Caller("U1", team_id), "C1")


@pytest.mark.parametrize("error", [SlackScopeMissing, SlackDoubtful])
async def test_without_slacks_answer_only_the_body_tells_an_outsider(error):
    known = people(Slack(fails=error("users.info", "no answer")), SubscribeBy.MEMBERS)
    await known.check_may_change(Caller("U1"), "C1")
    with pytest.raises(CommandError, match="other workspaces"):
        await known.check_may_change(Caller("U1", "T2"), "C1")


@pytest.mark.parametrize(
    ("body", "team_id"),
    [
        ({"team_id": "T2", "user_id": "U1"}, "T2"),
        ({"user": {"id": "U1", "team_id": "T2"}, "team": {"id": "T1"}}, "T2"),
        ({"user": {"id": "U1"}, "team": {"id": "T2"}, "view": {"app_installed_team_id": "T1"}}, "T2"),
        ({"user": {"id": "U1", "team_id": "T2"}, "team": None, "enterprise": {"id": "E1"}}, "T2"),
        ({"user": {"id": "U1", "team_id": ""}, "team": {}}, None),
        ({}, None),
    ],
)
def test_workspace_of_the_person_is_read_from_every_kind_of_body(body, team_id):
    assert team_of(body) == team_id


async def test_nobody_is_an_outsider_before_slack_said_which_workspace_is_the_bots_own():
    known = people(Slack(), SubscribeBy.MEMBERS)
    known.identity.team_id = None
    await known.check_may_change(Caller("U1", "T2"), "C1")
