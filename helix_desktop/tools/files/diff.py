"""The unified diff of a write, for the user to read."""

from __future__ import annotations

import difflib

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
    lines = list(
        difflib.unified_diff(
            _lines(old),
            _lines(after),
            "/dev/null" if before is None else f"a/{path}",
            f"b/{path}",
            lineterm="",
        )
    )
    left = len(lines) - _MAX_LINES
    note = [f"(… {left:,} more lines of this diff …)"] if left > 0 else []
    return "\n".join([*lines[:_MAX_LINES], *note]) + "\n" if lines else "(no change)\n"


def _lines(data: bytes) -> list[str]:
    text = data.decode(errors="replace")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    elif text:
        lines[-1] += "  (no line end)"
    return [escape_hidden(line.replace("\r", "␍")) for line in lines]
