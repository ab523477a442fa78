"""Typed words, read: a line in, a request out, with what is wrong in it. No I/O, and nothing of Slack."""
