"""The Slack surface: commands, messages, listeners, and the client that posts."""
