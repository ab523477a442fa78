"""Race data: everything that the bot learns from the data service by asking.

Offers the client of the service, the race book, the reference book, the quota book and the completion of events by the
race book. May import: db, channels, events.
"""
