"""Messages of events, for channels."""
