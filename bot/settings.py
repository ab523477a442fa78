"""Every setting, with a description below. The only reader of the environment.

Values are frozen; secrets show as asterisks. `load_settings` reports every problem at once, without values of secrets.
A blank value counts as unset.
"""

import ast
import base64
import inspect
import logging
import os
import re
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache, cached_property, partial
from io import StringIO
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from dotenv.parser import Binding, parse_stream
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.addresses import (
    certificate_problems,
    check_address,
    check_database,
    check_host,
    check_public_address,
    check_service_address,
    check_service_path,
    proxy_problems,
)
from bot.errors import SettingsError, database_secrets

T = TypeVar("T")

MIB = 1024 * 1024
MONTH_S = 31 * 24 * 3600
YEAR_DAYS = 366

FERNET_KEY_BYTES = 32
MAKE_KEY = 'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'

ENV_FILE_ENCODING = "utf-8-sig"
"""Some editors begin a file with a byte order mark."""

QUOTES = "\"'"

WEBHOOK_SECRET_MIN = 8

OUR_PREFIX = "RACING_"
"""No other program has settings of this prefix."""

NAME_IS_CLOSE = 85
"""Percentage, by rapidfuzz: ADMIN_CHANNEL_ID is close to ADMIN_CHANNEL, and SLACK_APP_ID to no setting."""

LONG_WORD = 5
"""One wrong letter in a shorter word makes another word: POST and PORT."""


TOKENS = {"xapp-": "an app-level token", "xoxb-": "a bot token", "xoxp-": "a user token"}


class SubscribeBy(StrEnum):
    MEMBERS = "members"
    CREATORS = "creators"
    ADMINS = "admins"


class DoubtfulPosts(StrEnum):
    """For a post in doubt in a channel with unreadable history."""

    REPEAT = "repeat"
    HOLD = "hold"


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _check_heartbeat_address(value: SecretStr) -> SecretStr:
    # Some monitors take words after a question mark, as in `?create=1`.
    address, mark, query = value.get_secret_value().strip().partition("?")
    if "#" in query:
        raise ValueError("must not carry a fragment")
    return SecretStr(check_address(address) + mark + query)


def _check_webhook_secret(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < WEBHOOK_SECRET_MIN:
        raise ValueError(
            f"is shorter than {WEBHOOK_SECRET_MIN} characters, and anybody could guess the secret: give the "
            "subscription's secret in full (a comma ends a secret)"
        )
    return value


def _check_id(value: str, *, begins: str, wanted: str) -> str:
    """For chat.postMessage: of a channel, of direct messages, or of a person."""
    if not re.fullmatch(rf"[{begins}][A-Z0-9]{{1,30}}", value, re.ASCII):
        raise ValueError(wanted)
    return value


_check_place = partial(
    _check_id,
    begins="CGDUW",
    wanted="must be the channel's id, such as C0123456789, not its name (in Slack: open the channel's details; "
    "the id stands at the end of About)",
)
_check_person = partial(
    _check_id,
    begins="UW",
    wanted="must be a user id, such as U0123456789, not a name (in Slack: open the person's profile, then the three "
    "dots, then Copy member ID)",
)


def _check_fernet_key(value: SecretStr) -> SecretStr:
    try:
        is_key = len(base64.urlsafe_b64decode(value.get_secret_value())) == FERNET_KEY_BYTES
    except ValueError:
        is_key = False
    if not is_key:
        raise ValueError(f"is not a Fernet key (32 bytes in url-safe base64); make one with: {MAKE_KEY}")
    return value


def _check_token(value: SecretStr, *, right: tuple[str, ...], wanted: str) -> SecretStr:
    token = value.get_secret_value().strip()
    for prefix, kind in TOKENS.items():
        if token.startswith(prefix) and prefix not in right:
            raise ValueError(f"is {kind} ({prefix}…); give {wanted}")
    if not token.startswith(right):
        raise ValueError(f"is no such token; give {wanted}")
    return SecretStr(token)


# A rotated token begins with xoxe.xoxb-: docs.slack.dev/authentication/using-token-rotation.
_check_bot_token = partial(
    _check_token,
    right=("xoxb-", "xoxe.xoxb-"),
    wanted="the Bot User OAuth Token, which begins with xoxb- (Slack: OAuth & Permissions)",
)
_check_app_token = partial(
    _check_token,
    right=("xapp-",),
    wanted="the App-Level Token, which begins with xapp- (Slack: Basic Information, App-Level Tokens)",
)

ServiceAddress = Annotated[str, AfterValidator(check_service_address)]
SlackAddress = Annotated[str, AfterValidator(lambda value: f"{check_address(value)}/")]
PublicAddress = Annotated[str, AfterValidator(check_public_address)]
HeartbeatAddress = Annotated[SecretStr, AfterValidator(_check_heartbeat_address)]
RacePath = Annotated[str, AfterValidator(partial(check_service_path, known=("race_id",), needed=("race_id",)))]
DayPath = Annotated[str, AfterValidator(partial(check_service_path, known=("date", "region"), needed=("date",)))]
ListenHost = Annotated[str, AfterValidator(check_host)]
AdminPlace = Annotated[str, AfterValidator(_check_place)]
BotToken = Annotated[SecretStr, AfterValidator(_check_bot_token)]
AppToken = Annotated[SecretStr, AfterValidator(_check_app_token)]
SplitAtCommas = Annotated[tuple[T, ...], NoDecode, BeforeValidator(_split)]
PersonIds = SplitAtCommas[Annotated[str, AfterValidator(_check_person)]]
WebhookSecrets = SplitAtCommas[Annotated[SecretStr, AfterValidator(_check_webhook_secret)]]
FernetKeys = SplitAtCommas[Annotated[SecretStr, AfterValidator(_check_fernet_key)]]
Lower = BeforeValidator(lambda value: value.strip().lower() if isinstance(value, str) else value)
Percentages = SplitAtCommas[Annotated[int, Field(ge=1, le=100)]]


class _DatabaseSettings(BaseSettings):
    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        env_ignore_empty=True,
        str_strip_whitespace=True,
        env_file_encoding=ENV_FILE_ENCODING,
    )

    database_url: SecretStr = SecretStr("sqlite:///racing-bot.db")
    """`sqlite:///file.db`, or `postgresql://…` for several replicas."""

    @property
    def called(self) -> list[str]:
        """The addresses that the bot calls by HTTP."""
        return []

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if not isinstance(value, str) or value.strip()}

    @field_validator("*", mode="before")
    @classmethod
    def _check_quotes(cls, value: Any) -> Any:
        text = value.strip() if isinstance(value, str) else ""
        if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES:
            raise ValueError("has quotes around the value: take the quotes away (`docker --env-file` keeps quotes)")
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database(cls, value: SecretStr) -> SecretStr:
        return SecretStr(check_database(value.get_secret_value()))


