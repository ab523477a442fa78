"""What the HTTP endpoints share: reading a stranger's body within limits, and answers as JSON."""
