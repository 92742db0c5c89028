"""Write batches on top of each other."""

from __future__ import annotations

from helix_desktop.store.core.commit import WriteBatch


def nothing(key: bytes) -> None:
    """A store without rows."""


def test_a_row_written_after_its_removal_in_the_same_write_stays() -> None:
    batch = WriteBatch(nothing)
    removing, writing = batch.nested(), batch.nested()
    removing.delete(b"c1")
    removing.delete(b"c2")
    batch.absorb(removing)
    writing.put_unreferenced(b"c1", b"data")
    batch.absorb(writing)
    assert batch.rows == {b"c2": None}
    assert batch.unreferenced_rows == {b"c1": b"data"}
