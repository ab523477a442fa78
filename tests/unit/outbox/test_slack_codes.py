"""The meaning of each of Slack's error codes for a method."""

import pytest

from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackEditRefused,
    SlackMessageGone,
    SlackMessageRefused,
    SlackRefused,
    SlackScopeMissing,
    SlackWait,
)
from bot.slack.api_errors import classify

SAID = ("chat.postMessage", "chat.update")
READ = ("conversations.history", "conversations.replies")
OTHERS = ("conversations.info", "views.open")
ALL = (*SAID, *READ, *OTHERS)

MEANINGS = [
    (SlackChannelClosed, ALL, "is_archived channel_not_found not_in_channel no_permission ekm_access_denied"),
    (SlackChannelClosed, ALL, "user_not_found cannot_dm_bot messages_tab_disabled"),
    (SlackChannelClosed, ALL, "restricted_action restricted_action_read_only_channel restricted_action_of_next_year"),
    (SlackRefused, SAID[:1], "restricted_action_thread_locked restricted_action_non_threadable_channel"),
    (SlackCredentialsDead, ALL, "account_inactive token_revoked token_expired invalid_auth not_authed"),
    (SlackCredentialsDead, ALL, "org_login_required accesslimited two_factor_setup_required"),
    (SlackCredentialsDead, SAID, "missing_scope access_denied enterprise_is_restricted not_allowed_token_type"),
    (SlackCredentialsDead, SAID, "team_access_not_granted"),
    (SlackScopeMissing, READ + OTHERS, "missing_scope access_denied enterprise_is_restricted not_allowed_token_type"),
    (SlackScopeMissing, READ + OTHERS, "team_access_not_granted"),
    (SlackScopeMissing, READ, "user_is_bot user_is_restricted method_not_supported_for_channel_type"),
    (SlackWait, ALL, "ratelimited rate_limited service_unavailable team_added_to_org external_channel_migrating"),
    (SlackWait, ALL, "message_limit_exceeded"),
    (SlackDoubtful, ALL, "fatal_error internal_error request_timeout"),
    (SlackMessageRefused, ALL, "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long no_text"),
    (SlackMessageRefused, ALL, "invalid_metadata_format invalid_metadata_schema metadata_too_large"),
    (SlackMessageRefused, ALL, "too_many_attachments invalid_attachments"),
    (SlackMessageGone, SAID[1:], "message_not_found cant_update_message edit_window_closed is_inactive"),
    (SlackEditRefused, SAID[1:], "msg_blocked_by_policy restricted_action_thread_locked never_heard_of_it"),
    (SlackRefused, (*SAID[:1], *READ, *OTHERS), "message_not_found as_user_not_supported never_heard_of_it"),
]


@pytest.mark.parametrize(
    ("code", "methods", "meaning"),
    [pytest.param(code, methods, meaning) for meaning, methods, codes in MEANINGS for code in codes.split()],
)
def test_code_has_its_meaning(code, methods, meaning):
    assert {type(classify(method, code)) for method in methods} == {meaning}
