"""The event that files changed which the agent had read or written."""

from __future__ import annotations

from helix_desktop.domain.events.base import EventBase
from helix_desktop.domain.files.version import ChangedFile


class FilesChanged(EventBase, frozen=True, tag="files-changed"):
    """Files that the agent had read or written were found changed, not by a call that names them.

    They were found after the call `call_id`, which likely changed them; empty: at the start of a turn, or
    before a call. `unchecked` counts the files that were not looked at: too many, or not readable just then.
    `unannounced`: nothing tells the model yet; the note of the next message does, or the answer to an edit.
    """

    files: tuple[ChangedFile, ...]
    call_id: str = ""
    unchecked: int = 0
    unannounced: bool = False
