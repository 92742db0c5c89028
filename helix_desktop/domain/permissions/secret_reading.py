"""Which files with keys or passwords a program surely shows, or copies to where no name says that.

Programs that use one (`source .env && pytest`) are not among them: what may run the project's code may read
its `.env` anyway, and a question before each start would be answered unread.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from helix_desktop.domain.files.secret_names import is_secret_path
from helix_desktop.domain.permissions.program import Program
from helix_desktop.domain.permissions.texts_to_run import sed_scripts

_SHOWING = frozenset({
    "base64", "bat", "batcat", "cat", "comm", "diff", "head", "hexdump", "less", "more", "nl", "od", "paste",
    "rev", "sort", "strings", "tac", "tail", "xxd",
})  # fmt: skip
"""Programs that show the content of each file that they are given."""
_SEARCHING = frozenset({"egrep", "fgrep", "grep", "rg"})
_SHOWS_NO_LINE = re.compile(r"-[A-Za-z]*[qclL][A-Za-z]*|--(?:quiet|silent|count|files-with(?:out)?-match\w*)")
_PATTERN_OPTION = re.compile(r"-[A-Za-z]*[ef].*|--(?:regexp|file)\b.*")
_PRINTING_SCRIPT = re.compile(r"[\d,$;p ]+")


def secrets_read(program: Program) -> Iterator[str]:
    """Yield the paths of files with keys or passwords whose content a program shows or copies."""
    if not program.is_hidden and not _is_kept(program.outputs):
        yield from filter(_may_be_secret, (*_shown_paths(program), *_inputs(program)))


def _may_be_secret(path: str) -> bool:
    name = posixpath.basename(path)
    return is_secret_path(path) or (name.startswith(".") and fnmatchcase(".env", name))


def _shown_paths(program: Program) -> Sequence[str]:
    words = program.words
    operands = [word for word in words if not word.startswith("-")]
    match program.name:
        case name if name in _SHOWING:
            return operands
        case name if name in _SEARCHING and not any(map(_SHOWS_NO_LINE.fullmatch, words)):
            return operands if any(map(_PATTERN_OPTION.fullmatch, words)) else operands[1:]
        case "sed" if all(map(_PRINTING_SCRIPT.fullmatch, sed_scripts(words))):
            return operands
        case "cp" | "mv" | "ln" | "install" if operands:
            *sources, place = operands
            is_folder = place.endswith("/") or posixpath.basename(place) in (".", "..")
            return [] if is_folder or is_secret_path(place) else sources
    return []


def _inputs(program: Program) -> Sequence[str]:
    return program.inputs if program.name in _SHOWING else ()


def _is_kept(outputs: Sequence[str]) -> bool:
    """Return True if what a program prints goes to where it is no more readable than before."""
    return bool(outputs) and all(path == "/dev/null" or is_secret_path(path) for path in outputs)
