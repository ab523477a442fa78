"""All that speaks with Slack."""
