"""Shared parts of messages: blocks within Slack's limits, safe text, names, times, buttons, pages."""
