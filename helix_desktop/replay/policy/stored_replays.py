"""Exact replays of a long session on disk: to replay it takes half a minute, to read it a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from zlib import crc32

import msgspec

from helix_desktop import __version__
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.replay.policy.session import SessionFacts
from helix_desktop.replay.policy_replay import PolicyReplay
from helix_desktop.system.files import replace_file

FOLDER = "replays"
"""In a workspace's folder; nothing is lost with it."""

MAX_SESSIONS = 10
"""Sessions whose replays are kept; the profiles of one of 10,000 events take 0.4 MB."""

_SUFFIX = ".msgpack"
_EVENTS_AT_ONCE = 250  # encoded while the interpreter's lock is held


class _File(msgspec.Struct, frozen=True):
    """The replays of a session by their policies, and what they depend on besides these.

    That is the app's version, the session's facts and its log: the number of events, and their checksum.
    """

    version: str
    facts: SessionFacts
    events: int
    checksum: int
    replays: list[tuple[ContextPolicy, PolicyReplay]]


_encode = msgspec.msgpack.Encoder(enc_hook=plain_text).encode
_decode = msgspec.msgpack.Decoder(_File).decode


class StoredReplays:
    """The stored replays of one workspace's sessions, a file each; those that can't be read count as none."""

    def __init__(self, workspace_folder: Path, version: str = __version__) -> None:
        """`version` is the app's: another one may decide otherwise."""
        self._folder, self._version = workspace_folder / FOLDER, version

    def load(
        self, session_id: str, log: Sequence[RecordedEvent], facts: SessionFacts
    ) -> dict[ContextPolicy, PolicyReplay]:
        """Return the replays of a session by their policies; none if it, or its facts, changed since.

        It takes 50 ms at 10,000 events, which leave the interpreter to others; nothing, if there are none.
        """
        try:
            file = _decode(self._path(session_id).read_bytes())
        except (OSError, msgspec.DecodeError, ValueError):
            return {}
        if (file.version, file.facts, file.events) != (self._version, facts, len(log)):
            return {}
        return dict(file.replays) if file.checksum == _checksum(log) else {}

    def save(
        self,
        session_id: str,
        log: Sequence[RecordedEvent],
        facts: SessionFacts,
        replays: Mapping[ContextPolicy, PolicyReplay],
    ) -> None:
        """Replace what is stored of a session, and forget the sessions saved longest ago.

        Errors only lose the replays. Nothing is made where the workspace's folder is gone.
        """
        path = self._path(session_id)
        part = path.with_suffix(".part")
        file = _File(self._version, facts, len(log), _checksum(log), list(replays.items()))
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            part.write_bytes(_encode(file))
            replace_file(part, path)
            paths = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
            for oldest in paths[:-MAX_SESSIONS]:
                oldest.unlink()

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}{_SUFFIX}"


def _checksum(log: Sequence[RecordedEvent]) -> int:
    checksum, events = 0, iter(log)
    while part := list(islice(events, _EVENTS_AT_ONCE)):
        checksum = crc32(_encode(part), checksum)
    return checksum
