"""Programs of Debian that stand beside the bot: `webhook`, which takes deliveries, and `prometheus-alertmanager`.

Both are written in Go, keep nothing on disk before they answer, and are left out where they are not installed.
`webhook` checks the same signature and starts a command for each delivery, here the cheapest. Alertmanager gets an
alert of the delivery's size, in a group of its own that waits for no other, and posts a short message to Slack.
"""

import itertools
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.load import LOOPBACK
from bench.payloads import BODY_BYTES, PATH, SECRET, Results
from bench.processes import Server, running_program
from sandbox.loopback_server import free_port

WEBHOOK = "Debian's webhook"
ALERTMANAGER = "Alertmanager"
ALERTS_PATH = "/api/v2/alerts"
COMMAND = "/bin/true"
"""What `webhook` starts for each delivery: a command is not optional there."""

_PROGRAMS = {WEBHOOK: ("webhook",), ALERTMANAGER: ("prometheus-alertmanager", "alertmanager")}


def program(name: str) -> str | None:
    """Where the program is; None where it is not installed, which is said once a call."""
    found = next(filter(None, map(shutil.which, _PROGRAMS[name])), None)
    if found is None:
        print(f"{name} is not installed: its lines are left out", file=sys.stderr)
    return found


def webhook(path: str, folder: Path) -> AbstractAsyncContextManager[Server]:
    """The program `webhook`, at the bot's own path."""
    port = free_port()
    prefix, _, hook = PATH.strip("/").partition("/")
    config = folder / f"{port}-hooks.json"
    config.write_text(json.dumps([_hook(hook)]), encoding="utf-8")
    arguments = ("-hooks", str(config), "-ip", LOOPBACK, "-port", str(port), "-urlprefix", prefix)
    return running_program(path, *arguments, port=port, folder=folder, ready_path="/")


def _hook(name: str) -> dict[str, object]:
    signature = {"source": "header", "name": "X-SVC-Signature"}
    return {
        "id": name,
        "execute-command": COMMAND,
        "response-message": "accepted",
        "trigger-rule": {"match": {"type": "payload-hmac-sha256", "secret": SECRET, "parameter": signature}},
        "trigger-rule-mismatch-http-response-code": 401,
    }


def alertmanager(path: str, outside_url: str, folder: Path) -> AbstractAsyncContextManager[Server]:
    """Alertmanager by itself, no cluster, that posts each alert at once."""
    port = free_port()
    config = folder / f"{port}-alertmanager.json"
    config.write_text(json.dumps(_alertmanager_config(outside_url)), encoding="utf-8")
    arguments = (
        f"--config.file={config}",
        f"--storage.path={folder / f'{port}-alertmanager'}",
        f"--web.listen-address={LOOPBACK}:{port}",
        "--cluster.listen-address=",
        "--log.level=error",
    )
    return running_program(path, *arguments, port=port, folder=folder, ready_path="/-/ready")


def _alertmanager_config(outside_url: str) -> dict[str, object]:
    """YAML has JSON in it, so that JSON is a configuration."""
    slack = {
        "api_url": f"{outside_url}/api/alertmanager",
        "channel": "C000",
        "send_resolved": False,
        "title": "{{ .CommonLabels.post }}",
        "text": "{{ .CommonLabels.alertname }}",
    }
    every_alert_alone = ["..."]
    route = {"receiver": "slack", "group_by": every_alert_alone, "group_wait": "0s", "group_interval": "1h"}
    return {
        "global": {"resolve_timeout": "1h"},
        "route": {**route, "repeat_interval": "24h"},
        "receivers": [{"name": "slack", "slack_configs": [slack]}],
    }


@dataclass(frozen=True)
class Alerts:
    """Alerts for Alertmanager, each of a delivery's size."""

    prefix: str

    def key(self, number: int) -> str:
        """What names its post."""
        return f"alert:{Results(self.prefix).race_id(number)}"

    def requests(self) -> Iterator[bytes]:
        """Requests without end, no two alike."""
        first = self._body()
        for number in itertools.count():
            body = first.replace(self.key(0).encode(), self.key(number).encode())
            head = (
                f"POST {ALERTS_PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            yield head.encode() + body

    def _body(self) -> bytes:
        labels = {"alertname": "Result: Ascot 14:30 (GB)", "post": self.key(0)}
        alert = {"labels": labels, "annotations": {"analysis": ""}}
        alert["annotations"]["analysis"] = "A" * (BODY_BYTES - len(json.dumps([alert])))
        return json.dumps([alert]).encode()
