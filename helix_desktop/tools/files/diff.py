"""The unified diff of a write, for the user to read."""

from __future__ import annotations

from collections.abc import Iterator

from helix_desktop.domain.file_history.diff import SIGNS, FileDiff, diff_contents
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name

_MAX_BYTES = 512 * 1024
_MAX_LINES = 1_500


def unified_diff(path: str, before: bytes | None, after: bytes) -> str:
    """Return the unified diff of a file's content; `before` is None for a new file.

    Invisible characters are shown as codes. Very large or binary content is described by its sizes,
    and a very long diff says how much is left out.
    """
    path, old = escape_hidden_name(path), before or b""
    if len(old) + len(after) > _MAX_BYTES or b"\0" in old or b"\0" in after:
        was = "new file" if before is None else f"{len(old):,} bytes before"
        return (
            f"--- {path}\n+++ {path}\n({was}, {len(after):,} bytes after; too large or binary to compare)\n"
        )
    lines = list(_lines(path, before, diff_contents(before, after)))
    left = len(lines) - _MAX_LINES
    note = [f"(… {left:,} more lines of this diff …)"] if left > 0 else []
    return "\n".join([*lines[:_MAX_LINES], *note]) + "\n" if lines else "(no change)\n"


def _lines(path: str, before: bytes | None, diff: FileDiff) -> Iterator[str]:
    if diff.hunks:
        yield f"--- {'/dev/null' if before is None else f'a/{path}'}"
        yield f"+++ b/{path}"
    for hunk in diff.hunks:
        yield hunk.header
        for line in hunk.lines:
            text = line.text.encode(errors="surrogateescape").decode(errors="replace")
            end = "" if line.has_line_end else "  (no line end)"
            yield SIGNS[line.kind] + escape_hidden(text.replace("\r", "␍")) + end
