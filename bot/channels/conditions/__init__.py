"""The kinds of conditions of a channel's filter: regions, topics, courses, race classes, mentions, hours.

A kind is a class, and a field and a line of `table.py`: the events that a condition takes, how conditions are compared,
merged, taken away and written to a file, and the words for people. May import: events.
"""
