"""The error tree: everything the bot raises on purpose, readable as one list.

RacingBotError
├── SettingsError                 settings missing or wrong; carries every problem at once
├── BodyRefused                   an HTTP body that will not be read
│   ├── BodyTooLarge              over the cap: 413
│   ├── BodyTooSlow               not whole within the time limit: 408
│   ├── BodyBudgetSpent           too many bodies in flight: 503, try again
│   └── BodyUnreadable            signed, and not what Slack sends: 400
├── StorageError
│   ├── StorageUnavailable        the database refuses just now: a retry may help
│   │   └── LockTaken             another replica changes the same channel: a retry helps
│   ├── QueueFull                 the queue of deliveries or of writes is full: a retry helps
│   ├── SchemaUnknown             a newer version of racing-bot has migrated the database
│   └── SecretsUnreadable         no encryption key opens what was stored
├── CommandError                  what a person typed can't be done; says what would have been right
│   └── FieldsWrong               the same of a form, field by field
├── SubscribingFailed             `racing-bot subscribe` did not do what was asked; says what to do
├── SubscriptionFileWrong         a file of subscriptions can't be applied; carries every problem with its line
├── SubscriptionsNotApplied       `racing-bot subscriptions apply` changed nothing; says why
├── ServiceError                  the data service refused or failed; bot.racedata.client.service_errors has each code
└── SlackError                    a call to Slack's Web API did not end well
    ├── SlackUnreached            the call never left: certainly not carried out, a retry helps
    ├── SlackDoubtful             the call was sent, and whether it was carried out is not known
    ├── SlackWait                 Slack asks for a wait, and carried nothing out
    ├── SlackChannelClosed        the channel is gone, archived or closed to us
    ├── SlackCredentialsDead      our token is dead, or the workspace takes no call of ours
    ├── SlackScopeMissing         the method needs a scope that was not granted
    ├── SlackMessageRefused       what we sent breaks Slack's rules: our bug
    ├── SlackEditRefused          a message can't be edited, or not any more
    └── SlackRefused              a code that we don't know

Handlers branch on the class, never on a status or a message.
"""

from collections.abc import Mapping, Sequence


class RacingBotError(Exception):
    """Everything the bot raises on purpose."""


class SettingsError(RacingBotError):
    """Settings are missing or wrong. `problems` has one sentence for each, none with a secret in it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class BodyRefused(RacingBotError):
    """An HTTP body was not read to its end."""


class BodyTooLarge(BodyRefused):
    """The body is over the cap, by its Content-Length or by what arrived. A retry can't help."""


class BodyTooSlow(BodyRefused):
    """The body was not whole within the time limit."""


class BodyBudgetSpent(BodyRefused):
    """All bodies in flight together are over their budget. A retry helps."""


class BodyUnreadable(BodyRefused):
    """The body is signed, and is not what Slack sends."""


class StorageError(RacingBotError):
    """The database did not do what was asked."""


class StorageUnavailable(StorageError):
    """The database is full, locked or unreachable. Nothing was stored, or it is not known; a retry may help."""


class LockTaken(StorageUnavailable):
    """Another replica changes the same channel. Nothing was stored; a retry helps (`Database.write` retries itself)."""


class QueueFull(StorageError):
    """A bounded queue, of deliveries or of writes, is full. Nothing was stored; a retry helps."""


class SchemaUnknown(StorageError):
    """A newer version of racing-bot has migrated the database. `str()` says which revisions there are."""


class SecretsUnreadable(StorageError):
    """No key of ENCRYPTION_KEYS opens a stored secret."""


WITHOUT = "Without the "
"""Begins the label of a button that leaves a word of the line out."""


