"""Events: what an event of the data service is, which fields it tells, and its stored versions.

Offers races and events as values, the readers of a stranger's JSON, the merging of fields, and the store of versions.
May import: db.
"""
