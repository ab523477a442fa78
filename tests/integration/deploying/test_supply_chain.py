"""The audit of the image's packages against a stand-in of OSV, and the list of the packages (SBOM)."""

import asyncio
import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from sandbox.loopback_server import free_port, serve

ROOT = Path(__file__).parents[3]
FOUND = {"id": "GHSA-of-a-test", "modified": "2026-01-01T00:00:00Z"}


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

    return Starlette(
        routes=[Route("/v1/querybatch", query, methods=["POST"]), Route("/v1/vulns/{name}", details)],
    )


async def audit(uv, address, folder=ROOT):
    env = {**os.environ, "OSV_URL": address, "UV_HTTP_RETRIES": "0", "UV_OFFLINE": "0"}
    process = await asyncio.create_subprocess_exec(
        str(folder / ".ci/audit"), uv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told, _ = await process.communicate()
    return process.returncode, told.decode()


async def test_package_without_a_known_vulnerability_passes(uv):
    async with serve(osv()) as address:
        code, told = await audit(uv, address)
    assert (code, "no known vulnerabilities" in told) == (0, True), told


async def test_known_vulnerability_of_an_installed_package_fails(uv):
    async with serve(osv(vulnerable={"aiohttp"})) as address:
        code, told = await audit(uv, address)
    assert code == 1
    assert "aiohttp" in told
    assert "GHSA-of-a-test" in told


async def test_package_that_only_the_tests_need_is_not_asked_about(uv):
    async with serve(osv(vulnerable={"pytest", "fastapi"})) as address:
        assert (await audit(uv, address))[0] == 0


async def test_osv_that_is_not_reached_is_said_and_passes(uv):
    code, told = await audit(uv, f"http://127.0.0.1:{free_port()}")
    assert (code, told.splitlines()[-1]) == (0, "The packages are not audited: OSV is not reached from here")
    async with serve(osv(status=503)) as address:
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
    locked = {package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]}
    assert {"aiohttp", "slack-bolt", "psycopg-binary", "cryptography"} <= set(listed)
    assert not {"pytest", "fastapi", "ruff", "hatchling"} & set(listed)
    for name, component in listed.items():
        assert component["purl"] == f"pkg:pypi/{name}@{locked[name]['version']}"
        hashes = {one["content"] for file in component["externalReferences"] for one in file["hashes"]}
        assert hashes == {
            file["hash"].removeprefix("sha256:") for file in [*locked[name]["wheels"], *_sdist(locked[name])]
        }


def _sdist(package):
    return [package["sdist"]] if "sdist" in package else []
