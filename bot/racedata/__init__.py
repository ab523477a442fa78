"""Race data: everything that the bot learns by asking the data service.

Offers the client of the service, the race book, the reference book, the quota book and the completion of events. May
import: db, channels, events.
"""
