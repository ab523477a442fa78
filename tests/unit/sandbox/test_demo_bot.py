"""The service as a process of the demo's own."""

import asyncio

import pytest

from sandbox.demo_bot import BotProcess, DemoFailed


async def test_bot_that_does_not_start_is_told_of_with_its_log(tmp_path, monkeypatch):
    # What the developer has set for a bot of their own must not reach this one: it would start, or fail otherwise.
    monkeypatch.setenv("RACING_API_KEY", "a-real-key")
    (tmp_path.parent / ".env").write_text("RACING_API_KEY=another-real-key\n", encoding="utf-8")
    bot = BotProcess(tmp_path)
    with pytest.raises(DemoFailed, match="exit code 2"):
        await bot.start({})
    await bot.stop()
    assert "RACING_API_KEY is missing" in bot.log_end()


async def test_work_ends_with_the_process_that_it_needs(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await asyncio.create_subprocess_exec("sleep", "30")
    waiting = asyncio.create_task(bot.while_alive(asyncio.sleep(30)))
    await asyncio.sleep(0)
    bot._process.kill()
    with pytest.raises(DemoFailed, match="ended by itself"):
        await waiting


async def test_end_of_the_process_is_told_where_work_fails_because_of_it(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = process = await asyncio.create_subprocess_exec("sleep", "30")

    async def fails_when_it_ends():
        process.kill()
        raise DemoFailed("no answer")

    with pytest.raises(DemoFailed, match="ended by itself, with exit code -9"):
        await bot.while_alive(fails_when_it_ends())


async def test_work_that_fails_by_itself_is_told_as_it_was(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await asyncio.create_subprocess_exec("sleep", "30")

    async def fails():
        raise DemoFailed("no answer")

    with pytest.raises(DemoFailed, match="no answer"):
        await bot.while_alive(fails())
    await bot.stop()


async def test_work_that_is_done_gives_its_result_and_leaves_the_process(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await asyncio.create_subprocess_exec("sleep", "30")
    assert await bot.while_alive(asyncio.sleep(0, "done")) == "done"
    codes = [bot._process.returncode]
    for _ in range(2):
        await bot.stop()
        codes.append(bot._process.returncode)
    assert codes == [None, -15, -15]


async def test_killed_bot_is_down_at_once_and_starts_again_at_once(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = killed = await asyncio.create_subprocess_exec("sleep", "30")
    bot.kill()
    assert (bot.is_running, bot.pid, killed.returncode) == (False, None, None)
    with pytest.raises(DemoFailed, match="exit code 2"):
        await bot.start({})
    assert killed.returncode == -9


async def test_log_that_was_never_written_has_no_end(tmp_path):
    assert BotProcess(tmp_path).log_end() == ""
