"""Where the database's folder can't be written, health says so, and the log names the path and the user."""

import asyncio
import json
import os
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import READY_S
from tests.acceptance.no_temporary_folder import make_read_only, why_not
from tests.acceptance.payloads import result


def close_data(folder: Path) -> None:
    make_read_only(folder / "data")


async def ready(bot):
    """What /readyz answers, once the bot listens."""
    async with httpx.AsyncClient() as client, asyncio.timeout(READY_S):
        while True:
            try:
                return await client.get(f"{bot.url}/readyz")
            except httpx.TransportError:
                await asyncio.sleep(0.05)


async def test_folder_that_cannot_be_written_is_named_with_the_user(make_world, tmp_path):
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    data = tmp_path / "data"
    data.mkdir()
    async with make_world(start=False, DATABASE_URL=f"sqlite:///{data / 'bot.db'}") as world:
        world.bot.prepare = close_data
        await world.bot.start(ready=False)
        answer = await ready(world.bot)
        assert (answer.status_code, answer.json()["reason"]) == (503, "the database's file or folder can't be written")
        assert (await world.bot.deliver(result())).status_code == 503
        line = next(line for line in world.bot.log.splitlines() if "database_not_writable" in line)
        assert (
            f"uid {os.getuid()} can't write {data}, which belongs to uid {data.stat().st_uid}"
            in json.loads(line)["reason"]
        )
