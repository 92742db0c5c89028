"""Instruction files: the user's own and those of the workspace's folders, as the model gets them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.session import StandingKind, StandingProblem, StandingText
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.system.files import open_regular
from helix_desktop.tools.files.jail import Jail, WorkspaceAway
from helix_desktop.tools.tool import PathRefused

FILE_NAMES = ("AGENTS.md", "CLAUDE.md")  # the first is the common one
MAX_FILE_BYTES = 32 * 1024
_IMPORT = "@AGENTS.md"  # the whole of a CLAUDE.md that only names the other file
_GONE = (FileNotFoundError, NotADirectoryError)
_FIRST_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)


def read_folder(
    jail: Jail, folder: str, paths_in_force: Iterable[str] = (), limit: int = MAX_FILE_BYTES
) -> list[StandingText]:
    """Return the instructions in a folder of the workspace, at most `limit` bytes of each file; blocks.

    Raises WorkspaceAway. A second file that says the same is left out, unless it is in force. The common one
    comes last.
    """
    common, other = (
        _read_in_jail(jail, f"{folder}/{name}" if folder else name, limit) for name in FILE_NAMES
    )
    if (
        common is not None
        and other is not None
        and other.path not in paths_in_force
        and _repeats(other, common)
    ):
        other = None
    return [text for text in (other, common) if text is not None]


def read_own(path: Path, kind: StandingKind, limit: int = MAX_FILE_BYTES) -> StandingText | None:
    """Return the user's own instructions from a file outside of workspaces; None without any; blocks."""
    try:
        with open_regular(path) as file:
            return _read(file, kind, "", limit, path.stat().st_size)
    except _GONE:
        return None
    except OSError as error:
        return _refused(kind, "", "unreadable", str(error.strerror))


def read_for_run(name: str, content: bytes, size: int, limit: int) -> StandingText | None:
    """Return the instructions for one run; None without any. `content` begins a file of `size` bytes."""
    return _read(BytesIO(content), "run", name, limit, size)


def without_comment(body: str) -> str:
    """Return a text without the comment that it begins with, as a new file of the user has."""
    comment = _FIRST_COMMENT.match(body)
    return body[comment.end() :] if comment else body


def deletion_text(previous: StandingText) -> StandingText:
    """Return the text that says that a file with instructions is gone."""
    name = _name_of(previous.kind, previous.path)
    return StandingText(
        previous.kind, f"[{name} were deleted: they hold no more.]", path=previous.path, problem="gone"
    )


def change_text(text: StandingText) -> StandingText:
    """Return a text with a first line that says that it takes the place of the former one."""
    name = _name_of(text.kind, text.path)
    if text.problem not in ("", "cut"):
        return text
    rest = text.text.partition("\n")[2]
    changed = f"[{name} have changed: this text takes the place of the former one.]\n{rest}"
    return StandingText(text.kind, changed, 0, text.path, text.sha256, text.size, text.problem)


def _repeats(text: StandingText, common: StandingText) -> bool:
    body = text.text.partition("\n")[2].strip()
    return body == _IMPORT or text.sha256 == common.sha256 != ""


def _read_in_jail(jail: Jail, path: str, limit: int) -> StandingText | None:
    try:
        with jail.open_file(path) as opened:
            return _read(opened.file, "project", path, limit, opened.stamp.size)
    except WorkspaceAway:
        raise
    except ToolError as error:
        if isinstance(error.__cause__, _GONE):
            return None
        problem: StandingProblem = "refused" if isinstance(error, PathRefused) else "unreadable"
        return _refused("project", path, problem, " ".join(filter(None, (error.what, error.why))))


def _read(file: BinaryIO, kind: StandingKind, path: str, limit: int, size: int) -> StandingText | None:
    data = file.read(MAX_FILE_BYTES + 1)  # whatever the window: its hash tells whether the file changed
    sha256 = digest_of(data)
    encoding = utf16_encoding(data)
    if b"\0" in data and not encoding:
        return _refused(kind, path, "binary", "the file is not text.", sha256, size)
    body = data[:limit].decode(encoding or "utf-8-sig", errors="replace").removeprefix("\ufeff")
    problem: StandingProblem = ""
    if len(data) > limit:
        problem = "cut"
        body = body[: body.rfind("\n") + 1] or body
    body = escape_hidden(body.replace("\r\n", "\n")).strip()
    if kind in ("personal", "workspace"):
        body = without_comment(body)
    if not body:
        return None
    parts = [_heading(kind, path), body]
    if problem == "cut":
        rest = "read the rest with read_file" if kind == "project" else "the rest is not sent"
        parts.append(f"[Cut here: {_name_of(kind, path)} have {format_bytes(size)}; {rest}.]")
    return StandingText(kind, "\n".join(parts), path=path, sha256=sha256, size=size, problem=problem)


def _refused(
    kind: StandingKind, path: str, problem: StandingProblem, why: str, sha256: str = "", size: int = 0
) -> StandingText:
    text = f"[{_name_of(kind, path)} are not sent: {why}]"
    return StandingText(kind, text, path=path, sha256=sha256, size=size, problem=problem)


def _heading(kind: StandingKind, path: str) -> str:
    name = _name_of(kind, path)
    folder = escape_hidden_name(path.rpartition("/")[0])
    match kind:
        case "personal":
            return f"[{name}]"
        case "project" if folder:
            return f"[{name}: they hold for files in {folder}/, and win over those of the folders above it.]"
        case "project":
            return (
                f"[{name}: where they contradict instructions before them, these win. Those of subfolders "
                "come by themselves when you first work there.]"
            )
        case _:
            return f"[{name}: where they contradict instructions before them, these win.]"


def _name_of(kind: StandingKind, path: str) -> str:
    match kind:
        case "personal":
            return "The user's instructions for all workspaces"
        case "workspace":
            return "The user's instructions for this workspace"
        case "skills":
            return "The skills"
        case "run":
            return f"The user's instructions for this run ({escape_hidden_name(path)})"
        case _:
            return f"Project instructions in {escape_hidden_name(path)}"
