"""The view state of each session: scroll position and selection, saved between runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec

from helix_desktop.system.files import read_regular

VIEWS_FILE = "views.json"
_MAX_SESSIONS = 300  # sessions, the last ones seen


class ViewState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The view state of one session.

    `row` is the key of the first visible row of the chat, `offset` how many pixels of it are above the edge;
    without a row the chat follows its end. `cursor` and `mark` are the ends of the selection in the message
    field, in characters (-1: at its end). `entry` is the digest selected in the cache, `card` the event whose
    card was the first visible one in the timeline, `change` the key of the row selected in the changes.
    """

    row: str = ""
    offset: float = 0.0
    cursor: int = -1
    mark: int = -1
    entry: str = ""
    card: int = 0
    change: str = ""


class ViewStates:
    """The view states by session, in one small file. A damaged file means no states."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write_lock = threading.Lock()
        self._states: dict[str, ViewState] = {}
        try:
            self._states = msgspec.json.decode(read_regular(path), type=dict[str, ViewState])
        except (OSError, msgspec.DecodeError, RecursionError):
            return

    def get(self, session_id: str) -> ViewState:
        return self._states.get(session_id, ViewState())

    def put(self, session_id: str, state: ViewState) -> None:
        """Set the view state of a session; `save` writes it."""
        others = {other_id: other for other_id, other in self._states.items() if other_id != session_id}
        self._states = dict([*others.items(), (session_id, state)][-_MAX_SESSIONS:])

    def save(self) -> None:
        """Write the file, blocking; errors are ignored and only lose the states."""
        with self._write_lock:
            part = self._path.with_suffix(".part")
            try:
                part.write_bytes(msgspec.json.encode(self._states))
                os.replace(part, self._path)
            except OSError:
                return
