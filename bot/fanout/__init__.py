"""Fan-out: a stored delivery becomes a version of an event, and the version becomes messages in the outbox.

Offers fan-out, the rules of what is news, the plan of messages and edits, and the alarm when nothing is told. May
import: outbox, deliveries, racedata, channels, events, db.
"""
