"""Whether a revert takes changes back, or brings them back: what it names decides."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.domain.file_history.capture import ChangeSource, RevertScope


class RevertDirections:
    """Knows of captures, added in order, which of them redo what was taken back."""

    def __init__(self) -> None:
        self._is_redo: dict[str, bool | None] = {}  # None: of no revert

    def add(self, capture_id: str, source: ChangeSource, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Add the next capture; return True if it is a redo."""
        is_redo = source == "revert" and self.is_redo(scope, reverts)
        self._is_redo[capture_id] = is_redo if source == "revert" else None
        return is_redo

    def is_redo(self, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Return True if a revert of these captures is a redo: it takes back what is none itself."""
        directions = [self._is_redo[capture_id] for capture_id in reverts if capture_id in self._is_redo]
        if scope == "rewind":
            return False
        if not directions or None in directions:
            return scope == "redo"
        return not directions[0]
