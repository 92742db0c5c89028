"""What a call changed, or its patch would: the lines of its files, ready to be drawn on its card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.file_history.diff import DiffLine, FileDiff
from helix_desktop.domain.tools import EditedFile
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.diff.rows import expand_tabs, line_text
from helix_desktop.ui.design.highlight import ColoredRun, colored_runs
from helix_desktop.words.file_changes import (
    change_note,
    describe_mode,
    describe_state,
    describe_without_lines,
    missing_line_end_note,
)
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

# A card lays so much out within 16 ms; what is more is shown in Changes.
MAX_FILES = 50
MAX_LINES = 600
MAX_EDITED_LINES = 100  # of an edit that waits: their colors are found at once, too
FOLDED_LINES = 40  # lines that a card shows before all are asked for
_MAX_CHARACTERS = 400  # of a line
_BEFORE_NOTE = "   "

LineRole: TypeAlias = Literal["same", "removed", "added", "gap"]
"""What a line of a diff in a card is; `gap`: lines between two hunks are left out."""

SIGNS: dict[LineRole, str] = {"same": "  ", "removed": "- ", "added": "+ ", "gap": "⋯"}
"""What the text of a line begins with."""


class CardLine(msgspec.Struct, frozen=True):
    """A line with its sign; its number after the change (before, if it was removed; 0: none).

    `runs` have colors, `words` differ from the other side: their columns count the sign. `code_end` is where
    a note begins behind the line (0: none).
    """

    role: LineRole
    text: str
    number: int = 0
    runs: tuple[tuple[int, int, str], ...] = ()
    words: tuple[tuple[int, int], ...] = ()
    code_end: int = 0


class FileLines(msgspec.Struct, frozen=True):
    """One file: its name, what happened to it besides its lines, and these."""

    path: str
    note: str = ""
    added: int = 0
    removed: int = 0
    lines: tuple[CardLine, ...] = ()

    @property
    def name(self) -> str:
        return escape_hidden_name(self.path)


class ChangedFilesContent(msgspec.Struct, frozen=True):
    """The files that a call changed, or why they cannot be read; `hidden_files` are not among them.

    `is_cut`: files or lines are left out.
    """

    files: tuple[FileLines, ...] = ()
    hidden_files: int = 0
    is_cut: bool = False
    problem: str = ""

    @property
    def lines(self) -> int:
        return sum(len(file.lines) for file in self.files)

    @property
    def text(self) -> str:
        return "\n".join(line.text for file in self.files for line in file.lines)


def changed_files_content(diffs: Iterable[tuple[FileChange, FileDiff]], files: int) -> ChangedFilesContent:
    """Return the first of `files` files, within the limits of a card; to be called in a thread."""
    found: list[FileLines] = []
    room = MAX_LINES
    is_cut = False
    for change, diff in diffs:
        shown = [line for hunk in diff.hunks for line in hunk.lines][:room]
        runs = _runs_by_line(diff, change.path, shown)
        lines = tuple(islice(_card_lines(diff, runs), max(0, room)))
        total = sum(len(hunk.lines) + 1 for hunk in diff.hunks)
        is_cut = is_cut or len(lines) + 1 < total
        room -= len(lines)
        notes = [change_note(change), *_words(diff)]
        note = " · ".join(note for note in notes if note)
        found.append(FileLines(change.path, note, diff.added, diff.removed, lines))
    hidden = max(0, files - len(found))
    return ChangedFilesContent(tuple(found), hidden, is_cut or hidden > 0)


def _words(diff: FileDiff) -> list[str]:
    return [describe_mode(diff)] if diff.hunks else describe_without_lines(diff)


def _card_lines(diff: FileDiff, runs: Mapping[tuple[bool, int], Sequence[ColoredRun]]) -> Iterator[CardLine]:
    for number, hunk in enumerate(diff.hunks):
        if number:
            yield CardLine("gap", SIGNS["gap"])
        for line in hunk.lines:
            yield _card_line(line, diff, runs.get(_side_and_number(line), ()))


def _side_and_number(line: DiffLine) -> tuple[bool, int]:
    return (True, line.old) if line.kind == "removed" else (False, line.new)


def _runs_by_line(
    diff: FileDiff, path: str, in_card: Sequence[DiffLine]
) -> dict[tuple[bool, int], list[ColoredRun]]:
    """Return the colored runs of lines, by side (True: before) and number from 1."""
    found: dict[tuple[bool, int], list[ColoredRun]] = {}
    name = path.rpartition("/")[2]
    if "." not in name:
        return found
    for is_before, lines in ((True, diff.before_lines), (False, diff.after_lines)):
        numbers = {number for side, number in map(_side_and_number, in_card) if side == is_before}
        if not numbers:
            continue
        code = "".join(lines[: max(numbers)]).replace("\r", " ").replace("\ufeff", " ")
        for run in colored_runs(code, name):
            if run.line + 1 in numbers:
                found.setdefault((is_before, run.line + 1), []).append(run)
    return found


def _card_line(line: DiffLine, diff: FileDiff, runs: Sequence[ColoredRun]) -> CardLine:
    drawn = expand_tabs(line_text(line.text[:_MAX_CHARACTERS], shows_line_ends=diff.has_mixed_line_ends))
    sign = SIGNS[line.kind]
    end = "…" if len(line.text) > _MAX_CHARACTERS else ""
    places = [
        (len(sign) + drawn.place(run.start), len(sign) + drawn.place(run.start + run.length), run.role)
        for run in runs
        if run.start < _MAX_CHARACTERS
    ]
    words = [
        (len(sign) + drawn.place(span.start), len(sign) + drawn.place(span.end))
        for span in line.spans
        if span.start < _MAX_CHARACTERS
    ]
    _, number = _side_and_number(line)
    text = sign + drawn.text + end
    note = "" if line.has_line_end else f"{_BEFORE_NOTE}{missing_line_end_note()}"
    code_end = len(text) if note else 0
    return CardLine(line.kind, text + note, number, tuple(places), tuple(words), code_end)


def edited_file_lines(file: EditedFile, most: int) -> FileLines:
    diff = file.diff
    notes = list[str]()
    if not diff.hunks:  # an image too: what would be written is not its look
        notes = describe_without_lines(replace(diff, kind="binary") if diff.kind == "image" else diff)
    elif diff.before is None:
        notes = [tr("new file")]
    elif diff.before.size and not diff.before_lines:
        notes = [tr("replaces a file that can't be compared: {content}", content=describe_state(diff.before))]
    lines = _color_lines([*islice(_card_lines(diff, {}), most)], file.path)
    return FileLines(file.path, " · ".join(notes), diff.added, diff.removed, tuple(lines))


def edited_text(edits: Sequence[EditedFile]) -> str:
    return "\n".join(
        text
        for edit in edits
        for text in (
            escape_hidden_name(edit.path),
            *(line.text for line in islice(_card_lines(edit.diff, {}), MAX_EDITED_LINES)),
        )
    )


def count_edited_lines(diff: FileDiff) -> int:
    return sum(len(hunk.lines) + 1 for hunk in diff.hunks) - bool(diff.hunks)


def fits_card(edits: Sequence[EditedFile]) -> bool:
    if any(edit.diff.kind == "too_large" for edit in edits):
        return False
    if sum(count_edited_lines(edit.diff) for edit in edits) > MAX_EDITED_LINES:
        return False
    lines = (line for edit in edits for hunk in edit.diff.hunks for line in hunk.lines)
    return all(len(line.text) <= _MAX_CHARACTERS for line in lines)


def _color_lines(lines: Sequence[CardLine], path: str) -> list[CardLine]:
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
        code = "\n".join(lines[number].text[2 : lines[number].code_end or None] for number in side)
        for run in colored_runs(code, name):
            if lines[side[run.line]].role in colored:
                runs[side[run.line]].append((2 + run.start, 2 + run.start + run.length, run.role))
    return (replace(line, runs=tuple(found)) for line, found in zip(lines, runs, strict=True))
