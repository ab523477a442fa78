"""`racing-bot doctor`: read-only checks of a deployment, listed in `table.py`."""
