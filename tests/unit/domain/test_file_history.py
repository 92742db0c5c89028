"""Changes of files: diffs, states of hunks, patches, merges, and which revert is a redo."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import FileChange, FileState, RevertDirections, without_implied
from helix_desktop.domain.file_history.diff import FileDiff, PatchFile, diff_contents, diff_states, patch_text
from helix_desktop.domain.file_history.hunks import HunkState, apply_hunks, hunk_states
from helix_desktop.domain.file_history.three_way_merge import Merge, merge
from tests.support.file_changes.cases import numbered_lines
from tests.support.tables import for_each

BEFORE = numbered_lines(40)
AFTER = numbered_lines(40, line3="first", line35="second")
STANDS: HunkState = "standing"
OVER: HunkState = "taken_back"
CHANGED: HunkState = "changed"


def states(before: str | None, after: str | None, present: str | None) -> tuple[HunkState, ...]:
    """Return the states of the hunks between two texts in a third one."""
    old, new, there = (text.encode() if text is not None else None for text in (before, after, present))
    return hunk_states(diff_contents(old, new), old, new, there)


@for_each(
    ("present", "expected"),
    [
        (AFTER, (STANDS, STANDS)),
        (BEFORE, (OVER, OVER)),
        (numbered_lines(40, line35="second"), (OVER, STANDS)),
        (numbered_lines(40, line3="mine", line35="second"), (CHANGED, STANDS)),
        (numbered_lines(40, line3="first", line20="mine"), (STANDS, OVER)),
        ("above\n" + numbered_lines(40, line3="first"), (STANDS, OVER)),
        ("", (CHANGED, CHANGED)),
        (None, (CHANGED, CHANGED)),
    ],
)
def test_the_state_of_each_hunk(present: str | None, expected: tuple[HunkState, ...]) -> None:
    assert states(BEFORE, AFTER, present) == expected


def test_a_file_that_came_or_went_is_one_hunk() -> None:
    assert states(None, AFTER, AFTER) == states(AFTER, None, None) == (STANDS,)
    assert states(None, AFTER, None) == states(AFTER, None, AFTER) == (OVER,)
    assert states(None, AFTER, BEFORE) == states(AFTER, None, BEFORE) == (CHANGED,)


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"\xff\n", b"d"]), max_size=12)
texts = lines.map(b"".join)


def merged(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    result = merge(base, ours, theirs)
    assert result is not None
    return result


@given(texts, texts)
def test_a_side_that_changed_nothing_gives_the_other(base: bytes, other: bytes) -> None:
    assert merged(base, other, base).build() == other
    assert merged(base, base, other).build() == other
    assert merged(base, other, other).build() == other


@given(texts, texts, texts)
def test_the_chunks_are_the_three_sides(base: bytes, ours: bytes, theirs: bytes) -> None:
    result = merged(base, ours, theirs)
    every = range(len(result.chunks))
    for side, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        assert b"".join(line for chunk in result.chunks for line in getattr(chunk, side)) == data
    assert result.build(dict.fromkeys(every, "ours")) == ours
    assert result.build(dict.fromkeys(every, "theirs")) == theirs


@given(texts, texts, texts)
@example(b"a\nb\na\nb\n", b"a\nb\nb\na\n", b"b\na\nb\na\n")
def test_no_line_of_a_side_is_lost_but_those_that_the_other_removed(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    """Counted by place: in the example each removes another `a`, and both add one at the end (as git)."""
    result = merged(base, ours, theirs)
    if not result.is_clean:
        with pytest.raises(ValueError, match="conflict"):
            result.build()
        return

    def lines_of(data: Sequence[bytes]) -> Counter[bytes]:
        return Counter(b"".join(data).splitlines())

    for side, of_other in ((ours, attrgetter("theirs")), (theirs, attrgetter("ours"))):
        left = lines_of([side])
        for chunk in result.chunks:
            left -= lines_of(chunk.base) - lines_of(of_other(chunk))
        assert left <= lines_of([result.build()])


@given(st.sets(st.integers(0, 39)), st.sets(st.integers(0, 39)), st.booleans())
def test_edits_apart_from_each_other_are_both_applied(
    our_places: set[int], their_places: set[int], ends: bool
) -> None:
    """Neighboring lines are too near: whether both edits fit each other is for the user to say."""
    base = [f"line {number}".encode() for number in range(40)]
    their_places -= {place + near for place in our_places for near in (-1, 0, 1)}
    ours = list(base)
    theirs = list(base)
    both = list(base)
    for place in our_places:
        ours[place] = both[place] = b"our %d" % place
    for place in their_places:
        theirs[place] = both[place] = b"their %d" % place
    end = b"\r\n" if ends else b""
    sides = [b"\r\n".join(side) + end for side in (base, ours, theirs, both)]
    assert merged(*sides[:3]).build() == sides[3]


def test_neighboring_edits_are_a_conflict_that_choices_resolve() -> None:
    result = merged(b"a\nb\nc\n", b"a\nB\nc\n", b"a\nb\nC")
    assert [chunk.kind for chunk in result.chunks] == ["same", "conflict"]
    assert result.build({1: "ours"}) == b"a\nB\nc\n"
    assert result.build({1: "theirs"}) == b"a\nb\nC"


@pytest.mark.parametrize(
    ("encoding", "middle"), [("utf-8-sig", "Ċ"), ("utf-16", "\u0a41\u0100"), ("latin-1", "é")]
)
def test_a_merge_keeps_the_encoding(encoding: str, middle: str) -> None:
    """In UTF-16 the bytes of a line feed are in other characters, and between two of them, too."""
    base, ours, theirs, both = (
        text.replace("m", middle).encode(encoding)
        for text in ("ä\nm\nc\n", "Ä\nm\nc\n", "ä\nm\nC\n", "Ä\nm\nC\n")
    )
    result = merged(base, ours, theirs)
    assert result.build() == both
    assert [len(chunk.base) for chunk in result.chunks] == [1, 1, 1]


def test_what_is_no_text_is_not_merged() -> None:
    assert merge(b"a\0", b"b\0", b"c\0") is None
    assert merge("a".encode("utf-16"), b"a", b"b") is None
    assert merge(b"", bytes(9 << 20), bytes(9 << 20)) is None


def test_hostile_texts_are_merged_within_bounds() -> None:
    """The plain search for the longest common lines would take minutes here."""
    result = merged(b"a\nb\n" * 5_000, b"b\na\na\n" * 4_000, b"b\n" * 8_000)
    assert result.build(dict.fromkeys(range(len(result.chunks)), "ours")) == b"b\na\na\n" * 4_000


_LINES = st.lists(
    st.sampled_from([b"a", b"b", b"  a", b"", b"x\r", b"\xff", "ä".encode(), b"}"]), max_size=30
)
_TEXTS = st.builds(lambda lines, end: b"\n".join(lines) + end, _LINES, st.sampled_from([b"", b"\n"]))
_UTF16 = st.builds(lambda text: b"\xff\xfe" + text.encode("utf-16-le"), st.text("ab\nä", max_size=20))
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0"


def _as_text(diff: FileDiff) -> str:
    signs = {"same": " ", "removed": "-", "added": "+"}
    return "\n".join(signs[line.kind] + line.text for hunk in diff.hunks for line in hunk.lines)


@given(_TEXTS | _UTF16, _TEXTS | _UTF16, st.integers(0, 4), st.sets(st.integers(0, 9)))
def test_hunks_lead_back_and_forth(before: bytes, after: bytes, context: int, undone: set[int]) -> None:
    diff = diff_contents(before, after, context)
    if diff.kind == "mode":
        assert before == after
        return
    every = range(len(diff.hunks))
    assert apply_hunks(before, diff, every) == before
    assert apply_hunks(before, diff, ()) == after
    lines_left = len(diff.before_lines) + sum(
        hunk.new_count - hunk.old_count for number, hunk in enumerate(diff.hunks) if number not in undone
    )
    assert len(diff_contents(None, apply_hunks(before, diff, undone)).after_lines) == lines_left
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    assert (diff.added, diff.removed) == tuple(
        sum(line.kind == kind for line in lines) for kind in ("added", "removed")
    )
    for line in lines:
        if line.kind != "added":
            assert diff.before_lines[line.old - 1] == line.full_text
        if line.kind != "removed":
            assert diff.after_lines[line.new - 1] == line.full_text
        assert all(0 <= span.start < span.end <= len(line.text) for span in line.spans)


def test_a_function_that_was_added_is_one_group() -> None:
    before = "def a():\n    return 1\n\n\ndef c():\n    return 3\n"
    after = "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 3\n"
    added = [line.text for line in diff_contents(before.encode(), after.encode(), 0).hunks[0].lines]
    assert added == ["def b():", "    return 2", "", ""]


def test_the_words_that_differ_are_marked() -> None:
    diff = diff_contents(b"keep\ntotal = price * count\n", b"keep\nnew line\ntotal = price * amount\n")
    lines = {line.text: line for line in diff.hunks[0].lines}
    [span] = lines["total = price * amount"].spans
    assert "total = price * amount"[span.start : span.end] == "amount"
    assert not lines["new line"].spans


def test_a_last_line_without_an_end_and_other_line_ends_are_differences() -> None:
    assert _as_text(diff_contents(b"a", b"a\n")) == "-a\n+a"
    diff = diff_contents(b"a\nb\n", b"a\r\nb\r\n")
    assert (diff.added, diff.removed, diff.has_mixed_line_ends) == (2, 2, True)
    assert _as_text(diff) == "-a\n-b\n+a\r\n+b\r"


@for_each(
    ("before", "after", "kind"),
    [
        (b"a\0b", b"a\0c", "binary"),
        (b"a" * 9_000 + b"\0\xff", b"a", "binary"),
        (b"a" * 9_000 + b"\0" * 1_100, b"a", "binary"),
        (b"a" * 9_000 + b"\0" * 900, b"a", "text"),
        (None, _PNG, "image"),
        (_PNG, b"no image", "image"),
        (b"x" * 9_000_000, b"y" * 9_000_000, "too_large"),
        (b"\xff\xfea", b"", "binary"),
        (b"\xff\xfea\0", b"a", "text"),
        (None, b"", "text"),
    ],
)
def test_what_is_no_text_has_no_hunks(before: bytes | None, after: bytes | None, kind: str) -> None:
    diff = diff_contents(before, after)
    assert diff.kind == kind
    assert bool(diff.hunks) == (kind == "text" and bool(after))


def test_states_that_are_no_contents_are_described() -> None:
    link = FileState("link", target="/etc")
    text = FileState(digest="1" * 64, size=3, mode=0o644)
    assert diff_states(text, b"abc", link, None).kind == "link"
    assert diff_states(None, None, FileState("folder", mode=0o755), None).kind == "folder"
    changed = diff_states(text, None, FileState(digest="1" * 64, size=3, mode=0o755), None)
    assert changed.kind == "mode"
    secret = FileState(digest="2" * 64, size=3, mode=0o644, stored=False)
    assert diff_states(text, b"abc", secret, None).kind == "hash_only"
    assert diff_states(text, b"abc", FileState(size=10**9, stored=False), None).kind == "too_large"


def test_a_hunk_that_does_not_fit_is_refused() -> None:
    diff = diff_contents(b"a\nb\n", b"a\nc\n")
    with pytest.raises(ValueError, match="does not fit"):
        apply_hunks(b"b\na\n", diff, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x\n" + b"a\n" * 5_000 + b"y\n", b"z\n" + b"a\n" * 4_000 + b"w\n"),
        (
            b"".join(b"%d\n" % (n * n % 7) for n in range(5_000)),
            b"".join(b"%d\n" % (n % 5) for n in range(5_000)),
        ),
        (b"".join(b"%d\n" % n for n in range(5_000)), b"".join(b"%d\n" % n for n in range(5_000, 0, -1))),
        (b"a b " * 1_200_000, b"a c " * 1_200_000),
        (b"a\n" * 60_000, b"a\nb\n" * 30_000),
    ],
    ids=["equal", "few lines, shuffled", "reversed", "one long line", "many lines"],
)
def test_hostile_contents_take_bounded_time(before: bytes, after: bytes) -> None:
    """Each in less than a second; a quadratic way would take minutes."""
    diff = diff_contents(before, after)
    assert apply_hunks(before, diff, ()) == after


Place = tuple[bytes, int] | str | None
"""A file's content and mode, or where a link leads, or nothing."""

