"""The policy files of the open workspaces: edited by hand or from the page, and used at once."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.policy_file import PolicyFile

tr = Translator("Settings: Policy")

_FILE_ERROR = "policy-file"
_SETTLE_MS = 150  # an editor may write a file in several steps


class PolicyFiles(QObject):
    """Follows the files; one with an error is said in the window, and the running policy stays."""

    changed = Signal()
    """The policy of the workspace on screen, or what is wrong with its file, may be another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._errors: dict[str, SettingsDamaged] = {}
        self._watcher = QFileSystemWatcher(self)
        reload_timer = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        reload_timer.timeout.connect(self._reload_edited)
        self._watcher.fileChanged.connect(lambda _: reload_timer.start())
        self._watcher.directoryChanged.connect(lambda _: reload_timer.start())
        session.changed.connect(self._watch)

    def of(self, workspace: OpenWorkspace) -> PolicyFile:
        return self._session.app.registry.policy_file(workspace.id)

    def error_text(self) -> str:
        """Return what is wrong with the file of the workspace on screen; empty if nothing is."""
        error = self._errors.get(self._session.workspace_id)
        return translate(error.why) if error is not None else ""

    def save(self, workspace: OpenWorkspace, policy: ContextPolicy) -> None:
        """Let a workspace have another policy. Raises HelixError."""
        self.of(workspace).save(policy)
        self._use(workspace, policy)

    def open(self) -> None:
        """Show the file of the workspace on screen in an editor."""
        workspace = self._session.opened
        if workspace is None:
            return
        file = self.of(workspace)
        try:
            if not file.path.exists():
                file.save(workspace.policy)
        except HelixError as error:
            self._session.actions.show_error(error)
        else:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(file.path)))

    def replace(self) -> None:
        """Write the running policy over a file with an error, of which a copy is kept."""
        workspace = self._session.opened
        if workspace is None:
            return
        try:
            self.of(workspace).replace(workspace.policy)
        except HelixError as error:
            self._session.actions.show_error(error)
        else:
            self._use(workspace, workspace.policy)

    def reload(self, workspace: OpenWorkspace) -> bool:
        """Use the policy in the file if it was edited; False when it has an error: the running one stays."""
        try:
            policy = self.of(workspace).load()
        except SettingsDamaged as error:
            self._errors[workspace.id] = error
            self._show_error()
            return False
        if self._errors.pop(workspace.id, None) is not None or policy != workspace.policy:
            self._use(workspace, policy)
        return True

    def _use(self, workspace: OpenWorkspace, policy: ContextPolicy) -> None:
        self._errors.pop(workspace.id, None)
        workspace.policy = policy
        self._show_error()

    def _watch(self) -> None:
        """Watch the files of all open workspaces, and their folders: editors replace files."""
        workspaces = tuple(self._session.app.open_workspaces.values())
        watched = {*self._watcher.files(), *self._watcher.directories()}
        for workspace in workspaces:
            path = self.of(workspace).path
            missing = [str(place) for place in (path, path.parent) if place.exists()]
            if missing := [place for place in missing if place not in watched]:
                self._watcher.addPaths(missing)
            self._stamps.setdefault(workspace.id, _file_stamp(path))
        self._show_error()

    def _reload_edited(self) -> None:
        for workspace in tuple(self._session.app.open_workspaces.values()):
            stamp = _file_stamp(self.of(workspace).path)
            if self._stamps.get(workspace.id) != stamp:
                self._stamps[workspace.id] = stamp
                self.reload(workspace)
        self._watch()

    def _show_error(self) -> None:
        why, notices = self.error_text(), self._session.notices
        if not why:
            notices.end(_FILE_ERROR)
        elif _FILE_ERROR not in notices.names():
            notices.notify(
                Notice(
                    _FILE_ERROR,
                    tr("The policy file has an error."),
                    why,
                    tr("The previous policy stays in use until you fix it."),
                    answers=(
                        Answer(tr("Open file"), self.open, "open"),
                        Answer(tr("Replace file"), self.replace, "replace"),
                    ),
                    level="error",
                    workspace_id=self._session.workspace_id,
                )
            )
        self.changed.emit()


def _file_stamp(path: Path) -> tuple[int, int, int]:
    """Tell one version of a file from another: when it was written, its size and inode; zeros without one."""
    try:
        stat = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
