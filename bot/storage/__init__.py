"""The database: tables, engine, one repository file for each aggregate, migrations."""
