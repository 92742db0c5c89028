"""Numbers and byte strings as LevelDB writes them."""

from __future__ import annotations

_LOW_BITS = 0x7F  # the value bits of a byte; the eighth bit means that more bytes follow
_MAX_VARINT_BYTES = 10  # bytes of a 64-bit varint


class Malformed(Exception):
    """The bytes are not what they should be."""


class ByteReader:
    """Reader of consecutive values. Every method raises Malformed if the bytes end too early."""

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data) if end is None else end

    @property
    def is_done(self) -> bool:
        """Return True if everything was read."""
        return self.offset >= self.end

    def read_varint(self) -> int:
        """Return a number with seven bits per byte, lowest first."""
        value = shift = 0
        for index in range(self.offset, min(self.end, self.offset + _MAX_VARINT_BYTES)):
            byte = self.data[index]
            value |= (byte & _LOW_BITS) << shift
            if byte <= _LOW_BITS:
                self.offset = index + 1
                return value
            shift += 7
        raise Malformed(f"no number at {self.offset}")

    def read_fixed(self, size: int) -> int:
        """Return a number of `size` bytes, lowest first."""
        return int.from_bytes(self.read_bytes(size), "little")

    def read_bytes(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        stop = self.offset + size
        if stop > self.end:
            raise Malformed(f"{size} bytes claimed at {self.offset}, {self.end - self.offset} are there")
        data = self.data[self.offset : stop]
        self.offset = stop
        return data

    def read_prefixed(self) -> bytes:
        """Return bytes that follow their length."""
        return self.read_bytes(self.read_varint())
