"""Changes of files as the text of a patch that `git apply` takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from helix_desktop.domain.file_history.diff import FileDiff, Hunk, diff_contents
from helix_desktop.domain.file_history.state import FileChange, FileState
from helix_desktop.domain.unicode_safety import is_hidden

NO_LINE_END = "\\ No newline at end of file"
SIGNS = {"same": " ", "removed": "-", "added": "+"}
"""What a line of a unified diff begins with, by its kind."""

_EXECUTABLE = 0o100
_NOTHING = "/dev/null"
_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class PatchFile(NamedTuple):
    """A change and what differs by it."""

    change: FileChange
    diff: FileDiff


def patch_text(files: Sequence[PatchFile]) -> str:
    """Return the patch of changes, by path; bytes that are no UTF-8 are lone surrogates in it.

    A path that was moved is a rename if the list also removes the path that it had. Folders, and permissions
    other than to execute, are not part of a patch; contents that are no text are only said to differ.
    """
    removed = {file.change.path: file.change for file in files if file.change.after is None}
    moved: dict[str, str] = {}  # from where to where, each path once
    for change, _ in files:
        if change.before is None and change.moved_from in removed:
            moved.setdefault(change.moved_from, change.path)
    parts: list[str] = []
    for change, diff in sorted(files, key=lambda file: file.change.path):
        if moved.get(change.moved_from) == change.path:
            parts += _rename(removed[change.moved_from], change)
        elif change.path not in moved:
            parts += _entry(change.path, change.before, change.after, diff)
    return "".join(f"{line}\n" for line in parts)


def _rename(source: FileChange, change: FileChange) -> Iterator[str]:
    yield f"diff --git {_name('a', source.path)} {_name('b', change.path)}"
    yield from _modes(source.before, change.after)
    yield "similarity index 100%"
    yield f"rename from {_name('', source.path)}"
    yield f"rename to {_name('', change.path)}"


def _entry(path: str, before: FileState | None, after: FileState | None, diff: FileDiff) -> Iterator[str]:
    """Yield the lines of one path; a link that takes the place of a file is a removal and an addition."""
    before, after = (None if state and state.kind == "folder" else state for state in (before, after))
    if before is not None and after is not None and before.kind != after.kind:
        yield from _entry(path, before, None, diff)
        yield from _entry(path, None, after, diff)
        return
    if diff.kind in ("link", "folder"):
        diff = _compare_contents(before, after, diff)
    modes = list(_modes(before, after))
    if before == after or (diff.kind == "mode" and not modes):
        return
    old, new = _name("a", path), _name("b", path)
    yield f"diff --git {old} {new}"
    yield from modes
    if diff.kind == "text" and "utf-8" == diff.before_encoding == diff.after_encoding:
        if diff.hunks:
            yield f"--- {_header(old) if before else _NOTHING}"
            yield f"+++ {_header(new) if after else _NOTHING}"
        for hunk in diff.hunks:
            yield from _hunk_lines(hunk)
    elif diff.kind != "mode":
        yield f"Binary files {old if before else _NOTHING} and {new if after else _NOTHING} differ"


def _compare_contents(before: FileState | None, after: FileState | None, diff: FileDiff) -> FileDiff:
    """Return the diff of what git takes for contents: of a link it is where it leads."""
    contents: list[bytes | None] = []
    for state, data in ((before, diff.before_data), (after, diff.after_data)):
        if state is not None and state.kind == "link":
            contents.append(state.target.encode(errors="surrogateescape"))
        elif state is not None and data is None:
            return FileDiff("hash_only")
        else:
            contents.append(data if state is not None else None)
    return diff_contents(contents[0], contents[1])


def _modes(before: FileState | None, after: FileState | None) -> Iterator[str]:
    old, new = _mode(before), _mode(after)
    if not old:
        yield f"new file mode {new}"
    elif not new:
        yield f"deleted file mode {old}"
    elif old != new:
        yield f"old mode {old}"
        yield f"new mode {new}"


def _mode(state: FileState | None) -> str:
    """Return git's number for what a path is; empty: nothing stands there."""
    if state is None:
        return ""
    if state.kind == "link":
        return "120000"
    return "100755" if state.mode & _EXECUTABLE else "100644"


def _hunk_lines(hunk: Hunk) -> Iterator[str]:
    yield hunk.header
    for line in hunk.lines:
        yield SIGNS[line.kind] + line.text
        if not line.has_line_end:
            yield NO_LINE_END


def _name(side: str, path: str) -> str:
    """Return a path below `a` or `b`, quoted as git does where it has signs that no line can hold."""
    name = f"{side}/{path}" if side else path
    if not any(char in _ESCAPES or is_hidden(char) for char in name):
        return name
    return '"' + "".join(map(_quote, name)) + '"'


def _quote(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if not is_hidden(char):
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _header(name: str) -> str:
    """Return a name for the lines before the hunks, where a tab ends one with blanks."""
    return f"{name}\t" if " " in name else name
