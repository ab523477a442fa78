"""The image's packages are pinned and hashed, audited against a stand-in of OSV, and listed (SBOM)."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from sandbox.loopback_server import serve
from tests.world import own_port

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
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


async def test_packages_without_a_known_vulnerability_pass_and_those_of_the_tests_are_not_asked_about(uv):
    async with serve(osv(vulnerable={"pytest", "hypothesis"})) as address:
        code, told = await audit(uv, address)
    assert (code, "no known vulnerabilities" in told) == (0, True), told


async def test_known_vulnerability_of_an_installed_package_fails(uv):
    async with serve(osv(vulnerable={"aiohttp"})) as address:
        code, told = await audit(uv, address)
    assert code == 1
    assert "aiohttp" in told
    assert "GHSA-of-a-test" in told


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
