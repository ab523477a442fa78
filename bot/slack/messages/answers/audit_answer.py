"""The answer of `/racing audit`."""

from bot.channels.audit_log import AuditPage
from bot.db.tables import AuditEntry
from bot.outbox.message import Message
from bot.slack.messages.kit.blocks import message, section, told
from bot.slack.messages.kit.mentions import named
from bot.slack.messages.kit.pages import page_mark, turns
from bot.slack.messages.kit.text import code, counted, safe
from bot.slack.messages.kit.times import moment_for_readers

SIDE_MAX = 220


def audit_page(page: AuditPage, what: str, command: str) -> Message:
    if not page.total:
        return told(f"Nobody has changed anything {what} yet.")
    title = f"*{counted(page.total, 'change')} {what}*{page_mark(page.number, page.pages)}"
    lines = [_line(entry) for entry in page.entries]
    text = "\n".join([title, *lines])
    return message(text, [section(title)], lines, len(lines), [turns(command, page.number, page.pages)])


def _line(entry: AuditEntry) -> str:
    before, after = (safe(side, SIDE_MAX) or "nothing" for side in (entry.before, entry.after))
    who = f"{named(entry.user_id)} in {named(entry.channel_id)}"
    return (
        f"• {moment_for_readers(entry.at)} {who}: *{safe(entry.action)}*, {before} → {after} ({code(entry.reference)})"
    )
