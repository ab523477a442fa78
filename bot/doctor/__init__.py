"""`racing-bot doctor`: read-only checks of a deployment. `table.py` lists the checks."""
