"""Events: the kinds of event, an event's fields, and the stored versions.

Offers races and events as values, the readers of a stranger's JSON, the merging of fields, and the store of versions.
May import: db.
"""
