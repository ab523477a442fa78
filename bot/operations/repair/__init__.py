"""Repair: failed deliveries are looked up and made good, once.

`failed_record.py` reads a record, `repair_run.py` compares with the inbox, stores and fans out, `outage.py` tells
admins once of each outage.
"""
