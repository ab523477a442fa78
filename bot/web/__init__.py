"""Shared by receiver and bot: reading a stranger's body within limits, and answers as JSON."""
