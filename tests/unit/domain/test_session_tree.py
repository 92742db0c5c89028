"""The tree of sessions: each branch below its parent, whatever is missing, however deep."""

from __future__ import annotations

from helix_desktop.domain.store import ListPlace, SessionSummary, session_tree

DATED, PINNED, ARCHIVED = ListPlace(), ListPlace(pinned=True), ListPlace(archived=True)


def line(
    session_id: str, updated: int, branch_of: str = "", parent: str = "", place: ListPlace = DATED
) -> SessionSummary:
    return SessionSummary(
        session_id,
        session_id,
        0,
        updated,
        parent=parent,
        branch_of=branch_of,
        pinned=place.pinned,
        archived=place.archived,
    )


def drawn(*lines: SessionSummary) -> list[str]:
    return ["-" * row.depth + row.summary.id for row in session_tree(lines)]


def test_a_tree_is_as_new_as_the_newest_in_it() -> None:
    lines = (line("a", 1), line("b", 5), line("a1", 2, "a"), line("a2", 3, "a"), line("a1x", 9, "a1"))
    assert drawn(*lines) == ["a", "-a1", "--a1x", "-a2", "b"]


def test_a_branch_without_its_parent_is_at_the_top_and_no_subagent_is_listed() -> None:
    assert drawn(line("b", 1, "deleted"), line("s", 9, parent="b"), line("c", 2, "b")) == ["b", "-c"]


def test_any_depth_and_a_circle_are_listed_whole() -> None:
    chain = [line(f"{number:04}", number, f"{number - 1:04}" if number else "") for number in range(2_000)]
    assert [row.depth for row in session_tree(chain)] == list(range(2_000))
    assert drawn(line("x", 1, "y"), line("y", 2, "x")) == ["x", "-y"]


def test_a_pin_takes_its_branches_along_and_the_archive_takes_the_session_alone() -> None:
    pinned = (line("a", 1, place=PINNED), line("a1", 2, "a"), line("b", 9), line("b1", 3, "b", place=PINNED))
    assert drawn(*pinned) == ["b1", "a", "-a1", "b"]
    archived = (
        line("a", 9, place=ARCHIVED),
        line("a1", 2, "a"),
        line("a2", 3, "a", place=ARCHIVED),
        line("b", 1),
    )
    assert drawn(*archived) == ["a1", "b", "a", "-a2"]
