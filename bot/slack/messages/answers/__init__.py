"""The answers to commands. Pure builders: a value in, a message's text and blocks out."""