class CommandError(RacingBotError):
    """What a person typed can't be done. `str()` is for that person: what was wrong, and what would have been right.

    `typed` is the word that was wrong, after `course:` where it was wrong as a course, and `meant` what it may have
    meant, by how it is shown. Where several words were wrong, `offers` has what is right for each, by how that is
    shown. `lines` are whole command lines, as they would be typed after /racing, by how they are shown. Each becomes a
    button, once it was found to work. `asks`: the text asks whether one of them was meant, and goes on with `after`.
    `edits` is the region of the channel's subscription that is in the way, whose form another button opens.
    """

    def __init__(
        self,
        told: str,
        *,
        typed: str = "",
        meant: Mapping[str, str] | None = None,
        offers: Mapping[str, Mapping[str, str]] | None = None,
        lines: Mapping[str, str] | None = None,
        asks: bool = False,
        after: str = "",
        edits: str | None = None,
    ) -> None:
        self.told, self.asks, self.after, self.edits = told, asks, after, edits
        found = offers or {label: {typed: value} for label, value in (meant or {}).items()}
        self.offers = {label: dict(right) for label, right in found.items()}
        self.lines = dict(lines or {})
        shown = " or ".join([*self.offers, *self.lines]) if asks else ""
        super().__init__(" ".join(filter(None, [told, f"Did you mean {shown}?" if shown else "", after])))

    def of_words(self, typed: Mapping[str, str]) -> "CommandError":
        """The same, with its offers for words as they were typed, by what these stand for."""
        for right in self.offers.values():
            for value in [one for one in right if one in typed]:
                right[typed[value]] = right.pop(value)
        return self

    def offering(self, lines: Mapping[str, str]) -> "CommandError":
        """The same, with these command lines for all that it offered."""
        return CommandError(self.told, lines=lines, asks=self.asks, after=self.after, edits=self.edits)


class FieldsWrong(CommandError):
    """A form can't be stored as it is. `errors` has a sentence for each field that is to blame."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


class SubscribingFailed(RacingBotError):
    """A subscription with the data service was not made, or nothing is known of it; `str()` says what to do."""


class SubscriptionFileWrong(RacingBotError):
    """A file of subscriptions can't be applied. `problems` are lines of the file, each with a sentence."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"line {line}: {told}" for line, told in self.problems))


class SubscriptionsNotApplied(RacingBotError):
    """`racing-bot subscriptions apply` changed nothing; `str()` says why."""


class ServiceError(RacingBotError):
    """The data service refused or failed. `bot.racedata.client.service_errors` has a subclass for each code."""


class SlackError(RacingBotError):
    """A call to Slack's Web API did not end well. `code` is Slack's error, or our word for what happened."""

    def __init__(self, method: str, code: str, *, details: str | None = None) -> None:
        self.method = method
        self.code = code
        self.details = details
        super().__init__(f"{method}: {code}" + (f" ({details})" if details else ""))


class SlackUnreached(SlackError):
    """The call never left (no connection). It was certainly not carried out; a retry helps."""


class SlackDoubtful(SlackError):
    """The call was sent, and whether it was carried out is not known. Look before repeating it."""


class SlackWait(SlackError):
    """Slack carried nothing out and asks for a wait of `retry_after_s` seconds."""

    def __init__(self, method: str, code: str, retry_after_s: float) -> None:
        super().__init__(method, code)
        self.retry_after_s = retry_after_s


class SlackChannelClosed(SlackError):
    """The channel is gone, archived or closed to us. A retry helps only after somebody has changed that."""


class SlackCredentialsDead(SlackError):
    """Our token is revoked, expired or unknown, or the workspace takes no call of ours, or no posts, with it.

    A retry helps only after an operator has changed that.
    """


class SlackScopeMissing(SlackError):
    """The method needs a scope that was not granted. Other methods may work."""


class SlackMessageRefused(SlackError):
    """What we sent breaks Slack's rules. The same message will be refused again."""


class SlackEditRefused(SlackError):
    """The message can't be edited, or not any more. What was to be said needs a message of its own."""


class SlackRefused(SlackError):
    """Slack refused with a code that we don't know. It was not carried out."""
