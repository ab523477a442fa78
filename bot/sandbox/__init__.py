"""Development only: stand-ins of the data service and of Slack, and the demo."""
