"""Commands: `table.py` registers each, a file answers each."""
