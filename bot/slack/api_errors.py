"""Slack's error codes, and the error class that each code means for a method.

Source: docs.slack.dev/reference/methods/chat.postMessage, "Errors", and the pages of the other methods.
"""

from bot import errors


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


CHANNEL_CLOSED = _codes(
    "is_archived channel_not_found not_in_channel no_permission ekm_access_denied "
    "user_not_found cannot_dm_bot messages_tab_disabled"
)
"""Every other code that begins with `restricted_action` belongs here too."""

THREAD_CLOSED = _codes("restricted_action_thread_locked restricted_action_non_threadable_channel")
"""The channel takes messages, the thread takes no replies."""

CREDENTIALS_DEAD = _codes("account_inactive token_revoked token_expired invalid_auth not_authed")

WORKSPACE_CLOSED = _codes("org_login_required accesslimited two_factor_setup_required")
"""No channel and no message is to blame."""

NOT_GRANTED = _codes(
    "missing_scope access_denied enterprise_is_restricted not_allowed_token_type team_access_not_granted"
)
"""The token may not call this method. Without `POST_METHOD` or `EDIT_METHOD` nothing can be posted."""

NOT_READABLE = _codes("user_is_bot user_is_restricted method_not_supported_for_channel_type")
"""The token may not read messages by `HISTORY_METHOD` or `REPLIES_METHOD`.

Slack's page on `REPLIES_METHOD` lists bot tokens, and says that bot tokens can't read threads of channels.
"""

WAIT = _codes(
    "ratelimited rate_limited service_unavailable team_added_to_org external_channel_migrating message_limit_exceeded"
)

IN_DOUBT = _codes("fatal_error internal_error request_timeout")
""" "It's possible some aspect of the operation succeeded before the error was raised", says Slack."""

MESSAGE_REFUSED = _codes(
    "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long no_text invalid_metadata_format "
    "invalid_metadata_schema metadata_too_large too_many_attachments invalid_attachments"
)

MESSAGE_GONE = _codes("message_not_found cant_update_message edit_window_closed is_inactive")
"""Of `EDIT_METHOD`: no edit of this message can succeed. docs.slack.dev/reference/methods/chat.update"""

POST_METHOD = "chat.postMessage"
EDIT_METHOD = "chat.update"
HISTORY_METHOD = "conversations.history"
REPLIES_METHOD = "conversations.replies"

RETRY_AFTER_DEFAULT_S = 5.0

RETRY_AFTER_MAX_S = 300.0


def classify(
    method: str, code: str, *, retry_after: str | None = None, details: str | None = None
) -> errors.SlackError:
    if code in WAIT:
        return errors.SlackWait(method, code, wait_s(retry_after))
    if code in IN_DOUBT:
        return errors.SlackDoubtful(method, code)
    if code in CREDENTIALS_DEAD | WORKSPACE_CLOSED or (code in NOT_GRANTED and method in {POST_METHOD, EDIT_METHOD}):
        return errors.SlackCredentialsDead(method, code, details=details)
    if code in NOT_GRANTED or (code in NOT_READABLE and method in {HISTORY_METHOD, REPLIES_METHOD}):
        return errors.SlackScopeMissing(method, code, details=details)
    if code in CHANNEL_CLOSED or (code.startswith("restricted_action") and code not in THREAD_CLOSED):
        return errors.SlackChannelClosed(method, code)
    if code in MESSAGE_REFUSED:
        return errors.SlackMessageRefused(method, code, details=details)
    if code in MESSAGE_GONE and method == EDIT_METHOD:
        return errors.SlackMessageGone(method, code, details=details)
    if method == EDIT_METHOD:
        # Also for unknown codes: the message is posted anew, and the post tells any other problem.
        return errors.SlackEditRefused(method, code, details=details)
    return errors.SlackRefused(method, code, details=details)


def wait_s(retry_after: str | None) -> float:
    """Seconds to wait, from a `Retry-After` that may be missing or garbage."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return RETRY_AFTER_DEFAULT_S
    return min(max(seconds, 1.0), RETRY_AFTER_MAX_S) if seconds == seconds else RETRY_AFTER_DEFAULT_S  # noqa: PLR0124  NaN
