"""Holds and buckets are named by the kind of call: post, edit and look, in the place of Slack's methods.

A replica of the version before may run until it is restarted. The replica makes buckets and holds under Slack's names
again, and shares neither with the new version. Meanwhile Slack may see both versions' posts at full pace. Slack then
asks for a wait, and no message is lost. Rows under Slack's names that are left over do nothing.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

CALLS = {"chat.postMessage": "post", "chat.update": "edit", "conversations.history": "look"}


def upgrade() -> None:
    for table in ("method_hold", "method_pace"):
        for method, call in CALLS.items():
            # A row of each name is there where the new version ran on the old schema. The older row stands.
            is_there = f"EXISTS (SELECT 1 FROM {table} WHERE method = '{method}')"  # noqa: S608  constants
            op.execute(f"DELETE FROM {table} WHERE method = '{call}' AND {is_there}")  # noqa: S608  constants
            op.execute(f"UPDATE {table} SET method = '{call}' WHERE method = '{method}'")  # noqa: S608  constants
