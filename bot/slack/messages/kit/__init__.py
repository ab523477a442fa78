"""What builders of messages share: blocks within Slack's limits, safe text, names, times, buttons and pages."""
