"""The demo's page: a workspace in the browser, the day's racing, troubles at a switch, and counts from outside."""