_CONTENTS = st.builds(
    lambda lines, end: b"\n".join(lines) + end,
    st.lists(st.sampled_from([b"a", b"b", b"", b"x\r", b"\xff", "ä".encode(), b"--- a", b"@@"]), max_size=12),
    st.sampled_from([b"", b"\n"]),
)
_FILES = st.tuples(_CONTENTS, st.sampled_from([0o644, 0o755]))
_PLACES: st.SearchStrategy[Place] = st.none() | _FILES | _FILES | st.sampled_from(["target", "../odd name"])
_NAMES = (
    "plain.txt", "two words", 'quo"te', "back\\slash", "tab\there", "line\nfeed", "ümlaut", "in/a/folder",
)  # fmt: skip


def _state(place: Place) -> tuple[FileState | None, bytes | None]:
    if place is None:
        return None, None
    if isinstance(place, str):
        return FileState("link", target=place), None
    return FileState(digest=digest_of(place[0]), size=len(place[0]), mode=place[1]), place[0]


def _changed(path: str, before: Place, after: Place, moved_from: str = "") -> PatchFile:
    old = _state(before)
    new = _state(after)
    return PatchFile(FileChange(path, old[0], new[0], moved_from), diff_states(*old, *new))


def _put(folder: Path, places: dict[str, Place]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, place in places.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(place, str):
            path.symlink_to(place)
        elif place is not None:
            path.write_bytes(place[0])
            path.chmod(place[1])


def _look(folder: Path, names: tuple[str, ...]) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for name in names:
        path = folder / name
        if path.is_symlink():
            places[name] = str(path.readlink())
        elif path.exists():
            places[name] = path.read_bytes(), 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
        else:
            places[name] = None
    return places


def _apply(folder: Path, patch: str, *options: str) -> None:
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options],
        cwd=folder,
        env=env,
        input=patch.encode(errors="surrogateescape"),
        check=True,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge here")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_PLACES, _PLACES), min_size=len(_NAMES), max_size=len(_NAMES)))