SettingsT = TypeVar("SettingsT", bound=_DatabaseSettings)


class Settings(_DatabaseSettings):
    racing_api_url: ServiceAddress
    """Base address of the data service, version segment included: https, or http on loopback."""
    racing_api_key: SecretStr = Field(min_length=1)
    """The data service's API key; sent in the `X-API-Key` header only."""
    racing_webhook_secrets: WebhookSecrets = ()
    """Signing secrets of webhook subscriptions, comma-separated, besides those in the database."""
    racing_race_path: RacePath | None = None
    """Path of one race, with `{race_id}`, where known (Spec gap G9)."""
    racing_day_path: DayPath | None = None
    """Path of one day, with `{date}` and perhaps `{region}`, where known (Spec gap G10)."""
    public_url: PublicAddress | None = None
    """Our own https address, for `subscribe` and the manifest."""
    slack_bot_token: BotToken = Field(min_length=1)
    """The bot's token, `xoxb-…`."""
    slack_app_token: AppToken | None = None
    """`xapp-…`; set: Socket Mode for commands and interactivity."""
    slack_signing_secret: SecretStr | None = Field(None, validate_default=True)
    """Signs Slack's requests over HTTP; not needed in Socket Mode."""
    slack_api_url: SlackAddress = "https://slack.com/api/"
    """Slack's Web API."""
    admin_channel: AdminPlace | None = None
    """Channel id for warnings. Unset, or closed to the bot: warnings go to `ADMIN_USERS` directly."""
    admin_users: PersonIds = ()
    """User ids of admins, comma-separated; warned directly without `ADMIN_CHANNEL`."""
    subscribe_by: Annotated[SubscribeBy, Lower] = SubscribeBy.MEMBERS
    """Who may subscribe a channel: `members`, `creators` or `admins`."""
    announce_changes: bool = True
    """Whether a channel is told who paused, muted, narrowed or ended subscriptions."""
    encryption_keys: FernetKeys = ()
    """Fernet keys for secrets at rest, newest first, comma-separated."""
    quota_warn_at: Percentages = (50, 80, 95, 100)
    """Admins are warned at these percentages of the month's quota."""
    monthly_quota: int | None = Field(None, ge=1, le=10**12)
    """Requests a month, where the plan's figure is not yours."""
    command_quota_share: int = Field(25, ge=1, le=100)
    """Percentage of the month's remaining requests for commands."""
    quota_check_s: int = Field(900, ge=1, le=MONTH_S)
    """Seconds between readings of the quota (a reading costs no quota)."""
    repair_check_s: int = Field(3_600, ge=1, le=MONTH_S)
    """Seconds between looks for failed deliveries."""
    doubtful_posts: Annotated[DoubtfulPosts, Lower] = DoubtfulPosts.REPEAT
    """A post in doubt, where history can't be read: `repeat`, marked, or `hold`."""
    settle_s: float = Field(10, ge=0, le=600)
    """Seconds to wait before a post in doubt is looked for."""
    late_after_min: int = Field(10, ge=1, le=MONTH_S // 60)
    """A message later than this number of minutes says so."""
    queue_keep_hours: int = Field(72, ge=1, le=YEAR_DAYS * 24)
    """Hours for which posts wait for a paused, archived or closed channel."""
    body_keep_days: int = Field(30, ge=1, le=100 * YEAR_DAYS)
    """Days for which bodies of deliveries are kept."""
    heartbeat_url: HeartbeatAddress | None = None
    """Called once a minute while deliveries can be stored and posts go out, in Healthchecks' protocol."""
    max_body_bytes: int = Field(4 * MIB, ge=1024, le=256 * MIB)
    """Largest accepted delivery, in bytes, after unpacking."""
    host: ListenHost = "127.0.0.1"
    """Address to listen on; the image sets `0.0.0.0`."""
    port: int = Field(3000, ge=0, le=65535)
    """Port to listen on."""
    metrics_host: ListenHost | None = None
    """With `METRICS_PORT`: `/metrics` and the reasons of `/readyz` are served only there."""
    metrics_port: int | None = Field(None, validate_default=True, ge=0, le=65535)
    """See `METRICS_HOST`."""
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Lower] = "info"
    """`debug`, `info`, `warning` or `error`."""
    log_format: Annotated[Literal["console", "json"], Lower] = "console"
    """`console` or `json`."""

    @field_validator("slack_signing_secret")
    @classmethod
    def _check_signing_secret(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        # A wrong app token is missing from the data, and has its own error.
        if value is None and info.data.get("slack_app_token", "wrong") is None:
            raise ValueError(
                "is missing: set it (Slack: Basic Information, App Credentials), or SLACK_APP_TOKEN for Socket Mode"
            )
        if value is not None and re.search(r"[\s<>]", value.get_secret_value()):
            raise ValueError("is no secret of Slack's: it has spaces or brackets in it")
        return value

    @field_validator("metrics_port")
    @classmethod
    def _check_metrics(cls, value: int | None, info: ValidationInfo) -> int | None:
        # A wrong host is missing from the data, and has its own error.
        if "metrics_host" in info.data and (value is None) != (info.data["metrics_host"] is None):
            raise ValueError("and METRICS_HOST go together: set both or neither")
        return value

    @field_validator("racing_api_key", "slack_bot_token", "slack_app_token")
    @classmethod
    def _check_fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not re.fullmatch(r"[\x21-\x7e]+", value.get_secret_value()):
            raise ValueError("must be printable ASCII without spaces: look for a quote or a line break pasted with it")
        return value

    @property
    def called(self) -> list[str]:
        heartbeat = self.heartbeat_url.get_secret_value() if self.heartbeat_url else None
        return [url for url in (self.racing_api_url, self.slack_api_url, self.public_url, heartbeat) if url]

    @cached_property
    def secret_values(self) -> frozenset[str]:
        values = [getattr(self, name) for name in type(self).model_fields if name != "database_url"]
        each = [one for value in values for one in (value if isinstance(value, tuple) else [value])]
        found = {one.get_secret_value() for one in each if isinstance(one, SecretStr)}
        if self.heartbeat_url:
            found.add(urlsplit(self.heartbeat_url.get_secret_value()).path.strip("/"))
        return frozenset(found - {""}) | database_secrets(self.database_url.get_secret_value())


def load_settings(env_file: str | None = ".env", **overrides: Any) -> Settings:
    """Raises SettingsError with every problem."""
    return _load(Settings, env_file, overrides)


def load_database_url(env_file: str | None = ".env") -> str:
    """Raises SettingsError."""
    return _load(_DatabaseSettings, env_file, {}).database_url.get_secret_value()


def _load(kind: type[SettingsT], env_file: str | None, overrides: Mapping[str, Any]) -> SettingsT:
    file = Path(env_file or "").absolute()
    # Docker makes a folder where a mounted file is missing. pydantic would pass over the folder.
    is_there = env_file is not None and (file.is_file() or file.is_dir())
    lines = list(parse_stream(StringIO(read_env_file(file)))) if is_there else []
    problems = wrong_lines(lines, file)
    problems += _misspelt(kind.model_fields, [one.key for one in lines if one.key], os.environ)
    try:
        settings = kind(_env_file=env_file, **overrides)
        problems += proxy_problems(settings.called)
        problems += certificate_problems(settings.called, os.environ.get("SSL_CERT_FILE"))
    except ValidationError as error:
        problems += [_in_words(details) for details in error.errors(include_input=False, include_url=False)]
    if problems:
        raise SettingsError(problems)
    return settings


def read_env_file(file: Path) -> str:
    """Empty for a missing file. Raises SettingsError."""
    # Wrong lines are told as problems, and need no words in the log.
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)
    try:
        return file.read_text(encoding=ENV_FILE_ENCODING)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SettingsError([f"The file {file} can't be read: {error.strerror}."]) from error
    except UnicodeDecodeError:
        raise SettingsError([f"The file {file} is not UTF-8 text: save the file as UTF-8."]) from None


