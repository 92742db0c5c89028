"""What differs between two contents: exact, readable, and bounded on hostile ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.file_history.diff import FileDiff, apply_hunks, diff_contents, diff_states

_LINES = st.lists(
    st.sampled_from([b"a", b"b", b"  a", b"", b"x\r", b"\xff", "ä".encode(), b"}"]), max_size=30
)
_TEXTS = st.builds(lambda lines, end: b"\n".join(lines) + end, _LINES, st.sampled_from([b"", b"\n"]))
_UTF16 = st.builds(lambda text: b"\xff\xfe" + text.encode("utf-16-le"), st.text("ab\nä", max_size=20))
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0"


def _as_text(diff: FileDiff) -> str:
    signs = {"same": " ", "removed": "-", "added": "+"}
    return "\n".join(signs[line.kind] + line.text for hunk in diff.hunks for line in hunk.lines)


@settings(max_examples=150)
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


@given(_TEXTS, _TEXTS)
def test_outside_the_hunks_all_lines_are_the_same(before: bytes, after: bytes) -> None:
    diff = diff_contents(before, after, 0)
    old, new = list(diff.before_lines), list(diff.after_lines)
    for hunk in reversed(diff.hunks):
        del old[hunk.old_start - 1 : hunk.old_start - 1 + hunk.old_count]
        del new[hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count]
        assert all(line.kind != "same" for line in hunk.lines)
    assert old == new


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


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (b"a\0b", b"a\0c", "binary"),
        (b"a" * 9_000 + b"\0", b"a", "binary"),
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
    link, text = FileState("link", target="/etc"), FileState(digest="1" * 64, size=3, mode=0o644)
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
