"""What the agent of a workspace is told before it begins and of changes; the user's own instructions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

import msgspec

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import StandingKind, StandingProblem, StandingText
from helix_desktop.domain.skills import HEADING, SKILLS_SHARE, list_skills, skill_line
from helix_desktop.domain.tools import CountTokens
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.system.files import open_regular, write_text_durably
from helix_desktop.tools.environment import WorkspaceEnvironment, describe_environment
from helix_desktop.tools.files.jail import WorkspaceAway, root_in_place
from helix_desktop.tools.files.skills import SkillCatalog, read_skills
from helix_desktop.tools.instruction_files import (
    MAX_FILE_BYTES,
    change_text,
    deletion_text,
    read_folder,
    read_for_run,
    read_own,
    without_comment,
)
from helix_desktop.words.translation import translate

text = TextContext("Services")

INSTRUCTIONS_FILE = "AGENTS.md"
_PERSONAL_COMMENT = text("Sent to every new session of all workspaces, without this line.")
_WORKSPACE_COMMENT = text("Sent to every new session of this workspace, without this line.")


class UserInstructions:
    """Finds and reads the user's instructions; an empty workspace id stands for all workspaces."""

    def __init__(self, data_dir: DataDir) -> None:
        self._data_dir = data_dir

    def path(self, workspace_id: str = "") -> Path:
        folder = self._data_dir.workspace_dir(workspace_id) if workspace_id else self._data_dir.root
        return folder / INSTRUCTIONS_FILE

    async def read(self, workspace_id: str = "") -> str:
        """Return the text as it is sent, without its heading; empty if there is none. Raises HelixError."""
        path = self.path(workspace_id)
        try:
            words = await asyncio.to_thread(_read, path)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _file_error(path, error) from error
        return without_comment(words.strip())

    async def create(self, workspace_id: str = "") -> Path:
        """Return the file; a missing one is made, with a comment that is not sent. Raises HelixError."""
        path = self.path(workspace_id)
        comment = _WORKSPACE_COMMENT if workspace_id else _PERSONAL_COMMENT
        try:
            if not await asyncio.to_thread(path.exists):
                first_line = f"<!-- {translate(comment)} -->\n"
                await asyncio.to_thread(write_text_durably, path, first_line)
        except OSError as error:
            raise _file_error(path, error) from error
        return path


