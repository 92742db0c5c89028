"""What differs between two contents of a file, as hunks and patches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.line_match import (
    Block,
    SpanBudget,
    compare_words,
    matching_blocks,
    place_groups,
)
from helix_desktop.domain.files.content import is_text, utf16_encoding
from helix_desktop.domain.image import identify_image
from helix_desktop.domain.unicode_safety import is_hidden

DiffKind = Literal["text", "image", "binary", "too_large", "hash_only", "link", "folder", "mode"]
"""What is compared: lines of text; two images; bytes that are no text; texts too large to compare; contents
of which only the hash is known; a link; a folder; or nothing, because only the permissions changed."""

BINARY_KINDS: frozenset[DiffKind] = frozenset({"binary", "image"})
"""Kinds of files whose contents are known and have no lines."""

LineKind = Literal["same", "removed", "added"]

CONTEXT_LINES = 3
MAX_TEXT_BYTES = 16 * 1024 * 1024  # bytes of both sides together that are compared by lines
_UTF8 = "utf-8"


class DiffSpan(msgspec.Struct, frozen=True):
    """Characters of a line's text that differ from its other side: the first, and the one behind the last."""

    start: int
    end: int


class DiffLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a hunk: its numbers from 1 before and after (0: not there), its text without line feed.

    A carriage return at its end is part of the text. `partner` is the number of the line on the other side
    that it became or was, 0 if none is similar; `spans` are what differs from it. Bytes that are no UTF-8 are
    lone surrogates (`surrogateescape`).
    """

    kind: LineKind
    old: int
    new: int
    text: str
    spans: tuple[DiffSpan, ...] = ()
    has_line_end: bool = True
    partner: int = 0

    @property
    def full_text(self) -> str:
        """The text with its line feed, if it has one."""
        return self.text + "\n" if self.has_line_end else self.text


class Hunk(msgspec.Struct, frozen=True):
    """Changed lines with the unchanged ones around them; it begins at these lines (from 1) of both sides."""

    old_start: int
    new_start: int
    lines: tuple[DiffLine, ...]

    @property
    def old_count(self) -> int:
        return next((line.old + 1 - self.old_start for line in reversed(self.lines) if line.old), 0)

    @property
    def new_count(self) -> int:
        return next((line.new + 1 - self.new_start for line in reversed(self.lines) if line.new), 0)

    @property
    def named_by(self) -> list[DiffLine]:
        """The lines that it is named by: those that it added; if it added none, those that it removed."""
        added = [line for line in self.lines if line.kind == "added"]
        return added or [line for line in self.lines if line.kind == "removed"]

    @property
    def header(self) -> str:
        """Its places as git writes them: `@@ -1,4 +1,5 @@`."""
        old = self.old_count
        new = self.new_count
        return f"@@ -{_place(self.old_start, old)} +{_place(self.new_start, new)} @@"


class FileDiff(msgspec.Struct, frozen=True):
    """What differs between two states of a path (None: nothing stands there).

    Two equal states differ in nothing; their kind is `mode`, too (`is_empty`). A diff of texts has its hunks
    and all lines of both sides, with their line ends; `added` and `removed` count lines. One of images, links
    or folders has the bytes of the files; one of a text that waits to be written, and is too large, those of
    it. `has_mixed_line_ends`: some lines end with a carriage return and
    others do not, on either side.
    """

    kind: DiffKind
    before: FileState | None = None
    after: FileState | None = None
    hunks: tuple[Hunk, ...] = ()
    added: int = 0
    removed: int = 0
    before_lines: tuple[str, ...] = ()
    after_lines: tuple[str, ...] = ()
    before_encoding: str = _UTF8
    after_encoding: str = _UTF8
    has_mixed_line_ends: bool = False
    before_data: bytes | None = None
    after_data: bytes | None = None

    @property
    def is_empty(self) -> bool:
        return self.before == self.after


def diff_contents(before: bytes | None, after: bytes | None, context: int = CONTEXT_LINES) -> FileDiff:
    """Return what differs between two contents (None: no file), with unchanged lines around each change."""
    return diff_states(_state_of(before), before, _state_of(after), after, context)


def diff_states(
    before: FileState | None,
    before_data: bytes | None,
    after: FileState | None,
    after_data: bytes | None,
    context: int = CONTEXT_LINES,
) -> FileDiff:
    """Return what differs between two states; the data of a file is None if it is not known."""
    diff = FileDiff("mode", before, after)
    kind = _kind_by_states(before, after)
    if kind is not None:
        return msgspec.structs.replace(diff, kind=kind, before_data=before_data, after_data=after_data)
    data = [content for content in (before_data, after_data) if content is not None]
    if len(data) < (before is not None) + (after is not None):
        is_large = any(state is not None and not state.digest for state in (before, after))
        return msgspec.structs.replace(diff, kind="too_large" if is_large else "hash_only")
    if any(b"\0" in content and identify_image(content, "") for content in data):
        return msgspec.structs.replace(diff, kind="image", before_data=before_data, after_data=after_data)
    encodings = _encoding(before_data or b""), _encoding(after_data or b"")
    if not all(encodings) or sum(map(len, data)) > MAX_TEXT_BYTES:
        return msgspec.structs.replace(diff, kind="too_large" if all(encodings) else "binary")
    return _diff_texts(diff, before_data or b"", after_data or b"", encodings, context)


def _kind_by_states(before: FileState | None, after: FileState | None) -> DiffKind | None:
    """Return the kind of a diff for which no content is compared; None: the contents decide."""
    kinds = {state.kind for state in (before, after) if state is not None}
    if "link" in kinds:
        return "link"
    if "folder" in kinds:
        return "folder"
    if before is not None and after is not None and before.digest == after.digest != "":
        return "mode"
    return None


def _state_of(data: bytes | None) -> FileState | None:
    return None if data is None else FileState(digest=digest_of(data), size=len(data))


def _place(start: int, count: int) -> str:
    if count == 1:
        return str(start)
    return f"{start if count else start - 1},{count}"


def _encoding(data: bytes) -> str:
    """Return how bytes are decoded so that encoding gives them back; empty for those that are no text."""
    encoding = utf16_encoding(data)
    if encoding:
        try:
            return encoding if encode_text(_decode(data, encoding), encoding) == data else ""
        except UnicodeError:
            return ""
    return _UTF8 if is_text(data) else ""


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "surrogateescape" if encoding == _UTF8 else "strict")


def encode_text(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "surrogateescape" if encoding == _UTF8 else "strict")


def split_lines(data: bytes, encoding: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends a line."""
    lines = [f"{line}\n" for line in _decode(data, encoding).split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _diff_texts(
    diff: FileDiff, before: bytes, after: bytes, encodings: tuple[str, str], context: int
) -> FileDiff:
    old = split_lines(before, encodings[0])
    new = split_lines(after, encodings[1])
    blocks: list[Block] = []
    if encodings[0] == encodings[1]:
        blocks = place_groups(matching_blocks(old, new), old, new)
    same = sum(size for _, _, size in blocks)
    ends = {line.endswith("\r\n") for lines in (old, new) for line in lines if line.endswith("\n")}
    return msgspec.structs.replace(
        diff,
        kind="text",
        hunks=tuple(_hunks(old, new, blocks, context)),
        added=len(new) - same,
        removed=len(old) - same,
        before_lines=tuple(old),
        after_lines=tuple(new),
        before_encoding=encodings[0],
        after_encoding=encodings[1],
        has_mixed_line_ends=len(ends) > 1,
    )


def _gaps(blocks: Sequence[Block], old_size: int, new_size: int) -> Iterator[tuple[range, range]]:
    old_at = new_at = 0
    for old, new, size in [*blocks, (old_size, new_size, 0)]:
        if old_at < old or new_at < new:
            yield range(old_at, old), range(new_at, new)
        old_at = old + size
        new_at = new + size


def _hunks(old: list[str], new: list[str], blocks: list[Block], context: int) -> Iterator[Hunk]:
    budget = SpanBudget()
    group: list[tuple[range, range]] = []
    for gap in _gaps(blocks, len(old), len(new)):
        if group and gap[0].start - group[-1][0].stop > 2 * context:
            yield _hunk(old, new, group, context, budget)
            group = []
        group.append(gap)
    if group:
        yield _hunk(old, new, group, context, budget)


def _hunk(
    old: list[str], new: list[str], gaps: list[tuple[range, range]], context: int, budget: SpanBudget
) -> Hunk:
    lead = min(context, gaps[0][0].start)
    old_at = gaps[0][0].start - lead
    new_at = gaps[0][1].start - lead
    tail = min(context, len(old) - gaps[-1][0].stop)
    lines: list[DiffLine] = []
    start = old_at, new_at
    end = range(gaps[-1][0].stop + tail, gaps[-1][0].stop + tail)
    for removed, added in [*gaps, (end, range(0))]:
        same = zip(range(old_at, removed.start), range(new_at, new_at + removed.start - old_at), strict=True)
        lines += [_line("same", old_number, new_number, new[new_number]) for old_number, new_number in same]
        old_at = removed.stop
        new_at = added.stop
        lines += _changed_lines(old, new, removed, added, budget)
    return Hunk(start[0] + 1, start[1] + 1, tuple(lines))


def _changed_lines(
    old: list[str], new: list[str], removed: range, added: range, budget: SpanBudget
) -> Iterator[DiffLine]:
    pairs = compare_words([_text(old[at]) for at in removed], [_text(new[at]) for at in added], budget)
    of_removed = {pair.old: pair for pair in pairs}
    of_added = {pair.new: pair for pair in pairs}
    for step, at in enumerate(removed):
        pair = of_removed.get(step)
        partner = added[pair.new] if pair else -1
        yield _line("removed", at, -1, old[at], pair.old_spans if pair else (), partner)
    for step, at in enumerate(added):
        pair = of_added.get(step)
        partner = removed[pair.old] if pair else -1
        yield _line("added", -1, at, new[at], pair.new_spans if pair else (), partner)


def _line(
    kind: LineKind,
    old: int,
    new: int,
    full_text: str,
    spans: Sequence[tuple[int, int]] = (),
    partner: int = -1,
) -> DiffLine:
    places = tuple(DiffSpan(start, end) for start, end in spans)
    return DiffLine(kind, old + 1, new + 1, _text(full_text), places, full_text.endswith("\n"), partner + 1)


def _text(full_text: str) -> str:
    return full_text.removesuffix("\n")


NO_LINE_END = "\\ No newline at end of file"
SIGNS = {"same": " ", "removed": "-", "added": "+"}
"""What a line of a unified diff begins with, by its kind."""

_EXECUTABLE = 0o100
_NOTHING = "/dev/null"
_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class PatchFile(NamedTuple):
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
    old = _name("a", path)
    new = _name("b", path)
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
    old = _mode(before)
    new = _mode(after)
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
