"""Numbers and byte strings as LevelDB writes them."""

from __future__ import annotations

_LOW = 0x7F  # the bits of a byte that count; the eighth says that more bytes follow
_LONGEST = 10  # bytes of a 64-bit varint


class Malformed(Exception):
    """The bytes are not what they should be."""


class Reader:
    """Reads one thing after the other. Every method raises Malformed where the bytes end too early."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def done(self) -> bool:
        """Whether all is read."""
        return self.at >= self.end

    def varint(self) -> int:
        """A number, seven bits a byte, lowest first."""
        value = shift = 0
        for at in range(self.at, min(self.end, self.at + _LONGEST)):
            byte = self.data[at]
            value |= (byte & _LOW) << shift
            if byte <= _LOW:
                self.at = at + 1
                return value
            shift += 7
        raise Malformed(f"no number at {self.at}")

    def fixed(self, size: int) -> int:
        """A number of so many bytes, lowest first."""
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        """The next bytes."""
        stop = self.at + size
        if stop > self.end:
            raise Malformed(f"{size} bytes claimed at {self.at}, {self.end - self.at} are there")
        taken = self.data[self.at : stop]
        self.at = stop
        return taken

    def text(self) -> bytes:
        """Bytes behind their length."""
        return self.take(self.varint())
