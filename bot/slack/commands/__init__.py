"""Slash commands: one table registers them, one file answers each."""