def test_git_applies_a_patch_forwards_and_back(tmp_path: Path, pairs: list[tuple[Place, Place]]) -> None:
    before = {name: pair[0] for name, pair in zip(_NAMES, pairs, strict=True)}
    after = {name: pair[1] for name, pair in zip(_NAMES, pairs, strict=True)}
    patch = patch_text(
        [_changed(name, before[name], after[name]) for name in _NAMES if before[name] != after[name]]
    )
    _put(tmp_path / "tree", before)
    if not patch:
        assert before == after
        return
    _apply(tmp_path / "tree", patch)
    assert _look(tmp_path / "tree", _NAMES) == after
    _apply(tmp_path / "tree", patch, "-R")
    assert _look(tmp_path / "tree", _NAMES) == before


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge here")
def test_a_move_is_a_rename_once_and_a_copy_after_that(tmp_path: Path) -> None:
    file: Place = (b"a\nb\n", 0o644)
    changes = [
        _changed("old name", file, None),
        _changed("new\tname", None, (b"a\nb\n", 0o755), "old name"),
        _changed("second", None, file, "old name"),
        _changed("alone", None, file, "not in this patch"),
    ]
    patch = patch_text(changes)
    assert patch.count("rename from old name\n") == 1
    assert "deleted" not in patch
    names = tuple(change.change.path for change in changes)
    _put(tmp_path / "tree", {"old name": file})
    _apply(tmp_path / "tree", patch)
    assert _look(tmp_path / "tree", names) == {
        "old name": None,
        "new\tname": (b"a\nb\n", 0o755),
        "second": file,
        "alone": file,
    }


