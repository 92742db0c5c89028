"""The `git` program: a checkout's state and stored contents, with nothing run that the checkout names.

It is confined and bounded. A checkout's configuration and attributes can name programs: hooks, a file
monitor, filters that files go through, pagers, helpers for passwords and connections. The commands here read;
each of these is off, whatever is configured. So a file that only a filter would make equal, as of LFS, may
count as changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.git import EMPTY_TREE, GitEntry, GitProblem, GitStatus
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.files import read_start
from helix_desktop.tools.files.jail import DirEntry, Jail
from helix_desktop.tools.process import ProcessResult, ProcessSpec, held, run_process
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.git_config import PROGRAMS_OFF, USERS_CONFIG_VARIABLES
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_scope import NoSandbox, SandboxScope
from helix_desktop.tools.shell.scratch import ScratchDir
from helix_desktop.tools.tool import CurrentGrants

_FILE_CAP = 4096  # bytes of a file of git that holds a path or a name
_BRANCH = "ref: refs/heads/"
_COMMIT = re.compile("[0-9a-f]{40,64}")
_GIT = ".git"


class Checkout(msgspec.Struct, frozen=True):
    """A checkout: its topmost folder and its git folder; a linked worktree shares `common_folder`."""

    top: Path
    git_folder: Path
    common_folder: Path | None = None

    @property
    def worktree(self) -> str:
        """The name of a linked worktree; empty: it is none."""
        return escape_hidden_name(self.git_folder.name) if self.common_folder else ""

    @property
    def main_folder(self) -> str:
        """The folder that a linked worktree was made from."""
        if self.common_folder is None:
            return ""
        is_inside = self.common_folder.name == _GIT  # else it is bare
        return escape_hidden_name(str(self.common_folder.parent if is_inside else self.common_folder))

    @property
    def git_folders(self) -> tuple[Path, ...]:
        """What git has to read besides the files."""
        return (self.git_folder, *([self.common_folder] if self.common_folder else []))


def find_checkout(root: Path) -> Checkout | None:
    """Return the checkout that a folder is in; None: it is in none, or not there."""
    if not root.is_dir():
        return None
    for folder in (root, *root.parents):
        git = folder / _GIT
        if git.is_dir():
            return Checkout(folder, git)
        target = _read(git).removeprefix("gitdir: ") if git.is_file() else ""
        if target:
            git_folder = Path(folder, target).resolve()
            common = _read(git_folder / "commondir")
            return Checkout(folder, git_folder, (git_folder / common).resolve() if common else None)
    return None


def read_head(checkout: Checkout) -> tuple[str, str]:
    """Return the branch, or the commit, that HEAD names as a file."""
    words = _read(checkout.git_folder / "HEAD")
    if words.startswith(_BRANCH):
        return escape_hidden_name(words.removeprefix(_BRANCH)), ""
    return "", words if _COMMIT.fullmatch(words) else ""


def _read(path: Path) -> str:
    return read_start(path, _FILE_CAP).decode(errors="replace").strip()


OUTPUT_CAP = 16 * 1024 * 1024  # bytes: about 100,000 lines of a status
_CONFIG_CAP = 256 * 1024  # bytes
_PROGRAM = "git.exe" if os.name == "nt" else "git"
_OFF = (
    *PROGRAMS_OFF,
    "diff.external=",
    "safe.bareRepository=explicit",  # a folder that looks like one may have come with the files
)
_OPTIONS = ("--no-pager", "--no-optional-locks", *(word for setting in _OFF for word in ("-c", setting)))
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",  # outranks what a checkout allows
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # what it says of a failure is read
}
_FILTER = "filter."
_FILTER_OFF = ("clean=", "smudge=", "process=", "required=false")
_NO_MATCH = 1  # exit code of `git config` where no name matches


class GitOutput(msgspec.Struct, frozen=True):
    """What a command wrote; `problem` says why it did not."""

    output: bytes = b""
    problem: GitProblem = ""


class GitProgram:
    """The git program in the folder of a workspace, with the environment and sandbox of its commands."""

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        sandboxes: SandboxProvider,
        current_grants: CurrentGrants,
        guard: AutoRunGuard | None = None,
    ) -> None:
        """It runs once the `guard` of the workspace has taken out what a command planted for git."""
        self._guard = guard
        self.root = root
        self._environment = environment
        self._sandboxes = sandboxes
        self._current_grants = current_grants
        self._scratch = ScratchDir()  # removed with this object

    def find(self) -> str:
        """Return the path of git, which is never one in the workspace; empty if there is none. Blocks."""
        for name in self._environment.get("PATH", "").split(os.pathsep):
            program = Path(name, _PROGRAM)
            is_program = program.is_absolute() and program.is_file() and os.access(program, os.X_OK)
            if is_program and not self._contains(program):
                return str(program)
        return ""

    def _contains(self, program: Path) -> bool:
        """Return True if a program is in the workspace, or leads into it, by whatever links."""
        places = (program, os.path.realpath(program.parent), os.path.realpath(program))
        return any(Path(place).is_relative_to(self.root) for place in places)

    async def run(
        self, arguments: Sequence[str], timeout_s: float, stdin_data: bytes | None = None
    ) -> GitOutput:
        """Run one command that reads, with every filter of the checkout off."""
        end = monotonic() + timeout_s
        if self._guard is not None:
            await asyncio.to_thread(self._guard.wait)
        git = await asyncio.to_thread(self.find)
        if not git:
            return GitOutput(problem="failed")
        names = ("config", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\..")
        try:
            scope = await asyncio.to_thread(self._scope)
            listed = await self._run([git, *_OPTIONS, *names], scope, timeout_s, _CONFIG_CAP)
            problem = _problem(listed)
            if problem and listed.exit_code != _NO_MATCH:
                return GitOutput(problem=problem)
            filters = _filters_off(listed.output)
            if filters is None:
                return GitOutput(problem="failed")
            command = [git, *_OPTIONS, *filters, *arguments]
            result = await self._run(command, scope, max(0.0, end - monotonic()), OUTPUT_CAP, stdin_data)
        except OSError:  # it cannot be started, or there are more filters than a command has room for
            return GitOutput(problem="failed")
        return GitOutput(result.output, _problem(result))

    async def _run(
        self,
        command: Sequence[str],
        scope: SandboxScope,
        timeout_s: float,
        cap: int,
        stdin_data: bytes | None = None,
    ) -> ProcessResult:
        sandbox = await self._sandboxes.detect() if self._current_grants().sandbox else NoSandbox()
        cleaned = {
            name: value
            for name, value in self._environment.items()
            if not name.upper().startswith("GIT_") or name in USERS_CONFIG_VARIABLES
        }
        spec = ProcessSpec(
            command,
            str(self.root),
            cleaned | _VARIABLES,
            stdin_data,
            join_errors=False,
            is_guarded=stdin_data is None,
        )
        async with held(sandbox.wrap(spec, scope, False)) as confined:
            return await run_process(confined, timeout_s, cap)

    def _scope(self) -> SandboxScope:
        """Return what git may read; it writes nothing. Blocks."""
        scope = self._sandboxes.scope_for(self.root, self._scratch.folder(), self._scratch.private_folder())
        checkout = find_checkout(self.root)
        folders = checkout.git_folders if checkout is not None else ()
        return replace(scope, is_read_only=True, read_only=(*scope.read_only, *folders))


def _filters_off(names: bytes) -> list[str] | None:
    """Return the options that turn filters off, by the names of settings; None if a name fits no option."""
    drivers = {
        name.rpartition(".")[0].removeprefix(_FILTER)
        for name in names.decode(errors="surrogateescape").split("\0")
        if name.count(".") > 1
    }
    if any("=" in driver or "\n" in driver for driver in drivers):
        return None
    return [
        word
        for driver in sorted(drivers)
        for off in _FILTER_OFF
        for word in ("-c", f"{_FILTER}{driver}.{off}")
    ]


def _problem(result: ProcessResult) -> GitProblem:
    if result.exit_code is None:
        return "slow"
    if result.exit_code:
        return "owner" if b"dubious ownership" in result.errors else "failed"
    return "too_many" if result.dropped_bytes else ""


CONTENT_TIMEOUT_S = 20.0
MAX_CONTENT_BYTES = OUTPUT_CAP - 4096
"""Size of the largest content that is read: it is written with a line before it."""

SHA1_DIGITS = 40
_ID_SIZE = 100  # bytes of the line before a content, at most


def blob_id(data: bytes, digits: int = SHA1_DIGITS) -> str:
    """Return the id that git gives a content; `digits` are those of the checkout's ids."""
    name = "sha1" if digits == SHA1_DIGITS else "sha256"
    return hashlib.new(name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


async def read_sizes(git: GitProgram, ids: Sequence[str]) -> dict[str, int]:
    """Return the sizes of contents in bytes; what is not on this computer is left out."""
    if not ids:
        return {}
    result = await git.run(("cat-file", "--batch-check"), CONTENT_TIMEOUT_S, _id_lines(ids))
    rows = (line.split(" ") for line in result.output.decode(errors="replace").splitlines())
    return {row[0]: int(row[2]) for row in rows if row[1:2] == ["blob"]}


async def read_contents(git: GitProgram, sizes: dict[str, int]) -> dict[str, bytes]:
    """Return contents by their ids and sizes; what is too large or cannot be read is left out."""
    contents: dict[str, bytes] = {}
    for ids in _portions(sizes):
        result = await git.run(("cat-file", "--batch"), CONTENT_TIMEOUT_S, _id_lines(ids))
        if not result.problem:
            contents |= _parse_batch(result.output)
    return contents


async def read_converted(git: GitProgram, content_id: str, path: str) -> bytes | None:
    """Return a content with the line ends and encoding that a path of the checkout has on disk."""
    result = await git.run(("cat-file", "--filters", f"--path={path}", content_id), CONTENT_TIMEOUT_S)
    return None if result.problem else result.output


async def read_submodule(git: GitProgram, path: str, has_commit: bool) -> tuple[bytes | None, bytes | None]:
    """Return a submodule's commit as git shows it as a text: in the last commit, and now."""
    options = ("-p", "--submodule=short", "--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv")
    tree = "HEAD" if has_commit else EMPTY_TREE
    command = ("--literal-pathspecs", "diff-index", *options, "--no-color", "--no-renames", tree, "--", path)
    result = await git.run(command, CONTENT_TIMEOUT_S)
    lines = {line[:1]: line[1:] + b"\n" for line in result.output.splitlines() if line[1:11] == b"Subproject"}
    return lines.get(b"-"), lines.get(b"+")


def _id_lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{content_id}\n" for content_id in ids).encode()


def _portions(sizes: dict[str, int]) -> Iterator[list[str]]:
    """Yield ids whose contents have room in one output, together."""
    portion: list[str] = []
    room = OUTPUT_CAP
    for content_id, size in sizes.items():
        if size > MAX_CONTENT_BYTES:
            continue
        if size + _ID_SIZE > room:
            yield portion
            portion = []
            room = OUTPUT_CAP
        portion.append(content_id)
        room -= size + _ID_SIZE
    if portion:
        yield portion


def _parse_batch(output: bytes) -> dict[str, bytes]:
    """Return what `git cat-file --batch` wrote: a line with id, type and size, the content, a line feed."""
    contents: dict[str, bytes] = {}
    start = 0
    while (end := output.find(b"\n", start)) >= 0:
        fields = output[start:end].decode(errors="replace").split(" ")
        start = end + 1
        if len(fields) == 3 and fields[1] == "blob":  # noqa: PLR2004 - id, type, size
            size = int(fields[2])
            contents[fields[0]] = output[start : start + size]
            start += size + 1
    return contents


_PLAIN = 0o644
_EXECUTABLE = 0o755


class WorkingTreeFile(NamedTuple):
    """What stands at a path (None: nothing), and the bytes of a file that is not too large."""

    state: FileState | None = None
    data: bytes | None = None


class WorkingTreeFiles:
    """Reads files for one list of changes; folders are listed once."""

    def __init__(self, jail: Jail, room: int = MAX_CONTENT_BYTES, digits: int = SHA1_DIGITS) -> None:
        """`room` are the bytes that are read of all files together, `digits` those of the checkout's ids."""
        self._jail = jail
        self._room = room
        self._digits = digits
        self._folders: dict[str, dict[str, DirEntry]] = {}

    def read(self, path: str, mode: int = 0) -> WorkingTreeFile:
        """Return what stands at a path; `mode` are its permissions, 0: as they are on disk.

        A file that may not be read, by permissions or the ignore file, is one that is not stored.
        """
        try:
            return self._read(path, mode)
        except (ToolError, OSError):
            return WorkingTreeFile(FileState(mode=mode, stored=False))

    def _read(self, path: str, mode: int) -> WorkingTreeFile:
        entry = self._find(path)
        if entry is None:
            return WorkingTreeFile()
        if entry.kind == "link":
            return WorkingTreeFile(FileState("link", target=entry.link_target))
        if entry.kind != "file":
            return WorkingTreeFile(FileState("folder"))
        with self._jail.open_file(path) as opened:
            file_stat = os.fstat(opened.file.fileno())
            mode = mode or (_EXECUTABLE if file_stat.st_mode & stat.S_IXUSR else _PLAIN)
            if file_stat.st_size > min(self._room, MAX_CONTENT_BYTES):
                return WorkingTreeFile(FileState(size=file_stat.st_size, mode=mode))
            data = opened.file.read(MAX_CONTENT_BYTES)
        self._room -= len(data)
        return WorkingTreeFile(FileState(digest=blob_id(data, self._digits), size=len(data), mode=mode), data)

    def _find(self, path: str) -> DirEntry | None:
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            _, entries = self._jail.list_entries(folder or ".")
            self._folders[folder] = {entry.name: entry for entry in entries}
        return self._folders[folder].get(name)


TIMEOUT_S = 10.0  # a checkout of 500,000 files on a cold disk
_ARGUMENTS = (
    *("status", "--porcelain=v2", "--branch", "-z", "--renames"),
    "--ignore-submodules=dirty",  # to look into one would obey its own configuration
)
_FIELDS = {"1": 8, "2": 9, "u": 10}  # fields before the path, by the kind of line
_NOTHING = "0" * 6


class CheckoutState(NamedTuple):
    """The state of a checkout, and the paths of the workspace that differ from its last commit.

    `prefix` is what stands before them in the checkout: empty, or a folder with a slash at its end.
    """

    status: GitStatus
    entries: tuple[GitEntry, ...] = ()
    prefix: str = ""


async def read_status(git: GitProgram, timeout_s: float = TIMEOUT_S) -> GitStatus | None:
    """Return the state of the checkout that a workspace is in; None: it is in none, or there is no git."""
    state = await read_checkout_state(git, "normal", timeout_s)
    return state and state.status


async def read_checkout_state(
    git: GitProgram, untracked: str = "all", timeout_s: float = TIMEOUT_S
) -> CheckoutState | None:
    """Return state and paths; `untracked` "all" lists each file of a new folder, "normal" the folder."""
    checkout = await asyncio.to_thread(find_checkout, git.root)
    if checkout is None or not await asyncio.to_thread(git.find):
        return None
    result = await git.run((*_ARGUMENTS, f"--untracked-files={untracked}", "--", "."), timeout_s)
    if result.problem:
        head = await asyncio.to_thread(read_head, checkout)
        status = GitStatus(*head, is_known=False, problem=result.problem)
        return CheckoutState(_with_place(status, checkout))
    state = parse_state(result.output, _prefix(git.root, checkout))
    return state._replace(status=_with_place(state.status, checkout))


def _prefix(root: Path, checkout: Checkout) -> str:
    """Return the path of the workspace in its checkout, with a slash at its end; empty: it is all of it."""
    inside = root.relative_to(checkout.top).as_posix()
    return "" if inside == "." else f"{inside}/"


def _with_place(status: GitStatus, checkout: Checkout) -> GitStatus:
    return msgspec.structs.replace(status, worktree=checkout.worktree, main_folder=checkout.main_folder)


def parse_state(output: bytes, prefix: str = "") -> CheckoutState:
    """Return what `git status --porcelain=v2 --branch -z` wrote; `prefix` is cut off its paths."""
    heads: dict[str, str] = {}
    entries: dict[str, GitEntry] = {}
    for line, source in _lines(output):
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            heads[name] = value
            continue
        entry = _entry(line, source, prefix)
        if entry is None:
            continue
        other = entries.get(entry.path)
        entries[entry.path] = entry if other is None else _joined(other, entry)
    counts = Counter(entry.letter for entry in entries.values())
    status = msgspec.structs.replace(
        _status(heads),
        changed=counts.total() - counts["?"],
        untracked=counts["?"],
        conflicts=counts["U"],
    )
    return CheckoutState(status, tuple(entries.values()), prefix)


def _lines(output: bytes) -> Iterator[tuple[str, str]]:
    """Return the lines, each with the source of a rename, which follows its line."""
    lines = iter(output.decode(errors="replace").split("\0"))
    for line in lines:
        if line:
            yield line, next(lines, "") if line.startswith("2 ") else ""


def _status(heads: dict[str, str]) -> GitStatus:
    branch = heads.get("branch.head", "")
    commit = heads.get("branch.oid", "")
    is_detached = branch == "(detached)"
    ahead, _, behind = heads.get("branch.ab", "+0 -0").partition(" ")
    return GitStatus(
        "" if is_detached else escape_hidden_name(branch),
        commit if is_detached else "",
        commit != "(initial)",
        escape_hidden_name(heads.get("branch.upstream", "")),
        abs(int(ahead)),
        abs(int(behind)),
    )


def _entry(line: str, source: str, prefix: str) -> GitEntry | None:
    kind = line[0]
    if kind == "?":
        return GitEntry(line[2:].removeprefix(prefix), "?")
    fields = line.split(" ", _FIELDS.get(kind, 0))
    match kind:
        case "1":
            return _changed_entry(fields, fields[8].removeprefix(prefix))
        case "2":
            return _moved_entry(fields, fields[9].removeprefix(prefix), source.removeprefix(prefix))
        case "u":
            path = fields[10].removeprefix(prefix)
            ours = _content(fields[4], fields[8])
            return GitEntry(path, "U", *ours, int(fields[6], 8))
    return None  # a kind of line that did not exist when this was written


def _changed_entry(fields: list[str], path: str) -> GitEntry | None:
    before_mode = fields[3]
    mode = fields[5]
    if before_mode == mode == _NOTHING:
        return None  # added to the index, then deleted
    letter = _letter(fields[1], before_mode, mode)
    return GitEntry(path, letter, *_content(before_mode, fields[6]), int(mode, 8))


def _moved_entry(fields: list[str], path: str, source: str) -> GitEntry:
    mode = int(fields[5], 8)
    before = _content(fields[3], fields[6])
    if fields[8].startswith("C"):
        return GitEntry(path, "A", after_mode=mode)  # a copy: what it is of is still there
    if not mode:
        return GitEntry(source, "D", *before)
    return GitEntry(path, "R", *before, mode, source)


def _content(mode: str, digest: str) -> tuple[str, int]:
    return ("", 0) if mode == _NOTHING else (digest, int(mode, 8))


def _letter(letters: str, before_mode: str, mode: str) -> str:
    """Return the letter of a path against the last commit, of its two against the index and of the index."""
    if before_mode == _NOTHING:
        return "A"
    if mode == _NOTHING:
        return "D"
    return "T" if "T" in letters else "M"


def _joined(first: GitEntry, second: GitEntry) -> GitEntry:
    """Return one entry of a path that is deleted in the index and there all the same, untracked."""
    tracked = second if first.letter == "?" else first
    if not tracked.before:
        return tracked
    return msgspec.structs.replace(tracked, letter="M", after_mode=tracked.before_mode)
