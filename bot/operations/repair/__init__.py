"""Repair: failed deliveries are looked up and made good, once.

`failed_record.py` reads a record, `missing_deliveries.py` compares with the inbox, `repair_run.py` stores and fans out,
`outage.py` tells admins once of each outage.
"""
