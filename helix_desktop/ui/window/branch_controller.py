"""User actions that go back in the session on screen: edit, retry, go on from a point, rewind; versions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace, delete_session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import AgentWorking, HelixError, InvalidInput
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import SessionSummary, SessionVersions, log_parts
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.changes.change_groups import LineCounts
from helix_desktop.ui.changes.reverts.revert_flow import RevertFlow
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from helix_desktop.ui.chat.actions import EditMessage, OpenVersion, RetryAnswer, RowKey
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.rows.row_types import Versions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.kit.intents import BranchSession, RefreshLists, RewindTo, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.ui.window.workspace_controller import WorkspaceController
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")
text = TextContext("Changes")

_Point = tuple[str, int, str]  # the parent, the last event that it shares, and what the branch was made for


def find_versions(
    session_id: str, log: Sequence[RecordedEvent], summaries: Iterable[SessionSummary]
) -> dict[RowKey, Versions]:
    """Return the versions of messages and answers of a session, by row of its log, where there are several.

    A parent that is deleted has none any more, and a branch shows no versions of the session that it left.
    """
    by_id = {summary.id: summary for summary in summaries}
    own = SessionVersions(by_id.values()).ids_of(session_id)
    parts = log_parts(session_id, len(log), by_id)
    found: dict[RowKey, Versions] = {}
    groups = _groups(by_id.values())
    for parent, seq, how in sorted(groups, key=lambda point: point[1]):
        branches = groups[parent, seq, how]
        ids = [version for version in (parent, *(branch.id for branch in branches)) if version in own]
        on_screen = next((branch.id for branch in branches if branch.id in parts), parent)
        begins_before_end = on_screen != parent or parts.get(parent, 0) > seq
        if not begins_before_end or on_screen not in ids or len(ids) == 1:
            continue
        if (key := _row_of_versions(log, seq, is_edit=how == "edit")) is not None:
            if key in found:  # the message of an answer that didn't come was edited, too
                ids = list(dict.fromkeys([*found[key].session_ids, *ids]))
            found[key] = Versions(tuple(ids), ids.index(on_screen))
    return found


def _row_of_versions(log: Sequence[RecordedEvent], seq: int, *, is_edit: bool) -> RowKey | None:
    """Return the row of the message or answer behind event `seq` that has versions.

    Without an answer, as of a turn that runs, was stopped or failed, that of its message.
    """
    if is_edit:
        return next((RowKey(later.seq) for later in log[seq:] if isinstance(later.event, UserSpoke)), None)
    for later in log[seq:]:
        match later.event:
            case TurnEnded(how="done"):
                return RowKey(later.seq)
            case UserSpoke(steered=False):
                break
    messages = (shared for shared in reversed(log[:seq]) if isinstance(shared.event, UserSpoke))
    return next((RowKey(shared.seq) for shared in messages), None)


def _groups(summaries: Iterable[SessionSummary]) -> dict[_Point, list[SessionSummary]]:
    """Return the branches made by editing or retrying, by their point, oldest first."""
    groups: dict[_Point, list[SessionSummary]] = {}
    versions = [summary for summary in summaries if summary.is_version]
    for summary in sorted(versions, key=lambda summary: summary.created):
        point = (summary.branch_of, summary.branch_seq, summary.branch_how)
        groups.setdefault(point, []).append(summary)
    return groups


_EDITING = "editing"
_MAX_MESSAGES = 200  # messages to rewind to, the newest ones
_MakeBranch = Callable[[OpenWorkspace, str], Awaitable[Conversation]]


class BranchController(WindowPart):
    def __init__(
        self,
        window: MainWindow,
        windows: WindowGroup,
        workspaces: WorkspaceController,
        reverts: RevertFlow,
        chat: ChatPresenter,
    ) -> None:
        super().__init__(window, windows)
        self._workspaces = workspaces
        self._reverts = reverts
        self._chat = chat
        session = self._session
        start = self._start
        session.changed.connect(self._show_editing)
        session.loaded.connect(lambda: start(self._show_versions(), "show versions"))
        session.on(UserSpoke | TurnEnded, lambda _: self._show_editing())
        session.on(UserSpoke | TurnEnded, lambda _: start(self._show_versions(), "show versions"))
        # A version may have gone to the trash, or come back from there.
        windows.lists_changed.connect(lambda _: start(self._show_versions(), "show versions"))

    @handles(EditMessage)
    async def edit(self, seq: int) -> None:
        """Send a message again with other words, in a branch that begins before it."""
        await self._branch(lambda workspace, of: workspace.branches.open_for_edit(of, seq))

    @handles(BranchSession)
    async def branch(self, seq: int) -> None:
        """Go on from an event (0: the newest) in a branch of the session on screen."""
        await self._branch(lambda workspace, of: workspace.branches.open(of, seq))

    async def _branch(self, make: _MakeBranch) -> Conversation:
        workspace = self._session.workspace
        conversation = self._session.conversation
        compacted = conversation.session.transcript.window.handover
        made = await self._workspaces.show_new_session(workspace, make(workspace, conversation.session.id))
        if compacted not in (None, made.session.transcript.window.handover):
            what = tr("This begins before the last compaction.")
            why = tr("The context has those messages again, as they were. The original stays compacted.")
            self._session.notify(Notice("before-compaction", what, why, session_id=made.session.id))
        return made

    @handles(RetryAnswer)
    async def retry(self, seq: int) -> None:
        conversation = await self._branch(lambda workspace, of: workspace.branches.open_for_retry(of, seq))
        await conversation.retry()

    @handles(RewindTo)
    async def rewind(self, seq: int) -> None:
        """Preview going back to before the user's message of an event (0: their last one), and do it.

        Raises HelixError.
        """
        workspace = self._session.workspace
        conversation = self._session.conversation
        if conversation.is_running:
            raise AgentWorking(text("The agent is working."), fix=text("Stop it, then rewind."))
        items = conversation.session.transcript.messages.user_items
        messages = {item.seq: item.event.text for item in items if isinstance(item.event, UserSpoke)}
        if not messages:
            raise InvalidInput(text("This session has no message to rewind to."))
        newest = dict([*messages.items()][-_MAX_MESSAGES:])
        dialog = RewindDialog(self._window, newest, seq or max(newest))
        self._reverts.connect_opening(workspace, dialog.files)
        session_id = conversation.session.id
        plans: list[asyncio.Task[None]] = []

        def plan(point: int) -> None:
            for earlier in plans:
                earlier.cancel()
            plans.append(self._session.start(self._plan(workspace, session_id, dialog, point), "plan rewind"))

        dialog.point_changed.connect(plan)
        plan(dialog.seq)
        is_accepted = await exec_async(dialog)
        for task in plans:
            task.cancel()
        if is_accepted:
            await self._go_back(workspace, session_id, dialog)

    async def _plan(self, workspace: OpenWorkspace, session_id: str, dialog: RewindDialog, seq: int) -> None:
        try:
            plan = await workspace.changes.plan_rewind(session_id, seq)
        except HelixError as error:
            dialog.show_error(error)
            return
        dialog.show_plan(plan)
        for file in plan.files:
            diff = await workspace.changes.diff(file.present, file.former)
            dialog.files.show_counts({file.path: LineCounts.of(diff)})

    async def _go_back(self, workspace: OpenWorkspace, session_id: str, dialog: RewindDialog) -> None:
        plan = dialog.files.plan
        choices = dialog.files.choices
        seq = dialog.seq
        part = dialog.part
        done = None
        if part != "conversation" and plan.files:
            done = await self._reverts.apply(workspace, session_id, plan, choices)
        if part != "files":
            branch = await self._workspaces.show_new_session(
                workspace, workspace.branches.open_for_rewind(session_id, seq)
            )
            if done is not None:
                self._reverts.report(workspace, branch.session.id, done)
        elif done is not None:
            self._reverts.report(workspace, session_id, done)
        self._session.schedule_refresh()

    @handles(OpenVersion)
    async def open_version(self, session_id: str, is_source: bool, versions: tuple[str, ...]) -> None:
        """Show another version at its message, where this one stood, with the same arrow in focus."""
        view = self._window.pages.chat.view
        _, top, arrow = view.version_place(versions)
        await self._workspaces.open_linked_session(session_id)
        if versions and self._session.id == session_id:
            await self._show_versions()
            view.show_version(versions, top, arrow)

    async def _show_versions(self) -> None:
        if not self._session.has_conversation:
            return
        conversation = self._session.conversation
        session = conversation.session
        summaries = await self._session.workspace.sessions()
        if self._session.shows(conversation):
            self._chat.show_versions(find_versions(session.id, session.log, summaries))

    def _show_editing(self) -> None:
        """Say that the composer holds the new words of a message, until they are sent."""
        self._session.notices.end(_EDITING)
        transcript = self._session.transcript
        if not _is_editing(transcript):
            return
        branch = transcript.branch
        words = tr("Cancel edit")
        what = tr("Editing a message.")
        why = tr("Sending it makes another version. The original stays.")
        if branch is not None and branch.how == "rewind":
            words = tr("Back to the original")
            what = tr("Rewound to before this message.")
            why = tr("Sending it continues here. The original conversation stays as it is.")
        cancel = Answer(words, lambda: self._start(self._cancel_edit(), "cancel edit"), "cancel")
        notice = Notice(_EDITING, what, why, answers=(cancel,), can_dismiss=False)
        self._session.notices.notify_here(notice)

    async def _cancel_edit(self) -> None:
        """Go back to the session with the message, and put the branch into the trash.

        Files that were rewound with it stay so; that they can be put back is said again there.
        """
        workspace = self._session.workspace
        conversation = self._session.conversation
        if not _is_editing(self._session.transcript):
            return
        branch = conversation.session.transcript.branch
        assert branch is not None  # of a session in which something is edited
        await self._workspaces.open_linked_session(branch.parent)
        self._reverts.report_again(workspace, conversation.session.id, branch.parent)
        is_shown_elsewhere = self._session.shows(conversation)  # the original is
        if is_shown_elsewhere:
            await self._session.show(workspace, None)
        await delete_session(workspace, conversation.session.id, with_versions=False)
        self._windows.drafts.hide_unsaved(conversation.session.id)
        if is_shown_elsewhere:
            await self._workspaces.open_workspace(workspace.id)
        await self._session.run(RefreshLists())
        await self._show_versions()


def _is_editing(transcript: Transcript) -> bool:
    """Return True if a branch was made to edit a message or to rewind, and nothing was sent in it yet."""
    messages = transcript.messages.user_items
    return (
        transcript.branch is not None
        and transcript.branch.how in ("edit", "rewind")
        and not transcript.queued_messages
        and (not messages or messages[-1].seq < transcript.branched_at)
    )
