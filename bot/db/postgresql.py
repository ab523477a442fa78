"""How every process connects to PostgreSQL. Free of SQLAlchemy, for the receiver."""

from typing import Any

_SESSION = " ".join(
    f"-c {setting}"
    for setting in (
        "lock_timeout=5000",
        "statement_timeout=30000",
        # A frozen replica, or a replica on a dead machine, must not keep locks.
        "idle_in_transaction_session_timeout=10000",
        "tcp_keepalives_idle=5",
        "tcp_keepalives_interval=2",
        "tcp_keepalives_count=3",
    )
)
"""Times in milliseconds, of keepalives in seconds."""

CONNECTION: dict[str, Any] = {
    "connect_timeout": 3,
    "options": _SESSION,
    # The only writer, and the receiver's only connection, must not hang for a silent server.
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
}


def conninfo(address: str) -> str:
    """The address as PostgreSQL's library reads it, without a driver's name."""
    return f"postgresql://{address.partition('://')[2]}"
