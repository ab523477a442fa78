"""The real process on a real PostgreSQL: started before its schema, and as two replicas of one bot."""

import asyncio

from tests.acceptance.command_line import run_command
from tests.acceptance.conftest import Bot
from tests.clock import move_clock
from tests.payloads import abandoned, result
from tests.postgres import new_postgres_database
from tests.world import own_port


async def test_starts_before_its_schema_and_takes_deliveries_once_it_is_there(make_world, postgres_server):
    url = new_postgres_database(postgres_server)
    move_clock(url)
    async with make_world(start=False, DATABASE_URL=url) as world:
        await world.bot.start(ready=False)
        assert "migrate" in str(await world.bot.wait_for_answer(503))
        refused = await world.bot.deliver(result())
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert (await run_command(world.bot, "migrate")).code == 0
        await world.bot.wait_for_answer(200)
        await world.subscribe("CGB", "GB")
        assert (await world.bot.deliver(result())).status_code == 200
        assert len(await world.wait_for_posts("CGB", 1)) == 1


async def test_two_replicas_are_one_bot(make_world, postgres_server, tmp_path):
    url = new_postgres_database(postgres_server)
    move_clock(url)
    async with make_world(start=False, DATABASE_URL=url) as world:
        assert (await run_command(world.bot, "migrate")).code == 0
        await world.bot.start()
        folder = tmp_path / "other"
        folder.mkdir()
        other = Bot(own_port(), folder, world.bot.env)
        await other.start()
        try:
            await world.subscribe("CGB", "GB")
            await world.subscribe("CALL", "all")
            both = (world.bot, other)
            answers = await asyncio.gather(
                *(both[n % 2].deliver(result(f"rc_{n % 4}", course=f"Course {n % 4}")) for n in range(24))
            )
            assert sorted(answer.json()["status"] for answer in answers) == ["accepted"] * 4 + ["duplicate"] * 20
            assert (await other.deliver(abandoned())).status_code == 200
            world.bot.kill()
            texts = await world.wait_for_posts("CGB", 5, timeout_s=60)
            await world.wait_for_posts("CALL", 5, timeout_s=60)
            assert len(set(texts)) == 5
            assert await other.stop() == 0
        finally:
            if other.process is not None and other.process.poll() is None:
                other.kill()
