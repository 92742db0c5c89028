"""A unified diff as the files and lines of a card."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from helix_desktop.ui.chat.rows.changed_files import SIGNS, CardLine, FileLines, LineRole
from helix_desktop.ui.design.highlight import colored_runs
from helix_desktop.ui.design.safe_text import LINE_LIMIT
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_NO_FILE, _OLD, _NEW = "--- /dev/null", "--- a/", "+++ b/"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ROLES: dict[str, LineRole] = {" ": "same", "-": "removed", "+": "added"}


def patch_files(patch: str) -> tuple[FileLines, ...]:
    """Return the files of a unified diff; none if any line of the text would be left out."""
    lines = deque(patch.removesuffix("\n").split("\n"))
    files: list[FileLines] = []
    while lines:
        file = _take_file(lines)
        if file is None:
            return ()
        files.append(file)
    return tuple(files)


def color_lines(lines: Sequence[CardLine], path: str) -> list[CardLine]:
    """Return lines of a file with the colors of its code, each hunk as if the file began there."""
    name = path.rpartition("/")[2]
    if "." not in name:
        return list(lines)
    hunks = groupby(lines, lambda line: line.role == "gap")
    return [line for is_gap, hunk in hunks for line in (hunk if is_gap else _color_hunk([*hunk], name))]


def _color_hunk(lines: Sequence[CardLine], name: str) -> Iterator[CardLine]:
    runs: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for other, colored in (("added", ("removed",)), ("removed", ("same", "added"))):
        side = [number for number, line in enumerate(lines) if line.role != other]
        for run in colored_runs("\n".join(lines[number].text[2:] for number in side), name):
            if lines[side[run.line]].role in colored:
                runs[side[run.line]].append((2 + run.start, 2 + run.start + run.length, run.role))
    return (replace(line, runs=tuple(found)) for line, found in zip(lines, runs, strict=True))


def _take_file(lines: deque[str]) -> FileLines | None:
    before, after = lines.popleft(), lines.popleft() if lines else ""
    path = after.removeprefix(_NEW)
    if before not in (_NO_FILE, _OLD + path) or after == path:
        return None
    found: list[CardLine] = []
    while lines and (place := _HUNK.fullmatch(lines[0])):
        lines.popleft()
        hunk = _take_hunk(lines, place)
        if hunk is None:
            return None
        found += [CardLine("gap", SIGNS["gap"]), *hunk] if found else hunk
    added, removed = (sum(line.role == role for line in found) for role in ("added", "removed"))
    note = tr("new file") if before == _NO_FILE else ""
    return FileLines(path, note, added, removed, tuple(found)) if found else None


def _take_hunk(lines: deque[str], place: re.Match[str]) -> list[CardLine] | None:
    old, old_count, new, new_count = (int(number or 1) for number in place.groups())
    old_end, new_end = old + old_count, new + new_count
    found: list[CardLine] = []
    while old < old_end or new < new_end:
        line = lines.popleft() if lines else ""
        role = _ROLES.get(line[:1])
        if role is None or len(line) > LINE_LIMIT:
            return None
        found.append(CardLine(role, SIGNS[role] + line[1:], old if role == "removed" else new))
        old, new = old + (role != "added"), new + (role != "removed")
    return found
