"""Scheduled jobs. Each job has a file."""
