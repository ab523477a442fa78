"""HTTP to other machines."""

from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx

from bot.addresses import proxy_of
from bot.logs import quieten_http


def open_http(url: str, timeout_s: float) -> httpx.AsyncClient:
    """A client for the host of the address, by the environment's proxy. Redirects are not followed, no cookie is kept.

    Kept cookies would be sent with each request, and hundreds of cookies make a request too large.
    """
    quieten_http()
    # Loading authorities takes a tenth of a second, useless without https.
    is_https = urlsplit(url).scheme == "https"
    transport = httpx.AsyncHTTPTransport(verify=is_https, proxy=proxy_of(url))
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(transport=transport, timeout=timeout_s, follow_redirects=False, cookies=no_cookies)
