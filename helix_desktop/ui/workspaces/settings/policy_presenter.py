"""Fills the policy page, applies what is edited there, and follows policy files that are edited by hand."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_fields, policy_from
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.policy.apply_bar import PolicyUse
from helix_desktop.ui.settings.policy.form import FILE_FIELDS, conflict_text
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.settings.policy_preview import PolicyPreview, ReplayPreparation
from helix_desktop.words.policies import policy_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.policy_file import PolicyFile

tr = Translator("Settings: Policy")
_FILE_ERROR, _PREVIEW = "policy-file", "policy-preview"
_SETTLE_MS = 150  # an editor may write a file in several steps


class PolicyPresenter(QObject):
    """Binds the policy page to the workspace on screen, and every open workspace to its policy file."""

    page_requested = Signal()
    """The page is to come on screen."""

    def __init__(self, window: MainWindow, session: Session) -> None:
        """Follow the files at once; the page comes with `attach`."""
        super().__init__(window)
        self._notices, self._services = window.notices, session.app
        self._async_actions, self._session = session.actions, session
        self.replays = SessionReplays(PolicyReplayWorker)
        self.preparation = ReplayPreparation(window, session, self.replays)
        self._page: PolicyPage | None = None
        self._preview: PolicyPreview | None = None
        self._edited: dict[str, ContextPolicy] = {}  # on the page of a workspace, and used nowhere yet
        self._workspace_on_page = ""
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._errors: dict[str, SettingsDamaged] = {}
        self._watcher = QFileSystemWatcher(self)
        self._reload_timer = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._reload_timer.timeout.connect(self._reload_edited)
        self._watcher.fileChanged.connect(lambda _: self._reload_timer.start())
        self._watcher.directoryChanged.connect(lambda _: self._reload_timer.start())
        session.changed.connect(self._watch)
        session.changed.connect(self._follow_session)

    def attach(self, page: PolicyPage) -> None:
        """Bind the page, once it is built."""
        self._page = page
        self._preview = PolicyPreview(page, self._async_actions, self.replays)
        page.slider.profile_selected.connect(self._select_profile)
        page.values.change = self._change
        page.apply_bar.apply_to_session.connect(self._apply_to_session)
        page.apply_bar.apply_to_workspace.connect(self._apply_to_workspace)
        page.apply_bar.session_policy_removed.connect(lambda: self._set_session_policy(None))
        page.apply_bar.discarded.connect(lambda: self._replace(None))
        page.open_requested.connect(self._open_file)
        page.replace_requested.connect(self._replace_file)
        page.visibility_changed.connect(self._on_visibility)

    def show(self) -> None:
        """Show the policy of the session on screen, or what was edited of it."""
        workspace, conversation = self._session.opened, self._session.find_conversation()
        if workspace is None:
            if self._page is not None:
                self._page.show_no_workspace()
            return
        if self._page is not None and self._preview is not None:
            if workspace.id != self._workspace_on_page:
                self._workspace_on_page = workspace.id
                self._page.form.refresh()
            policy, in_use = self._policy(workspace), self._in_use(workspace)
            name = self._services.registry.get(workspace.id).name
            self._page.show_policy(name, policy, self._use_of(workspace, policy))
            folder = self._services.registry.data_folder(workspace.id)
            self._preview.show(conversation, folder, policy, in_use, workspace.policy)
        self._show_file_error()

    def _follow_session(self) -> None:
        """Show the session that is on screen now, if the page is in sight."""
        if not self._session.has_conversation:  # a secret is about to be removed, perhaps
            self._async_actions.start(self.close(), "end policy replays")
        if self._page is not None and self._page.isVisible():
            self.show()
        workspace = self._session.opened
        if workspace is not None and self._policy(workspace) == self._in_use(workspace):
            self._notices.end(_PREVIEW)  # this session has what another one had not

    def _in_use(self, workspace: OpenWorkspace) -> ContextPolicy:
        """Return the policy of the session on screen: its own, or its workspace's."""
        return self._session_policy or workspace.policy

    def _policy(self, workspace: OpenWorkspace) -> ContextPolicy:
        """Return the policy on the page."""
        return self._edited.get(workspace.id) or self._in_use(workspace)

    @property
    def _session_policy(self) -> ContextPolicy | None:
        return self._session.transcript.session_policy

    def _use_of(self, workspace: OpenWorkspace, policy: ContextPolicy) -> PolicyUse:
        conversation, session_policy = self._session.find_conversation(), self._session_policy
        has_session = conversation is not None and not conversation.session.transcript.parent
        return PolicyUse(
            policy_name(workspace.policy),
            policy_name(session_policy) if session_policy is not None and has_session else "",
            has_session,
            policy != self._in_use(workspace),
            policy != self._in_use(workspace),
            policy != workspace.policy,
        )

    def _policy_file(self, workspace: OpenWorkspace) -> PolicyFile:
        return self._services.registry.policy_file(workspace.id)

    async def close(self) -> None:
        """End the process that replays sessions."""
        self.preparation.stop()
        if self._preview is not None:
            self._preview.stop()
        await self.replays.close()

    def _on_visibility(self, is_visible: bool) -> None:
        self.preparation.set_page_visible(is_visible=is_visible)
        if is_visible:
            self._notices.end(_PREVIEW)
            self.show()
        elif self._preview is not None:
            self._preview.leave()

    def remind_of_preview(self) -> None:
        """Say that a policy was looked at and is not in use, once the settings are closed."""
        workspace = self._session.opened
        if workspace is None or self._policy(workspace) == self._in_use(workspace):
            return
        self._notices.notify(
            Notice(
                _PREVIEW,
                tr("Policy not applied: {policy}.", policy=policy_name(self._policy(workspace))),
                tr("The settings keep it as a preview."),
                answers=(
                    Answer(tr("Show"), self.page_requested.emit, "show", ends=True),
                    Answer(tr("Discard"), lambda: self._replace(None), "discard", ends=True),
                ),
                workspace_id=workspace.id,
                is_brief=True,
            )
        )

    def _edit(self, policy: ContextPolicy | None) -> None:
        """Put a policy on the page, that is used nowhere yet; None: the one in use."""
        self._edited.pop(self._session.workspace_id, None)
        if policy is not None:
            self._edited[self._session.workspace_id] = policy
        self.show()

    def _replace(self, policy: ContextPolicy | None) -> None:
        """Put another policy on the page, without what was typed for the one there."""
        if self._page is not None:
            self._page.form.refresh()
        self._edit(policy)

    def _has_wrong_field(self) -> bool:
        """Return True, with the keyboard there, if a field has a value that can't be used."""
        return self._page is not None and self._page.form.focus_error()

    def _change(self, name: str, value: object) -> None:
        """Change a number of the policy on the page. Raises ValueError if it doesn't work with others."""
        workspace = self._session.opened
        if workspace is None:
            return
        changed = {**msgspec.structs.asdict(self._policy(workspace)), name: value}
        try:
            edited = policy_from(changed)
        except ValueError:
            raise ValueError(conflict_text(changed)) from None
        self._edit(edited)
        if self._page is not None:
            for other in self._page.form.errors():
                if other != name:
                    self._page.form.retry(other)

    def _select_profile(self, name: str) -> None:
        """Put a profile on the page, with what only the file has."""
        workspace = self._session.opened
        if workspace is None:
            return
        of_file = {} if workspace.id in self._errors else self._policy_file(workspace).fields()
        own = {**of_file, **policy_fields(self._policy(workspace))}
        fields = {**{key: own[key] for key in own if key in FILE_FIELDS}, "profile": name}
        try:
            self._replace(policy_from(fields))
        except ValueError:
            numbers = {**msgspec.structs.asdict(PROFILES[name]), **fields}
            why = conflict_text(numbers)
            self._show_field_error(why, ("handover_at", "observe_at"))

    def _apply_to_workspace(self) -> None:
        workspace = self._session.opened
        if workspace is None or self._has_wrong_field():
            return
        policy = self._policy(workspace)
        if not self._reload(workspace):
            return
        try:
            self._policy_file(workspace).save(policy)
        except HelixError as error:
            self._async_actions.show_error(error)
        else:
            self._edited.pop(workspace.id, None)
            self._use(workspace, policy)

    def _apply_to_session(self) -> None:
        workspace = self._session.opened
        if workspace is not None and not self._has_wrong_field():
            self._set_session_policy(self._policy(workspace))

    def _set_session_policy(self, policy: ContextPolicy | None) -> None:
        conversation = self._session.conversation
        self._async_actions.start(self._record_session_policy(conversation, policy), "policy of a session")

    async def _record_session_policy(self, conversation: Conversation, policy: ContextPolicy | None) -> None:
        await conversation.choose_policy(policy)
        if self._session.shows(conversation):
            self._edit(None)

    def _show_field_error(self, why: str, fields: tuple[str, ...]) -> None:
        if self._page is not None:
            for key in fields:
                self._page.form.show_error(key, why)

    def _use(self, workspace: OpenWorkspace, policy: ContextPolicy) -> None:
        self._errors.pop(workspace.id, None)
        workspace.policy = policy
        self.show()

    def _watch(self) -> None:
        """Watch the files of all open workspaces, and their folders: editors replace files."""
        paths = [
            path
            for workspace in self._services.open_workspaces.values()
            for path in self._watched_paths(workspace)
        ]
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if missing := [path for path in paths if path not in watched]:
            self._watcher.addPaths(missing)
        for workspace in self._services.open_workspaces.values():
            self._stamps.setdefault(workspace.id, _file_stamp(self._policy_file(workspace).path))
        self._show_file_error()

    def _watched_paths(self, workspace: OpenWorkspace) -> list[str]:
        path = self._policy_file(workspace).path
        return [str(watched) for watched in (path, path.parent) if watched.exists()]

    def _reload_edited(self) -> None:
        for workspace in tuple(self._services.open_workspaces.values()):
            stamp = _file_stamp(self._policy_file(workspace).path)
            if self._stamps.get(workspace.id) != stamp:
                self._stamps[workspace.id] = stamp
                self._reload(workspace)
        self._watch()

    def _reload(self, workspace: OpenWorkspace) -> bool:
        """Use the policy in the file if it was edited; False when it has an error: the running one stays."""
        try:
            policy = self._policy_file(workspace).load()
        except SettingsDamaged as error:
            self._errors[workspace.id] = error
            self._show_file_error()
            return False
        if self._errors.pop(workspace.id, None) is not None or policy != workspace.policy:
            workspace.policy = policy
            if workspace is self._session.opened:
                self.show()
        return True

    def _show_file_error(self) -> None:
        """Show the error in the file of the workspace on screen, in the window and on the page."""
        error = self._errors.get(self._session.workspace_id)
        if self._page is not None:
            self._page.show_file_error(translate(error.why) if error is not None else "")
        if error is None:
            self._notices.end(_FILE_ERROR)
        elif _FILE_ERROR not in self._notices.names():
            self._notices.notify(
                Notice(
                    _FILE_ERROR,
                    tr("The policy file has an error."),
                    translate(error.why),
                    tr("The previous policy stays in use until you fix it."),
                    answers=(
                        Answer(tr("Open file"), self._open_file, "open"),
                        Answer(tr("Replace file"), self._replace_file, "replace"),
                    ),
                    level="error",
                    workspace_id=self._session.workspace_id,
                )
            )

    def _open_file(self) -> None:
        workspace = self._session.opened
        if workspace is None:
            return
        file = self._policy_file(workspace)
        try:
            if not file.path.exists():
                file.save(workspace.policy)
        except HelixError as error:
            self._async_actions.show_error(error)
        else:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(file.path)))

    def _replace_file(self) -> None:
        """Write the running policy over a file with an error, of which a copy is kept."""
        workspace = self._session.opened
        if workspace is None:
            return
        try:
            self._policy_file(workspace).replace(workspace.policy)
        except HelixError as error:
            self._async_actions.show_error(error)
        else:
            self._use(workspace, workspace.policy)


def _file_stamp(path: Path) -> tuple[int, int, int]:
    """Tell one version of a file from another: when it was written, its size and inode; zeros without one."""
    try:
        stat = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
