"""Notes by which the model learns of changed files, and refusals of edits of files it does not know."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

import msgspec

from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.unicode_safety import escape_hidden_name

_MAX_NAMED = 20
_READ_AGAIN = "Read a file again before you rely on it."
_REVERTS = re.compile(r"\[The user (?:reverted|redid|set) .*\.\]$")
_FILES_HEAD = "Files on disk since you last saw them:"


class FileUpdate(msgspec.Struct, frozen=True):
    """What changed of a file: a diff from the version that the model knows, or a sentence if that is long.

    Empty: the previous version is not known.
    """

    path: str
    text: str = ""


def files_note(files: Sequence[ChangedFile], updates: Sequence[FileUpdate] = ()) -> str:
    """Return the note on files that changed since they were read or written; empty without any."""
    changed = _names([file for file in files if not file.is_gone])
    gone = _names([file for file in files if file.is_gone])
    parts = [*([f"changed: {changed}"] if changed else []), *([f"gone: {gone}"] if gone else [])]
    if not parts:
        return ""
    head = f"{_FILES_HEAD} {'; '.join(parts)}. What stands above of them is old."
    texts = _texts(updates)
    return f"[{head} What changed:\n{texts}\n]" if texts else f"[{head}]"


def tells_of_files(note: str) -> bool:
    return f"[{_FILES_HEAD}" in note


def reverts_note(
    reverted: Sequence[str], redone: Sequence[str], rewound: Sequence[str] = (), shown: Container[str] = ()
) -> str:
    """Return the note on files whose changes the user reverted or redid; empty without any.

    A rewind may do both: it sets files back to a message, whatever changed them since. None has to
    be read again if all are `shown` with what changed in them.
    """
    parts = [
        f"reverted the changes to {_listed(reverted)}" if reverted else "",
        f"redid the changes to {_listed(redone)}" if redone else "",
        f"set {_listed(rewound)} back to an earlier state" if rewound else "",
    ]
    text = ", and ".join(filter(None, parts))
    is_all_shown = all(path in shown for path in (*reverted, *redone, *rewound))
    advice = "" if is_all_shown else f" {_READ_AGAIN}"
    return f"[The user {text}.{advice}]" if text else ""


def revert_lines(note: str) -> list[str]:
    """Return what the note of a user's message says of reverts."""
    return [line for line in note.splitlines() if _REVERTS.match(line)]


def refused_edit(files: Sequence[ChangedFile], updates: Sequence[FileUpdate]) -> str:
    """Return the answer to an edit of files that changed since the model saw them."""
    names = _names(files)
    texts = _texts(updates)
    parts = [
        f"Nothing was written: {names} changed on disk since you last saw it. You did not do that.",
        f"What changed:\n{texts}" if texts else "",
        "Look at what is there now, keep what was changed, and make your edit again.",
    ]
    return "\n".join(filter(None, parts))


def _texts(updates: Sequence[FileUpdate]) -> str:
    return "\n".join(file.text for file in updates if file.text)


def _names(files: Sequence[ChangedFile]) -> str:
    return _listed([file.path for file in files])


def _listed(paths: Sequence[str]) -> str:
    names = ", ".join(map(escape_hidden_name, paths[:_MAX_NAMED]))
    return f"{names} and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else names
