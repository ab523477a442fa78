"""The database: engine, tables, migrations, and what every repository shares.

Offers `Database.write` and `Database.read`, the tables, the schema check, named values, the generation of what is kept
in memory, and encryption of stored secrets. A repository stands beside its feature's rules. May import no feature.
"""
