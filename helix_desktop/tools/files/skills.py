"""The skills of a workspace and of the user: finding them, and reading the user's by a jail."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.skills import (
    MAX_SKILL_BYTES,
    MAX_SKILLS,
    SKILL_FILE,
    USER_FOLDERS,
    WORKSPACE_FOLDERS,
    Skill,
    parse_skill,
)
from helix_desktop.domain.slash_command import PromptScope, is_command_name
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, verbatim
from helix_desktop.domain.unicode_safety import escape_hidden_name, escape_undecodable
from helix_desktop.tools.files.attach import UnusableFile
from helix_desktop.tools.files.jail import DirEntry, FileStamp, Jail, OpenFile, PathLimits, SearchRoot
from helix_desktop.tools.tool import PathRefused, path_refused

text = TextContext("Skills")

_GONE = (FileNotFoundError, NotADirectoryError)


class SkillJail:
    """The jail of a workspace in which the user's skills can be read too, as `~/.agents/skills/NAME/…`.

    Each of the user's folders is a jail of its own: what leads out of it is refused, and nothing in it is
    written.
    """

    def __init__(self, jail: Jail, home: Path, open_jail: Callable[[Path], Jail]) -> None:
        self._jail = jail
        self._home = home
        self._open_jail = open_jail
        self._user_jails: dict[str, Jail] = {}

    @property
    def limits(self) -> PathLimits:
        return self._jail.limits

    def check_root(self) -> None:
        self._jail.check_root()

    def open_file(self, path: str) -> AbstractContextManager[OpenFile]:
        folder, inside = self._split(path)
        return self._open_file(folder, inside) if folder else self._jail.open_file(path)

    @contextmanager
    def _open_file(self, folder: str, inside: str) -> Iterator[OpenFile]:
        with self._user_jail(folder).open_file(inside) as opened:
            yield msgspec.structs.replace(opened, path=f"{folder}/{opened.path}")

    def list_entries(self, path: str) -> tuple[str, list[DirEntry]]:
        folder, inside = self._split(path)
        if not folder:
            return self._jail.list_entries(path)
        place, entries = self._user_jail(folder).list_entries(inside)
        return f"{folder}/{place}".rstrip("/"), entries

    def hold_folder(self, path: str) -> AbstractContextManager[SearchRoot]:
        folder, inside = self._split(path)
        return self._hold_folder(folder, inside) if folder else self._jail.hold_folder(path)

    @contextmanager
    def _hold_folder(self, folder: str, inside: str) -> Iterator[SearchRoot]:
        with self._user_jail(folder).hold_folder(inside) as root:
            yield msgspec.structs.replace(root, path=f"{folder}/{root.path}".rstrip("/"))

    def resolve_writable(self, path: str) -> str:
        self._refuse_to_write(path)
        return self._jail.resolve_writable(path)

    def write(self, path: str, data: bytes, stamp: FileStamp | None) -> str:
        self._refuse_to_write(path)
        return self._jail.write(path, data, stamp)

    def _refuse_to_write(self, path: str) -> None:
        if self._split(path)[0]:
            raise path_refused(path, "only the user changes their own skills.")

    def _user_jail(self, folder: str) -> Jail:
        root = self._home / folder.removeprefix("~/")
        if not root.is_dir():
            raise ToolError(f"There is no folder {folder}.") from FileNotFoundError(folder)
        if folder not in self._user_jails:
            self._user_jails[folder] = self._open_jail(root)
        return self._user_jails[folder]

    def _split(self, path: str) -> tuple[str, str]:
        """Return the user's folder that a path is in, and the path in it; empty for other paths."""
        home = self._home.as_posix()
        if path.startswith(f"{home}/"):
            path = f"~{path[len(home) :]}"
        if path.startswith("~/"):
            for folder in USER_FOLDERS:
                if path == folder or path.startswith(f"{folder}/"):
                    return folder, path[len(folder) + 1 :].lstrip("/")
        return "", ""


class HiddenSkill(msgspec.Struct, frozen=True):
    """A skill that is not used, because one of the same name comes before it: that at the path `by`."""

    skill: Skill
    by: str


class SkillCatalog(msgspec.Struct, frozen=True):
    """The skills that there are: those that are used, by their names, and the others with the reason."""

    skills: dict[str, Skill]
    hidden: tuple[HiddenSkill, ...] = ()
    unusable: tuple[UnusableFile, ...] = ()

    @property
    def listed(self) -> list[Skill]:
        """Return those that the agent is told of."""
        return [skill for skill in self.skills.values() if not skill.is_manual]


def read_skills(jail: Jail, is_trusted: bool) -> SkillCatalog:
    """Return the skills of the user, and before them those of the workspace if it is trusted; blocks."""
    skills: dict[str, Skill] = {}
    real_paths: set[str] = set()
    hidden: list[HiddenSkill] = []
    unusable: list[UnusableFile] = []
    scopes: tuple[tuple[PromptScope, Sequence[str]], ...] = (
        ("workspace", WORKSPACE_FOLDERS if is_trusted else ()),
        ("user", USER_FOLDERS if isinstance(jail, SkillJail) else ()),  # for others ~ is a folder's name
    )
    for scope, folder in ((scope, folder) for scope, folders in scopes for folder in folders):
        for real_path, found in _read_folder(jail, folder, scope):
            if real_path in real_paths:  # a link to a folder that is read already
                continue
            if isinstance(found, UnusableFile):
                unusable.append(found)
                continue
            real_paths.add(real_path)
            if (winner := skills.setdefault(found.name, found)) is not found:
                hidden.append(HiddenSkill(found, winner.path))
    return SkillCatalog(skills, tuple(hidden), tuple(unusable))


def _read_folder(jail: Jail, folder: str, scope: PromptScope) -> Iterator[tuple[str, Skill | UnusableFile]]:
    """Yield each skill of a folder by name, or why it can't be used, with the real path of its SKILL.md."""
    try:
        _, entries = jail.list_entries(folder)
    except ToolError as error:
        if not isinstance(error.__cause__, _GONE):
            yield folder, UnusableFile(folder, verbatim(error.why or error.what))
        return
    count = 0
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.kind not in ("folder", "link"):
            continue
        path = real_path = f"{folder}/{escape_undecodable(entry.name)}/{SKILL_FILE}"
        shown = escape_hidden_name(path)
        name = entry.name if is_command_name(entry.name) else ""
        try:
            with jail.open_file(path) as opened:
                data = opened.file.read(MAX_SKILL_BYTES + 1)
                real_path = opened.path
            count += 1
            if count > MAX_SKILLS:
                why = text("Only the first {count} skills of a folder are read.", count=MAX_SKILLS)
                yield folder, UnusableFile(shown, why, text("Move skills that you don't need elsewhere."))
                return
            yield real_path, parse_skill(data, entry.name, path, scope)
        except InvalidInput as error:
            yield real_path, UnusableFile(shown, error.what, error.fix, name)
        except ToolError as error:
            if isinstance(error.__cause__, _GONE):  # no skill
                continue
            if entry.kind == "link":
                target = posixpath.normpath(posixpath.join(folder, entry.link_target))
                real_path = f"{target}/{SKILL_FILE}"
            yield real_path, UnusableFile(shown, *_refusal(error, entry, folder), name)


def _refusal(error: ToolError, entry: DirEntry, folder: str) -> tuple[TranslatableText, OptionalText]:
    if isinstance(error, PathRefused) and entry.kind == "link":
        fix = text("Replace the link with the folder itself.")
        return text("It's a link that leads out of {folder}.", folder=folder), fix
    return verbatim(error.why or error.what), ""
