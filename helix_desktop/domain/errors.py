"""Errors a user can act on: what happened, why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)

if TYPE_CHECKING:  # the window's first frame needs the errors, not the structs of messages and tools
    from collections.abc import Iterable, Sequence

    from helix_desktop.domain.events.rewrite import SummaryProblem
    from helix_desktop.domain.tools import SubagentUsage

_text = TextContext("Agent")


class HelixError(Exception):
    """An error shown to the user: what happened, why, and what to do.

    Its texts are of the catalog; `verbatim` makes one of what another program said.
    """

    remedies: tuple[Remedy, ...] = ()
    """The parts of `fix` the app can do, the best first."""

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        *,
        remedies: tuple[Remedy, ...] | None = None,
        details: OptionalText = "",
    ) -> None:
        """`remedies` replace those of the class; `details` are another program's words, shown on request."""
        super().__init__(" ".join(part for part in (what, why, fix) if part))
        self.what = what
        self.why = why
        self.fix = fix
        self.details = details
        if remedies is not None:
            self.remedies = remedies


class InvalidInput(HelixError):
    """Typed input is invalid: an address, a model's label, a session's id."""


class AgentWorking(InvalidInput):
    """What was asked for has to wait for the end of the turn."""


class DataDirUnavailable(HelixError):
    """The data directory cannot be created, read or written."""


class SettingsDamaged(HelixError):
    """A settings file is not what it should be; the damaged file is kept aside."""


class SettingsUnreadable(SettingsDamaged):
    """A settings file cannot be read, and may be intact: nothing replaces it."""


class WorkspaceMissing(HelixError):
    """A workspace's folder is not there, or no workspace has that name."""


class WorkspaceUntrusted(HelixError):
    remedies: tuple[Remedy, ...] = ("trust_folder",)


class InstanceNotResponding(HelixError):
    """The process that has the data directory's window does not answer."""


class InvalidRecording(HelixError):
    """A recorded session cannot be read, or is not what it should be."""


class InvalidArchive(HelixError):
    """A file that is to be imported cannot be read, or is not what an export wrote."""


class ArchiveWriteFailed(HelixError):
    """A workspace could not be written to a file."""


class StoreError(HelixError):
    """The workspace's store could not do what was asked."""


class RevertRefused(HelixError):
    """Files could not be reverted; none of them was changed. `paths` are those that stood in the way."""

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        paths: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, why, fix)
        self.paths = paths


class StoreLocked(StoreError):
    def __init__(
        self, what: TranslatableText, owner_pid: int | None, why: OptionalText = "", fix: OptionalText = ""
    ) -> None:
        super().__init__(what, why, fix)
        self.owner_pid = owner_pid


class StoreClosed(StoreError):
    """The store was closed before the call."""


class WorkspaceClosed(StoreClosed):
    """This process closed the store with its workspace."""


class StoreUnreadable(StoreError):
    """The store's files are damaged or of an unknown format."""


class StoreFormatUnknown(StoreUnreadable):
    """The store has the format of another version, and stays as it is."""


class StoreDamaged(StoreUnreadable):
    """The store's files are not what was written; what is left of them may still be read one by one."""


class StoreRepaired(StoreError):
    """A notice that the store was damaged and repaired, shown once, with what was lost. Never raised."""


class StoreWriteFailed(StoreError):
    """The disk refused a write; nothing of the refused batch counts as stored."""


class DigestUnknown(StoreError):
    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        near: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, why, fix)
        self.near = near


class ContentRedacted(DigestUnknown):
    """The content was removed at the user's request."""


class DigestAmbiguous(StoreError):
    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        near: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, why, fix)
        self.near = near


class ContentDamaged(StoreError):
    """The stored bytes no longer have the digest they were stored under."""


class ContentTooLarge(StoreError):
    """A content is over the store's cap."""


class ModelError(HelixError):
    """A model call failed, and is not repeated."""


class ModelUnreachable(ModelError):
    """The model's server did not answer, also after retries."""

    remedies: tuple[Remedy, ...] = ("choose_model",)


class ModelRequestRejected(ModelError):
    """The model's server refused the request: key, name or parameters."""

    remedies: tuple[Remedy, ...] = ("choose_model",)


class AuthenticationFailed(ModelRequestRejected):
    """The model's server rejects the key, or requires one."""

    remedies: tuple[Remedy, ...] = ("enter_key",)


class RefusedImages(NamedTuple):
    """The images that a server refused: those it names, by their digests, or how many of all are too many.

    Both empty: it did not say.
    """

    named: tuple[str, ...] = ()
    excess: int = 0


