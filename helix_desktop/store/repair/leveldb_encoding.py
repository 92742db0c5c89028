"""Numbers and byte strings as LevelDB writes them."""

from __future__ import annotations

_LOW_BITS = 0x7F  # the bits of a byte that count; the eighth says that more bytes follow
_MAX_VARINT_BYTES = 10  # bytes of a 64-bit varint


class Malformed(Exception):
    """The bytes are not what they should be."""


class ByteReader:
    """Reads one thing after the other. Every method raises Malformed where the bytes end too early."""

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data) if end is None else end

    @property
    def is_done(self) -> bool:
        """Whether all is read."""
        return self.offset >= self.end

    def read_varint(self) -> int:
        """A number, seven bits a byte, lowest first."""
        value = shift = 0
        for at in range(self.offset, min(self.end, self.offset + _MAX_VARINT_BYTES)):
            byte = self.data[at]
            value |= (byte & _LOW_BITS) << shift
            if byte <= _LOW_BITS:
                self.offset = at + 1
                return value
            shift += 7
        raise Malformed(f"no number at {self.offset}")

    def read_fixed(self, size: int) -> int:
        """A number of so many bytes, lowest first."""
        return int.from_bytes(self.read_bytes(size), "little")

    def read_bytes(self, size: int) -> bytes:
        """The next bytes."""
        stop = self.offset + size
        if stop > self.end:
            raise Malformed(f"{size} bytes claimed at {self.offset}, {self.end - self.offset} are there")
        taken = self.data[self.offset : stop]
        self.offset = stop
        return taken

    def read_prefixed(self) -> bytes:
        """Bytes behind their length."""
        return self.read_bytes(self.read_varint())