def wrong_lines(lines: Iterable[Binding], file: Path) -> list[str]:
    return [f"Line {_number_of(one)} of {file} is not NAME=value." for one in lines if one.error]


def _number_of(line: Binding) -> int:
    """The empty lines before a binding are a part of the binding."""
    text = line.original.string
    return line.original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _misspelt(ours: Iterable[str], in_file: Iterable[str], in_environment: Iterable[str]) -> list[str]:
    """A problem for each unknown name that is close to the name of a setting.

    All of `.env` is ours. Other programs share the environment: there only one wrong letter within a long word counts.
    """
    known = {name.upper() for name in Settings.model_fields}
    wanted = sorted(name.upper() for name in ours)
    file, environment = ({name.upper() for name in names} - known for names in (in_file, in_environment))
    problems = []
    for name in sorted(file | environment):
        is_ours = name in file or name.startswith(OUR_PREFIX)
        meant = _closest(name, wanted) if is_ours else next((one for one in wanted if _is_slip(name, one)), None)
        if meant is not None:
            problems.append(f"{name} is no setting. Rename {name} to {meant}, or remove {name}.")
    return problems


def _closest(name: str, settings: Iterable[str]) -> str | None:
    from rapidfuzz import fuzz, process  # noqa: PLC0415  40 ms, and seldom needed

    found = process.extractOne(name, settings, scorer=fuzz.ratio, score_cutoff=NAME_IS_CLOSE)
    return found[0] if found else None


