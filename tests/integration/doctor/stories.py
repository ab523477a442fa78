"""Stories of findings: a story breaks something and yields; after the doctor's look it follows the finding's line."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from bot.doctor.findings import CheckOutcome
from sandbox.loopback_server import free_port
from tests.integration.doctor.conftest import Clinic

Story = Callable[[Clinic], AsyncGenerator[None, None]]
FAILED, WARNING = CheckOutcome.FAILED, CheckOutcome.WARNING


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

    def __call__(
        self, code: str, check: str, outcome: CheckOutcome, mend: str, *, alone: bool = False
    ) -> Callable[[Story], Story]:
        def register(story: Story) -> Story:
            self.cases.append(Case(code, check, outcome, mend, story, alone))
            return story

        return register


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


def dead() -> str:
    return f"http://127.0.0.1:{free_port()}"
