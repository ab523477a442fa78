"""The kinds of conditions that a channel's filter has: regions, topics, courses, race classes, mentions.

Each kind is one file and one line of `table.py`. A kind says which events a condition takes, and how conditions are
merged, compared, taken away and written to a file. Has no word of Slack. May import: events.
"""
