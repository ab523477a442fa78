"""Nothing: revision 0027 makes the index of edits that are due anew, as the newest of its table."""

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Databases of this revision had the index made anew here."""
