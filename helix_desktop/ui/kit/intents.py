"""Intents: what a click, a key, a menu, a link, a notice or a slash command wants; and who handles it.

An intent is a value (`Undo((12,))`). `perform(widget, intent)` hands it up to the window of a widget, whose
`perform` is the only way up. A method that `@handles` it takes its fields as arguments, by name.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, dataclass_transform

from PySide6.QtCore import QObject

from helix_desktop.domain.errors import HelixError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_desktop.domain.choices import Remedy
    from helix_desktop.domain.events.summary import HandoverMade
    from helix_desktop.ui.design.async_actions import AsyncActions
    from helix_desktop.ui.design.style.stylesheet import ThemeMode

_Method = TypeVar("_Method", bound=Callable[..., Any])
_HANDLED = "handled_intent"
_log = logging.getLogger(__name__)


@dataclass_transform(frozen_default=True)
class Intent:
    """What the user wants, with all that it is about: its fields, with their defaults.

    It behaves as a frozen dataclass. The first frame needs all kinds of them, and can wait neither for
    dataclasses, which take 30 times longer to define, nor for the import of msgspec.
    """

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, frozen: Literal[True] = True) -> None:
        own = vars(cls).get("__annotations__", {})
        cls.fields = (*cls.fields, *own)
        type.__setattr__(cls, "__match_args__", cls.fields)

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = type(self)
        named.update(zip(cls.fields, values, strict=False))
        missing = [name for name in cls.fields if name not in named and not hasattr(cls, name)]
        if missing or len(values) > len(cls.fields) or not named.keys() <= set(cls.fields):
            raise TypeError(f"{cls.__name__} takes {cls.fields}, not {values} and {named}")
        vars(self).update(named)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    @property
    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).fields}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Intent) and type(self) is type(other) and self.values == other.values

    def __hash__(self) -> int:
        return hash((type(self), *self.values.values()))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"
        )


def handles(kind: type[Intent]) -> Callable[[_Method], _Method]:
    """Let a method do what intents of a kind want; it takes their fields, by name."""

    def mark(method: _Method) -> _Method:
        setattr(method, _HANDLED, kind)
        return method

    return mark


def handled_intent(method: object) -> type[Intent] | None:
    return getattr(method, _HANDLED, None)


class IntentHandlers:
    """Who handles what in one window. Several objects may handle one kind: each does its part."""

    def __init__(self) -> None:
        self.async_actions: AsyncActions | None = None
        """Runs what awaits, and shows errors; without it errors are raised, and nothing awaits."""
        self._handlers: dict[type[Intent], list[tuple[Callable[[], object], str]]] = {}

    def add(self, handler: object) -> None:
        """Let an object handle what methods of its class are marked for."""
        self.add_lazy(type(handler), lambda: handler)

    def add_lazy(self, kind_of_handler: type, get: Callable[[], object]) -> None:
        """The same for what may not be there yet: `get` is called for each intent that it handles."""
        for name, method in vars(kind_of_handler).items():
            if (kind := handled_intent(method)) is not None:
                self._handlers.setdefault(kind, []).append((get, name))

    def knows(self, intent: Intent) -> bool:
        return type(intent) in self._handlers

    def _handlers_of(self, intent: Intent) -> Sequence[tuple[Callable[[], object], str]]:
        """Return who handles an intent; one that nobody does is an error of the app, which goes on."""
        if type(intent) not in self._handlers:
            _log.error("Nobody does what %s wants", type(intent).__name__)
        return self._handlers.get(type(intent), ())

    def perform(self, intent: Intent) -> None:
        """Do what an intent wants; what awaits is begun, and errors are shown where the user looks."""
        for get, name in self._handlers_of(intent):
            try:
                outcome = getattr(get(), name)(**intent.values)
            except HelixError as error:
                if self.async_actions is None:
                    raise
                self.async_actions.show_error(error)
            else:
                if inspect.iscoroutine(outcome):
                    assert self.async_actions is not None, "a window without controllers starts nothing"
                    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(intent).__name__)
                    self.async_actions.start(outcome, words.lower())  # "new session" in the log

    async def run(self, intent: Intent) -> None:
        """Do what an intent wants, to its end. Raises HelixError."""
        for get, name in self._handlers_of(intent):
            outcome = getattr(get(), name)(**intent.values)
            if inspect.iscoroutine(outcome):
                await outcome


def perform(source: QObject | None, intent: Intent) -> None:
    """Hand an intent up from a widget, a menu or a dialog to the window that it belongs to."""
    place = source
    while place is not None:
        handler: Callable[[Intent], None] | None = getattr(place, "perform", None)
        if handler is not None:
            handler(intent)
            return
        place = place.parent()
    raise LookupError(f"{source} stands in nothing that performs {intent}")


# What commands and rows of several pages want; what rows of one page want stands with that page.
# fmt: off

class OpenFolder(Intent, frozen=True):  # as a workspace; none named: ask for it
    path: str = ""
class OpenSample(Intent, frozen=True): ...
class ShowWorkspace(Intent, frozen=True):
    workspace_id: str
    read_only: bool = False
class ShowFolder(Intent, frozen=True):  # of a workspace
    workspace_id: str
class RenameWorkspace(Intent, frozen=True):
    workspace_id: str
class LocateWorkspace(Intent, frozen=True):  # choose its folder, which was moved
    workspace_id: str
class RemoveWorkspace(Intent, frozen=True):  # from the list
    workspace_id: str
class NewSession(Intent, frozen=True):  # in a workspace by its id; none: the one on screen
    workspace_id: str = ""
# of any workspace, in the window that shows it: at an event or, of its outputs, at a line; with a text marked
class GoToSession(Intent, frozen=True):
    workspace_id: str
    session_id: str
    seq: int = 0
    mark: str = ""
    digest: str = ""
    line: int = 0
class RefreshLists(Intent, frozen=True): ...  # of workspaces and sessions, in all windows
class NewWindow(Intent, frozen=True): ...
class OpenPicker(Intent, frozen=True):  # with something typed already: ">" lists commands
    typed: str = ""
class SearchEverything(Intent, frozen=True):  # messages, outputs, handovers, file names of all workspaces
    words: str = ""
class ShowTrash(Intent, frozen=True): ...  # outputs of it on their page, sessions in the list
class ShowUnused(Intent, frozen=True): ...  # outputs that no session uses
class TrashUnused(Intent, frozen=True): ...  # all of these that a clean-up may take
class DeletePermanently(Intent, frozen=True):  # outputs and sessions in the trash, after a question
    digests: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
class EmptyTrash(Intent, frozen=True): ...  # after a question
class RemoveSecret(Intent, frozen=True):  # a text, or an output by its digest
    digest: str = ""
class Export(Intent, frozen=True):  # after a question, in which this is chosen; none: what is on screen
    workspace_id: str = ""
    session_id: str = ""
    digests: tuple[str, ...] = ()
    all_workspaces: bool = False
class Import(Intent, frozen=True):  # after a question, into a workspace by its id; none: the one on screen
    workspace_id: str = ""
class ImportArchive(Intent, frozen=True):  # an exported workspace, after a question
    path: Path
class ImportSessions(Intent, frozen=True): ...  # of other agents, into the workspace on screen
class OpenSettings(Intent, frozen=True):  # no name: the page that was shown last
    page: str = ""
class ChooseProfile(Intent, frozen=True):  # of the context policy, for the workspace on screen
    name: str
class ManageAtMost(Intent, frozen=True):  # tokens of the model's window, in the workspace on screen; 0: all
    tokens: int
class ShowServer(Intent, frozen=True):  # an MCP server in the settings: its tools, or the secret it lacks
    name: str
    lacks_secret: bool = False
class Quit(Intent, frozen=True): ...
class PressKey(Intent, frozen=True):  # as portable text, on the widget in focus
    key: str
class CopyMarkdown(Intent, frozen=True):  # the messages that a selection touches; without one, all
    pass
class Find(Intent, frozen=True):
    words: str = ""
class GoToOwnMessage(Intent, frozen=True):  # of the user: the previous (-1) or the next (1)
    direction: int
class ShowPage(Intent, frozen=True):  # chat, outputs, timeline, changes or comparison
    name: str
class ClosePage(Intent, frozen=True): ...  # and show the one before it
class SearchCache(Intent, frozen=True):
    words: str
class ShowCommitChanges(Intent, frozen=True): ...  # what differs from the last commit
class TogglePane(Intent, frozen=True):
    name: Literal["sidebar", "panel"]
class ShowRequest(Intent, frozen=True): ...  # as it is sent
class FocusComposer(Intent, frozen=True): ...
class FocusPane(Intent, frozen=True):  # the next (1) or the previous (-1)
    step: int
class SetTheme(Intent, frozen=True):
    mode: ThemeMode
class Zoom(Intent, frozen=True):  # larger (1), smaller (-1), or of normal size (0)
    steps: int
class SetMode(Intent, frozen=True):  # by its name, as it was chosen or typed
    mode: str
class NextMode(Intent, frozen=True): ...
class ChooseEffort(Intent, frozen=True):  # nothing typed: offer the levels
    level: str = ""
WORKSPACE_DEFAULT = "default"
"""What is typed for the model of the workspace."""
class ChooseModel(Intent, frozen=True):  # nothing typed: offer the models
    name: str = ""
class AddProvider(Intent, frozen=True):  # in the settings; its key may be known already
    key: str = ""
class EnterKey(Intent, frozen=True):  # of a provider, in the settings
    provider: str
class SetBudget(Intent, frozen=True):  # as it was typed; nothing typed: ask
    amount: str = ""
class StopAgent(Intent, frozen=True): ...
class Steer(Intent, frozen=True): ...  # send what is typed into the running turn
# stop the running command, and send a message that waits for it, by its event; 0: the first
class StopAndSend(Intent, frozen=True):
    seq: int = 0
class ShowWaiting(Intent, frozen=True): ...  # the first card of the session that waits for the user
class ShowWaitingSession(Intent, frozen=True):  # the same of another session, of any workspace
    workspace_id: str
    session_id: str
class AnswerApproval(Intent, frozen=True):  # the first card that waits: once or deny
    answer: str
class AskSideQuestion(Intent, frozen=True):  # nothing typed: let the user write it
    question: str = ""
class Compact(Intent, frozen=True):  # by a handover, which dwells on what was typed
    focus: str = ""
class Observe(Intent, frozen=True): ...
class UndoLast(Intent, frozen=True): ...  # the newest change of the context
class RedoLast(Intent, frozen=True): ...  # what was undone last
class PauseCompaction(Intent, frozen=True): ...  # or resume it
class RenameSession(Intent, frozen=True):  # nothing typed: let the user edit the title on screen
    title: str = ""
    session_id: str = ""  # none: the one on screen
class PinSession(Intent, frozen=True):  # or unpin it; none: the one on screen, whichever it is not
    session_id: str = ""
    is_on: bool = True
class ArchiveSession(Intent, frozen=True):  # or unarchive it, likewise
    session_id: str = ""
    is_on: bool = True
class TrashSession(Intent, frozen=True):
    session_id: str
class RestoreSession(Intent, frozen=True):  # none: the one that was moved to the trash last
    session_id: str = ""
class OpenListedSession(Intent, frozen=True):  # chosen in the list
    session_id: str
class OpenInNewWindow(Intent, frozen=True):
    session_id: str
class ShowGuide(Intent, frozen=True):
    topic: str
class BranchSession(Intent, frozen=True):  # from an event; 0: from the newest
    seq: int = 0
class ExportUpTo(Intent, frozen=True):  # the session up to an event, as a document for others
    seq: int
class RewindTo(Intent, frozen=True):  # before a message of the user, by its event; 0: the last
    seq: int = 0
class Undo(Intent, frozen=True):  # rewrites of the window, by their events
    seqs: tuple[int, ...]
class Redo(Intent, frozen=True):  # lets undone rewrites hold again
    seqs: tuple[int, ...]
class RetryFailed(Intent, frozen=True):  # what failed
    kind: Literal["handover", "observations", "turn"]
class CancelCompaction(Intent, frozen=True): ...  # the one that runs
class ShowHandover(Intent, frozen=True):  # in its window, by its event; -1: the one as it would be now
    seq: int = -1
    place: Literal["text", "changes"] = "text"  # to edit it, or to compare it
    is_compaction: bool = False  # to run it again, with a focus or another range
class ExportHandover(Intent, frozen=True):  # as a document for others
    seq: int
# in a new one, from a handover by its event; 0: from the one as it would be now, or from `handover`
class ContinueSession(Intent, frozen=True):
    handover_seq: int
    handover: HandoverMade | None = None
class OpenSession(Intent, frozen=True):  # another one that this one is linked with
    session_id: str
# where it stands in the chat, with a text marked; what has a card, in the timeline
class ShowEvent(Intent, frozen=True):
    seq: int
    mark: str = ""
class ShowInTimeline(Intent, frozen=True):  # the card of a rewrite
    seq: int
    is_handover: bool = False
class LookAtStep(Intent, frozen=True):  # what was sent then, by its event; 0: now
    seq: int
class OpenOutput(Intent, frozen=True):  # a content on the Outputs page, with a text marked from a line on
    digest: str
    mark: str = ""
    line: int = 0
# a content, or its lines `first` to `last` (0: all), into the next message
class Recall(Intent, frozen=True):
    digest: str
    first: int = 0
    last: int = 0
class Pin(Intent, frozen=True):  # an output in the window, by its event, or unpin it
    seq: int
    is_pinned: bool = True
class SendAll(Intent, frozen=True):  # of an output of which the agent sees a part, or a line
    seq: int
class ApplyRemedy(Intent, frozen=True):  # what helps against an error: who can do it does it
    remedy: Remedy
class CopyText(Intent, frozen=True):
    text: str
