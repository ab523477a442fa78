"""The functions that Bolt calls."""
