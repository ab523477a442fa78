"""The messages that channels see for events. Pure builders: a value in, a message's text and blocks out."""
