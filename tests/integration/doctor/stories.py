"""Stories of findings: a story breaks something and yields; after the doctor's look it follows the finding's line."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

from bot.doctor.findings import CheckOutcome
from tests.integration.doctor.conftest import Clinic

Story = Callable[[Clinic], AsyncGenerator[None, None]]
Act = Callable[[Clinic], object]
FAILED, WARNING = CheckOutcome.FAILED, CheckOutcome.WARNING
DEAD = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Case:
    """A finding: the check, the outcome, words of the mending line, and the story."""

    code: str
    check: str
    outcome: CheckOutcome
    mend: str
    story: Story
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.code}-{self.outcome}"


@dataclass
class Cases:
    """The cases of a file. As a decorator it adds a story."""

    cases: list[Case] = field(default_factory=list)

    def __call__(self, code: str, check: str, outcome: CheckOutcome, mend: str, *, alone: bool = False) -> Any:
        def register(story: Story) -> Story:
            self.cases.append(Case(code, check, outcome, mend, story, alone))
            return story

        return register

    def wrong(self, code: str, check: str, outcome: CheckOutcome, mend: str, **settings: str | None) -> None:
        """Settings are wrong, and then as before."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            right = dict(clinic.settings)
            clinic.settings |= settings
            yield
            clinic.settings = right

        self(code, check, outcome, mend)(story)

    def short(
        self, code: str, check: str, outcome: CheckOutcome, mend: str, *, broken: Act, mended: Act | None = None
    ) -> None:
        """Without `mended` the trouble passes by itself. What an act returns is awaited, where it can be."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            for act in (broken, mended):
                if act and isawaitable(done := act(clinic)):
                    await done
                if act is broken:
                    yield

        self(code, check, outcome, mend)(story)


async def check_mended(clinic: Clinic, told: Case) -> None:
    """The finding is told, and its line mends the fault."""
    async with aclosing(told.story(clinic)) as story:
        await anext(story)
        ill = (await clinic.examine(told.check, alone=told.alone))[told.check]
        found = {finding.code: finding for finding in ill.findings}
        assert found.keys() == {told.code}, ill
        assert (ill.outcome, found[told.code].outcome) == (told.outcome, told.outcome)
        assert told.mend in found[told.code].mend
        with suppress(StopAsyncIteration):
            await anext(story)
        well = (await clinic.examine(told.check, alone=told.alone))[told.check]
        assert (well.outcome, well.findings) == (CheckOutcome.OK, ())
