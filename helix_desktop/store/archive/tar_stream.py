"""A tar in a zstd stream, written and read member by member in one pass.

The reader trusts nothing: only regular files, only complete ones, none longer than its caller allows, and not
more in total than so small a file could plausibly hold. No member's name is ever opened as a path.
"""

from __future__ import annotations

import tarfile
from typing import BinaryIO

import zstandard

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive.archive_format import invalid_archive

text = TextContext("Store")

_ZSTD_LEVEL = 3
_BLOCK_BYTES = 512
_MAX_WINDOW_BYTES = 16 * 1024 * 1024  # bytes that decompression may look back
_MAX_RATIO = 1000  # maximum compression ratio, beyond _ALWAYS_ALLOWED_BYTES
_FEED_BYTES = 2048  # bytes that are decompressed at a time: they cannot become more than about 64 MB
_ALWAYS_ALLOWED_BYTES = 1024 * 1024 * 1024  # bytes


class TarStreamWriter:
    """Append members to a file; `close` completes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._packed = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(
            file, closefd=False
        )

    def add(self, name: str, data: bytes) -> None:
        """Append one member. Raise OSError."""
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o600
        self._packed.write(member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict"))
        self._packed.write(data)
        self._packed.write(bytes(-len(data) % _BLOCK_BYTES))

    def close(self) -> None:
        """Write the end marks. Raise OSError."""
        self._packed.write(bytes(2 * _BLOCK_BYTES))
        self._packed.flush(zstandard.FLUSH_FRAME)


class TarStreamReader:
    """Read members in order. Every method raises InvalidArchive for what TarStreamWriter never writes."""

    def __init__(self, file: BinaryIO, file_size: int) -> None:
        self._file = file
        self._packed = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
        self._unpacked = bytearray()
        self._bytes_left = _ALWAYS_ALLOWED_BYTES + _MAX_RATIO * file_size
        self._next_header: tuple[str, int] | None = None

    def next_name(self) -> str:
        """Return the name of the next member."""
        return self._read_header()[0]

    def read_member(self, name: str, max_bytes: int) -> bytes:
        """Return the bytes of the next member, which must have this name and at most `max_bytes` bytes."""
        member_name, size = self._read_header()
        if member_name != name:
            raise invalid_archive(
                text(
                    "It contains {actual} instead of {expected}.",
                    actual=repr(member_name[:100]),
                    expected=name,
                )
            )
        if size > max_bytes:
            raise invalid_archive(text("Its part {name} is too large ({size} bytes).", name=name, size=size))
        self._next_header = None
        data = self._read(size)
        self._read(-size % _BLOCK_BYTES)
        return data

    def finish(self) -> None:
        """Read to the end, where nothing more may follow; the stream's own checksum is verified there."""
        if (
            any(self._read(2 * _BLOCK_BYTES))
            or self._unpack_more()
            or self._packed.unused_data
            or self._file.read(1)
        ):
            raise invalid_archive(text("More data follows its end."))
        if not self._packed.eof:
            raise invalid_archive(text("It ends early: its last bytes are missing."))

    def _read_header(self) -> tuple[str, int]:
        if self._next_header is None:
            block = self._read(_BLOCK_BYTES)
            if not any(block):
                raise invalid_archive(text("It ends early: its last part is missing."))
            try:
                member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
            except (tarfile.HeaderError, UnicodeDecodeError) as error:
                raise invalid_archive(
                    text("The name of a part is invalid ({detail}).", detail=str(error))
                ) from error
            if member.type != tarfile.REGTYPE or member.size < 0:
                raise invalid_archive(
                    text("It contains {name}, which must be a regular file.", name=repr(member.name[:100]))
                )
            self._next_header = member.name, member.size
        return self._next_header

    def _read(self, size: int) -> bytes:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise invalid_archive(text("It claims more data than a file of its size can hold."))
        while len(self._unpacked) < size:
            if not self._unpack_more():
                raise invalid_archive(text("It ends early: a part of it is missing."))
        data = bytes(memoryview(self._unpacked)[:size])
        del self._unpacked[:size]
        return data

    def _unpack_more(self) -> bool:
        """Decompress a little more; return False at the end."""
        while not self._packed.eof:
            packed = self._file.read(_FEED_BYTES)
            try:
                plain = self._packed.decompress(packed)
            except zstandard.ZstdError as error:
                raise invalid_archive(
                    text("It can't be decompressed ({detail}).", detail=str(error))
                ) from error
            self._unpacked += plain
            if plain or not packed:
                return bool(plain)
        return False
