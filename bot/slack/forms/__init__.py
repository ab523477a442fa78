"""Modals: pure builders, and readers of what people chose in them."""
