"""Checks the addresses that operators write, and shows addresses without passwords.

The words of each ValueError follow the name of the setting, as in "PUBLIC_URL must be https".
"""

import re
import ssl
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import (  # type: ignore[attr-defined]  # typeshed lacks the second
    getproxies_environment,
    proxy_bypass_environment,
)

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

OUR_PATHS = ("/webhooks/racing", "/slack/events", "/healthz", "/readyz", "/metrics")

SHOWN_OPTIONS = frozenset({"application_name", "connect_timeout", "host", "port", "sslmode", "target_session_attrs"})
"""The shown options of a database's address. Any other option may be a secret, or lead to a secret."""

_PRINTABLE = re.compile(r"[\x21-\x5b\x5d-\x7e]+")
"""ASCII without blanks and without a backslash."""

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})|[0-9A-Fa-f:.]+")

_CREDENTIAL = re.compile(
    r"(x[-_]?)?((api|access|app|auth|client)[-_]?)?(key|token|secret|sig|signature|auth|pass(word|wd)?)", re.IGNORECASE
)


def check_address(value: str, *, loopback_http: bool = True) -> str:
    """The address without a trailing slash."""
    address = value.strip()
    # Anywhere: a password with a slash moves the @ into the path.
    if "@" in address:
        raise ValueError("must not carry a user name or password")
    if not _PRINTABLE.fullmatch(address):
        raise ValueError("must be a whole address without spaces, such as https://example.com")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ValueError("is not an address: look at the host and the port") from None
    if port == 0 or not _HOST.fullmatch(parts.hostname or "") or parts.scheme not in {"http", "https"}:
        raise ValueError("must be a whole address, such as https://example.com")
    if "?" in address or "#" in address:
        raise ValueError("must not carry a query or a fragment")
    if parts.scheme == "http" and not (loopback_http and parts.hostname in LOOPBACK_HOSTS):
        raise ValueError(f"must be https{' (http is taken on loopback only)' if loopback_http else ''}")
    _check_dots(parts.path)
    return address.rstrip("/")


def check_service_address(value: str) -> str:
    """As `check_address`. The last segment is the version."""
    address = check_address(value)
    if not re.fullmatch(r"v[0-9]+(\.[0-9]+)*", urlsplit(address).path.rpartition("/")[2]):
        raise ValueError("must end in the version segment, such as https://api.example.com/v1")
    return address


def check_public_address(value: str, *, loopback_http: bool = True) -> str:
    """As `check_address`. The bot's paths are added to the address; any other path is the prefix of a reverse proxy."""
    address = check_address(value, loopback_http=loopback_http)
    path = "/".join(["", *filter(None, urlsplit(address).path.lower().split("/"))])
    for ours in OUR_PATHS:
        if path.endswith(ours):
            raise ValueError(f"must end before {ours}: the bot adds its paths to the address")
    return address


def check_service_path(value: str, known: Collection[str], needed: Collection[str]) -> str:
    """The path below RACING_API_URL, without a leading slash."""
    names = set(re.findall(r"{([^{}]*)}", value))
    rest = re.sub(r"{[^{}]*}", "", value)
    if not names <= {*known} or not names >= {*needed} or set("{}") & set(rest):
        raise ValueError(f"must contain {' and '.join(sorted(f'{{{name}}}' for name in needed))}, and no other braces")
    if "://" in value:
        raise ValueError("is a path below RACING_API_URL, not a whole address")
    if "#" in value or (rest and not _PRINTABLE.fullmatch(rest)):
        raise ValueError("must be a path in ASCII without spaces, backslashes and #")
    path, _, query = value.partition("?")
    _check_dots(path)
    for name, given in parse_qsl(query, keep_blank_values=True):
        if _CREDENTIAL.fullmatch(name) and "{" not in given:
            raise ValueError(f"must not carry a {name}: the bot sends RACING_API_KEY in a header, and nowhere else")
    return value.lstrip("/")


def _check_dots(path: str) -> None:
    if {".", ".."} & set(unquote(path).replace("\\", "/").split("/")):
        raise ValueError("must not have . or .. as a part of its path: write the path in full")


