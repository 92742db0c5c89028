"""Sessions with what is below them: branches of any depth, subagents where they matter, a search."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.ui.window.sidebar.session_list import SessionItem, nested_sessions


def item(name: str, updated: int, branch_of: str = "", parent: str = "", active: bool = False) -> SessionItem:
    return SessionItem(name, f"title {name}", "", updated, None, active, parent=parent, branch_of=branch_of)


def drawn(items: list[SessionItem], needle: str = "") -> list[str]:
    return ["-" * row.depth + row.id for row in nested_sessions(items, needle)]


def test_branches_follow_their_parent_and_a_tree_is_as_new_as_the_newest_in_it() -> None:
    items = [
        item("a", 1),
        item("b", 5),
        item("a1", 9, "a"),
        item("a2", 3, "a1"),
        item("of-deleted", 2, "gone"),
    ]
    assert drawn(items) == ["a", "-a1", "--a2", "b", "of-deleted"]
    assert drawn(items, "title a2") == ["a", "-a1", "--a2"]
    assert drawn(items, "title b") == ["b"]


def test_subagents_are_listed_where_the_user_is() -> None:
    items = [item("a", 1, active=True), item("s", 2, parent="a"), item("b", 3, "a"), item("t", 4, parent="b")]
    assert drawn(items) == ["a", "-s", "-b"]


def test_a_chain_of_branches_may_be_of_any_length() -> None:
    chain = [item(f"{number:04}", number, f"{number - 1:04}" if number else "") for number in range(1_500)]
    assert [row.depth for row in nested_sessions(chain)] == list(range(1_500))


def test_a_session_is_found_by_the_title_of_each_of_its_versions() -> None:
    row = replace(item("b", 5), versions=(("a", "Ports"), ("b", "title b")))
    assert drawn([row], "ports") == ["b"]
    assert drawn([row], "title b") == ["b"]
    assert drawn([row], "nowhere") == []
