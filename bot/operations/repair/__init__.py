"""Repair: failed deliveries are looked up and made good, once.

A record of the service is read (`record.py`), compared with the inbox and told through the inbox and outbox
(`repair.py`). Admins are told once for each outage (`outage.py`).
"""
