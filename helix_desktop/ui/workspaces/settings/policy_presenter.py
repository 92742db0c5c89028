"""Fills the policy page, saves what is changed there, and follows policy files that are edited by hand."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_from
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.ui.design.window_state import Banner, BannerAction
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.settings.policy.form import conflict_text, policy_form
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.policy_file import PolicyFile

tr = Translator("Settings: Policy")
_BANNER, _OPEN, _REPLACE = "policy-file", "open", "replace"
_SETTLE_MS = 150  # an editor may write a file in several steps


class PolicyPresenter(QObject):
    """Binds the policy page to the workspace on screen, and every open workspace to its policy file."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        """Follow the files at once; the page comes with `attach`."""
        super().__init__(context.window)
        self._banners, self._services = context.window.banners, context.services
        self._async_actions, self._active_workspace = context.async_actions, context.active_workspace
        self._page: PolicyPage | None = None
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._errors: dict[str, SettingsDamaged] = {}
        self._watcher = QFileSystemWatcher(self)
        self._reload_timer = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._reload_timer.timeout.connect(self._reload_edited)
        self._watcher.fileChanged.connect(lambda _: self._reload_timer.start())
        self._watcher.directoryChanged.connect(lambda _: self._reload_timer.start())
        session_controller.session_changed.connect(self._watch)
        self._banners.action_clicked.connect(self._on_action)

    def attach(self, page: PolicyPage) -> None:
        """Bind the page, once the settings window is built."""
        self._page = page
        page.profile_chosen.connect(self._choose_profile)
        page.restore_requested.connect(self._restore_changes)
        page.changed.connect(self._change)
        page.open_requested.connect(self._open_file)
        page.replace_requested.connect(self._replace_file)

    def show(self) -> None:
        """Show the policy of the workspace on screen."""
        workspace = self._active_workspace.opened
        if workspace is None:
            return
        if self._page is not None:
            name, changes = (
                self._services.registry.get(workspace.id).name,
                self._policy_file(workspace).changes(),
            )
            restorable = {profile: len(own) for profile, own in changes.items()}
            self._page.show_policy(policy_form(name, workspace.policy, restorable))
        self._show_file_error()

    def _policy_file(self, workspace: OpenWorkspace) -> PolicyFile:
        return self._services.registry.policy_file(workspace.id)

    def _change(self, fields: dict[str, object]) -> None:
        """Change some fields; what was edited in the file meanwhile stays."""
        workspace = self._active_workspace.opened
        if workspace is None or not self._reload(workspace):
            return
        if fields.get("enabled") and not PROFILES[workspace.policy.profile].enabled:
            self._choose_profile("balanced")  # the profile that is off cannot be on
            return
        changed = {**msgspec.structs.asdict(workspace.policy), **fields}
        try:
            policy = policy_from(changed)
            self._policy_file(workspace).save(policy)
        except ValueError:
            form = policy_form(self._services.registry.get(workspace.id).name, workspace.policy)
            self._show_field_error(conflict_text(changed, form), tuple(fields))
        except HelixError as error:
            self._async_actions.show_error(error)
        else:
            self._use(workspace, policy)

    def _choose_profile(self, name: str) -> None:
        workspace = self._active_workspace.opened
        if workspace is None or not self._reload(workspace):
            return
        try:
            self._use(workspace, self._policy_file(workspace).choose_profile(workspace.policy, name))
        except HelixError as error:
            self._async_actions.show_error(error)

    def _restore_changes(self, profile: str) -> None:
        workspace = self._active_workspace.opened
        if workspace is None or not self._reload(workspace):
            return
        try:
            self._use(workspace, self._policy_file(workspace).restore_changes(workspace.policy, profile))
        except ValueError:
            self._show_field_error(tr("Your stored changes conflict with your current ones."), ("enabled",))
        except HelixError as error:
            self._async_actions.show_error(error)

    def _show_field_error(self, why: str, fields: tuple[str, ...]) -> None:
        if self._page is not None:
            for key in fields:
                self._page.show_error(key, why)

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
            if workspace is self._active_workspace.opened:
                self.show()
        return True

    def _show_file_error(self) -> None:
        """Show the error in the file of the workspace on screen, in the window and on the page."""
        error = self._errors.get(self._active_workspace.id)
        if self._page is not None:
            self._page.show_file_error(translate(error.why) if error is not None else "")
        if error is None:
            self._banners.remove(_BANNER)
        elif _BANNER not in self._banners.banner_ids():
            self._banners.show_banner(
                Banner(
                    _BANNER,
                    "error",
                    tr("The policy file has an error."),
                    translate(error.why),
                    tr("The previous policy stays in use until you fix it."),
                    actions=(
                        BannerAction(_OPEN, tr("Open file")),
                        BannerAction(_REPLACE, tr("Replace file")),
                    ),
                    workspace=self._active_workspace.id,
                )
            )

    def _on_action(self, banner: str, action: str) -> None:
        if banner == _BANNER:
            self._open_file() if action == _OPEN else self._replace_file()

    def _open_file(self) -> None:
        workspace = self._active_workspace.opened
        if workspace is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._policy_file(workspace).path)))

    def _replace_file(self) -> None:
        """Write the running policy over a file with an error, of which a copy is kept."""
        workspace = self._active_workspace.opened
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
