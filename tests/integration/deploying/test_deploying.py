"""compose.yaml, the systemd unit and the sources of the image. .ci/check-image runs the image."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from docker.utils.build import exclude_paths
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from sandbox.loopback_server import serve
from tests.promtool import program
from tests.rows import over
from tests.world import own_port

ROOT = Path(__file__).parents[3]
FILE = ROOT / "compose.yaml"
READ = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES = READ["services"]
STAYING = sorted(set(SERVICES) - {"migrate"})


def test_file_is_valid_by_the_schema_of_the_compose_specification():
    import jsonschema

    schema = json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text("utf-8"))
    jsonschema.validate(READ, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(READ | {"services": {"bot": {"imago": "racing-bot"}}}, schema)


def test_images_of_others_are_pinned_by_version_and_digest():
    foreign = [service["image"] for service in SERVICES.values() if "build" not in service]
    assert len(foreign) == 2
    assert all(re.fullmatch(r"[a-z]+:[0-9]+(\.[0-9]+)+@sha256:[0-9a-f]{64}", image) for image in foreign)


@over("name", SERVICES)
def test_service_is_hardened_and_limited(name):
    service = SERVICES[name]
    assert (service["init"], service["read_only"]) == (True, True)
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert not set(service) & {"privileged", "pid", "ipc", "network_mode", "devices", "userns_mode"}
    assert "docker.sock" not in str(service)
    # A log without a limit fills the disk of the database.
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])


def test_every_service_that_stays_has_a_health_check():
    assert [name for name in STAYING if not SERVICES[name].get("healthcheck", {}).get("test")] == ["bot"]
    assert re.search(r"^HEALTHCHECK .*CMD", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert SERVICES["migrate"]["healthcheck"] == {"disable": True}


def test_every_service_that_stays_starts_again_by_itself():
    assert {SERVICES[name]["restart"] for name in STAYING} == {"unless-stopped"}


def test_bot_starts_after_the_migration_has_ended_well():
    assert SERVICES["migrate"]["command"] == ["migrate"]
    assert SERVICES["migrate"]["restart"].startswith("on-failure")
    assert SERVICES["bot"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    for name in ("bot", "migrate"):
        assert SERVICES[name]["depends_on"]["database"] == {"condition": "service_healthy"}
        assert SERVICES[name]["image"] == "racing-bot"
        assert SERVICES[name]["environment"] == SERVICES["bot"]["environment"]


def test_only_the_proxy_is_reached_from_outside():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["caddy"]
    assert READ["networks"]["inside"] == {"internal": True}
    assert SERVICES["database"]["networks"] == ["inside"]
    assert SERVICES["caddy"]["networks"] == ["outside"]


def test_metrics_are_scraped_where_the_bot_serves_them():
    """Else RacingBotDown fires for ever."""
    environment = SERVICES["bot"]["environment"]
    target = f"bot:{environment['METRICS_PORT']}"
    page = (ROOT / "docs/operations/README.md").read_text("utf-8")
    (scrape,) = [
        found
        for block in re.findall(r"```yaml\n(.+?)```", page, re.DOTALL)
        if "scrape_configs" in (found := yaml.safe_load(block))
    ]
    (job,) = scrape["scrape_configs"]
    assert (job["job_name"], job["static_configs"]) == ("racing-bot", [{"targets": [target]}])
    assert environment["METRICS_HOST"] == "0.0.0.0"
    assert {environment["METRICS_PORT"], environment["PORT"]} == set(SERVICES["bot"]["expose"])
    told = page + "".join(file.read_text("utf-8") for file in (ROOT / "docs/operations").glob("**/*.yml"))
    assert set(re.findall(r"\bbot:[0-9]+", told)) == {target}
    assert f"`{READ['name']}_outside`" in page
    assert set(SERVICES["bot"]["networks"]) == {"inside", "outside"}


def test_no_secret_stands_in_the_file():
    """Each secret comes from .env. Compose refuses to start without the secret, and says why."""
    written = re.findall(r"^ *\w*(?:PASSWORD|SECRET|TOKEN|KEY)\w*: +(.+)$", FILE.read_text("utf-8"), re.MULTILINE)
    assert len(written) == 1
    assert all(value.startswith("${") and ":?" in value for value in written)


@pytest.mark.parametrize("path", ["", "/", "/racing/"])
def test_proxy_serves_the_whole_host_whatever_path_stands_in_the_public_address(tmp_path, path):
    caddy = tmp_path / "caddy"
    caddy.write_text('#!/bin/sh\necho "$PUBLIC_URL"\n', encoding="utf-8")
    caddy.chmod(0o700)
    command = [word.replace("$$", "$") for word in SERVICES["caddy"]["command"]]
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PUBLIC_URL": f"https://bot.example.com{path}"}
    assert subprocess.run(command, env=env, capture_output=True, check=True).stdout == b"https://bot.example.com\n"


@pytest.fixture(params=["deploy/Caddyfile", "README.md"])
def caddyfile(request):
    text = (ROOT / request.param).read_text("utf-8")
    (site,) = re.findall(r"^(?:bot\.example\.com|\{\$PUBLIC_URL\}) \{\n.+?^\}\n", text, re.DOTALL | re.MULTILINE)
    return site


def test_proxy_passes_on_the_paths_that_the_doctor_asks_for_and_no_other(caddyfile):
    """A path that Caddy has no answer for is 200 without a body: a delivery there would be lost."""
    assert re.findall(r"@bot path (.+)", caddyfile) == [
        "/webhooks/racing /webhooks/racing/ /slack/events /slack/events/ /healthz"
    ]
    assert "respond 404" in caddyfile


def test_proxy_understands_its_file(caddyfile, tmp_path):
    caddy = program("caddy")
    if caddy is None:
        pytest.skip("Caddy is absent: `.ci/programs` unpacks Debian's")
    (tmp_path / "Caddyfile").write_text(caddyfile, encoding="utf-8")
    asked = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")],
        env={"PUBLIC_URL": "https://bot.example.com", "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr


# The sources of the image: without secrets, and with all that is copied


DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
IGNORED = [
    line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and not line.startswith("#")
]
SECRETS = (
    ".env",
    ".env.production",
    "prod.env",
    "bot.db",
    "bot.db-wal",
    "bot.sqlite3",
    "tls.pem",
    "tls.key",
    "all.dump",
)
FOLDERS = (".", "bot", "bot/slack", "bot/db/migrations/versions", "deploy", "docs", "tests/unit")


@pytest.fixture
def context(tmp_path):
    """The files that Docker is sent of a folder."""

    def sent(names):
        for name in names:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()

        paths = exclude_paths(str(tmp_path), IGNORED)
        return {path for path in paths if (tmp_path / path).is_file()}

    return sent


def test_no_secret_and_no_database_gets_into_the_image_from_any_folder(context):
    left_about = {f"{folder}/{name}".removeprefix("./") for folder in FOLDERS for name in SECRETS}
    assert context({*left_about, "bot/cli/main.py", "deploy/image-tools.txt"}) == {
        "bot/cli/main.py",
        "deploy/image-tools.txt",
    }


def test_every_file_that_the_dockerfile_copies_is_sent(context):
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    files = {f"{name}/cli.py" if (ROOT / name).is_dir() else name for name in names}
    assert len(files) >= 6
    assert context({*files, "sandbox/demo.py", "bot/__pycache__/cli.pyc", "compose.yaml"}) == files


def test_labels_name_the_version_and_the_licence_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', DOCKERFILE))
    assert (labels["title"], labels["licenses"]) == (project["name"], project["license"])
    assert (labels["version"], labels["revision"]) == ("${VERSION}", "${REVISION}")
    assert f"ARG VERSION={project['version']}" in DOCKERFILE


# The systemd unit: systemd reads the unit, and reckons the exposure of the service


UNIT = ROOT / "deploy/racing-bot.service"
COMMAND = "/opt/racing-bot/.venv/bin/racing-bot"
EXPOSED_AT_MOST = 15
"""Tenths of systemd's figure from 0 to 10. A service without hardening has 9.6."""


