"""The database: engine, tables, migrations, and what every repository shares.

Offers `Database.write` and `Database.read`, tables, schema check, named values, the generation of data in memory, and
encryption of secrets. A repository stands beside its feature's rules. May import no feature.
"""
