"""From the journal to the inbox: each delivery is read, and stored together with the place in the journal."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from functools import partial

from sqlalchemy import text
from sqlmodel import Session

from bot.clock import Clock, Monotonic
from bot.db import named_values
from bot.db.engine import Database, Repeatable
from bot.db.named_values import Mark
from bot.deliveries import inbox
from bot.deliveries.event_keys import unreadable_key
from bot.deliveries.inbox import Arrival, StoredDelivery
from bot.deliveries.journal import BYTES_AT_ONCE, Journal, JournalPlace, Letter
from bot.deliveries.payload import payload_of
from bot.errors import LockTaken, StorageError
from bot.logs import get_logger
from bot.loop import rest

log = get_logger(__name__)

LARGEST_HAND_OVER = 25
"""Deliveries that fan-out takes from memory. Larger numbers come from the inbox."""

LETTERS_PER_COMMIT = 50
"""Fan-out waits for the transaction."""

LONG_BODY_BYTES = 32_768
"""From here on a thread reads the body."""

LETTERS_GAP_S = 0.015
"""After a commit, so that close deliveries share the next commit. A lone delivery does not wait."""

JOURNAL_LOOK_S = 1.0
"""Between two looks without word from the receiver: the word may be lost, and other replicas' receivers send none."""


class Intake:
    """`stored` is set after each commit with a new delivery. Set `wake` after an append to the journal."""

    def __init__(self, database: Database, journal: Journal, clock: Clock) -> None:
        self._database = database
        self._journal = journal
        self._clock = clock
        self._handed_over: list[StoredDelivery] = []
        self._place: JournalPlace | None = None
        self._knows_place = False
        self._warned_of: JournalPlace | None = None
        self.problem: str | None = None
        self.wake = asyncio.Event()
        self.stored = asyncio.Event()

    async def run(self) -> None:
        while True:
            self.wake.clear()
            try:
                count = await self.take()
            except LockTaken:
                # Another replica stores the same letters.
                count = 0
            except StorageError as error:
                if self.problem is None:
                    log.warning("journal_waits", reason=str(error))
                self.problem, count = str(error), 0
            else:
                self.problem = None
            if count < LETTERS_PER_COMMIT:
                await asyncio.sleep(LETTERS_GAP_S)
                await rest(self.wake, JOURNAL_LOOK_S)

    async def take(self) -> int:
        """Store the next letters; returns their count. Raises StorageError."""
        if not self._knows_place or not self._database.is_sqlite:
            # On PostgreSQL, other replicas move the place.
            self._place, self._knows_place = await self._database.read(place_in), True
        at, letters = await self._database.read_beside(partial(self._journal.after, self._place, LETTERS_PER_COMMIT))
        if self._place and not at and self._warned_of != self._place:
            # The journal is another, or older: every letter is read, and the inbox recognises known deliveries.
            log.warning("journal_read_anew", place=self._place.number)
            self._warned_of = self._place
        if letters:
            arrivals = await self._read([letter for _, letter in letters])
            place = JournalPlace(letters[-1][0], letters[-1][1].sha256)
            # Before the commit: an error leaves unknown whether the commit was made.
            self._knows_place = False
            await self.store(arrivals, place)
            self._place, self._knows_place = place, True
            if sum(len(letter.body) for _, letter in letters) >= BYTES_AT_ONCE:
                # The journal ended the batch, and may have more.
                self.wake.set()
        return len(letters)

    async def store(self, arrivals: Sequence[Arrival], place: JournalPlace | None = None) -> list[StoredDelivery]:
        """The new deliveries, after the commit. `place` is noted too. Raises StorageError."""
        # If a power cut undoes the commit, the stored place is older, and the journal still has the letters.
        work = Repeatable if place else partial
        new = await self._database.write(work(self._store, arrivals=arrivals, place=place))
        if new is None:
            self.wake.set()
            return []
        self._hand_over(new)
        return new

    def hand_over(self) -> list[StoredDelivery] | None:
        """New deliveries since the last call; None if too many."""
        stored, self._handed_over = self._handed_over, []
        return stored if len(stored) <= LARGEST_HAND_OVER else None

    async def _read(self, letters: Sequence[Letter]) -> list[Arrival]:
        def read() -> list[Arrival]:
            return [arrival_of(one.body, one.sha256, one.received_at, one.reference) for one in letters]

        # The loop goes on meanwhile.
        is_long = any(len(letter.body) > LONG_BODY_BYTES for letter in letters)
        return await asyncio.to_thread(read) if is_long else read()

    def _store(
        self, session: Session, *, arrivals: Sequence[Arrival], place: JournalPlace | None
    ) -> list[StoredDelivery] | None:
        """None if another replica has moved the place: an insert would wait for the fan-out of the same letters."""
        inbox.take_intake(session)
        if place and not self._database.is_sqlite and place_in(session) != self._place:
            return None
        new = inbox.store(session, arrivals)
        if place:
            named_values.put(session, Mark.JOURNAL, place, self._clock())
        return new

    def _hand_over(self, new: Sequence[StoredDelivery]) -> None:
        for one in new:
            reference, of_request = inbox.reference(one.inbox_id), {"request": one.request, "event_key": one.event_key}
            log.info("delivery", outcome="accepted", reference=reference, **of_request)
        if new:
            # One above the largest hand-over says that the inbox has more.
            self._handed_over += new[: LARGEST_HAND_OVER + 1 - len(self._handed_over)]
            self.stored.set()


async def unread_letters(
    database: Database, place: JournalPlace | None, monotonic: Monotonic
) -> tuple[int, datetime | None] | None:
    """The number of letters after the place, and the receipt of the first; None before the first `racing-bot serve`."""
    with closing(Journal(database.address, monotonic)) as journal:
        has_table = text("SELECT to_regclass('journal') IS NOT NULL")
        is_there = journal.file.exists() if journal.file else await database.read(lambda one: one.scalar(has_table))
        return await database.read_beside(partial(journal.waiting, place)) if is_there else None


def place_in(session: Session) -> JournalPlace | None:
    kept = named_values.get(session, Mark.JOURNAL)
    return JournalPlace(*kept[0]) if kept else None


def arrival_of(body: bytes, sha256: str, received_at: datetime, request: str | None = None) -> Arrival:
    payload = payload_of(body)
    key, name, region, further_keys = "", None, "", list[str]()
    try:
        (key, name), region = payload.identity, payload.region
        further_keys = payload.further_keys
    except Exception:
        # A bug of ours: fan-out tries again, and tells the event in plain form at last.
        log.exception("delivery_not_read", request=request)
    return Arrival(key or unreadable_key(body), name, sha256, body, received_at, region, request, further_keys)
