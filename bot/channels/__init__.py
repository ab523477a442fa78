"""Channels: the events that a channel receives, and the record of who changed the choice.

Offers filters, subscriptions, mutes, the audit, and the lock of a channel. May import: db, events.
"""
