"""Channels: which events a channel receives, and who changed the choice.

Offers filters and their rules, subscriptions, muted meetings, the audit, and the lock of a channel. Names no method of
Slack's. May import: db, events.
"""