def _is_slip(name: str, setting: str) -> bool:
    """DATABASE_URI, SLACK_API_TOKEN and ADMIN_USER belong to other programs."""
    words = name.split("_"), setting.split("_")
    wrong = [pair for pair in zip(*words, strict=False) if pair[0] != pair[1]]
    if len(words[0]) != len(words[1]) or len(wrong) != 1 or len(wrong[0][1]) < LONG_WORD:
        return False
    typed, right = wrong[0]
    if sorted(typed) != sorted(right) and (typed[:1], typed[-1:]) != (right[0], right[-1]):
        return False
    from rapidfuzz.distance import OSA  # noqa: PLC0415  as above

    return OSA.distance(typed, right) == 1


@cache
def descriptions() -> dict[str, str]:
    """The docstring of each setting, by name. Read at need alone: pydantic would read the source at each start."""
    module = ast.parse(inspect.getsource(sys.modules[__name__]))
    bodies = [node.body for node in module.body if isinstance(node, ast.ClassDef)]
    return {
        ast.unparse(field.target): ast.literal_eval(text.value)
        for field, text in chain.from_iterable(map(pairwise, bodies))
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _in_words(details: Any) -> str:
    name = str(details["loc"][0])
    described = descriptions()[name]
    if details["type"] == "missing":
        return f"{name.upper()} is missing. {described}"
    number = f", number {details['loc'][1] + 1}," if len(details["loc"]) > 1 else ""
    if details["type"] == "value_error":
        return f"{name.upper()}{number} {details['ctx']['error']}"
    return f"{name.upper()}{number} must be {_right_values(name, details)}. {described}"


def _right_values(name: str, details: Any) -> str:
    if words := details.get("ctx", {}).get("expected"):
        return str(words.replace("'", ""))
    wanted = Settings.model_json_schema()["properties"][name]
    wanted = wanted.get("anyOf", [wanted])[0]
    wanted = wanted.get("items", wanted)
    if wanted["type"] == "boolean":
        return "true or false"
    kind = "a whole number" if wanted["type"] == "integer" else "a number"
    return f"{kind} from {wanted['minimum']:,} to {wanted['maximum']:,}"
