"""Receiving the data service's deliveries: signature, payload, endpoint."""
