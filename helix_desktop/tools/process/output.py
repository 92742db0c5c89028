"""A program's output as it arrives: capped in memory, spilled to a file beyond that, and reported live."""

from __future__ import annotations

import asyncio
import codecs
from contextlib import suppress
from pathlib import Path

from helix_desktop.domain.tools import OutputCallback, ignore_output

_MIB = 1024 * 1024
OUTPUT_CAP = 63 * _MIB  # leaves room for a header under the store's cap of 64 MB
_TAIL = 1 * _MIB
_MAX_SPILL = 1024 * _MIB
_MAX_CHUNK = 16 * 1024  # bytes per callback: more than any screen shows
_INTERVAL_S = 0.1


class CappedOutput:
    """A capped buffer: keeps the first part and the last MB, and counts the bytes between."""

    def __init__(self, cap: int = OUTPUT_CAP) -> None:
        self._head_size = max(cap - _TAIL, 0)
        self._head, self._tail = bytearray(), bytearray()
        self._size = 0

    def add(self, data: bytes) -> bytes:
        """Add the next chunk; return the bytes of it that are beyond the first part."""
        self._size += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        beyond = data[room:] if room > 0 else data
        self._tail += beyond
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]
        return beyond

    @property
    def head(self) -> bytes:
        """The first part."""
        return bytes(self._head)

    @property
    def dropped(self) -> int:
        """The number of bytes that were not kept."""
        return self._size - len(self._head) - min(len(self._tail), _TAIL)

    def joined(self) -> bytes:
        """Return the kept bytes, with a line for the number of dropped bytes, if any."""
        gap = f"\n[… {self.dropped:,} bytes of output dropped here …]\n".encode() if self.dropped else b""
        return bytes(self._head) + gap + bytes(self._tail[-_TAIL:])


class SpillFile:
    """A file for all of an output that is too large for memory; its methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = 0
        self.is_complete = True

    def write(self, data: bytes) -> None:
        """Append; data that the disk refuses, or beyond 1 GB, is left out."""
        if self.is_complete and self.size + len(data) <= _MAX_SPILL:
            try:
                with self._path.open("ab") as file:
                    file.write(data)
            except OSError:
                self.is_complete = False
            else:
                self.size += len(data)
        else:
            self.is_complete = False

    def remove(self) -> None:
        """Delete the file: all of the output fitted in memory."""
        self.size = 0
        with suppress(OSError):
            self._path.unlink()


class LiveOutput:
    """Reports the newest output about ten times a second; of a flood only the newest part."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_output: OutputCallback) -> None:
        self._loop, self._on_output = loop, on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Add the next chunk."""
        if self._on_output is ignore_output:
            return
        self._pending += data[-_MAX_CHUNK:]
        del self._pending[:-_MAX_CHUNK]
        if self._timer is None:
            self._timer = self._loop.call_later(_INTERVAL_S, self.flush)

    def flush(self) -> None:
        """Report the pending output now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = self._decoder.decode(bytes(self._pending))
        self._pending.clear()
        if text:
            self._on_output(text)