def test_what_is_no_text_is_only_named() -> None:
    old = (b"\0a", 0o644)
    new = (b"\0b", 0o644)
    assert patch_text([_changed("x", old, new)]) == ("diff --git a/x b/x\nBinary files a/x and b/x differ\n")
    folder = FileChange("dir", None, FileState("folder", mode=0o755))
    assert not patch_text([PatchFile(folder, diff_states(None, None, folder.after, None))])


FOLDER = FileState("folder", mode=0o755)
FILE = FileState(digest="a" * 64, size=3, mode=0o644)


def test_folders_of_new_files_and_the_old_places_of_moved_ones_are_implied() -> None:
    changes = [
        FileChange("docs", before=FOLDER),
        FileChange("docs/a.md", before=FILE),
        FileChange("empty", after=FOLDER),
        FileChange("src", FOLDER, FileState("folder", mode=0o700)),
        FileChange("src/sub", after=FOLDER),
        FileChange("src/sub/a.md", after=FILE, moved_from="docs/a.md"),
    ]
    assert [change.path for change in without_implied(changes)] == ["empty", "src", "src/sub/a.md"]


def test_what_takes_back_a_revert_is_a_redo_and_what_takes_back_that_is_none() -> None:
    directions = RevertDirections()
    assert not directions.add("edit", "tool", "", ())
    assert not directions.add("revert", "revert", "file", ("edit",))
    assert directions.add("redo", "revert", "redo", ("revert",))
    assert directions.add("part", "revert", "hunk", ("revert",)), "a part of a revert"
    assert not directions.add("back", "revert", "redo", ("redo",))
    assert not directions.add("back again", "revert", "hunk", ("part",))
    assert directions.add("the edit again", "revert", "redo", ("edit",))
    assert not directions.add("rewind", "revert", "rewind", ("edit", "revert"))
    assert directions.add("rewind undone", "revert", "redo", ("rewind",))


def test_of_what_is_not_known_the_scope_says_it() -> None:
    directions = RevertDirections()
    assert directions.is_redo("redo", ("elsewhere",))
    assert not directions.is_redo("hunk", ("elsewhere",))
    assert not directions.is_redo("file", ())