class ImagesRejected(ModelRequestRejected):
    """The model's server refused an image.

    `refused` is what its words say of it; `seqs` are the messages that may hold it.
    """

    remedies: tuple[Remedy, ...] = ("send_without_images", "choose_model")

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        seqs: tuple[int, ...] = (),
    ) -> None:
        super().__init__(what, why, fix)
        self.seqs = seqs
        self.refused = RefusedImages()


class InputFiltered(ModelRequestRejected):
    """A content filter refused the request; `seqs` is the message of the output that may be the cause."""

    remedies: tuple[Remedy, ...] = ("send_without_output", "choose_model")

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        seqs: tuple[int, ...] = (),
    ) -> None:
        super().__init__(what, why, fix, remedies=None if seqs else ("choose_model",))
        self.seqs = seqs


class ContextWindowExceeded(ModelError):
    """The model's server says that the request is larger than the window.

    `request_tokens` and `window_size` are its own counts, as far as it reported them; 0: it did not. With
    `is_rate` it is not about the window but about a limit in some time: nothing is learned from that.
    `believed` is the window that counted until this error showed a smaller one; 0: it did not.
    """

    remedies: tuple[Remedy, ...] = ("compact", "provider_settings")

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        *,
        request_tokens: int = 0,
        window_size: int = 0,
        is_rate: bool = False,
        remedies: tuple[Remedy, ...] | None = None,
    ) -> None:
        super().__init__(what, why, fix, remedies=remedies)
        self.request_tokens = request_tokens
        self.window_size = window_size
        self.is_rate = is_rate
        self.believed = 0


class InvalidModelResponse(ModelError):
    remedies: tuple[Remedy, ...] = ("choose_model",)


class ToolError(HelixError):
    """A tool could not do what the agent asked; the agent gets the message, in English."""

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(verbatim(what), verbatim(why), verbatim(fix))


UNNAMED_CALL = "unnamed_call"
"""The name of a tool call whose model or server gave none: servers refuse an empty one."""


class UnknownTool(ToolError):
    """The agent called an unknown tool; the error lists the known ones, those with similar names first."""

    def __init__(self, name: str, tools: Iterable[str], near: Sequence[str] = ()) -> None:
        what = "The call names no tool." if name == UNNAMED_CALL else f"There is no tool {name[:80]!r}."
        why = f"Tools with similar names: {', '.join(near)}." if near else ""
        super().__init__(what, why, f"The tools are: {', '.join(tools)}.")


class SubagentFailed(ToolError):
    """A subagent could not do its task; `session_id` is where its log is, `delegated` what it took."""

    def __init__(
        self, what: str, session_id: str, why: str = "", fix: str = "", delegated: SubagentUsage | None = None
    ) -> None:
        super().__init__(what, why, fix)
        self.session_id = session_id
        self.delegated = delegated


class ModelNotChosen(HelixError):
    """The model of a session is not available, and the user has not chosen another."""

    remedies: tuple[Remedy, ...] = ("choose_model",)

    WHAT = _text("Nothing was sent. Choose a model to continue.")

    def __init__(self, label: str, fix: OptionalText = "", *, is_chosen: bool = False) -> None:
        """`label` is the model that answered last, or with `is_chosen` the one chosen for the session."""
        self.label = label
        self.is_chosen = is_chosen
        why = (
            _text("{model}, chosen for this session, isn't available.", model=label)
            if is_chosen
            else _text("This session used {model} so far.", model=label)
        )
        super().__init__(
            self.WHAT, join_sentences(why, _text("Another model would receive the whole session.")), fix
        )


class ReadingLost(HelixError):
    """What the agent reads leaves the context before the model sees it, again and again."""

    remedies: tuple[Remedy, ...] = ("choose_model",)


class BudgetExhausted(HelixError):
    remedies: tuple[Remedy, ...] = ("set_budget",)


class RequestInvalid(HelixError):
    """The next request would break the wire format's rules and cannot be repaired."""

    remedies: tuple[Remedy, ...] = ("undo_compaction",)


class RequestTooLarge(HelixError):
    """The next request does not fit the window, also after everything allowed was tried."""

    remedies: tuple[Remedy, ...] = ("choose_model", "new_session")


class CompactionRefused(HelixError):
    """A handover would not help, or what came back is not acceptable."""


class SummaryRefused(CompactionRefused):
    """A model's summary says too little of what it would stand for; `text` is what the model wrote."""

    def __init__(self, problem: SummaryProblem, text: str, why: TranslatableText) -> None:
        super().__init__(
            _text("The model's text wasn't used."), why, _text("Try again, or choose another model.")
        )
        self.problem = problem
        self.text = text


class OutputFormUnavailable(HelixError):
    """An output cannot be shown in the form that was chosen."""
