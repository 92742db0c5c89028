"""What is covered now, as it is shown."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.domain.file_history.file_coverage import FileCoverage, UncoveredPlace, UncoveredReason
from helix_desktop.domain.file_history.state import FileState
from helix_desktop.file_history.tree.tree import WorkspaceTree

_PENDING_PLACES = 500  # named; of the others the number is


def measure_file_coverage(tree: WorkspaceTree, stored_size: int) -> FileCoverage:
    """Return what of a tree is covered; `stored_size` are the bytes that all contents take."""
    files = size = 0
    places = list(tree.skipped.values())
    for path, (state, _, _) in tree.rows.items():
        if state.stored and path not in tree.linked:
            if state.kind != "folder":
                files += 1
                size += state.size
        else:
            places.append(UncoveredPlace(path, _reason(tree, path, state), files=1, size=state.size))
    places.sort(key=lambda place: (place.reason == "pending", not place.is_folder, place.path))
    pending = sum(place.reason == "pending" for place in places)
    first = tuple(places[: len(places) - pending + _PENDING_PLACES])
    return FileCoverage(files, size, stored_size, first, len(places), pending, is_complete=not tree.pending)


def uncovered_files(tree: WorkspaceTree, paths: Iterable[str]) -> tuple[UncoveredPlace, ...]:
    """Return the files at paths whose content cannot be stored, not even when a tool names them."""
    states = tree.current_states(paths)
    return tuple(
        UncoveredPlace(path, _reason_for_tool(tree, path, state), files=1, size=state.size)
        for path, state in states.items()
        if state is not None and state.kind == "file" and state.size and not state.stored
    )


def _reason_for_tool(tree: WorkspaceTree, path: str, state: FileState) -> UncoveredReason:
    reason = _reason(tree, path, state)
    return "quota" if reason == "ignored" else reason  # a tool's change of ignored files is covered


def _reason(tree: WorkspaceTree, path: str, state: FileState) -> UncoveredReason:
    reason = tree.rules.file_reason(path, state.size)
    if reason is not None:
        return reason
    if path in tree.linked:
        return "hard_links"
    if path in tree.unreadable:
        return "unreadable"
    if path in tree.pending:
        return "pending"
    return "secret" if tree.was_removed(state.digest) else "quota"
