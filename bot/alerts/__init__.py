"""From a stored delivery to a message in a channel: ingest, fan-out, posting, settling."""
