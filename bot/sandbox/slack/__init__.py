"""The stand-in of Slack: a workspace that is as strict as the real one, and can be made to fail on purpose."""
