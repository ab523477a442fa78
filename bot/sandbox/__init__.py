"""Development only: stand-ins of the data service and of Slack, demo data, and the demo itself."""
