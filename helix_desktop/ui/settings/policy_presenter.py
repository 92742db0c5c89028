"""Fills the policy page, saves what is changed there, and follows policy files that are edited by hand."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.room import Room
from helix_desktop.context.errors import HelixError, SettingsDamaged
from helix_desktop.context.policy import PROFILES, Policy, policy_from
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.policy_form import policy_form, refusal
from helix_desktop.ui.settings.policy_page import PolicyPage
from helix_desktop.ui.shell import Shell
from helix_desktop.workspaces.policy_file import PolicyFile

_BANNER, _OPEN, _REPLACE = "policy-file", "open", "replace"
_SETTLE_MS = 150  # an editor may write a file in several steps


class PolicyPresenter(QObject):
    """Binds the policy page to the workspace on screen, and every open workspace to its policy file."""

    def __init__(self, window: MainWindow, shell: Shell, desk: Desk) -> None:
        """Follow the files at once; the page comes with `attach`."""
        super().__init__(window)
        self._window, self._shell, self._desk = window, shell, desk
        self._page: PolicyPage | None = None
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._errors: dict[str, SettingsDamaged] = {}
        self._watcher = QFileSystemWatcher(self)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_SETTLE_MS)
        self._soon.timeout.connect(self._read_edited)
        self._watcher.fileChanged.connect(lambda _: self._soon.start())
        self._watcher.directoryChanged.connect(lambda _: self._soon.start())
        shell.work.shown.connect(self._watch)
        window.banners.acted.connect(self._acted)

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
        room = self._room
        if room is None:
            return
        if self._page is not None:
            name, changes = self._desk.registry.get(room.id).name, self._file(room).changes()
            restorable = {profile: len(own) for profile, own in changes.items()}
            self._page.show_policy(policy_form(name, room.policy, restorable))
        self._show_error()

    @property
    def _room(self) -> Room | None:
        return self._desk.rooms.get(self._shell.active)

    def _file(self, room: Room) -> PolicyFile:
        return self._desk.registry.policy_file(room.id)

    def _change(self, fields: dict[str, object]) -> None:
        """Change some fields; what was edited in the file meanwhile stays."""
        room = self._room
        if room is None or not self._read(room):
            return
        if fields.get("enabled") and not PROFILES[room.policy.profile].enabled:
            self._choose_profile("balanced")  # the profile that is off cannot be on
            return
        try:
            policy = policy_from({**msgspec.structs.asdict(room.policy), **fields})
            self._file(room).save(policy)
        except ValueError as error:
            self._refuse(room, error, tuple(fields))
        except HelixError as error:
            self._shell.tell(error)
        else:
            self._use(room, policy)

    def _choose_profile(self, name: str) -> None:
        room = self._room
        if room is None or not self._read(room):
            return
        try:
            self._use(room, self._file(room).choose_profile(room.policy, name))
        except HelixError as error:
            self._shell.tell(error)

    def _restore_changes(self, profile: str) -> None:
        room = self._room
        if room is None or not self._read(room):
            return
        try:
            self._use(room, self._file(room).restore_changes(room.policy, profile))
        except ValueError as error:
            self._refuse(room, error, ("enabled",))
        except HelixError as error:
            self._shell.tell(error)

    def _refuse(self, room: Room, error: ValueError, fields: tuple[str, ...]) -> None:
        if self._page is None:
            return
        why = refusal(error, policy_form(self._desk.registry.get(room.id).name, room.policy))
        for key in fields:
            self._page.refuse(key, why)

    def _use(self, room: Room, policy: Policy) -> None:
        self._errors.pop(room.id, None)
        room.policy = policy
        self.show()
        self._shell.work.refresh_soon()

    def _watch(self) -> None:
        """Watch the files of all open workspaces, and their folders: editors replace files."""
        paths = [path for room in self._desk.rooms.values() for path in self._watched(room)]
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if missing := [path for path in paths if path not in watched]:
            self._watcher.addPaths(missing)
        for room in self._desk.rooms.values():
            self._seen.setdefault(room.id, _stamp(self._file(room).path))
        self._show_error()

    def _watched(self, room: Room) -> list[str]:
        path = self._file(room).path
        return [str(one) for one in (path, path.parent) if one.exists()]

    def _read_edited(self) -> None:
        for room in tuple(self._desk.rooms.values()):
            stamp = _stamp(self._file(room).path)
            if self._seen.get(room.id) != stamp:
                self._seen[room.id] = stamp
                self._read(room)
        self._watch()

    def _read(self, room: Room) -> bool:
        """Use the policy in the file if it was edited; False when it has an error: the running one stays."""
        try:
            policy = self._file(room).load()
        except SettingsDamaged as error:
            self._errors[room.id] = error
            self._show_error()
            return False
        if self._errors.pop(room.id, None) is not None or policy != room.policy:
            room.policy = policy
            if room is self._room:
                self.show()
                self._shell.work.refresh_soon()
        return True

    def _show_error(self) -> None:
        """Show the error in the file of the workspace on screen, in the window and on the page."""
        error = self._errors.get(self._shell.active)
        if self._page is not None:
            self._page.show_file_error(error.why if error is not None else "")
        if error is None:
            self._window.banners.remove(_BANNER)
        elif _BANNER not in self._window.banners.banner_ids():
            self._window.banners.show_banner(
                Banner(
                    _BANNER,
                    "error",
                    "The policy file has an error.",
                    error.why,
                    "The previous policy stays in use until you fix it.",
                    actions=(BannerAction(_OPEN, "Open file"), BannerAction(_REPLACE, "Replace file")),
                    workspace=self._shell.active,
                )
            )

    def _acted(self, banner: str, action: str) -> None:
        if banner == _BANNER:
            self._open_file() if action == _OPEN else self._replace_file()

    def _open_file(self) -> None:
        room = self._room
        if room is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._file(room).path)))

    def _replace_file(self) -> None:
        """Write the running policy over a file with an error, of which a copy is kept."""
        room = self._room
        if room is None:
            return
        try:
            self._file(room).replace(room.policy)
        except HelixError as error:
            self._shell.tell(error)
        else:
            self._use(room, room.policy)


def _stamp(path: Path) -> tuple[int, int, int]:
    """Tell one version of a file from another: when it was written, its size and inode; zeros without one."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
