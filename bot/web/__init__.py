"""Shared by the HTTP endpoints: reading a stranger's body within limits, and answers as JSON."""
