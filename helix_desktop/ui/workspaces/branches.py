"""User actions that make versions and branches of the session on screen: edit, retry, go on from a point."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace, delete_session
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.ui.chat.actions import EditMessage, OpenVersion, RetryAnswer
from helix_desktop.ui.chat.rows.versions import find_versions
from helix_desktop.ui.kit.intents import BranchSession, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.session.changes.revert_flow import RevertFlow
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_EDITING = "editing"
_MakeBranch = Callable[[OpenWorkspace, str], Awaitable[Conversation]]


class BranchController(QObject):
    """Binds the buttons below messages to the workspace, and shows the versions that there are."""

    def __init__(
        self, context: ControllerContext, workspace_controller: WorkspaceController, reverts: RevertFlow
    ) -> None:
        super().__init__(context.window)
        self._reverts = reverts
        self._notices, self._active_workspace = context.window.notices, context.active_workspace
        self._workspace_controller = workspace_controller
        self._session_controller = session = workspace_controller.session_controller
        self._view = context.views.chat.view
        start = self._start = context.async_actions.start
        context.window.intents.add(self)
        session.session_changed.connect(self._show_editing)
        session.session_loaded.connect(lambda: start(self._show_versions(), "show versions"))
        session.on(UserSpoke | TurnEnded, lambda _: self._show_versions_now())
        # A version may have gone to the trash, or come back from there.
        context.windows.lists_changed.connect(lambda _: start(self._show_versions(), "show versions"))

    @handles(EditMessage)
    async def edit(self, seq: int) -> None:
        """Send a message again with other words, in a branch that begins before it."""
        await self._branch(lambda workspace, of: workspace.branches.open_for_edit(of, seq))

    @handles(BranchSession)
    async def branch(self, seq: int) -> None:
        """Go on from an event (0: the newest) in a branch of the session on screen."""
        await self._branch(lambda workspace, of: workspace.branches.open(of, seq))

    async def _branch(self, make: _MakeBranch) -> None:
        await self._make_branch(make)

    async def _make_branch(self, make: _MakeBranch) -> Conversation | None:
        """Make a branch of the session on screen, show it and return it; None if no session is on screen."""
        workspace, conversation = self._active_workspace.opened, self._session_controller.conversation
        if workspace is None or conversation is None:
            return None
        compacted = conversation.session.transcript.window.handover
        made = await self._workspace_controller.session_opener.show_new_session(
            workspace, make(workspace, conversation.session.id)
        )
        if made is not None and compacted not in (None, made.session.transcript.window.handover):
            self._notices.notify(
                Notice(
                    "before-compaction",
                    tr("This begins before the last compaction."),
                    tr(
                        "The context has those messages again, as they were. The original keeps its handover."
                    ),
                    session_id=made.session.id,
                )
            )
        return made

    @handles(RetryAnswer)
    async def retry(self, seq: int) -> None:
        conversation = await self._make_branch(
            lambda workspace, of: workspace.branches.open_for_retry(of, seq)
        )
        if conversation is not None:
            await conversation.retry()

    @handles(OpenVersion)
    async def open_version(self, session_id: str, is_source: bool, versions: tuple[str, ...]) -> None:
        """Show another version at its message, where this one stood, with the same arrow in focus."""
        _, top, arrow = self._view.version_place(versions)
        await self._workspace_controller.session_opener.open_linked_session(session_id)
        conversation = self._session_controller.conversation
        if versions and conversation is not None and conversation.session.id == session_id:
            await self._show_versions()
            self._view.show_version(versions, top, arrow)

    def _show_versions_now(self) -> None:
        self._show_editing()
        self._start(self._show_versions(), "show versions")

    async def _show_versions(self) -> None:
        """Show below messages and answers which other versions they have."""
        workspace, conversation = self._active_workspace.opened, self._session_controller.conversation
        if workspace is None or conversation is None:
            return
        session = conversation.session
        summaries = await workspace.sessions()
        if conversation is self._session_controller.conversation:
            self._session_controller.chat.show_versions(find_versions(session.id, session.log, summaries))

    def _show_editing(self) -> None:
        """Say that the composer holds the new words of a message, until they are sent."""
        self._notices.end(_EDITING)
        conversation = self._session_controller.conversation
        if conversation is None or not _is_editing(conversation):
            return
        branch = conversation.session.transcript.branch
        is_rewound = branch is not None and branch.how == "rewind"
        cancel = Answer(
            tr("Back to the original") if is_rewound else tr("Cancel edit"),
            lambda: self._start(self._cancel_edit(), "cancel edit"),
            "cancel",
        )
        self._notices.notify_here(
            Notice(
                _EDITING,
                tr("Rewound to before this message.") if is_rewound else tr("Editing a message."),
                tr("Sending it continues here. The original conversation stays as it is.")
                if is_rewound
                else tr("Sending it makes another version. The original stays."),
                answers=(cancel,),
                can_dismiss=False,
            )
        )

    async def _cancel_edit(self) -> None:
        """Go back to the session with the message, and put the branch into the trash.

        Files that were rewound with it stay so; that they can be put back is said again there.
        """
        workspace, conversation = self._active_workspace.opened, self._session_controller.conversation
        if workspace is None or conversation is None or not _is_editing(conversation):
            return
        branch = conversation.session.transcript.branch
        assert branch is not None  # of a session in which something is edited
        await self._workspace_controller.session_opener.open_linked_session(branch.parent)
        self._reverts.report_again(workspace, conversation.session.id, branch.parent)
        is_shown_elsewhere = conversation is self._session_controller.conversation  # the original is
        if is_shown_elsewhere:
            await self._session_controller.show(workspace, None)
        await delete_session(workspace, conversation.session.id, with_versions=False)
        self._session_controller.composer.drafts.unsaved.hide(conversation.session.id)
        if is_shown_elsewhere:
            await self._workspace_controller.open_workspace(workspace.id)
        await self._workspace_controller.sidebar.refresh()
        await self._show_versions()


def _is_editing(conversation: Conversation) -> bool:
    """Return True if a branch was made to edit a message or to rewind, and nothing was sent in it yet."""
    transcript = conversation.session.transcript
    messages = transcript.messages.user_items
    return (
        transcript.branch is not None
        and transcript.branch.how in ("edit", "rewind")
        and not transcript.queued_messages
        and (not messages or messages[-1].seq < transcript.branched_at)
    )
