"""The outbox: what is to be said in which channel, from the moment of fan-out until Slack has it.

Offers messages and channel queues, claiming, sending, resolving what is in doubt, closing, pausing and resuming,
summaries of a backlog, and the pace of Slack's methods. Fan-out hands events and channels to this package and knows
nothing of leases. May import: deliveries, racedata, channels, events, db.
"""
