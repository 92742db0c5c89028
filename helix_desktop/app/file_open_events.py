"""Requests from outside: another start, or the system with a file to open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helix_desktop.app.launch_targets import (
    IMPORT_PREFIX,
    SAMPLE_TARGET,
    SESSION_PREFIX,
    is_from_outside,
    parse_target,
)
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.window_group import NO_SESSION, ShownSession


async def open_target(
    launch_target: str,
    controllers: ControlledWindow,
    is_first: bool,
    place: ShownSession = NO_SESSION,
) -> None:
    """Show a launch target, see app.launch_targets; `is_first`: nothing is on screen yet.

    `place` is what the first window showed in the last run. Raises HelixError.
    """
    workspaces = controllers.workspace_controller
    import_export = controllers.import_export
    if is_from_outside(launch_target) and is_first:
        await workspaces.restore_last(place=place)
    if launch_target.startswith(IMPORT_PREFIX):
        await import_export.import_archive(Path(launch_target.removeprefix(IMPORT_PREFIX)))
    elif launch_target.startswith(SESSION_PREFIX):
        await workspaces.open_by_id(launch_target.removeprefix(SESSION_PREFIX))
    elif launch_target == SAMPLE_TARGET:
        await workspaces.restore_last(sample=True)
    elif launch_target or is_first:
        await workspaces.restore_last(Path(launch_target) if launch_target else None, place=place)


class TargetParser:
    """Parses files that the system asks to open, and reports those that can't be opened."""

    def __init__(self, on_target: Callable[[str], None], on_error: Callable[[HelixError], None]) -> None:
        self._on_target = on_target
        self._on_error = on_error

    def handle(self, path: str) -> None:
        """Open a file, or report why it cannot be opened."""
        try:
            self._on_target(parse_target(path))
        except HelixError as error:
            self._on_error(error)

    def first_target(self, paths: list[str]) -> str:
        """Remove and return the first one that can be opened, as the target of a first start; else empty."""
        while paths:
            try:
                return parse_target(paths.pop(0))
            except HelixError as error:
                self._on_error(error)
        return ""
