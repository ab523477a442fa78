"""The outbox: messages for channels, from fan-out until Slack has them.

Offers messages and channel queues; claiming, sending and resolving; closing, pausing and resuming a channel; summaries
of a backlog; the limits of calls; the ledger. Knows Slack's methods only as kinds of `Call`. May import: deliveries,
racedata, channels, events, db.
"""
