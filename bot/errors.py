"""The error tree: every error that the bot raises on purpose.

RacingBotError
├── ProblemsFound                 has every problem
│   ├── SettingsError             settings missing or wrong
│   └── SubscriptionFileWrong     a file of subscriptions can't be applied
├── BodyRefused                   an HTTP body that is not read to the end
│   ├── BodyTooLarge              over the cap: 413, a retry can't help
│   ├── BodyTooSlow               not whole within the time limit: 408
│   ├── BodyBudgetSpent           too many large bodies in flight: 503, try again
│   ├── BodyCodingUnknown         signed, in a content coding that is not known: 415
│   └── BodyUnreadable            signed, but no request as Slack makes them: 400
├── StorageError
│   ├── StorageUnavailable        full, locked or unreachable: maybe stored, a retry may help
│   │   └── LockTaken             another replica changes the channel: nothing stored, a retry helps
│   ├── QueueFull                 too many deliveries or writes wait: nothing stored, a retry helps
│   ├── SchemaUnknown             of a newer version of racing-bot, or too old to be taken over
│   └── SecretsUnreadable         no encryption key opens a stored secret
├── CommandError                  a person's command can't be done; says the right command
│   └── FieldsWrong               a form can't be stored; has a sentence for each field
├── ShellCommandFailed            a command of the shell was not done, or its outcome is unknown; says what to do
├── ServiceError                  the data service refused or failed; bot.racedata.client.service_errors has each code
└── SlackError                    a call to Slack's Web API did not end well
    ├── SlackUnreached            the call never left: not carried out, a retry helps
    ├── SlackDoubtful             the call was sent, the outcome is unknown: look before a repeat
    ├── SlackWait                 Slack asks for a wait of `retry_after_s`: not carried out
    ├── SlackChannelClosed        the channel is gone, archived or closed to us: somebody has to change that
    ├── SlackCredentialsDead      our token is dead, or the workspace refuses us: an operator has to act
    ├── SlackScopeMissing         the token may not call the method; other methods may work
    ├── SlackMessageRefused       the message breaks Slack's rules: our bug, a retry can't help
    ├── SlackMessageGone          the edited message was deleted, or can't be edited any more
    ├── SlackEditRefused          Slack refuses an edit for another cause: the words need a new message
    └── SlackRefused              an unknown code: not carried out

Handlers branch on the class, never on a status or a message.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar
from urllib.parse import unquote, unquote_plus

_SECRET_OPTION = re.compile("password|secret|token", re.IGNORECASE)


class RacingBotError(Exception):
    pass


class ProblemsFound(RacingBotError):
    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class SettingsError(ProblemsFound):
    """`problems`: a sentence each, without secrets."""


class BodyRefused(RacingBotError):
    """`status`: of the answer to the sender."""

    status: ClassVar[int]


class BodyTooLarge(BodyRefused):
    status = 413


class BodyTooSlow(BodyRefused):
    status = 408


class BodyBudgetSpent(BodyRefused):
    status = 503


class BodyCodingUnknown(BodyRefused):
    status = 415


class BodyUnreadable(BodyRefused):
    status = 400


class StorageError(RacingBotError):
    pass


class StorageUnavailable(StorageError):
    pass


class LockTaken(StorageUnavailable):
    """`Database.write` retries by itself."""


class QueueFull(StorageError):
    pass


class SchemaUnknown(StorageError):
    pass


class SecretsUnreadable(StorageError):
    pass


WITHOUT_LABEL = "Without the "
"""Begins the label of a button that leaves out a word."""

WITHOUT_THAT = "Without that"
"""The label of a line without its wrong part."""


def question(meant: Iterable[str]) -> str:
    """Follows a sentence; "" for nothing."""
    either = " or ".join(one if '"' in one else f'"{one}"' for one in dict.fromkeys(meant))
    return f" Did you mean {either}?" if either else ""


class CommandError(RacingBotError):
    """`str()` tells the person about the error and the right command.

    - `typed`: the wrong word, with `course:` before a wrong course; `meant`: right words by label.
    - `offers`: the same by label, the right word beside the wrong word. The command makes lines of them.
    - `lines`: command lines to type after /racing, by label. Working lines become buttons.
    - `asks`: the text asks which label was meant, and goes on with `after`.
    - `named_ids`: ids of channels and people in the text, shown as names.
    - `form`: words of `/racing subscribe`; a button opens the form, filled with them.
    - `edits`: the region of a subscription in the way; a button opens the form.
    - `asks_meaning`: the lines are all that was typed, read in several ways.
    """

    def __init__(
        self,
        told: str,
        *,
        typed: str = "",
        meant: Mapping[str, str] | None = None,
        lines: Mapping[str, str] | None = None,
        asks: bool = False,
        after: str = "",
        edits: str | None = None,
        form: str | None = None,
        named_ids: Sequence[str] = (),
        asks_meaning: bool = False,
    ) -> None:
        self.named_ids, self.asks_meaning = tuple(named_ids), asks_meaning
        self.told, self.asks, self.after, self.edits, self.form = told, asks, after, edits, form
        self.offers = {label: {typed: value} for label, value in (meant or {}).items()}
        self.lines = dict(lines or {})
        super().__init__(told)

    def __str__(self) -> str:
        asked = question([*self.offers, *self.lines]) if self.asks else ""
        return " ".join(filter(None, [f"{self.told}{asked}", self.after]))

    def offering(self, lines: Mapping[str, str]) -> "CommandError":
        """The same error, with these command lines instead of offers."""
        other = CommandError(self.told)
        vars(other).update(vars(self) | {"offers": {}, "lines": dict(lines)})
        return other


class FieldsWrong(CommandError):
    """`errors`: a sentence for each wrong field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


class ShellCommandFailed(RacingBotError):
    pass


class SubscriptionFileWrong(ProblemsFound):
    """`problems`: each with its place in the file."""


class ServiceError(RacingBotError):
    pass


class SlackError(RacingBotError):
    """`code`: Slack's error, or a word of ours."""

    def __init__(self, method: str, code: str, *, details: str | None = None) -> None:
        self.method = method
        self.code = code
        self.details = details
        super().__init__(f"{method}: {code}" + (f" ({details})" if details else ""))


class SlackUnreached(SlackError):
    pass


class SlackDoubtful(SlackError):
    pass


class SlackWait(SlackError):
    def __init__(self, method: str, code: str, retry_after_s: float) -> None:
        super().__init__(method, code)
        self.retry_after_s = retry_after_s


class SlackChannelClosed(SlackError):
    pass


class SlackCredentialsDead(SlackError):
    """The token is revoked, expired or unknown, or the workspace refuses calls or posts with the token."""


class SlackScopeMissing(SlackError):
    pass


class SlackMessageRefused(SlackError):
    pass


class SlackMessageGone(SlackError):
    pass


class SlackEditRefused(SlackError):
    pass


class SlackRefused(SlackError):
    pass


def reason_of(error: BaseException) -> str:
    """The first line of the driver's words, without the statement and the values."""
    cause = getattr(error, "orig", None) or error
    return next(iter(str(cause).splitlines()), "") or type(cause).__name__


def database_secrets(address: str) -> set[str]:
    """The passwords in a database's address, as written and decoded: an error of the driver may quote either."""
    password = re.search("://[^:/]*:([^@]*)@", address)
    pairs = [pair.partition("=") for pair in address.partition("?")[2].split("&")]
    written = [value for name, _, value in pairs if _SECRET_OPTION.search(unquote_plus(name))]
    written += [password[1]] if password else []
    return {decode(one) for one in written if one for decode in (str, unquote, unquote_plus)}
