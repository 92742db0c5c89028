"""After a command: takes out what it planted for git, keeps it, and says what else runs by itself.

A command in the sandbox may write anywhere in the workspace, and git, an editor or a shell outside would run
what it wrote there. What git would run or follow is compared with what was there before the command. What is
new is taken out before anything else runs, and saved byte for byte, so that the user can restore it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import stat
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import PatchFile, diff_states
from helix_desktop.domain.files.names import is_secret_file
from helix_desktop.domain.redaction import Redaction
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, system_reason
from helix_desktop.permissions.files_run_by_programs import (
    AT_LOGIN,
    NOT_COPIED,
    auto_run_kind,
    may_begin_waiting,
)
from helix_desktop.system.home import find_home
from helix_desktop.tools.files.jail import startup_files
from helix_desktop.tools.shell.file_lookups import FolderTree
from helix_desktop.tools.shell.git_config import (
    GitSetting,
    InvalidConfig,
    files_in_value,
    parse_git_config,
    without_settings,
)
from helix_desktop.tools.shell.outer_git import OuterGit, look_at, take_out_of
from helix_desktop.tools.shell.saved_changes import (
    NOTHING,
    AutoRunState,
    Content,
    Kind,
    OpenState,
    SavedChange,
    SavedChanges,
    held_parent,
    is_link_to,
    read_content,
    read_content_at,
    read_through,
    write_content,
)

text = TextContext("Tools")
log = logging.getLogger(__name__)

_MAX_ROUNDS = 5
_MAX_REASON = 300  # characters
_GIT = ".git"
_FROM_GIT = "from-git"
_NOT_USUAL = "not what ordinary work changes in a git folder"
_GITDIR = b"gitdir: "
_CONFIGS = ("config", "config.worktree", "sequencer/opts")
_TODO = "rebase-merge/git-rebase-todo"
_STRATEGY = "rebase-merge/strategy"
_LINKED = ("hooks", "rebase-merge", "sequencer")
"""Folders in a git folder: one that is a link makes git read another one."""
_EXEC = re.compile(rb"[ \t]*(?:exec|x)(?:[ \t]|$)")
_USER_CONFIGS = (".gitconfig", ".config/git/config")
_SYSTEM_CONFIG = Path("/etc/gitconfig")
_TEMPLATES = Path("/usr/share/git-core/templates")
_RUN_BY_USER = frozenset((
    ".cargo/bin", ".config/emacs", ".config/nvim", ".emacs.d", ".gnupg", ".local/bin", ".local/lib",
    ".local/share/applications", ".vim",
))  # fmt: skip
"""Of the start-up files, large folders of what runs only with a program that the user starts."""
_SSH_FILES = ("authorized_keys", "config", "environment", "rc")
"""Of `.ssh`, what ssh and its server follow: the rest is keys."""
_KEY_FILES = frozenset((".credentials.json", "auth.json", "credentials", "oauth_creds.json", "pip.conf"))
_HOOK_NAME = re.compile(r"(?:[a-z0-9]+-)+[a-z0-9]+|update")
# What is built or fetched has files of these kinds of its own, and nobody opens it in an editor.
_BUILT = frozenset({"node_modules", "__pycache__", ".venv", "venv", "target", "site-packages", ".tox"})


class AutoRunGuard:
    """The guard of one workspace, for all its sessions and commands. Everything blocks, in any thread.

    Commands that run at the same time, also in other processes, are compared with what was there before the
    first of them: what one plants is never what another one found. What a user decides on meanwhile stays.
    `folder` is where what was taken out is saved, and what a crash must not lose.
    """

    def __init__(
        self,
        root: Path,
        home: Path | None = None,
        folder: Path | None = None,
        outer_git: Callable[[], OuterGit | None] = lambda: None,
    ) -> None:
        """Without a `folder`, a new temporary one is used, which stays.

        `outer_git` returns the git folders outside of the workspace that commands may change now.
        """
        self._outer_git = outer_git
        self.root = Path(os.path.realpath(root))
        self._home = Path(os.path.realpath(home or find_home()))
        self.saved_changes = SavedChanges(folder)
        self._lock = threading.RLock()
        self._tree = FolderTree(str(self.root))
        self._before: AutoRunState | None = None  # of the commands in the sandbox, of which so many run
        self._confined_count = 0
        self._others: list[AutoRunState] = []  # of the commands outside it
        self._undecided: tuple[AutoRunChange, ...] = ()
        self._unreported: tuple[AutoRunChange, ...] = ()
        self._is_recovered = False

    def wait(self) -> None:
        """Return once nothing is being taken out: what git does before that could run it."""
        self.recover()

    def recover(self) -> tuple[AutoRunChange, ...]:
        """Take out what commands planted that a crash cut off, once; return what no command has reported yet.

        Raises nothing: what can't be read or written is logged, and tried again.
        """
        with self._lock:
            try:
                if not self._is_recovered:
                    for state in self.saved_changes.left_open():
                        changes = list(state.undecided)
                        if state.before is not None:
                            changes += self._compare(state.before, takes_out=True)
                        self._unreported += state.unreported
                        self.report_later(changes)
                        self._save(self._before)  # before what was left goes
                    self.saved_changes.clean_up(time.time_ns() // 1_000_000)
                    self._is_recovered = True
            except OSError:
                log.exception("what a crash left in %s could not be looked at", self.root)
            return self._unreported

    def begin(self, takes_out: bool = True, hidden: Iterable[Path] = ()) -> AutoRunState:
        """Return what runs by itself before a command that must not read `hidden`; `end` follows in any case.

        Raises OSError if that can't be saved for the case of a crash: the command must not run.
        """
        with self._lock:
            self.recover()
            if not takes_out:
                self._others.append(self._look(()))
                return self._others[-1]
            if self._before is None:
                with self.saved_changes.exclusive():
                    running = min(
                        self.saved_changes.running_elsewhere(), key=lambda state: state.at_ns, default=None
                    )
                    places = (self._relative(str(path)) for path in hidden)
                    inside = tuple(place for place in places if place is not None)
                    before = self._look(inside) if running is None else running
                    self._save(before)
                self._before = before
            self._confined_count += 1
            return self._before

    def end(self, before: AutoRunState, takes_out: bool = True) -> tuple[AutoRunChange, ...]:
        """Take out what a command planted for git; return that, and what else the next step waits for.

        Without `takes_out` nothing is taken out. The caller says with `settle` when they are decided on. What
        was found earlier for nobody comes along, and waits for nothing.
        """
        with self._lock:
            if takes_out:
                self._confined_count -= 1
            else:
                self._others = [state for state in self._others if state is not before]
            with self.saved_changes.exclusive():
                changes = self._compare(before, takes_out)
            unreported = self._unreported
            self._unreported = ()
            self._undecided += tuple(change for change in changes if change.change_id)
            if not self._confined_count:
                self._before = None
            self._try_to_save()
            return (*unreported, *changes)

    def settle(self, change_ids: Iterable[str], allowed_ids: Iterable[str] = ()) -> None:
        """Forget that somebody has to decide on these changes: they have.

        Of the `allowed_ids`, what a command left stays as it was then, also for commands that still run. What
        another decision took out meanwhile is put back.
        """
        with self._lock:
            settled = frozenset(change_ids)
            for change_id in allowed_ids:
                try:
                    self.saved_changes.note_allowed(change_id)
                    self._keep(change_id)
                except (OSError, InvalidInput):
                    log.warning("it could not be noted that %s is allowed", change_id, exc_info=True)
            self._undecided = tuple(change for change in self._undecided if change.change_id not in settled)
            self._unreported = tuple(change for change in self._unreported if change.change_id not in settled)
            self._try_to_save()

    def report_later(self, changes: Iterable[AutoRunChange]) -> None:
        """Have the next command report what was found after one that was cut off; it is taken back."""
        with self._lock:
            reported = tuple(map(self._undo, changes))
            self.settle(change.change_id for change in reported)
            self._unreported += reported
            self._try_to_save()

    def _undo(self, change: AutoRunChange) -> AutoRunChange:
        """Take a change back that nobody decided on; it waits for nobody any more."""
        outcome = change.outcome
        if outcome == "named" and change.waits:
            try:
                self.put(change.change_id, restore=False)
                outcome = "removed"
            except InvalidInput:
                log.warning("%s could not be taken back", change.path, exc_info=True)
                outcome = "failed"
        return msgspec.structs.replace(change, outcome=outcome, waits=False)

    def put(self, change_id: str, *, restore: bool) -> None:
        """Put what a command left back (`restore`), or take it out again; what is there now is saved beside.

        Raises InvalidInput if that can't be done.
        """
        with self._lock:
            entry = self.saved_changes.entry(change_id)
            content = entry.content if restore else self.saved_changes.undone_content(change_id, entry)
            try:
                try:
                    with held_parent(self.root, entry.path, create=bool(content.form)) as (parent, name):
                        self._put_at(parent, name, change_id, entry, content)
                except FileNotFoundError:
                    if content.form:
                        raise
                self.saved_changes.note_put(change_id, restored=restore)
            except OSError as error:
                raise InvalidInput(
                    text("{file} could not be restored.", file=entry.path), system_reason(error)
                ) from error
            # The user's decision holds for commands that still run.
            for state in (*self._others, *([self._before] if self._before is not None else ())):
                _decide(state, entry, content)
            self.settle([change_id])

    def _keep(self, change_id: str) -> None:
        """Put a change back that another decision took out; what the user wrote there since stays."""
        entry = self.saved_changes.entry(change_id)
        present = read_content(str(self.root / entry.path))
        undone = self.saved_changes.undone_content(change_id, entry)
        is_copied = not (entry.content.stamp or undone.stamp)
        if is_copied and present == undone and present != entry.content:
            self.put(change_id, restore=True)

    def _put_at(self, parent: int, name: str, change_id: str, entry: SavedChange, content: Content) -> None:
        restore = content is entry.content
        if entry.content.stamp:
            put = _put_back if restore else _set_aside
            put(parent, name, entry, change_id)
            return
        if entry.kind == "key" and is_link_to(parent, name, entry.content):
            if not restore:
                os.unlink(name, dir_fd=parent)
            return
        present = read_content_at(parent, name)
        may_hold_keys = entry.safe_content.stamp or (entry.kind == "other" and _holds_keys(entry.path))
        if may_hold_keys and present.form == "file":
            os.rename(name, _aside(name, change_id), src_dir_fd=parent, dst_dir_fd=parent)
        elif not any(present == known for known in (entry.content, entry.safe_content, content)):
            self.saved_changes.save_replaced(change_id, present)
        write_content(parent, name, content)

    def auto_run_changes(self) -> tuple[AutoRunChange, ...]:
        """Return all saved changes, with what became of each last, the oldest first.

        What the user or another program did to the files later is no part of that. Raises InvalidInput.
        """
        with self._lock:
            changes = []
            try:
                for change_id, entry in self.saved_changes.entries():
                    effect = "" if entry.reasons else _effect(entry)
                    outcome = self.saved_changes.outcome(change_id)
                    changes.append(
                        AutoRunChange(entry.path, effect, entry.reasons, outcome=outcome, change_id=change_id)
                    )
            except OSError as error:
                raise InvalidInput(
                    text("What was taken back can't be read."), system_reason(error)
                ) from error
            return tuple(changes)

    def patch(self, change_id: str) -> PatchFile:
        """Return what a command did to a file. Raises InvalidInput if its contents are not saved."""
        with self._lock:
            entry = self.saved_changes.entry(change_id)
        if entry.content.stamp or entry.safe_content.stamp or entry.kind == "key":
            raise InvalidInput(
                text("{file} can't be compared.", file=entry.path),
                text("Helix keeps no copy of it, because it may hold keys or is large."),
            )
        before = _file_state(entry.safe_content)
        after = _file_state(entry.content)
        diff = diff_states(before, entry.safe_content.data, after, entry.content.data)
        return PatchFile(FileChange(entry.path, before, after), diff)

    def saved_copies_size(self) -> int:
        """Return the bytes of all copies that are kept. Raises StoreError."""
        with self._lock:
            try:
                return self.saved_changes.size()
            except OSError as error:
                raise StoreError(
                    text("The saved copies of files that commands changed can't be read."),
                    system_reason(error),
                    text("Check that you may read {folder}.", folder=str(self.saved_changes.folder)),
                ) from error

    def containing(self, redaction: Redaction) -> tuple[str, ...]:
        """Return the paths of the saved changes that contain a secret. Raises OSError."""
        with self._lock:
            return self.saved_changes.containing(redaction)

    def redact(self, redaction: Redaction) -> None:
        """Remove a secret from all that is saved; no command runs. Raises OSError."""
        with self._lock:
            self.saved_changes.redact(redaction)
            self._unreported = tuple(_redacted(change, redaction) for change in self._unreported)
            self._undecided = tuple(_redacted(change, redaction) for change in self._undecided)
            self._save(self._before)

    def _compare(self, before: AutoRunState, takes_out: bool) -> list[AutoRunChange]:
        try:
            for entry, content in self.saved_changes.decisions_since(before.at_ns) if before.at_ns else ():
                _decide(before, entry, content)
        except OSError:
            log.exception("what was decided on meanwhile in %s can't be read", self.root)
        changes: list[AutoRunChange] = []
        now = self._look(before.hidden)
        for _ in range(_MAX_ROUNDS):  # what is taken out may have hidden more
            found = list(self._planted(before, now))
            if takes_out and any(entry.kind == "config" for entry in found):
                # Without what is planted there, git may run a program no longer.
                found = [entry for entry in found if entry.kind != "program"]
            changes += [self._take_out(entry) if takes_out else self._save_change(entry) for entry in found]
            if not found or not takes_out or any(change.outcome == "failed" for change in changes):
                break
            now = self._look(before.hidden)
        outside = self._taken_out_of_git(before) if takes_out else ()
        return [*changes, *outside, *map(self._save_change, self._waiting(before, now))]

    def _taken_out_of_git(self, before: AutoRunState) -> Iterator[AutoRunChange]:
        """Take out of git folders outside what ordinary work of git doesn't make; none of it waits."""
        for folder, former in before.outer_git.items():
            try:
                for taken in take_out_of(Path(folder), former, self.saved_changes.folder / _FROM_GIT):
                    reason = f"kept at {taken.kept_at}" if taken.kept_at else "not a regular file"
                    yield AutoRunChange(taken.path, reasons=(_NOT_USUAL, reason), outcome="removed")
            except OSError:
                log.warning("what is new in %s could not be taken out", folder, exc_info=True)
                yield AutoRunChange(folder, reasons=(_NOT_USUAL,), outcome="failed")

    def _save(self, before: AutoRunState | None) -> None:
        self.saved_changes.save_open(OpenState(before, self._undecided, self._unreported))

    def _try_to_save(self) -> None:
        try:
            self._save(self._before)
        except OSError:
            log.exception("what a crash must not lose could not be saved")

    # What is there

    def _look(self, hidden: tuple[str, ...]) -> AutoRunState:
        state = AutoRunState(hidden=hidden, key_links=self._key_links(hidden), at_ns=time.time_ns())
        git = self._outer_git()
        if git is not None:
            state.outer_git = look_at(git.folders)
        folders = self._tree.folders()
        git_folders: dict[str, None] = {}
        tops = [folder for folder, names in folders.items() if _GIT in names]
        tops += [str(parent) for parent in self.root.parents if os.path.lexists(parent / _GIT)]
        for folder, names in folders.items():
            if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names.keys()):
                git_folders[folder] = None
        for top in tops:
            self._see(state, os.path.join(top, _GIT), "pointer")
            for folder in _led_to(top):
                git_folders[folder] = None
                state.tops.setdefault(folder, top)
        configs = [(os.path.join(folder, name), folder) for folder in git_folders for name in _CONFIGS]
        for folder in git_folders:
            self._see_git_folder(state, folder)
        for config in (*(self._home / name for name in _USER_CONFIGS), _SYSTEM_CONFIG):
            configs += [(str(config), folder) for folder in git_folders or (str(self.root),)]
        for link in self._tree.temporary_links:
            self._see(state, link, "folder")
        self._follow(state, configs, tops)
        for name in _USER_CONFIGS:
            self._see(state, str(self._home / name), "config")
        for path in startup_files(self._home):
            name = str(path.relative_to(self._home))
            if name not in _RUN_BY_USER:
                for file in (path / inner for inner in _SSH_FILES) if name == ".ssh" else (path,):
                    # What a link leads to may be here, too.
                    self._see_startup(state, os.path.realpath(file), _holds_keys(name))
        for folder, names in folders.items():
            if not _BUILT.isdisjoint(folder.split(os.sep)):
                continue
            for name in names:
                if may_begin_waiting(name):
                    self._see_waiting(state, os.path.join(folder, name))
        return state

    def _key_links(self, hidden: tuple[str, ...]) -> dict[str, str]:
        """Return other names that hidden files have in their own folder: Landlock refuses links elsewhere.

        Read there, they are no hidden file any more. A hidden folder is hidden with all that is in it.
        """
        names: dict[str, set[str]] = {}
        for path in hidden:
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
        found: dict[str, str] = {}
        for folder, hidden_names in names.items():
            try:
                with os.scandir(self.root / folder) as entries:
                    inodes = {entry.name: entry.inode() for entry in entries}
            except OSError:
                continue
            keys = {inodes[name]: name for name in hidden_names if name in inodes}
            found |= {
                f"{folder}/{name}" if folder else name: keys[inode]
                for name, inode in inodes.items()
                if inode in keys and name not in hidden_names
            }
        return found

    def _see_git_folder(self, state: AutoRunState, folder: str) -> None:
        for name in _CONFIGS:
            self._see(state, os.path.join(folder, name), "config")
        self._see(state, os.path.join(folder, _TODO), "todo")
        self._see(state, os.path.join(folder, _STRATEGY), "strategy")
        self._see(state, os.path.join(folder, "commondir"), "commondir")
        for name in _LINKED:
            self._see(state, os.path.join(folder, name), "folder")
        self._see_hooks(state, os.path.realpath(os.path.join(folder, "hooks")), is_own=True)

    def _see_hooks(self, state: AutoRunState, folder: str, *, is_own: bool) -> None:
        """See the hooks in a folder; one that is git's `own` has nothing else in it."""
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                is_hook = is_own or _HOOK_NAME.fullmatch(entry.name)
                if is_hook and not entry.name.endswith(".sample") and not entry.is_dir(follow_symlinks=False):
                    self._see(state, entry.path, "hook")

    def _see(self, state: AutoRunState, path: str, kind: Kind) -> None:
        relative = self._relative(path)
        if relative is not None and relative not in state.git:
            content = read_content(path)
            if content.form and not stat.S_ISDIR(content.mode):
                state.git[relative] = (kind, content)

    def _see_waiting(self, state: AutoRunState, path: str) -> None:
        relative = self._relative(path)
        is_link = os.path.islink(path)
        is_folder = os.path.isdir(path)
        kind = None if relative is None else auto_run_kind(relative, is_folder=is_folder or is_link)
        if relative is None or kind is None or not kind.waits:
            return
        if not is_folder or is_link:
            state.other[relative] = _read_other(path)
            return
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                self._see_waiting(state, entry.path)

    def _see_startup(self, state: AutoRunState, path: str, holds_keys: bool) -> None:
        """See a file of the home that runs at the next login, or the files of such a folder."""
        relative = self._relative(path)
        if relative is None or relative in state.git:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            with suppress(OSError), os.scandir(path) as entries:
                for entry in entries:
                    self._see_startup(state, entry.path, holds_keys)
        else:
            state.other[relative] = _read_other(path, holds_keys)

    def _relative(self, path: str) -> str | None:
        """Return a path in the workspace; None for one outside."""
        top = os.path.join(str(self.root), "")
        return path[len(top) :].replace(os.sep, "/") if path.startswith(top) else None

    def _follow(self, state: AutoRunState, configs: list[tuple[str, str]], tops: list[str]) -> None:
        """See what configurations include, and where they have hooks; each with its git folder."""
        seen = set[tuple[str, str]]()
        parsed = dict[str, list[GitSetting]]()
        while configs:
            pair = configs.pop()
            if pair in seen:
                continue
            seen.add(pair)
            config, folder = pair
            if config not in parsed:
                try:
                    parsed[config] = parse_git_config(read_through(config))
                except InvalidConfig:
                    parsed[config] = []
            for setting in parsed[config]:
                if setting.value is None or "\0" in setting.value:
                    continue
                name = self._expanded(setting.value.encode("latin-1").decode(errors="surrogateescape"))
                if setting.section in ("include", "includeif") and setting.key == "path":
                    path = os.path.realpath(os.path.join(os.path.dirname(config), name))
                    self._see(state, path, "config")
                    configs.append((path, folder))
                elif setting.names_program:
                    for top in (state.tops.get(folder), folder, *(tops if folder not in state.tops else ())):
                        if top is None:
                            continue
                        if (setting.section, setting.key) == ("core", "hookspath"):
                            place = os.path.realpath(os.path.join(top, name))
                            self._see_hooks(state, place, is_own=False)
                        else:
                            for place in files_in_value(setting.value, top, str(self._home)):
                                self._see(state, place, "program")

    def _expanded(self, name: str) -> str:
        return str(self._home / name[2:]) if name.startswith("~/") else os.path.expanduser(name)

    # What is new

    def _planted(self, before: AutoRunState, now: AutoRunState) -> Iterator[SavedChange]:
        for path, (kind, content) in now.git.items():
            former = before.git.get(path, (kind, NOTHING))[1]
            if content != former:
                entry = self._judged(path, kind, content, former)
                if entry is not None:
                    yield entry
        for path, name in now.key_links.items():
            if path not in before.key_links:
                reasons = (f"another name of {name}, which is hidden from commands",)
                content = Content("hard link", os.fsencode(name))
                yield SavedChange(path, "key", reasons, time.time_ns() // 1_000_000, content, NOTHING)

    def _judged(self, path: str, kind: Kind, content: Content, former: Content) -> SavedChange | None:
        """Return what has to be taken out of a file that is new or changed; None: nothing."""
        reasons: tuple[str, ...] = ()
        safe_content = former
        if content.form == "special":
            reasons = ("not a regular file",)
        elif content.form == "link" and not (kind == "pointer" and self._is_own_pointer(path, content)):
            reasons = (f"link to {_words(content.data)}",)
        elif kind == "config":
            reasons, safe_content = self._judged_config(path, content, former)
        elif kind == "todo":
            reasons, safe_content = _judged_todo(content, former)
        elif kind == "hook":
            if content.is_executable and not self._is_template(path, content):
                reasons = ("a program that git runs",)
        elif kind == "program":
            reasons = ("a program that git runs by your settings",)
        elif kind == "commondir":
            if not self._is_own_common(path, content):
                reasons = (f"commondir: {_words(content.data)}",)
        elif kind == "pointer":
            if not self._is_own_pointer(path, content):
                reasons = (_words(content.data),)
        elif kind == "strategy" and b"/" in content.data:
            reasons = (f"strategy: {_words(content.data)}",)
        if not reasons:
            return None
        return SavedChange(path, kind, reasons, time.time_ns() // 1_000_000, content, safe_content)

    def _judged_config(self, path: str, content: Content, former: Content) -> tuple[tuple[str, ...], Content]:
        try:
            settings = parse_git_config(content.data)
        except InvalidConfig:
            return ("git can't read it",), former
        try:
            earlier = parse_git_config(former.data)
        except InvalidConfig:
            earlier = []
        known = Counter(map(_meaning, earlier))
        planted = []
        for setting in settings:
            if not (setting.names_program or self._is_elsewhere(path, setting)):
                continue
            if known[_meaning(setting)]:
                known[_meaning(setting)] -= 1
            else:
                planted.append(setting)
        if not planted:
            return (), content
        reasons = tuple(setting.line[:_MAX_REASON] for setting in planted)
        names = {(setting.section, setting.subsection, setting.key) for setting in planted}
        replaced = []  # what stood in the place of another value stands there again
        for setting in earlier:
            if (setting.section, setting.subsection, setting.key) in names and known[_meaning(setting)] > 0:
                known[_meaning(setting)] -= 1
                replaced.append(setting)
        others = Counter(map(_meaning, settings)) - Counter(map(_meaning, planted))
        if former.form == "file" and others + Counter(map(_meaning, replaced)) == Counter(
            map(_meaning, earlier)
        ):
            return reasons, former  # nothing else was changed
        data = without_settings(content.data, planted)
        data += b"".join(_written(setting, former.data) for setting in replaced)
        return reasons, _with_data(content, data)

    def _is_elsewhere(self, path: str, setting: GitSetting) -> bool:
        """Return True for a work tree outside the workspace."""
        if (setting.section, setting.key) != ("core", "worktree") or not setting.value:
            return False
        name = setting.value.encode("latin-1").decode(errors="surrogateescape")
        place = os.path.realpath(os.path.join(self.root, os.path.dirname(path), name))
        return Path(place) != self.root and self._relative(place) is None

    def _is_own_common(self, path: str, content: Content) -> bool:
        """Return True for the `commondir` of a linked work tree: it leads to the repository it is in."""
        folder = (self.root / path).parent
        target = os.path.realpath(folder / _name(content.data))
        return folder.parent.name == "worktrees" and target == os.path.realpath(folder.parent.parent)

    def _is_own_pointer(self, path: str, content: Content) -> bool:
        """Return True for the `.git` file of a submodule, or of a linked work tree that is known there."""
        file = self.root / path
        if content.form == "file" and not content.data.startswith(_GITDIR):
            return True  # git refuses it
        target = Path(os.path.realpath(file.parent / _name(content.data.removeprefix(_GITDIR))))
        if target.parent.name == "worktrees":
            back = os.path.realpath(target / _name(read_through(str(target / "gitdir"))))
            return back == os.path.realpath(file)
        for folder in target.parents:
            if folder.name == _GIT:
                inside = target.relative_to(folder).parts
                return "modules" in inside[:3:2] and (
                    inside[0] != "modules" or file.is_relative_to(folder.parent)
                )
        return False

    def _is_template(self, path: str, content: Content) -> bool:
        """Return True for a hook that `git init` copied from the user's own templates."""
        folders = [_TEMPLATES]
        for name in _USER_CONFIGS:
            with suppress(InvalidConfig):
                folders += [
                    Path(self._expanded(setting.value))
                    for setting in parse_git_config(read_through(str(self._home / name)))
                    if (setting.section, setting.key) == ("init", "templatedir") and setting.value
                ]
        outside = (folder for folder in folders if self._relative(os.path.realpath(folder)) is None)
        name = path.rpartition("/")[2]
        return any(read_content(str(folder / "hooks" / name)).data == content.data for folder in outside)

    def _waiting(self, before: AutoRunState, now: AutoRunState) -> Iterator[SavedChange]:
        for path, content in now.other.items():
            former = before.other.get(path, NOTHING)
            if content not in (former, before.reported.get(path, former)):
                before.reported[path] = content
                yield SavedChange(path, "other", (), time.time_ns() // 1_000_000, content, former)

    # Taking out, and keeping

    def _take_out(self, entry: SavedChange) -> AutoRunChange:
        change = self._save_change(entry)
        if not change.change_id:
            return msgspec.structs.replace(change, outcome="failed")
        try:
            with held_parent(self.root, entry.path) as (parent, name):
                if entry.content.stamp:
                    _set_aside(parent, name, entry, change.change_id)
                elif entry.kind == "key":
                    if is_link_to(parent, name, entry.content):
                        os.unlink(name, dir_fd=parent)
                else:
                    present = read_content_at(parent, name)
                    if present != entry.content:  # another command that still runs has changed it
                        self.saved_changes.save_replaced(change.change_id, present)
                    write_content(parent, name, entry.safe_content)
        except OSError:
            log.warning("%s could not be taken out", entry.path, exc_info=True)
            return msgspec.structs.replace(change, outcome="failed")
        try:
            self.saved_changes.note_put(change.change_id, restored=False)
        except OSError:
            log.warning("it could not be noted that %s is taken out", entry.path, exc_info=True)
        return msgspec.structs.replace(change, outcome="removed")

    def _save_change(self, entry: SavedChange) -> AutoRunChange:
        """Save what there is with and without a change; return it, without an id if that failed."""
        try:
            change_id = self.saved_changes.save(entry)
        except OSError:
            log.warning("%s could not be saved", entry.path, exc_info=True)
            change_id = ""
        effect = "" if entry.reasons else _effect(entry)
        return AutoRunChange(entry.path, effect, entry.reasons, waits=True, change_id=change_id)


def _decide(state: AutoRunState, entry: SavedChange, content: Content) -> None:
    """Have a state hold what the user decided on after it."""
    if entry.kind == "other":
        state.other[entry.path] = content
    elif entry.kind == "key":
        state.key_links[entry.path] = os.fsdecode(content.data)
    else:
        state.git[entry.path] = (entry.kind, content)
    state.reported.pop(entry.path, None)


def _file_state(content: Content) -> FileState | None:
    if not content.form:
        return None
    if content.form == "link":
        return FileState("link", target=os.fsdecode(content.data))
    return FileState(digest=digest_of(content.data), size=len(content.data), mode=content.mode)


def _effect(entry: SavedChange) -> TranslatableText:
    if entry.content.stamp or entry.safe_content.stamp:
        return NOT_COPIED
    kind = auto_run_kind(entry.path, is_folder=entry.content.form == "link")
    return AT_LOGIN if kind is None else kind.effect


def _holds_keys(path: str) -> bool:
    """Return True for a file that may hold keys: of one that is no git file, nothing is copied.

    An `.envrc` may, too; but what it was has to be there again, as every shell runs it.
    """
    name = path.rpartition("/")[2].lower()
    return name in _KEY_FILES or (is_secret_file(name) and not name.startswith(".env"))


def _redacted(change: AutoRunChange, redaction: Redaction) -> AutoRunChange:
    path = redaction.redact_text(change.path)
    reasons = tuple(map(redaction.redact_text, change.reasons))
    return msgspec.structs.replace(change, path=path, reasons=reasons)


def _with_data(content: Content, data: bytes) -> Content:
    return msgspec.structs.replace(content, data=data)


def _judged_todo(content: Content, former: Content) -> tuple[tuple[str, ...], Content]:
    known = Counter(line for line in former.data.splitlines() if _EXEC.match(line))
    lines = []
    planted = []
    for line in content.data.splitlines(keepends=True):
        bare = line.rstrip(b"\r\n")
        if _EXEC.match(bare) and not known[bare]:
            planted.append(bare)
        else:
            known[bare] -= 1
            lines.append(line)
    reasons = tuple(_words(line)[:_MAX_REASON] for line in planted)
    return reasons, _with_data(content, b"".join(lines)) if planted else content


def _meaning(setting: GitSetting) -> tuple[str, str, str, str | None]:
    return setting.section, setting.subsection, setting.key, setting.value


def _written(setting: GitSetting, data: bytes) -> bytes:
    """Return a setting as lines of its own, its value as it was written."""
    quoted = setting.subsection.replace("\\", "\\\\").replace('"', '\\"')
    header = f'[{setting.section} "{quoted}"]' if quoted else f"[{setting.section}]"
    return b"\n" + header.encode("latin-1") + b"\n\t" + data[setting.start : setting.end].strip() + b"\n"


def _led_to(top: str) -> Iterable[str]:
    """Return the git folders that the `.git` of a folder is, or leads to."""
    found: dict[str, None] = {}
    pending = [os.path.realpath(os.path.join(top, _GIT))]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        if os.path.isdir(path):
            found[path] = None
            common = _name(read_through(os.path.join(path, "commondir")))
            if common:
                pending.append(os.path.realpath(os.path.join(path, common)))
        else:
            data = read_through(path)
            if data.startswith(_GITDIR):
                name = _name(data.removeprefix(_GITDIR))
                pending.append(os.path.realpath(os.path.join(os.path.dirname(path), name)))
    return found


def _name(data: bytes) -> str:
    """Return the path that a file of git holds, as git reads it."""
    return os.fsdecode(data.rstrip(b"\r\n").partition(b"\0")[0])


def _words(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:_MAX_REASON]


def _read_other(path: str, holds_keys: bool = False) -> Content:
    """Return what is at a path, with a digest in place of the bytes of a file that may hold keys."""
    content = read_content(path)
    if not (holds_keys or _holds_keys(path)) or content.form != "file" or content.stamp:
        return content
    digest = struct.unpack(">4Q", hashlib.sha256(content.data).digest())
    return msgspec.structs.replace(content, data=b"", stamp=digest)


def _set_aside(parent: int, name: str, entry: SavedChange, change_id: str) -> None:
    """Leave a file that is not copied where it is, but so that nothing runs or reads it."""
    if entry.kind == "hook":
        _change_mode(parent, name, entry.content.mode & ~0o111)
        return
    os.rename(name, _aside(name, change_id), src_dir_fd=parent, dst_dir_fd=parent)
    if entry.safe_content.form and not entry.safe_content.stamp:
        write_content(parent, name, entry.safe_content)


def _put_back(parent: int, name: str, entry: SavedChange, change_id: str) -> None:
    """Undo `_set_aside`; what is there by now changes places with it."""
    if entry.kind == "hook":
        _change_mode(parent, name, entry.content.mode)
        return
    between = f"{_aside(name, change_id)}.{secrets.token_hex(4)}"
    os.rename(_aside(name, change_id), between, src_dir_fd=parent, dst_dir_fd=parent)
    with suppress(FileNotFoundError):
        os.rename(name, _aside(name, change_id), src_dir_fd=parent, dst_dir_fd=parent)
    os.rename(between, name, src_dir_fd=parent, dst_dir_fd=parent)


def _change_mode(parent: int, name: str, mode: int) -> None:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _aside(name: str, change_id: str) -> str:
    return f"{name}.taken-out-{change_id}"
