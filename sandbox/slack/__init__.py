"""The stand-in of Slack, as strict as Slack, with failures on request."""