def proxy_of(url: str) -> str | None:
    """The proxy for an address outside this machine, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""
    parts = urlsplit(url)
    scheme = {"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme)
    proxies = getproxies_environment()
    proxy, host = proxies.get(scheme) or proxies.get("all"), parts.hostname or ""
    if not proxy or host in LOOPBACK_HOSTS or "*" in proxies.get("no", "").replace(" ", "").split(","):
        return None
    place = f"{host}:{parts.port or {'https': 443}.get(scheme, 80)}"
    return None if proxy_bypass_environment(place, proxies) else _whole(proxy)


def proxy_problems(urls: Iterable[str]) -> list[str]:
    """Problems with the proxies by which the addresses are reached. An unused proxy is no problem."""
    proxies = getproxies_environment()
    schemes = {urlsplit(url).scheme for url in urls if (proxy := proxy_of(url)) and not _is_http(proxy)}
    names = sorted({(scheme if proxies.get(scheme) else "all").upper() for scheme in schemes})
    return [f"{name}_PROXY must be an http or https address, such as http://proxy.example.com:3128." for name in names]


def certificate_problems(urls: Iterable[str], file: str | None) -> list[str]:
    """A problem with `file` of SSL_CERT_FILE, OpenSSL's trusted certificates, if any address is https."""
    if not file or not any(url.startswith("https:") for url in urls):
        return []
    try:
        ssl.create_default_context(cafile=file)
    except OSError:
        return [f"SSL_CERT_FILE must be a file of certificates, and {file} is not. Correct or unset SSL_CERT_FILE."]
    return []


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and parts.port != 0 and bool(_HOST.fullmatch(parts.hostname or ""))
    except ValueError:
        return False


def _whole(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def check_host(value: str) -> str:
    """A host to listen on."""
    if not _HOST.fullmatch(value):
        raise ValueError("must be a host or an IP address alone, such as 127.0.0.1, without http:// and without a port")
    return value


def check_database(value: str) -> str:
    url = value.strip()
    scheme, found, rest = url.partition("://")
    if not found or scheme not in {"sqlite", "postgresql", "postgres", "postgresql+psycopg"}:
        raise ValueError("must begin with sqlite:/// or postgresql://")
    if scheme == "sqlite" and rest.strip("/") in {"", ":memory:"}:
        raise ValueError("must name a file, such as sqlite:///racing-bot.db: a database in memory can be lost")
    try:
        parsed = make_url(url)
        is_whole = unquote(url).isprintable() and (scheme == "sqlite" or _is_for_postgresql(rest))
    except (ValueError, ArgumentError):
        is_whole = False
    if not is_whole:
        raise ValueError(
            "can't be read as an address: look at host, port and options, and %-escape characters such as @ : / [ in a "
            "password"
        )
    if scheme == "sqlite":
        _check_file(parsed, rest)
    return url


def _is_for_postgresql(rest: str) -> bool:
    """True if PostgreSQL's library reads the address. Any other address would fail at the first connection alone."""
    from psycopg import ProgrammingError  # noqa: PLC0415  SQLite needs no driver of PostgreSQL
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        read = conninfo_to_dict(f"postgresql://{rest}")
    except ProgrammingError:
        return False
    ports = str(read.get("port") or "").replace(",", "")
    return "@" not in f"{read.get('host')}{read.get('dbname')}" and (not ports or ports.isdecimal())


def _check_file(parsed: URL, rest: str) -> None:
    if not rest.startswith("/"):
        raise ValueError("needs three slashes: sqlite:///file.db, or four before an absolute path")
    if parsed.query:
        raise ValueError("must not carry options after a question mark: the bot opens the file in its own way")
    folder = Path(parsed.database or "").parent
    if not folder.is_dir():
        raise ValueError(f"names a file in the folder {folder}, which does not exist")


def shown_database(url: URL) -> str:
    """The address without the password and the driver's name, and with harmless options alone."""
    shown = {name: value for name, value in url.query.items() if name in SHOWN_OPTIONS}
    return url.set(drivername=url.get_backend_name(), query=shown).render_as_string(hide_password=True)
