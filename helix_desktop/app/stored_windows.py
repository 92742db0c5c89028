"""Which windows were open when the app ended, and what they showed: stored beside their sizes."""

from __future__ import annotations

import msgspec

from helix_desktop.app.window_state import WindowStateFile, layout_name
from helix_desktop.ui.session.window_group import NO_SESSION, ShownSession, WindowGroup
from helix_desktop.ui.shell.panes import LAYOUT_NAMES

_WINDOWS = "windows"


class StoredWindows(msgspec.Struct, frozen=True):
    """The open windows in the order in which they were made, and the index of the one in front."""

    places: tuple[ShownSession, ...] = ()
    front: int = 0

    @property
    def first(self) -> ShownSession:
        """Return what the first of them showed."""
        return self.places[0] if self.places else NO_SESSION

    def index_of(self, workspace_id: str) -> int | None:
        """Return which of them showed a workspace, the one in front if it did; None if none did."""
        indexes = [index for index, place in enumerate(self.places) if place.workspace_id == workspace_id]
        return self.front if self.front in indexes else next(iter(indexes), None)


def load_windows(state: WindowStateFile) -> StoredWindows:
    """Return the windows of the last run; none if none are stored, or the file was damaged."""
    try:
        return msgspec.json.decode(state.get(_WINDOWS), type=StoredWindows)
    except msgspec.MsgspecError:
        return StoredWindows()


def open_places(windows: WindowGroup) -> StoredWindows:
    """Return what the open windows show now, but for those without a workspace."""
    still_open = [opened for opened in windows.windows if opened in windows.open_windows]
    listed = [opened for opened in still_open if opened.shown_session.workspace_id]
    front = listed.index(windows.current) if windows.current in listed else 0
    return StoredWindows(tuple(opened.shown_session for opened in listed), front)


def store_windows(state: WindowStateFile, stored: StoredWindows) -> None:
    """Keep for the next start which windows are open."""
    state.put(_WINDOWS, msgspec.json.encode(stored))


def close_gaps(state: WindowStateFile, windows: WindowGroup) -> None:
    """Give the open windows the numbers that they will have at the next start, where none is closed."""
    numbers = [number for number, opened in enumerate(windows.windows, 1) if opened in windows.open_windows]
    for next_number, number in enumerate(numbers, 1):
        for name in LAYOUT_NAMES if next_number != number else ():
            state.put(layout_name(name, next_number), state.get(layout_name(name, number)))
