"""The sources of the image: pinned, hashed, and without secrets. .ci/check-image runs the image."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
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
    """What Docker is sent of a folder with these files."""

    def sent(names):
        for name in names:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        from docker.utils.build import exclude_paths

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


def test_base_is_pinned_by_digest_and_every_stage_is_made_from_it():
    (base,) = re.findall(r"^ARG BASE=(.+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
    assert {source for source, _ in stages} <= {"${BASE}", *(name for _, name in stages)}


def test_tools_of_the_image_are_those_of_the_lock_file_with_its_hashes():
    written = (ROOT / "deploy/image-tools.txt").read_text("utf-8")
    locked = {package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]}
    tools = re.findall(r"^([\w-]+)==([\w.]+)(.*?)(?=^[\w-]+==|\Z)", written, re.MULTILINE | re.DOTALL)
    assert {"uv", "hatchling"} <= {name for name, _, _ in tools}
    for name, version, rest in tools:
        files = [*locked[name]["wheels"], locked[name]["sdist"]]
        assert version == locked[name]["version"], f"{name}: write deploy/image-tools.txt anew, as its first lines say"
        assert set(re.findall(r"--hash=(\S+)", rest)) == {file["hash"] for file in files}


def test_every_package_of_the_lock_file_has_hashes():
    packages = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    fetched = [package for package in packages if "editable" not in package["source"]]
    assert len(fetched) > 50
    for package in fetched:
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        assert files
        assert all(file["hash"].startswith("sha256:") for file in files), package["name"]


def test_labels_name_the_version_and_the_licence_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', DOCKERFILE))
    assert (labels["title"], labels["licenses"]) == (project["name"], project["license"])
    assert (labels["version"], labels["revision"]) == ("${VERSION}", "${REVISION}")
    assert f"ARG VERSION={project['version']}" in DOCKERFILE
