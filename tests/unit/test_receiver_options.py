"""The receiver's own reading of the settings."""

import pytest

from bot.receiver.options import read_options
from bot.settings import Settings

SHARED = ("host", "port", "max_body_bytes", "log_level", "log_format")


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("sqlite:///racing-bot.db", set()),
        ("postgresql://racing:s3cret%40a@db/racing", {"s3cret%40a", "s3cret@a"}),
        ("postgresql://racing:s3cret[@db/racing", {"s3cret["}),
        (
            "postgresql://db/racing?sslpassword=s3cret%2D1&password=s3cret+2",
            {"s3cret%2D1", "s3cret-1", "s3cret+2", "s3cret 2"},
        ),
    ],
)
def test_passwords_of_the_database_are_masked_as_written_and_decoded(address, secrets, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("RACING_WEBHOOK_SECRETS", "ENCRYPTION_KEYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", address)
    assert read_options().secrets == secrets


def test_defaults_are_those_of_the_bot(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    options = read_options()
    defaults = {name: Settings.model_fields[name].get_default(call_default_factory=True) for name in SHARED}
    assert {name: getattr(options, name) for name in SHARED} == defaults
    assert options.database_url == Settings.model_fields["database_url"].default.get_secret_value()
