"""The modules that libraries would load, and that neither program of `racing-bot serve` uses: 13 MiB of memory."""

import sys


class _Unused:
    """Stands for a module. Libraries take names from the module for type hints, and to pass the names on."""

    def __getattr__(self, _name: str) -> type:
        return object


def leave_out() -> None:
    """To be called before the libraries are loaded."""
    # The command line of uvicorn; the server of aiohttp, which Bolt can run; Slack's app and client without asyncio.
    for name in ("uvicorn.main", "aiohttp.web", "slack_bolt.app.app", "slack_sdk.web.client"):
        sys.modules.setdefault(name, _Unused())  # type: ignore[arg-type]  # a module is any object
    # The command line of httpx, and its colours.
    for name in ("httpx._main", "rich"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # not to be imported
