"""Deliveries: from the journal of signed bytes to a row of the inbox.

Offers signatures and secrets, the journal, the reader of payloads, intake and the inbox. May import: events, db.
"""