def _read(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(MAX_FILE_BYTES).decode("utf-8-sig", errors="replace")


def _file_error(path: Path, error: OSError) -> HelixError:
    return HelixError(
        text("The instructions in {file} couldn't be read or made.", file=path),
        system_reason(error),
        text("Check the file's permissions and the free space."),
    )


_MIN_SHARE = 4  # bytes of a file are at most a quarter of the tokens of the window: about a sixteenth of it

Key = tuple[str, str]


class RunInstructions(msgspec.Struct, frozen=True):
    """What the command line says of instructions: more of them, or none at all."""

    enabled: bool = True
    name: str = ""
    """Of the file with more of them."""
    content: bytes = b""
    """Its first MAX_FILE_BYTES + 1."""
    size: int = 0


ALL_INSTRUCTIONS = RunInstructions()


class WorkspaceInstructions:
    """The environment and the instructions of one workspace; without trust its files are not read."""

    def __init__(
        self,
        environment: WorkspaceEnvironment,
        own_files: Mapping[StandingKind, Path],
        is_trusted: Callable[[], bool],
        count_tokens: CountTokens,
        run: RunInstructions = ALL_INSTRUCTIONS,
    ) -> None:
        """`own_files` are the user's, outside of the workspace."""
        self._environment = environment
        self._own_files = own_files
        self._count_tokens = count_tokens
        self._is_trusted = is_trusted
        self._run = run

    async def opening(self, window_size: int) -> tuple[StandingText, ...]:
        """Return what is told at a session's first message, of a model with a window of so many tokens."""
        environment, instructions = await asyncio.gather(
            describe_environment(self._environment), self._instructions(window_size)
        )
        return (StandingText("environment", environment), *instructions)

    async def changes(
        self, in_force: Mapping[Key, StandingText], window_size: int
    ) -> tuple[tuple[StandingText, bool], ...]:
        """Return what is new or changed of the instructions in force, and whether it is a change.

        While the folder is away, nothing is known of its own: they come as news later.
        """
        if not self._run.enabled:
            return ()
        watched: set[StandingKind] = {"personal", "workspace"}
        try:
            skills = await self._skills(window_size)
            now = await asyncio.to_thread(self._in_place, skills, in_force, window_size)
            watched |= {"skills", "project"} if self._is_trusted() else {"skills"}
        except WorkspaceAway:
            now = list((await asyncio.to_thread(self._of_user, window_size)).values())
        return _changes(in_force, now, watched)

    async def in_folders(
        self, folders: Iterable[str], in_force: Mapping[Key, StandingText], window_size: int
    ) -> tuple[StandingText, ...]:
        if not (self._run.enabled and self._is_trusted()):
            return ()
        return await asyncio.to_thread(self._in_folders, tuple(folders), in_force, window_size)

    async def _instructions(self, window_size: int) -> tuple[StandingText, ...]:
        """Return the skills and instructions; while the folder is away, its own come as news later."""
        try:
            skills = await self._skills(window_size)
            return (*skills, *await asyncio.to_thread(self._current, (), window_size))
        except WorkspaceAway:
            return tuple((await asyncio.to_thread(self._of_user, window_size)).values())

    async def _skills(self, window_size: int) -> list[StandingText]:
        """Return the list of skills that the agent is told of, if there is one. Raises WorkspaceAway."""
        if not self._run.enabled:
            return []

        def read() -> SkillCatalog:
            with root_in_place(self._environment.jail):
                return read_skills(self._environment.jail, self._is_trusted())

        catalog = await asyncio.to_thread(read)
        skills = catalog.listed
        if not skills:
            return []
        lines = [skill_line(skill) for skill in skills]
        heading, *counts = await self._count_tokens([HEADING, *lines, *(skill.name for skill in skills)])
        tokens = list(zip(counts[: len(skills)], counts[len(skills) :], strict=True))
        words, described = list_skills(skills, tokens, window_size // SKILLS_SHARE - heading)
        everything = "\n".join(f"{skill.folder} {skill_line(skill)}" for skill in skills).encode()
        problem: StandingProblem = "cut" if described < len(skills) else ""
        sha256 = digest_of(everything)
        return [StandingText("skills", words, sha256=sha256, size=len(everything), problem=problem)]

    def _current(self, in_force: Iterable[Key], window_size: int) -> list[StandingText]:
        """Return the instructions that hold now, the most general first, with those of folders in force."""
        if not self._run.enabled:
            return []
        limit = min(MAX_FILE_BYTES, window_size // _MIN_SHARE)
        own = self._of_user(window_size)
        paths_in_force = [path for kind, path in in_force if kind == "project"]
        project: list[StandingText] = []
        if self._is_trusted():
            for folder in sorted({"", *(path.rpartition("/")[0] for path in paths_in_force)}):
                project += read_folder(self._environment.jail, folder, paths_in_force, limit)
        order: tuple[StandingKind, ...] = ("workspace", "run")
        personal = [own["personal"]] if "personal" in own else []
        return [*personal, *project, *(own[kind] for kind in order if kind in own)]

    def _of_user(self, window_size: int) -> dict[StandingKind, StandingText]:
        """Return the user's instructions from outside of the workspace, in the order of telling them."""
        run = self._run
        limit = min(MAX_FILE_BYTES, window_size // _MIN_SHARE)
        if not run.enabled:
            return {}
        own: dict[StandingKind, StandingText] = {
            kind: text
            for kind, path in self._own_files.items()
            if (text := read_own(path, kind, limit)) is not None
        }
        if (text_for_run := read_for_run(run.name, run.content, run.size, limit)) is not None:
            own["run"] = text_for_run
        return own

    def _in_place(
        self, skills: Iterable[StandingText], in_force: Iterable[Key], window_size: int
    ) -> list[StandingText]:
        """Return the skills and the instructions that hold now. Raises WorkspaceAway."""
        with root_in_place(self._environment.jail):
            return [*skills, *self._current(in_force, window_size)]

    def _in_folders(
        self, folders: tuple[str, ...], in_force: Mapping[Key, StandingText], window_size: int
    ) -> tuple[StandingText, ...]:
        limit = min(MAX_FILE_BYTES, window_size // _MIN_SHARE)
        every = {
            "/".join(parts[:depth])
            for parts in (folder.split("/") for folder in folders if folder and folder[0] != "~")
            for depth in range(1, len(parts) + 1)
        }
        found = (
            text
            for folder in sorted(every)
            for text in read_folder(self._environment.jail, folder, (), limit)
        )
        return tuple(text for text in found if text.key not in in_force)


def _changes(
    in_force: Mapping[Key, StandingText], texts: Iterable[StandingText], watched: Set[StandingKind]
) -> tuple[tuple[StandingText, bool], ...]:
    """Return which of these texts differ from those in force, and which of the kinds `watched` are gone."""
    now = {text.key: text for text in texts}
    changes: list[tuple[StandingText, bool]] = []
    for key, text in now.items():
        previous = in_force.get(key)
        if previous is None:
            changes.append((text, False))
        elif (text.sha256, text.size) != (previous.sha256, previous.size):
            changes.append((change_text(text), True))
    changes += [
        (deletion_text(previous), True)
        for key, previous in in_force.items()
        if previous.kind in watched and key not in now and previous.problem != "gone"
    ]
    return tuple(changes)
