"""What the bytes of a record's row rule out, so that a scan of all need not decode each of them."""

from __future__ import annotations

from helix_desktop.store.core.row_codec import is_plain

_LAST = -5  # the payload's last byte: the row ends with a checksum of four
_SHORTEST = 16  # bytes of a row with any payload
# Where the head of a msgpack number is if it ends the payload, by its first byte: of 1, 2, 4 and 8 bytes.
_NUMBER_HEADS = ((_LAST - 1, 0xCC), (_LAST - 2, 0xCD), (_LAST - 4, 0xCE), (_LAST - 8, 0xCF))


def may_be_index(row: bytes) -> bool:
    """Return False only for the row of a record whose kind is not "index"."""
    return b"index" in row or not is_plain(row)


def may_be_trashed(row: bytes) -> bool:
    """Return False only for the row of a record that ends in zero: its last field is when it was trashed."""
    if len(row) < _SHORTEST or not is_plain(row) or row[_LAST]:
        return True
    return any(row[at] == head for at, head in _NUMBER_HEADS)
