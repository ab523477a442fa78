"""Databases on the PostgreSQL that the tests start."""

import uuid

import psycopg


def new_postgres_database(server: str) -> str:
    """The address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")
