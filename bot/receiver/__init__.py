"""The receiver: a small program that takes deliveries, whatever the bot does meanwhile.

Owns the public address: checks size and signature, appends to the journal, answers, and relays every other request to
the bot, its child process. May import: deliveries.journal, deliveries.signature, deliveries.signing_secrets, db.vault,
web.request_body, web.plain_answers, errors, clock, logs, loop. Never pydantic, SQLAlchemy, Starlette or Slack: memory
and start would double.
"""
