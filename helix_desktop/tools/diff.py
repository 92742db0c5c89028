"""What a write would change, as a person reads it."""

from __future__ import annotations

import difflib

from helix_desktop.context.signs import revealed, revealed_name

_MOST_BYTES = 512 * 1024
_MOST_LINES = 1_500


def unified(rel: str, before: bytes | None, after: bytes) -> str:
    """The unified diff of a file's content; `before` is None for a new file.

    Signs that a person would not see stand as codes. Very large or binary content is described by its sizes,
    and a very long diff says how much is left out.
    """
    rel, old = revealed_name(rel), before or b""
    if len(old) + len(after) > _MOST_BYTES or b"\0" in old or b"\0" in after:
        was = "new file" if before is None else f"{len(old):,} bytes before"
        return f"--- {rel}\n+++ {rel}\n({was}, {len(after):,} bytes after; too large or binary to compare)\n"
    lines = list(
        difflib.unified_diff(
            _lines(old), _lines(after), "/dev/null" if before is None else f"a/{rel}", f"b/{rel}", lineterm=""
        )
    )
    left = len(lines) - _MOST_LINES
    note = [f"(… {left:,} more lines of this diff …)"] if left > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *note]) + "\n" if lines else "(no change)\n"


def _lines(data: bytes) -> list[str]:
    text = data.decode(errors="replace")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    elif text:
        lines[-1] += "  (no line end)"
    return [revealed(line.replace("\r", "␍")) for line in lines]
