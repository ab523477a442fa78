"""Scheduled jobs, one file each."""
