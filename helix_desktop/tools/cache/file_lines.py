"""The lines in an output that holds a part of a file, and their numbers: those in the file."""

from __future__ import annotations

import re

_READ_TOOL = "read_file"
_HEAD = re.compile(rb"Lines (\d{1,9})-(\d{1,9}) of \d+ of [^\n]*:\n(?=\1:)")
_SHORT_HEAD = re.compile(r"Lines (\d{1,9}-\d{1,9}) of \d+ of ")
_NUMBER = re.compile(rb"^\d+:", re.MULTILINE)
_PIECE = 256 * 1024  # bytes: one call into the interpreter's functions holds up all other threads


def file_lines(tool: str, data: bytes) -> tuple[bytes, int]:
    """Return the lines of a file that an output holds, and the number of the first; else all of it, and 1."""
    match = _HEAD.match(data) if tool == _READ_TOOL else None
    if match is None:
        return data, 1
    parts, count, start = [], 0, match.end()
    while start < len(data):
        end = data.find(b"\n", start + _PIECE) + 1 or len(data)
        part, replaced = _NUMBER.subn(b"", data[start:end])
        parts.append(part)
        count, start = count + replaced, end
    first, last = int(match[1]), int(match[2])
    return (b"".join(parts), first) if count == last - first + 1 else (data, 1)


def first_line_number(tool: str, target: str, first_line: str) -> int:
    """Return what line of its file the second line of an output is; 0 if it is no part of a file."""
    match = _SHORT_HEAD.match(first_line) if tool == _READ_TOOL else None
    return int(match[1].partition("-")[0]) if match and target.endswith(f":{match[1]}") else 0
