"""`racing-bot subscriptions` as processes beside a running bot: the file, the difference, the question, exit codes."""

import json

from tests.acceptance.command_line import run_command

ABANDONED = {"event": "race.abandoned", "race": {"race_id": "rc_1", "region": "IRE", "course": "Curragh"}}


async def run(world, *words, **settings):
    return await run_command(world.bot, "subscriptions", *words, **settings)


async def test_file_is_exported_changed_and_applied_beside_a_running_bot(make_world):
    async with make_world(ADMIN_USERS="UALICE") as world:
        await world.subscribe("CGB", "GB")
        exported = await run(world, "export")
        assert (exported.code, exported.err) == (0, "")
        file = world.bot.folder / "subscriptions.yaml"
        file.write_text(exported.out)
        same = await run(world, "apply", str(file))
        assert (same.code, same.err) == (0, "")
        assert same.out.startswith("Nothing to change")

        file.write_text(exported.out + "  CIRE:\n  - region: IRE\n    topics: [abandonments]\n")
        unasked = await run(world, "apply", str(file))
        assert unasked.code == 1
        assert "  + abandonments from IRE\n1 new\n" in unasked.out
        assert "Give --yes" in unasked.err
        assert json.loads((await run(world, "export", "--json")).out)["channels"].keys() == {"CGB"}

        applied = await run(world, "apply", str(file), "--yes")
        assert applied.code == 0, applied.said
        assert "Done (apply-" in applied.out
        assert (await world.bot.deliver(ABANDONED)).status_code == 200
        assert (await world.wait_for_posts("CIRE", 1))[0].startswith("ABANDONED: Curragh")
        assert "operator" in await world.say("/racing", "audit all", channel="CADMIN")

        watching = exported.out.replace("watches: {}", "watches: {CGB: {horse: [Blue Moon]}}")
        file.write_text(watching + "  CIRE:\n  - region: IRE\n    topics: [abandonments]\n")
        applied = await run(world, "apply", str(file), "--yes")
        assert "  + watches horse Blue Moon\n" in applied.out, applied.said
        assert "Blue Moon" in await world.say("/racing", "watching", channel="CGB")
        file.write_text((await run(world, "export")).out.replace("horse: [Blue Moon]", ""))
        applied = await run(world, "apply", str(file), "--yes")
        assert "  - watches horse Blue Moon\n" in applied.out, applied.said
        await world.slack.wait_for(lambda: "ended the watch on horse Blue Moon" in str(world.texts("CGB")))
        assert "operator" in await world.say("/racing", "list", channel="CIRE")


async def test_wrong_file_is_refused_with_every_problem_and_exit_code_2(make_world):
    async with make_world(start=False) as world:
        file = world.bot.folder / "wrong.yaml"
        file.write_text("version: 1\nchannels:\n  C1:\n  - region: GB\n    topics: [result]\n  gb: []\n")
        wrong = await run(world, "apply", str(file), "--yes")
        assert (wrong.code, wrong.out) == (2, "")
        for told in ("wrong.yaml can't be applied", "line 5: result is no topic", "line 6: gb is no channel id"):
            assert told in wrong.err
        missing = await run(world, "apply", str(world.bot.folder / "none.yaml"))
        assert (missing.code, missing.out) == (2, "")
        assert "none.yaml can't be read: No such file or directory." in missing.err
        empty = world.bot.folder / "empty.db"
        no_database = await run(world, "export", DATABASE_URL=f"sqlite:///{empty}")
        assert (no_database.code, no_database.out) == (1, "")
        assert f"there is no database at {empty}" in no_database.err
        assert not empty.exists()
        nothing = dict.fromkeys(world.bot.env)
        for words in (("export",), ("apply", str(file))):
            ran = await run(world, *words, **nothing)
            assert (ran.code, ran.out) == (2, "")
            assert "RACING_API_KEY" in ran.err
        away = await run(world, "export", DATABASE_URL="postgresql://racing:secret@127.0.0.1:9/racing")
        assert (away.code, away.out) == (1, "")
        assert "secret" not in away.err
