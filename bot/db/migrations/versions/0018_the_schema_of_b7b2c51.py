"""The oldest schema that is taken over: of commit b7b2c51. New databases start with today's tables."""

revision = "0018"
down_revision = None


def upgrade() -> None:
    raise NotImplementedError("the schema of commit b7b2c51 is only taken over: racing-bot migrate makes new tables")
