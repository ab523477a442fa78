"""Modals: pure builders, and readers of submitted modals."""