@pytest.fixture
def analyze(tmp_path):
    """Runs systemd-analyze on the unit. The command is of this environment: systemd wants a command that exists."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace(COMMAND, str(Path(sys.prefix) / "bin/racing-bot")))

    def ask(*words):
        asked = subprocess.run([program, *words, str(unit)], capture_output=True, text=True, check=False)
        if "Unknown" in asked.stderr or "unrecognized option" in asked.stderr:
            pytest.skip(f"this systemd-analyze is too old: {asked.stderr.strip()}")
        return asked

    return ask


def test_systemd_has_nothing_to_say_against_the_unit(analyze):
    asked = analyze("verify", "--man=no")
    assert (asked.returncode, asked.stdout + asked.stderr) == (0, "")


def test_service_is_little_exposed(analyze):
    asked = analyze("security", "--offline=true", f"--threshold={EXPOSED_AT_MOST}", "--no-pager")
    assert asked.returncode == 0, asked.stdout[-2000:]


def test_service_starts_again_but_for_wrong_settings_has_time_to_stop_and_may_lower_its_priority():
    unit = UNIT.read_text("utf-8")
    assert f"ExecStart={COMMAND} serve" in unit
    assert "Restart=always" in unit
    assert "RestartPreventExitStatus=2" in unit
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(stop_s) >= 30
    # Later filters win, and @resources has this call.
    assert re.findall(r"^SystemCallFilter=(.+)$", unit, re.MULTILINE)[-1] == "setpriority"


# The image's packages are pinned and hashed, audited against a stand-in of OSV, and listed (SBOM)


FOUND = {"id": "GHSA-of-a-test", "modified": "2026-01-01T00:00:00Z"}


@cache
def locked():
    packages = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    return {package["name"]: package for package in packages}


def files_of(package):
    return [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]


@pytest.fixture(scope="module")
def uv():
    """The path of uv: `uv run` leaves the path in the environment."""
    program = os.environ.get("UV") or shutil.which("uv")
    if program is None:
        pytest.skip("these tests do not run under uv, and there is none")
    return program


def osv(*, vulnerable=(), status=200):
    """A stand-in of OSV. The packages of `vulnerable` have a vulnerability."""

    async def query(request):
        asked = (await request.json())["queries"]
        found = [{"vulns": [FOUND]} if one["package"]["name"] in vulnerable else {} for one in asked]
        return JSONResponse({"results": found}, status)

    async def details(_request):
        return JSONResponse({**FOUND, "summary": "Made up", "affected": []})

    return Starlette(routes=[Route("/v1/querybatch", query, methods=["POST"]), Route("/v1/vulns/{name}", details)])


async def audit(uv, address):
    env = {**os.environ, "OSV_URL": address, "UV_HTTP_RETRIES": "0", "UV_OFFLINE": "0"}
    process = await asyncio.create_subprocess_exec(
        str(ROOT / ".ci/audit"), uv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told, _ = await process.communicate()
    return process.returncode, told.decode()


@pytest.mark.parametrize("package", ["aiohttp", "pytest"])
async def test_known_vulnerability_of_a_package_fails_if_the_image_installs_it(uv, package):
    async with serve(osv(vulnerable={package})) as address:
        code, told = await audit(uv, address)
    assert (code, "GHSA-of-a-test" in told, "no known vulnerabilities" in told) == (
        (1, True, False) if package == "aiohttp" else (0, False, True)
    ), told


async def test_osv_that_is_not_reached_is_said_and_passes(uv):
    async with serve(osv(status=503)) as away:
        for address in (f"http://127.0.0.1:{own_port()}", away):
            code, told = await audit(uv, address)
            assert (code, told.splitlines()[-1]) == (0, "The packages are not audited: OSV is not reached from here")


def test_checks_run_the_audit():
    assert ".ci/audit .tool/bin/uv\n" in (ROOT / ".ci/run").read_text("utf-8")


def test_command_of_the_document_lists_what_the_image_installs(uv):
    page = (ROOT / "docs/deploying.md").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("uv export ")]
    assert line.endswith(" > sbom.json")
    asked = subprocess.run(
        [uv, *line.removesuffix(" > sbom.json").split()[1:], "--offline"], cwd=ROOT, capture_output=True, check=True
    )
    listed = {one["name"]: one for one in json.loads(asked.stdout)["components"]}
    assert {"aiohttp", "slack-bolt", "psycopg-binary", "cryptography"} <= set(listed)
    assert not {"pytest", "hypothesis", "ruff", "hatchling"} & set(listed)
    for name, component in listed.items():
        assert component["purl"] == f"pkg:pypi/{name}@{locked()[name]['version']}"
        hashes = {f"sha256:{one['content']}" for file in component["externalReferences"] for one in file["hashes"]}
        assert hashes == {file["hash"] for file in files_of(locked()[name])}


def test_base_is_pinned_by_digest_and_every_stage_is_made_from_it():
    (base,) = re.findall(r"^ARG BASE=(.+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
    assert {source for source, _ in stages} <= {"${BASE}", *(name for _, name in stages)}


def test_tools_of_the_image_are_those_of_the_lock_file_with_its_hashes():
    written = (ROOT / "deploy/image-tools.txt").read_text("utf-8")
    tools = re.findall(r"^([\w-]+)==([\w.]+)(.*?)(?=^[\w-]+==|\Z)", written, re.MULTILINE | re.DOTALL)
    assert {"uv", "hatchling"} <= {name for name, _, _ in tools}
    for name, version, rest in tools:
        assert version == locked()[name]["version"], (
            f"{name}: write deploy/image-tools.txt anew, as its first lines say"
        )
        assert set(re.findall(r"--hash=(\S+)", rest)) == {file["hash"] for file in files_of(locked()[name])}


def test_every_package_of_the_lock_file_has_hashes():
    fetched = [package for package in locked().values() if "editable" not in package["source"]]
    assert len(fetched) > 50
    for package in fetched:
        assert files_of(package)
        assert all(file["hash"].startswith("sha256:") for file in files_of(package)), package["name"]
