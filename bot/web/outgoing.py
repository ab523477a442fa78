"""HTTP to other machines."""

from urllib.parse import urlsplit

import httpx

from bot.addresses import proxy_of
from bot.logs import quieten_http


def open_http(url: str, timeout_s: float) -> httpx.AsyncClient:
    """A client for the host of the address, by the environment's proxy. Redirects are not followed."""
    quieten_http()
    # Loading authorities takes a tenth of a second, useless without https.
    is_https = urlsplit(url).scheme == "https"
    transport = httpx.AsyncHTTPTransport(verify=is_https, proxy=proxy_of(url))
    return httpx.AsyncClient(transport=transport, timeout=timeout_s, follow_redirects=False)
