"""Deliveries: from signed bytes to a row of the inbox, before the answer.

Offers the endpoint, admission control, signatures and secrets, the reader of payloads, ingest and the inbox. May
import: events, db, web.
"""
